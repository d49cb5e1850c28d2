"""Files in the store: uploaded in chunks, claimed by an ask, and deleted with it or if no ask claims them.

Agents send them with a call, people with an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from answerback.core.files import AttachedFile
from answerback.core.people import account_id
from answerback.core.person import Person

CHUNK: Final = 256 * 1024
"""Bytes of a chunk, each of which is a transaction of its own: a click waits for one of them at most."""


class StoredFile(NamedTuple):
    """An uploaded file; ``ask_id`` is None until an ask claims it."""

    file: AttachedFile
    agent: str
    """Who uploaded it: an agent (empty: there are no tokens), or a person by `uploader_name`."""
    ask_id: str | None
    at: float


def uploader_name(person: Person) -> str:
    """Return what a person's uploads are stored under, in place of an agent's name."""
    return f"person {account_id(person)}"


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
    """Files that agents and people send.

    `AskStore.create` claims those of a new ask's request, `AskStore.change` those of an answer: all or none.
    """

    async def begin(self, file_id: str, agent: str, at: float, limit: int) -> bool:
        """Begin an upload; False if that many of the agent's uploads are unclaimed (0: no limit).

        The agent may begin it again until it is complete. False, too, if another agent has begun it, or it is complete.
        Uploads that an agent begins at the same moment in several processes may exceed the limit.
        """

    async def add_chunk(self, file_id: str, number: int, data: bytes) -> None:
        """Store the next chunk of an upload; all but the last have `CHUNK` bytes. A repeated one changes nothing."""

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

    async def sweep(self, file_ids: Iterable[str]) -> None:
        """Delete the bytes of files that are deleted, in small steps."""

    async def delete_remains(self) -> None:
        """Delete what was left of deleted files when a process died."""


class PeopleFiles(Protocol):
    """The part of the service that takes in people's files, and removes place and device from pictures."""

    async def begin(self, person: Person) -> str:
        """Begin an upload in chunks, and return its id.

        Raises:
            TooManyFilesError: the person has sent too many files that no answer has named.
        """

    async def add_chunk(self, upload_id: str, number: int, data: bytes) -> None:
        """Store a chunk of `CHUNK` bytes, or the last one. A repeated one changes nothing.

        Raises:
            ProblemError: 422 if it is none of this upload.
        """

    async def finish(self, upload_id: str, person: Person, name: str, chunks: int) -> AttachedFile:
        """End an upload of this many chunks, and return the file, also if that is repeated.

        Raises:
            ProblemError: 413 or 422, with a sentence for the person, if it is refused.
        """

    async def take(self, name: str, data: bytes, person: Person) -> AttachedFile:
        """Store a whole file; the errors are those of `begin` and `finish`."""

    async def drop(self, file_id: str) -> None:
        """Delete a file that goes with no answer after all; one that an ask has claimed stays."""

    async def find(
        self, file_ids: Sequence[str], person: Person, ask_id: str
    ) -> tuple[AttachedFile, ...]:
        """Return files that a person may send with an answer to an ask: their own, unclaimed or already its own.

        Raises:
            ProblemError: 422 if one of them is none, or not any more.
        """
