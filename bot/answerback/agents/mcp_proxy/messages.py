"""The messages of the Model Context Protocol that the proxy reads and writes, of both generations.

https://modelcontextprotocol.io/specification. In the newer generation (2026-07-28) a server elicits in its result,
and the client sends its request again with the answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

from answerback.agents.pipe.json_rpc import Json, as_object, encode_message, params
from answerback.core import strict_json

MAX_LINE: Final = 4 * 2**20
"""Bytes of a message."""
_MAX_DEPTH: Final = 500
_MAX_NAME: Final = 128
"""Characters of a tool's name, as the protocol recommends."""
TOOL_CALL: Final = "tools/call"
TOOL_LISTING: Final = "tools/list"
ELICITATION: Final = "elicitation/create"
CANCELLED: Final = "notifications/cancelled"
TASK_CANCEL: Final = "tasks/cancel"
VERSION_META: Final = "io.modelcontextprotocol/protocolVersion"
_PARSE_ERROR: Final = -32700
INVALID_PARAMS: Final = -32602
NOT_ALLOWED: Final = -32000
_KEPT: Final = 256
"""Bytes of the beginning and the end of a line that is too long: its id may be there."""
_ID: Final = rb'"id"\s*:\s*(-?\d{1,15}|"[\w.:/-]{1,100}")'
NUMBER: Final = re.compile(r"-?[1-9]\d{0,14}|0", re.ASCII)
"""A number as an id may be written in a string."""
_FIELDS: Final = ("jsonrpc", "id", "method", "params", "result", "error")
_PARAMS: Final = ("name", "arguments", "requestId", "inputResponses", "requestState")
_ID_AT_START: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\s*[,}]")
_ID_AT_END: Final = re.compile(_ID + rb'(?:\s*,\s*"jsonrpc"\s*:\s*"2\.0")?\s*\}\s*$')


class RefusedLineError(Exception):
    """A line that no side may get; the message says why."""

    def __init__(self, why: str, line: bytes) -> None:
        super().__init__(why)
        found = _ID_AT_START.match(line) or _ID_AT_END.search(line)
        self.id: object = json.loads(found[1]) if found else None
        """The id of the message, as far as it can be told."""

    def response(self) -> bytes:
        """The error for the sender of the line, or for the caller that waits for it."""
        error = {"code": _PARSE_ERROR, "message": f"Answerback refused a message: {self}."}
        return encode_message({"id": self.id, "error": error})


def read_bounded(source: IO[bytes]) -> Iterator[bytes]:
    """Read lines. Of one that is too long for `parse`, only the beginning and the end are kept."""
    while line := source.readline(MAX_LINE + 1):
        tail = line
        while tail and not tail.endswith(b"\n"):
            tail = source.readline(2**16)
            line = line[: MAX_LINE + 1] + (line[MAX_LINE + 1 :] + tail)[-_KEPT:]
        yield line


def parse(line: bytes) -> Json:
    """Parse a message, as every other program would.

    Raises:
        RefusedLineError: programs may read the line differently, or not at all.
    """
    text = line.removesuffix(b"\n").removesuffix(b"\r")
    if len(text) > MAX_LINE:
        raise RefusedLineError(f"it has more than {MAX_LINE} bytes", text[:_KEPT] + text[-_KEPT:])
    if b"\r" in text or b"\n" in text:  # some programs would read several lines
        raise RefusedLineError("it has a line end inside", text)
    try:
        message = strict_json.parse(text.decode(), _MAX_DEPTH)
    except UnicodeDecodeError as error:
        raise RefusedLineError(f"byte {error.start} is not UTF-8", text) from None
    except strict_json.NotJsonError as error:
        raise RefusedLineError(f"it is not valid JSON: {error}", text) from None
    if not isinstance(message, dict):
        raise RefusedLineError("it is not an object", text)
    if (why := _ambiguity(message)) is not None:
        raise RefusedLineError(why, text)
    return message


