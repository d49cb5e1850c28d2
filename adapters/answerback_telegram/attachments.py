"""Which files of a message are read: a photo in its largest size, a document, a video, an audio file. Pure.

https://core.telegram.org/bots/api#message
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback_chat.control_codec import object_of, objects_of, text_of

_KINDS: Final = {"document": "file", "video": "video.mp4", "audio": "audio.mp3"}
"""The fields of a message that are read, and the name of one that has none. An animation is a document, too."""


class Attachment(NamedTuple):
    """A photo or a file of a message."""

    id: str
    name: str
    bytes: int | None
    """Its size as Telegram announces it."""


def attachments_of(message: Mapping[str, JsonValue], number: str) -> tuple[Attachment, ...]:
    """Return what a message has that is read: one photo or file, or none.

    Args:
        number: the id of the message, which tells photos apart: they have no name.
    """
    found = [
        _attachment(object_of(message.get(kind)), name)
        for kind, name in _KINDS.items()
        if kind in message
    ]
    if sizes := objects_of(message.get("photo")):
        largest = max(sizes, key=_pixels)
        found.append(_attachment(largest, f"photo-{number}.jpg"))
    return tuple(each for each in found if each is not None)


def _attachment(file: Mapping[str, JsonValue], name: str) -> Attachment | None:
    id, size = text_of(file.get("file_id")), file.get("file_size")
    own = text_of(file.get("file_name"))
    return Attachment(id, own or name, size if isinstance(size, int) else None) if id else None


def _pixels(size: Mapping[str, JsonValue]) -> int:
    sides = size.get("width"), size.get("height")
    width, height = (side if isinstance(side, int) else 0 for side in sides)
    return width * height
