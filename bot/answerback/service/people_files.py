"""Files that people send with their answers: taken in by surfaces, and cleared of what devices write into pictures."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from answerback.core.answer_files import FILE_REFUSED
from answerback.core.errors import ProblemError, TooManyFilesError
from answerback.core.files import (
    CLAIM_SECONDS,
    MAX_FILE,
    MAX_FILES,
    AttachedFile,
    clean_name,
    too_large,
)
from answerback.core.person import Person
from answerback.core.picture_header import read_picture
from answerback.core.picture_metadata import remove_metadata
from answerback.ports.clock import Clock
from answerback.ports.files import CHUNK, FileStore, read_whole, uploader_name
from answerback.service.files import describe_file

MAX_UNCLAIMED: Final = 4 * MAX_FILES
"""A person's uploads that no answer has named."""
_RETRY_AFTER: Final = 60
_UPLOAD: Final = re.compile("upload_([0-9a-f]{32})")
"""The id of an upload in progress, which is never that of a file."""
_MAX_CHUNKS: Final = -(-MAX_FILE // CHUNK)
_AT_ONCE: Final = 2
"""Uploads that are read back at a time: each is in memory as a whole, twice."""
_NOT_CLEARED: Final = re.compile(
    rb"....ftyp(?:hei[cfmsx]|hev[cmsx]|mif[12]|msf1|avi[fos]|crx )|\0\0\0\x0c(?:JXL |jP  )|II[*+]\0|MM\0[*+]"
    rb"|IIU\0|IIR[OS]|MMOR|FUJIFILMCCD-RAW",
    re.DOTALL,
)
"""The beginning of pictures whose metadata stays: HEIF and AVIF (ISO/IEC 23008-12, 10), JPEG XL and JPEG 2000, TIFF
(TIFF 6.0, 2) and what cameras derive from it as raw pictures."""
_AS_PICTURE: Final = re.compile(
    rb"\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|RIFF....WEBP", re.DOTALL
)
"""The beginning of pictures whose metadata is removed."""


@dataclass(frozen=True, slots=True)
class PeopleFiles:
    store: FileStore
    clock: Clock
    _reading: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def begin(self, person: Person) -> str:
        upload_id = f"upload_{secrets.token_hex(16)}"
        await self._begin(upload_id, person)
        return upload_id

    async def _begin(self, file_id: str, person: Person, limit: int = MAX_UNCLAIMED) -> None:
        if not await self.store.begin(file_id, uploader_name(person), self.clock.now(), limit):
            raise TooManyFilesError(limit, _RETRY_AFTER, of_agent=False)

    async def add_chunk(self, upload_id: str, number: int, data: bytes) -> None:
        if not (_UPLOAD.fullmatch(upload_id) and 0 <= number < _MAX_CHUNKS and len(data) <= CHUNK):
            raise _refused("This is not part of an upload.")
        await self.store.add_chunk(upload_id, number, data)

    async def finish(self, upload_id: str, person: Person, name: str, chunks: int) -> AttachedFile:
        match = _UPLOAD.fullmatch(upload_id)
        if match is None:
            raise _refused("This is no upload.")
        file_id = f"file_{match[1]}"
        if (done := await self._stored(file_id, person)) is not None:  # the response to it was lost
            return done
        async with self._reading:
            try:
                return await self._store_upload(upload_id, file_id, name, chunks, person)
            except (ProblemError, TooManyFilesError):
                # The same may have been sent before, and was stored meanwhile.
                if (done := await self._stored(file_id, person)) is not None:
                    return done
                raise

    async def _stored(self, file_id: str, person: Person) -> AttachedFile | None:
        found = await self.store.get(file_id)
        return None if found is None or found.agent != uploader_name(person) else found.file

    async def _store_upload(
        self, upload_id: str, file_id: str, name: str, chunks: int, person: Person
    ) -> AttachedFile:
        data = await read_whole(self.store, upload_id)
        if not 0 < chunks <= _MAX_CHUNKS or -(-len(data) // CHUNK) != chunks:
            raise _refused(f"Not all of {name} has arrived. Attach it again.")
        try:
            return await self._store(file_id, name, data, person)
        finally:
            await self.store.drop(upload_id)

    async def take(self, name: str, data: bytes, person: Person) -> AttachedFile:
        return await self._store(f"file_{secrets.token_hex(16)}", name, data, person)

    async def _store(self, file_id: str, name: str, data: bytes, person: Person) -> AttachedFile:
        name = clean_name(name) or "file"
        if len(data) > MAX_FILE:
            raise ProblemError(413, "Content too large", too_large(name))
        if not data:
            raise _refused(f"{name} is empty.")
        data = await asyncio.to_thread(_cleared, name, data)
        file = describe_file(file_id, name, len(data), hashlib.sha256(data).hexdigest(), data)
        if isinstance(file, str):
            raise _refused(file)
        await self._begin(file_id, person)
        for number, first in enumerate(range(0, len(data), CHUNK)):
            await self.store.add_chunk(file_id, number, data[first : first + CHUNK])
        await self.store.finish(file)
        return file

    async def drop(self, file_id: str) -> None:
        await self.store.drop(file_id)

    async def find(
        self, file_ids: Sequence[str], person: Person, ask_id: str
    ) -> tuple[AttachedFile, ...]:
        uploader, since = uploader_name(person), self.clock.now() - CLAIM_SECONDS
        found = []
        for file_id in dict.fromkeys(file_ids[: MAX_FILES + 1]):
            stored = await self.store.get(file_id)
            if (
                stored is None
                or stored.agent != uploader
                or stored.ask_id not in {None, ask_id}
                or (stored.ask_id is None and stored.at < since)
            ):
                raise _refused("A file that you attached is not there any more. Attach it again.")
            found.append(stored.file)
        return tuple(found)


def _cleared(name: str, data: bytes) -> bytes:
    """Return a file without what its device has written into it, if it is a picture."""
    if _NOT_CLEARED.match(data):
        raise _refused(
            f"{name} is a picture in a format from which the place where it was taken cannot be removed. "
            "Attach it as JPEG or PNG."
        )
    kind = read_picture(data)
    if kind is None:
        if _AS_PICTURE.match(data):
            raise _damaged(name)
        return data
    try:
        return remove_metadata(kind.media_type, data)
    except ValueError as error:
        raise _damaged(name) from error


def _damaged(name: str) -> ProblemError:
    return _refused(f"The picture {name} is damaged. Save it once more, and attach that.")


def _refused(message: str) -> ProblemError:
    return ProblemError(422, "Invalid file", message, [FILE_REFUSED.problem(message)])
