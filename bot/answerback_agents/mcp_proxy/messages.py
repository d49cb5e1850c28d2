"""The messages of the Model Context Protocol that the proxy reads and writes, of both generations.

https://modelcontextprotocol.io/specification. In the newer generation (2026-07-28) a server elicits in its result,
and the client sends its request again with the answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

from answerback_agents.pipe.json_rpc import Json, as_object, encode_message, objects, params
from answerback_agents.pipe.json_text import with_members
from answerback_base import json_edits, mcp_meta, strict_json

MAX_LINE: Final = 4 * 2**20
"""Bytes of a message."""
_MAX_DEPTH: Final = 500
_MAX_NAME: Final = 128
"""Characters of a tool's name, as the protocol recommends."""
TOOL_CALL: Final = "tools/call"
TOOL_LISTING: Final = "tools/list"
ELICITATION: Final = "elicitation/create"
CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
LINK_COMPLETE: Final = "notifications/elicitation/complete"
TASK_CANCEL: Final = "tasks/cancel"
TASK_UPDATE: Final = "tasks/update"
VERSION_META: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_META: Final = "io.modelcontextprotocol/clientCapabilities"
_PARSE_ERROR: Final = -32700
INVALID_PARAMS: Final = -32602
NOT_ALLOWED: Final = -32000
_LINKS_REQUIRED: Final = -32042
"""The error of a request for which a person has to open links first, in the older generation."""
_MAX_LINKS: Final = 10
"""Links of an error that people are asked to open, one after the other."""
_KEPT: Final = 256
"""Bytes of the beginning and the end of a line that is too long: its id may be there."""
_ID: Final = rb'"id"\s*:\s*(-?\d{1,15}|"[\w.:/-]{1,100}")'
NUMBER: Final = re.compile(r"-?[1-9]\d{0,14}|0", re.ASCII)
"""A number as an id may be written in a string."""
_REQUEST: Final = ("jsonrpc", "id", "method", "params")
_FIELDS: Final = {each: each for each in (*_REQUEST, "result", "error")}
_PARAMS: Final = {
    each.casefold(): each
    for each in ("name", "arguments", "requestId", "taskId", "inputResponses", "requestState")
} | {"input_responses": "inputResponses", "request_state": "requestState"}
"""The fields that decide about a request, by the names that some programs take for theirs: the official Python SDK
reads those with underscores too."""
_METHODS: Final = (
    *(TOOL_CALL, TOOL_LISTING, ELICITATION, CANCELLED, PROGRESS, LINK_COMPLETE),
    *(TASK_CANCEL, TASK_UPDATE, "tasks/get", "tasks/result", "initialize"),
)
_METHOD: Final = re.compile(r"[!-~]+")
_CALL_PARAMS: Final = frozenset(
    {"name", "arguments", "_meta", "task", "inputResponses", "requestState"}
)
_PROTOCOL_META: Final[dict[str, type | tuple[type, ...]]] = {
    "progressToken": (str, int),
    VERSION_META: str,
    _CAPABILITIES_META: dict,
    "io.modelcontextprotocol/clientInfo": dict,
    "io.modelcontextprotocol/logLevel": str,
    "io.modelcontextprotocol/related-task": dict,
    "traceparent": str,
    "tracestate": str,
}
"""The metadata of a request that the protocol defines."""
_ID_META: Final = frozenset[str]().union(*(each.ids for each in mcp_meta.declared()))
"""Ids of calls and sessions that clients add: they are others each time, and mean nothing to people."""
_PLAIN_ID: Final = re.compile(r"[\w.:-]{1,100}", re.ASCII)
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
            like = known.get(key.casefold(), key)
            if key != like:
                return f"{json.dumps(key)} is like {like}, which some programs take it for"
    if "method" not in message:
        return None
    method = message["method"]
    if not isinstance(method, str) or message.keys() & {"result", "error"}:
        return "it is neither a request nor a response"
    if not _METHOD.fullmatch(method):
        return "its method has characters that a program might ignore"
    if method not in _METHODS and method.casefold() in _METHODS:
        return f"its method is like {method.casefold()}, which some programs take it for"
    return None


class ToolCall(NamedTuple):
    name: str
    arguments: Json
    meta: Json
    """Other fields that a vendor's program sends to the server."""


def is_tool_call(message: Json) -> bool:
    """Return True if a message is a call of a tool, well formed or not."""
    return message.get("method") == TOOL_CALL


def read_tool_call(message: Json) -> ToolCall | str:
    """Read a call of a tool; or return what is wrong with it."""
    fields = params(message)
    name, arguments = fields.get("name"), fields.get("arguments")
    if not isinstance(message.get("id"), str | int):
        return f"a tool is called by a request {TOOL_CALL} with an id"
    if not isinstance(name, str) or len(name) > _MAX_NAME or not isinstance(arguments, dict | None):
        return f"the name must be a string of up to {_MAX_NAME} characters, the arguments an object"
    unknown = sorted({*message} - {*_REQUEST} | {*fields} - _CALL_PARAMS)
    if unknown:
        return f"nobody would see {json.dumps(unknown[0])}, which is no field of a call"
    task = fields.get("task")
    if not isinstance(fields.get("_meta"), dict | None) or not isinstance(task, dict | None):
        return "_meta and task must be objects"
    if task and ({*task} != {"ttl"} or not isinstance(task["ttl"], int | float | None)):
        return "task may have a ttl only, in milliseconds"
    return ToolCall(name, arguments or {}, vendor_meta(message))