def _ambiguity(message: Json) -> str | None:
    """Return why some programs would take a message for another one; None if none would."""
    for fields, known in ((message, _FIELDS), (params(message), _PARAMS)):
        for key in fields:
            if key not in known and key.casefold() in known:
                return (
                    f"{json.dumps(key)} is like {key.casefold()}, which some programs take it for"
                )
    if "method" in message and (
        not isinstance(message["method"], str) or message.keys() & {"result", "error"}
    ):
        return "it is neither a request nor a response"
    return None


class ToolCall(NamedTuple):
    name: str
    arguments: Json


def is_tool_call(message: Json) -> bool:
    """Whether a server could take a message for a call of a tool."""
    return str(message.get("method")).strip().casefold() == TOOL_CALL


def read_tool_call(message: Json) -> ToolCall | str:
    """Read a call of a tool; or return what is wrong with it."""
    fields = params(message)
    name, arguments = fields.get("name"), fields.get("arguments")
    if message["method"] != TOOL_CALL or not isinstance(message.get("id"), str | int):
        return f"a tool is called by a request {TOOL_CALL} with an id"
    if not isinstance(name, str) or len(name) > _MAX_NAME or not isinstance(arguments, dict | None):
        return f"the name must be a string of up to {_MAX_NAME} characters, the arguments an object"
    return ToolCall(name, arguments or {})


def error_response(message: Json, code: int, text: str) -> bytes:
    """The error that answers a request."""
    return encode_message({"id": message.get("id"), "error": {"code": code, "message": text}})


def denial(message: Json, text: str) -> bytes:
    """The response to a call that is not allowed: a result for the model, or an error where a task is expected."""
    fields = params(message)
    if "task" in fields:
        return error_response(message, NOT_ALLOWED, text)
    result: Json = {"content": [{"type": "text", "text": text}], "isError": True}
    if is_modern(message):
        result["resultType"] = "complete"
    return encode_message({"id": message["id"], "result": result})


def is_modern(message: Json) -> bool:
    """Whether a request is of the newer generation."""
    return VERSION_META in as_object(params(message).get("_meta"))


def progress_token(message: Json) -> object:
    """What a client wants progress to be reported under; None if it wants none."""
    return as_object(params(message).get("_meta")).get("progressToken")


def elicitations(fields: Json) -> dict[str, Json]:
    """The elicitations among the requests for input in a result or a notification, by their keys."""
    wanted = as_object(fields.get("inputRequests"))
    return {
        key: params(each)
        for key, each in wanted.items()
        if isinstance(each, dict) and each.get("method") == ELICITATION
    }


def without_elicitations(fields: Json) -> Json:
    """The same with the other requests for input only."""
    asked = elicitations(fields)
    rest = {key: each for key, each in fields["inputRequests"].items() if key not in asked}
    return {**fields, "inputRequests": rest}


def with_answers(request: Json, result: Json, answers: Json) -> Json:
    """A request as its client sends it again, with answers to the input that the result requires."""
    fields = _without(params(request), "inputResponses", "requestState")
    if "requestState" in result:
        fields["requestState"] = result["requestState"]
    return {**request, "params": {**fields, "inputResponses": answers}}


def task_update(request_id: str, request: Json, task: object, answers: Json) -> Json:
    """A request that gives a task answers to the input that it requires, as the client would that has asked for it."""
    meta = _without(as_object(params(request).get("_meta")), "progressToken")
    fields: Json = {"taskId": task, "inputResponses": answers}
    fields |= {"_meta": meta} if meta else {}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tasks/update", "params": fields}


def round_key(request: Json, state: object) -> str:
    """What makes a request the same when it is sent again after input was required."""
    again = _without(params(request), "_meta", "inputResponses", "requestState")
    return json.dumps([request.get("method"), again, state], sort_keys=True)


def _without(fields: Json, *names: str) -> Json:
    return {key: value for key, value in fields.items() if key not in names}
