"""The kinds of messages by which Telegram shows pictures: https://core.telegram.org/bots/api#sending-files. Pure."""

from __future__ import annotations

from typing import Final

from answerback.core.files import AttachedFile
from answerback_telegram import limits

PHOTO: Final = "photo"
DOCUMENT: Final = "document"


def kind_of(file: AttachedFile) -> str | None:
    """Return how a picture is sent; None: Telegram does not show it."""
    short, long = sorted((file.width or 0, file.height or 0))
    if (
        file.media_type in limits.PHOTO_TYPES
        and file.bytes <= limits.PHOTO_BYTES
        and short + long <= limits.PHOTO_SIDES
        and long <= limits.PHOTO_RATIO * short
    ):
        return PHOTO
    return DOCUMENT if file.media_type in limits.DOCUMENT_TYPES else None