def vendor_meta(message: Json) -> Json:
    """The metadata of a request that the protocol does not define, without ids of calls and sessions."""
    return {
        key: value
        for key, value in as_object(params(message).get("_meta")).items()
        if not isinstance(value, _PROTOCOL_META.get(key, ()))
        and not (key in _ID_META and isinstance(value, str) and _PLAIN_ID.fullmatch(value))
    }


def declare_elicitation(message: Json, line: bytes) -> bytes:
    """The line of a client's request in which the client can ask its user by form and by url, as the gateway does."""
    if message.get("method") == "initialize":
        path: tuple[str, ...] = ("params", "capabilities")
    elif is_modern(message):
        path = ("params", "_meta", _CAPABILITIES_META)
    else:
        return line
    at: object = message
    for key in path:
        at = as_object(at).get(key, {})
        if not isinstance(at, dict):
            return line
    declared = as_object(as_object(at).get("elicitation"))
    missing: Json = {
        mode: {} for mode in ("form", "url") if not isinstance(declared.get(mode), dict)
    }
    if not missing:
        return line
    changed = {"elicitation": {**declared, **missing}}
    return with_members(line.decode(), path, changed).encode() + b"\n"


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
    """Return True if a request is of the newer generation."""
    return VERSION_META in as_object(params(message).get("_meta"))


def progress_tokens(message: Json) -> list[object]:
    """Return the tokens under which a client wants progress of a request to be reported: one, or none."""
    token = as_object(params(message).get("_meta")).get("progressToken")
    return [] if token is None else [token]


def elicitations(fields: Json) -> dict[str, Json]:
    """The elicitations among the requests for input in a result or a notification, by their keys."""
    wanted = as_object(fields.get("inputRequests"))
    return {
        key: params(each)
        for key, each in wanted.items()
        if isinstance(each, dict) and each.get("method") == ELICITATION
    }


def inputs(fields: Json) -> frozenset[str]:
    """The keys of all requests for input in a result or a notification."""
    return frozenset(as_object(fields.get("inputRequests")))


def required_links(response: Json) -> list[Json]:
    """The links that a person has to open before a request is made again, as its error says; else none."""
    error = as_object(response.get("error"))
    found = objects(as_object(error.get("data")).get("elicitations"))
    is_link = [each.get("mode") == "url" for each in found]
    is_required = error.get("code") == _LINKS_REQUIRED and len(found) <= _MAX_LINKS
    return found if is_required and all(is_link) else []


def without_elicitations(fields: Json) -> Json:
    """The same with the other requests for input only."""
    asked = elicitations(fields)
    rest = {key: each for key, each in fields["inputRequests"].items() if key not in asked}
    return {**fields, "inputRequests": rest}


def continues(message: Json) -> bool:
    """Return True if a request is sent again after input was required."""
    return not params(message).keys().isdisjoint({"inputResponses", "requestState"})


def with_answers(line: bytes, answers: Json, **state: str | None) -> bytes:
    """The line of a request as its client sends it again, with answers and with the state of the round, if given."""
    changed = {"inputResponses": answers, **state}
    return with_members(line.decode(), ["params"], changed).encode() + b"\n"


def with_arguments(line: bytes, edited: str) -> bytes:
    """The line of a call with other arguments, as JSON; what is not changed in it keeps its bytes."""
    message = strict_json.members(line.decode())
    fields = strict_json.members(message["params"])
    fields["arguments"] = json_edits.merge(fields.get("arguments", "{}"), edited)
    message["params"] = _object_of(fields)
    return _object_of(message).encode() + b"\n"


def with_text(line: bytes, text: str) -> bytes:
    """The line of a call's result with a text for the model added to its content; what was there keeps its bytes."""
    message = strict_json.members(line.decode())
    result = strict_json.members(message["result"])
    blocks = strict_json.written_items(result["content"])
    blocks.append(json.dumps({"type": "text", "text": text}))
    result["content"] = f"[{', '.join(blocks)}]"
    message["result"] = _object_of(result)
    return _object_of(message).encode() + b"\n"


def _object_of(members: dict[str, str]) -> str:
    return f"{{{', '.join(f'{json.dumps(key)}: {value}' for key, value in members.items())}}}"


def task_update(request_id: str, request: Json, task: object, answers: Json) -> Json:
    """A request that gives a task answers to the input that it requires, as the client would that has asked for it."""
    meta = _without(as_object(params(request).get("_meta")), "progressToken")
    fields: Json = {"taskId": task, "inputResponses": answers}
    fields |= {"_meta": meta} if meta else {}
    return {"jsonrpc": "2.0", "id": request_id, "method": TASK_UPDATE, "params": fields}


def round_key(request: Json, state: object) -> str:
    """Return a key that a request keeps when it is sent again after input was required."""
    again = _without(params(request), "_meta", "inputResponses", "requestState")
    same = [request.get("method"), again, vendor_meta(request), state]
    return strict_json.dump_as_written(same)


def _without(fields: Json, *names: str) -> Json:
    return {key: value for key, value in fields.items() if key not in names}
