"""Telegram's rules for photos, documents and albums, and the changes that it makes to them.

https://core.telegram.org/bots/api#sendphoto, #senddocument, #sendmediagroup and #sending-files; the numbers are the
library's.
"""

from __future__ import annotations

import itertools
import json
import struct
from typing import Any, Final

from aiohttp import web
from telegram.constants import FileSizeLimit, MediaGroupLimit, MessageLimit

from answerback.presentation.text_fitting import utf16_length
from tests.fakes.telegram.rules import Parsed, bad, parse_html

_ids: Final = itertools.count(1)
_MAX_SIDES: Final = 10_000
_MAX_RATIO: Final = 20
MAX_BODY: Final = 60 * 1024 * 1024


class Sent(bytes):
    """A file that came with a call."""

    name: str
    media_type: str


async def read_body(request: web.Request) -> dict[str, Any]:
    """Return the parameters of a call: files are in those that name them, and everything else is a text or JSON."""
    if request.content_type != "multipart/form-data":
        body: dict[str, Any] = await request.json()
        return body
    body = {}
    for name, value in (await request.post()).items():
        if isinstance(value, web.FileField):
            with value.file as opened:
                body[name] = file = Sent(opened.read())
            file.name, file.media_type = value.filename, value.content_type
        else:
            body[name] = _value(name, str(value))
    return body


def without_attached(body: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a call without the files to which one of them refers by ``attach://``."""
    named = {str(each["media"]).removeprefix("attach://") for each in body.get("media") or ()}
    return {name: value for name, value in body.items() if name not in named}


def _value(name: str, text: str) -> Any:
    return text if name in {"caption", "parse_mode", "chat_id"} else json.loads(text)


def read_caption(body: dict[str, Any]) -> Parsed:
    """Return a caption, which may be empty."""
    if not body.get("caption"):
        return Parsed("", (), (), (), ())
    parsed = parse_html(body["caption"])
    if utf16_length(parsed.text) > MessageLimit.CAPTION_LENGTH:
        raise bad("message caption is too long")
    return parsed


def items_of(method: str, body: dict[str, Any]) -> list[tuple[Any, Parsed, dict[str, Any]]]:
    """Return what a call sends: the file of each message, its caption, and what the message has instead of a text."""
    if method != "sendMediaGroup":
        kind = "photo" if method == "sendPhoto" else "document"
        return [(body[kind], read_caption(body), _content(kind, body[kind], body))]
    media = body["media"]
    low, high = MediaGroupLimit.MIN_MEDIA_LENGTH, MediaGroupLimit.MAX_MEDIA_LENGTH
    if not low <= len(media) <= high:
        raise bad("wrong number of messages to send as an album")
    kinds = {each["type"] for each in media}
    if not (kinds <= {"photo", "video"} or len(kinds) == 1):
        raise bad("document can't be mixed with other media types")
    group = {"media_group_id": f"album{next(_ids)}"}
    sent = [(body[each["media"].removeprefix("attach://")], each) for each in media]
    return [
        (file, read_caption(each), _content(each["type"], file, each) | group)
        for file, each in sent
    ]


def _content(kind: str, file: object, body: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(file, Sent) or not file:
        raise bad(
            "there is no photo in the request" if kind == "photo" else "file must be non-empty"
        )
    number = next(_ids)
    about = {"file_id": f"f{number}", "file_unique_id": f"u{number}", "file_size": len(file)}
    if kind == "photo":
        width, height = _size(file)
        if len(file) > FileSizeLimit.PHOTOSIZE_UPLOAD:
            raise bad("file is too big")
        if width + height > _MAX_SIDES or max(width, height) > _MAX_RATIO * min(width, height):
            raise bad("PHOTO_INVALID_DIMENSIONS")
        return {"photo": [about | {"width": width, "height": height}]}
    if len(file) > FileSizeLimit.FILESIZE_UPLOAD:
        raise bad("file is too big")
    assert body["disable_content_type_detection"] is True
    if file.media_type == "image/webp":
        return {
            "sticker": about
            | {"width": 1, "height": 1, "is_animated": False, "is_video": False, "type": "regular"}
        }
    return {"document": about | {"file_name": file.name, "mime_type": file.media_type}}


def _size(file: Sent) -> tuple[int, int]:
    """Return the size of a photo. Its name has to end as what it is: IMAGE_PROCESS_FAILED otherwise."""
    ending = file.name.rpartition(".")[2]
    if ending == "png" and file.startswith(b"\x89PNG"):
        width, height = struct.unpack_from(">II", file, 16)
        return width, height
    if ending == "jpg" and file.startswith(b"\xff\xd8"):
        at = file.index(b"\xff\xc0") + 5
        height, width = struct.unpack_from(">HH", file, at)
        return width, height
    if ending == "webp" and file[8:16] == b"WEBPVP8X":
        sizes = (int.from_bytes(file[at : at + 3], "little") + 1 for at in (24, 27))
        return next(sizes), next(sizes)
    raise bad("IMAGE_PROCESS_FAILED")
