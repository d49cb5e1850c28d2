"""The messages of MCP clients, read as strictly as every other body: the SDK takes the last of two keys that are equal,
numbers that JSON does not have, and answers nothing to what it cannot read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, RequestId
from pydantic import JsonValue

from answerback.core.errors import ProblemError
from answerback.service.json_bodies import parse_json
from answerback_base.strict_json import is_all_encodable, is_encodable


def read_message(body: bytes) -> dict[str, JsonValue]:
    """Read the message in a body. Empty if the body is not a message, which the SDK then reports.

    Raises:
        ProblemError: 400; it is not JSON, or contains something that is not text.
    """
    message = parse_json(body)
    if not is_all_encodable(message):
        # The SDK refuses it only in the older revisions, and without a reason.
        detail = "The body contains half a surrogate pair, which is not valid text."
        raise ProblemError(400, "Malformed JSON", detail)
    return message if isinstance(message, dict) else {}


class InputLines:
    """The lines of standard input that are messages. The others are answered with an error."""

    answer: Callable[[SessionMessage], Awaitable[None]]
    """Set before the first line is read."""

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in anyio.wrap_file(sys.stdin.buffer):
            try:
                read_message(line)
            except ProblemError as error:
                data = ErrorData(code=PARSE_ERROR, message=str(error.detail))
                wrong = JSONRPCError(jsonrpc="2.0", id=_id_of(line), error=data)
                await self.answer(SessionMessage(wrong))
            else:
                yield line.decode()


def _id_of(line: bytes) -> RequestId | None:
    """The id of a message that is not read otherwise; None if it has none that can be returned."""
    try:
        found = json.loads(line)["id"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return None
    is_id = type(found) is int or (isinstance(found, str) and is_encodable(found))
    return found if is_id else None
