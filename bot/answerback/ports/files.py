"""Files in the store: uploaded in chunks, claimed by an ask, and deleted with it or if no ask claims them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple, Protocol

from answerback.core.files import AttachedFile

CHUNK: Final = 256 * 1024
"""Bytes of a chunk, each of which is a transaction of its own: a click waits for one of them at most."""


class StoredFile(NamedTuple):
    """An uploaded file; ``ask_id`` is None until an ask claims it."""

    file: AttachedFile
    agent: str
    """Who uploaded it; empty: there are no tokens."""
    ask_id: str | None
    at: float


class FileReader(Protocol):
    """Reads files for surfaces."""

    async def get(self, file_id: str) -> StoredFile | None:
        """A file that is complete; None if there is none with this id."""

    async def read_chunk(self, file_id: str, number: int) -> bytes:
        """A chunk of a file; empty behind the last one, and once the file is deleted."""


async def read_whole(files: FileReader, file_id: str) -> bytes:
    """Read all of a file, for a platform that takes it in one piece."""
    data = bytearray()
    number = 0
    while chunk := await files.read_chunk(file_id, number):
        data += chunk
        number += 1
    return bytes(data)


class FileStore(FileReader, Protocol):
    """Files that agents send. `AskStore.create` claims those of a new ask's request, all or none."""

    async def begin(self, file_id: str, agent: str, at: float, limit: int) -> bool:
        """Begin an upload; False if that many of the agent's uploads are unclaimed (0: no limit).

        Uploads that an agent begins at the same moment in several processes may exceed the limit.
        """

    async def add_chunk(self, file_id: str, number: int, data: bytes) -> None:
        """Store the next chunk of an upload; all but the last have `CHUNK` bytes."""

    async def finish(self, file: AttachedFile) -> None:
        """End an upload: from now on, the file can be read and claimed."""

    async def drop(self, file_id: str) -> None:
        """Delete a file that no ask has claimed."""

    async def find_unclaimed(
        self, file_ids: Collection[str], agent: str, since: float
    ) -> Sequence[AttachedFile]:
        """Return the files among these that the agent can still name: uploaded by it since then, and not claimed."""

    async def prune(self, before: float) -> int:
        """Delete uploads from before then that no ask has claimed; return how many."""

    async def delete_remains(self) -> None:
        """Delete what was left of deleted files when a process died."""
