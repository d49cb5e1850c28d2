"""Files that agents send: uploads, and what a submission says of its files."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.errors import Problem, ProblemError, TooManyFilesError
from answerback.core.files import (
    CLAIM_SECONDS,
    DOWNLOAD,
    MAX_BYTES,
    MAX_FILE,
    MAX_INLINE,
    MAX_PIXELS,
    AttachedFile,
    clean_name,
)
from answerback.core.picture_header import read_picture
from answerback.ports.clock import Clock
from answerback.ports.files import CHUNK, FileStore
from answerback.service.submission_request import SubmittedFile

_RETRY_AFTER: Final = 60
"""Seconds after which an agent with too many uploads may try again: an ask may have named some."""
_MIB: Final = 1024 * 1024


class Attachments(NamedTuple):
    """The files of a submission, and the bytes of those that stand in it, by their ids."""

    files: tuple[AttachedFile, ...] = ()
    inline: Mapping[str, bytes] = {}


NO_ATTACHMENTS: Final = Attachments()


@dataclass(frozen=True, slots=True)
class Files:
    """Takes in files, and finds those that a submission names."""

    store: FileStore
    clock: Clock

    async def upload(
        self, name: str, parts: AsyncIterator[bytes], agent: str, limit: int
    ) -> AttachedFile:
        """Store a file that arrives in parts.

        Args:
            limit: how many of the agent's files may be unclaimed; 0: any number.

        Raises:
            ProblemError: 413 if it has too many bytes, 422 if it is empty, or has no name, or too many pixels.
            TooManyFilesError: the agent has uploaded too many that no ask has named.
        """
        cleaned = clean_name(name)
        if not cleaned:
            raise _refused(_no_name("/name"))
        file_id = _new_id()
        try:
            if await self.store.begin(file_id, agent, self.clock.now(), limit):
                return await self._receive(file_id, cleaned, parts)
        except BaseException:
            # Also if the caller has gone: this is then cancelled, but not the task that it starts.
            await asyncio.shield(self.store.drop(file_id))
            raise
        raise TooManyFilesError(limit, _RETRY_AFTER)

    async def _receive(self, file_id: str, name: str, parts: AsyncIterator[bytes]) -> AttachedFile:
        digest, size, number, rest, start = hashlib.sha256(), 0, 0, bytearray(), b""
        async for part in parts:
            size += len(part)
            if size > MAX_FILE:
                detail = f"A file may have at most {MAX_FILE // _MIB} MiB ({MAX_FILE:,} bytes)."
                raise ProblemError(413, "Content too large", detail)
            digest.update(part)
            rest += part
            while len(rest) >= CHUNK:
                chunk = bytes(rest[:CHUNK])
                start = start or chunk
                await self.store.add_chunk(file_id, number, chunk)
                del rest[:CHUNK]
                number += 1
        found = describe_file(file_id, name, size, digest.hexdigest(), start or bytes(rest))
        if isinstance(found, str):
            raise _refused(Problem(pointer="", code="wrong_type", message=found))
        if rest:
            await self.store.add_chunk(file_id, number, bytes(rest))
        await self.store.finish(found)
        return found

    async def read(
        self, submitted: Sequence[SubmittedFile], agent: str
    ) -> Attachments | tuple[Problem, ...]:
        """Return the files that a submission names or contains, or everything that is wrong with them."""
        ids = [each.id for each in submitted if each.id is not None]
        since = self.clock.now() - CLAIM_SECONDS
        unclaimed = await self.store.find_unclaimed(ids, agent, since) if ids else ()
        known = {each.id: each for each in unclaimed}
        problems: list[Problem] = []
        files: list[AttachedFile] = []
        inline: dict[str, bytes] = {}
        for index, each in enumerate(submitted):
            pointer = f"/files/{index}"
            if each.id is None:
                read = _read_inline(each, pointer)
                if isinstance(read, Problem):
                    problems.append(read)
                    continue
                file, data = read
                inline[file.id] = data
            elif each.id in known:
                file = known.pop(each.id)
            else:
                problems.append(_no_such_file(f"{pointer}/id", each.id))
                continue
            files.append(file.model_copy(update={"alt": each.alt}))
        problems += _check_sizes(files, inline)
        return tuple(problems) if problems else Attachments(tuple(files), inline)

    async def identify(self, submitted: Sequence[SubmittedFile]) -> list[JsonValue]:
        """Return what tells whether a repeated submission has the same files, whatever ids they have by now."""
        found: list[JsonValue] = []
        for each in submitted:
            stored = None if each.id is None else await self.store.get(each.id)
            file: JsonValue = each.model_dump(mode="json", exclude={"alt"})
            found.append([each.alt, [stored.file.name, stored.file.sha256] if stored else file])
        return found

    async def store_inline(self, attachments: Attachments, agent: str) -> None:
        """Store the files that stand in a submission, for its ask to claim."""
        for file in attachments.files:
            if (data := attachments.inline.get(file.id)) is not None:
                await self.store.begin(file.id, agent, self.clock.now(), 0)
                await self.store.add_chunk(file.id, 0, data)
                await self.store.finish(file)


def files_gone(files: Sequence[AttachedFile]) -> tuple[Problem, ...]:
    """Return what is wrong with a submission one of whose files was claimed or deleted in the meantime."""
    return tuple(_no_such_file(f"/files/{n}/id", each.id) for n, each in enumerate(files))


def _new_id() -> str:
    return f"file_{secrets.token_hex(16)}"


def describe_file(
    file_id: str, name: str, size: int, digest: str, start: bytes
) -> AttachedFile | str:
    """Return a file as its bytes describe it, or a sentence that says why it is refused."""
    if size == 0:
        return "The file is empty. Send its bytes as the body."
    picture = read_picture(start)
    if picture is None:
        return AttachedFile(id=file_id, name=name, media_type=DOWNLOAD, bytes=size, sha256=digest)
    media_type, width, height = picture
    if width * height > MAX_PIXELS:
        found = f"The picture {name} has {width:,} × {height:,} pixels"
        return f"{found}; a picture may have at most {MAX_PIXELS:,}. Make it smaller."
    return AttachedFile(
        id=file_id,
        name=name,
        media_type=media_type,
        bytes=size,
        sha256=digest,
        width=width,
        height=height,
    )


def read_inline(submitted: Sequence[SubmittedFile]) -> Attachments | tuple[Problem, ...]:
    """Return the files that stand in a submission, or what is wrong with them; not those that it names by ids."""
    files: list[AttachedFile] = []
    inline: dict[str, bytes] = {}
    problems: list[Problem] = []
    for index, each in enumerate(submitted):
        if each.id is not None:
            continue
        read = _read_inline(each, f"/files/{index}")
        if isinstance(read, Problem):
            problems.append(read)
        else:
            files.append(read[0].model_copy(update={"alt": each.alt}))
            inline[read[0].id] = read[1]
    problems += _check_sizes(files, inline)
    return tuple(problems) if problems else Attachments(tuple(files), inline)


def _read_inline(sent: SubmittedFile, pointer: str) -> tuple[AttachedFile, bytes] | Problem:
    name = clean_name(sent.name or "")
    if not name:
        return _no_name(f"{pointer}/name")
    try:
        data = base64.b64decode(sent.data or "", validate=True)
    except (binascii.Error, ValueError):
        message = f"The data of the file {name} is not valid base64."
        return Problem(pointer=f"{pointer}/data", code="wrong_type", message=message)
    digest = hashlib.sha256(data).hexdigest()
    found = describe_file(_new_id(), name, len(data), digest, data)
    if isinstance(found, str):
        return Problem(pointer=f"{pointer}/data", code="wrong_type", message=found)
    return found, data


def _check_sizes(files: Sequence[AttachedFile], inline: Mapping[str, bytes]) -> list[Problem]:
    problems = []
    if sum(map(len, inline.values())) > MAX_INLINE:
        message = (
            f"The files in the submission itself may have at most {MAX_INLINE // 1024} KiB together. Upload them with "
            "POST /v1/files."
        )
        problems.append(Problem(pointer="/files", code="too_long", message=message))
    if sum(each.bytes for each in files) > MAX_BYTES:
        message = f"The files of an ask may have at most {MAX_BYTES // _MIB} MiB together."
        problems.append(Problem(pointer="/files", code="too_long", message=message))
    return problems


def _no_such_file(pointer: str, file_id: str) -> Problem:
    message = (
        f'You have no file "{file_id[:100]}" that an ask can name: it is used already, was uploaded more than an hour '
        "ago, or is another agent's. Upload it again."
    )
    return Problem(pointer=pointer, code="no_such_file", message=message)


def _no_name(pointer: str) -> Problem:
    message = "The file has no name. Give it one, such as before.png."
    return Problem(pointer=pointer, code="empty", message=message)


def _refused(problem: Problem) -> ProblemError:
    return ProblemError(422, "Invalid file", problem.message, [problem])
