"""Reads a request: its JSON, its files, the ids in its path; refuses what is malformed.

https://docs.discord.com/developers/reference#uploading-files.
"""

import json
import re
import secrets
from dataclasses import dataclass, field

from aiohttp import BodyPartReader, web

from tests.fakes.discord.faults import Call
from tests.fakes.discord.problems import Payload, RefusalError, invalid

# https://docs.discord.com/developers/reference#user-agent
USER_AGENT = re.compile(r"^DiscordBot \(https?://[^\s,()]+,? [^\s()]+\)")
# https://github.com/discord/discord-api-docs/issues/3733
LARGEST_ID = (1 << 63) - 1
LOGGED = web.RequestKey("logged", Call)
FILE_MAX, REQUEST_MAX, FILES_MAX = 10 * 1024 * 1024, 25 * 1024 * 1024, 10


@dataclass
class Incoming:
    """A request's JSON and the files that came beside it."""

    body: Payload
    attachments: list[Payload] = field(default_factory=list)


def ids(request: web.Request, *names: str) -> tuple[int, ...]:
    """Snowflakes from the path."""
    values = [request.match_info[name] for name in names]
    for name, value in zip(names, values, strict=True):
        if not value.isdecimal():
            raise invalid(
                (f"{name}_id",), "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.'
            )
        if int(value) > LARGEST_ID:
            said = f"snowflake value should be less than or equal to {LARGEST_ID}."
            raise invalid((f"{name}_id",), "NUMBER_TYPE_MAX", said)
    return tuple(int(value) for value in values)


async def read(request: web.Request) -> Incoming:
    """The body, as JSON or multipart with payload_json and files."""
    if (request.content_length or 0) > REQUEST_MAX:
        raise RefusalError(40005)
    if request.content_type == "multipart/form-data":
        return await _read_multipart(request)
    if request.content_type != "application/json":
        raise RefusalError(
            50035,
            status=400,
            extra={"message": 'Expected "Content-Type" header to be application/json.'},
        )
    return Incoming(_parse(await request.read()))


def _parse(raw: bytes) -> Payload:
    try:
        body = json.loads(raw)
    except ValueError as error:
        raise RefusalError(50109) from error
    if not isinstance(body, dict):
        raise invalid((), "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType")
    return body


async def _read_multipart(request: web.Request) -> Incoming:
    incoming = Incoming({})
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            continue
        raw = await part.read()
        if part.name == "payload_json":
            incoming.body = _parse(bytes(raw))
        elif part.name and re.fullmatch(r"files\[\d+\]", part.name):
            if len(raw) > FILE_MAX:
                raise RefusalError(40005)
            incoming.attachments.append(
                {
                    "id": f"{part.name[6:-1]}{secrets.randbits(40)}",
                    "filename": part.filename or "file",
                    "size": len(raw),
                    "url": "",
                    "proxy_url": "",
                    "text": bytes(raw).decode("utf-8", "replace"),
                }
            )
    request[LOGGED].body = incoming.body
    if len(incoming.attachments) > FILES_MAX:
        raise invalid(
            ("attachments",), "BASE_TYPE_MAX_LENGTH", f"Must be {FILES_MAX} or fewer in length."
        )
    return incoming
