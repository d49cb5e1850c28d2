"""An ask's pictures in Discord: attachments of its message, which a media gallery shows above the buttons.

https://docs.discord.com/developers/reference#uploading-files. The first post brings them, and edits leave them alone.
A picture never holds up a prompt: after a post with pictures that failed, the next one goes without them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.files import AttachedFile
from answerback.ports.files import FileReader, read_whole
from answerback_discord.api_client import Upload

STORED: Final = "files"
"""The key, in the reference of a message, of the ids of the files that it shows."""
_ENDINGS: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_MOST_FAILED: Final = 1_000

Named = Mapping[str, str]
"""The names of attachments, by the ids of the files."""


class Pictures:
    """The pictures of messages.

    Args:
        files: where their bytes are read.
    """

    def __init__(self, files: FileReader) -> None:
        self._files = files
        self._failed: dict[str, None] = {}
        """Asks whose posts with pictures failed."""

    def to_show(self, ask: Ask) -> Named:
        """Return the pictures that the message of an ask shows, or is to be posted with."""
        if not ask.request.files:
            return {}
        if is_posted(ask.placement.message):
            return shown(ask)
        return {} if ask.id in self._failed else name_attachments(ask.request.files)

    def note_failure(self, ask: Ask) -> None:
        """Note that a post with pictures failed."""
        while len(self._failed) >= _MOST_FAILED:
            del self._failed[next(iter(self._failed))]
        self._failed[ask.id] = None

    async def read(self, ask: Ask, named: Named) -> list[Upload]:
        """Return the uploads that a post brings."""
        return [
            Upload(named[each.id], each.media_type, await read_whole(self._files, each.id))
            for each in ask.request.files
            if each.id in named
        ]


def is_posted(message: Mapping[str, JsonValue] | None) -> bool:
    return isinstance((message or {}).get("id"), str)


def shown(ask: Ask) -> Named:
    """Return the pictures that the live message of an ask shows."""
    if not ask.request.files:
        return {}
    ids = (ask.placement.message or {}).get(STORED)
    return name_attachments(ask.request.files, ids if isinstance(ids, list) else ())


def name_attachments(
    files: Iterable[AttachedFile], among: Collection[JsonValue] | None = None
) -> Named:
    """Name the pictures of an ask as attachments.

    Args:
        among: the ids of those that are attached; None: all are.
    """
    pictures = ((n, each) for n, each in enumerate(files) if each.is_picture)
    return {
        each.id: f"picture{n}.{_ENDINGS[each.media_type]}"
        for n, each in pictures
        if among is None or each.id in among
    }
