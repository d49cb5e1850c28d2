"""The pictures in what an agent says of a tool call, and those that people send it with an answer.

Format: https://agentclientprotocol.com/protocol/content#image-content. People get an agent's pictures, which are within
``{"type": "content", "content": …}``, as files of the ask: in its arguments, a picture of the usual size would be more
than a call may have. An agent gets theirs in its next prompt, if it takes pictures there.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from answerback_agents.pipe.ask_people import AgentFile
from answerback_agents.pipe.json_rpc import Json, as_object

_MAX_FILES: Final = 10
_MAX_FILE: Final = 10 * 2**20
MAX_BYTES: Final = 20 * 2**20
"""Bytes of a picture, and of all pictures of a call: what the service takes."""
_MAX_SENT: Final = 1_000_000
_MAX_ALL_SENT: Final = 4_000_000
"""Bytes of a picture in a prompt, and of all of an answer: an agent reads larger ones where they are saved."""


def picture_blocks(files: Sequence[Json]) -> Iterator[Json]:
    """Yield blocks with the pictures among saved files, as far as they are small."""
    left = _MAX_ALL_SENT
    for each in files:
        path, media_type, size = each.get("path"), str(each.get("media_type")), each.get("bytes")
        if not isinstance(path, str) or not media_type.startswith("image/"):
            continue
        if not isinstance(size, int) or size > min(_MAX_SENT, left):
            continue
        with suppress(OSError):  # its path is in the text
            data = Path(path).read_bytes()
            left -= len(data)
            encoded = base64.b64encode(data).decode()
            yield {"type": "image", "mimeType": media_type, "data": encoded}


def take_pictures(tool_call: Json) -> tuple[Json, tuple[AgentFile, ...]]:
    """Return a tool call in which pictures are named in place of their bytes, and the pictures."""
    content = tool_call.get("content")
    if not isinstance(content, list):
        return tool_call, ()
    files: list[AgentFile] = []
    blocks = [_named(block, files) for block in content]
    return {**tool_call, "content": blocks}, tuple(files)


def _named(block: object, files: list[AgentFile]) -> object:
    """Return a block without the bytes of a picture, which are added to the files if there is room."""
    fields = as_object(block)
    inner = as_object(fields.get("content"))
    encoded = inner.get("data")
    if (fields.get("type"), inner.get("type")) != ("content", "image") or not isinstance(
        encoded, str
    ):
        return block
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return _with_data(fields, f"a picture of {len(encoded)} characters, which is not base64")
    size = f"{max(1, round(len(data) / 1000))} kB"
    room = MAX_BYTES - sum(len(each.data) for each in files)
    if len(files) == _MAX_FILES or len(data) > min(_MAX_FILE, room):
        return _with_data(fields, f"a picture of {size}, which is too much to show")
    ending = str(inner.get("mimeType")).rpartition("/")[2].removesuffix("+xml")
    name = f"picture-{len(files) + 1}.{ending if ending.isalnum() else 'bin'}"
    files.append(AgentFile(name, data))
    return _with_data(fields, f"{name}, {size}")


def _with_data(block: Json, data: str) -> Json:
    return {**block, "content": {**block["content"], "data": data}}
