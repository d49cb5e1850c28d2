"""Take in the files that people send on a chat platform with what they write: all of a message's, or none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, TypeVar

from answerback.core.answer_files import FILE_REFUSED, TAKES_NO_FILES, refuse_sizes
from answerback.core.ask import Ask
from answerback.core.errors import PlatformError, ProblemError
from answerback.core.files import MAX_FILE, AttachedFile, clean_name, too_large
from answerback.core.intents import Intent, TypedText, WithFiles
from answerback.core.labels import Labels
from answerback.core.person import Person
from answerback.ports.claims import Fence
from answerback.ports.files import PeopleFiles
from answerback.ports.surface import Acted, Actor, Asks, Rejected, RejectReason
from answerback_chat.delays import DELAYS
from answerback_chat.retry import retry

T = TypeVar("T")

_AT_ONCE: Final = 4
"""Files that are read at a time: each is in memory as a whole."""


class SentFile(NamedTuple):
    """A file of a message."""

    name: str
    size: int | None
    """The bytes that the platform announces; None if it announces none."""
    read: Callable[[], AsyncGenerator[bytes, None]]
    """Reads it from the beginning at each call. It raises a PlatformError, whose message says briefly why."""
    look_up: Callable[[], Awaitable[SentFile]] | None = None
    """Returns the file as the platform describes it when asked; None: it is described already. Raises PlatformError."""


class FileTaker:
    """Reads the files of one platform's messages.

    Args:
        platform: its name, for people.
        within: the seconds that the files of a message may take.
    """

    def __init__(
        self, files: PeopleFiles, labels: Labels, platform: str, within: float = DELAYS.files
    ) -> None:
        self._files = files
        self._labels = labels
        self._platform = platform
        self._within = within
        self._reading = asyncio.Semaphore(_AT_ONCE)

    async def take(self, sent: Sequence[SentFile], person: Person) -> tuple[AttachedFile, ...]:
        """Read and store the files of a message.

        Raises:
            ProblemError: why one of them is refused, in words; then none of them stays stored.
        """
        until = asyncio.get_running_loop().time() + self._within
        _check_announced(sent)
        found = [await self._look_up(each, until) for each in sent]
        _check_announced(found)
        taken: list[AttachedFile] = []
        try:
            for each in found:
                data = await self._in_time(each, until, partial(_read_once, each))
                taken.append(await self._files.take(each.name, data, person))
                _check_sizes([file.bytes for file in taken])
        except BaseException:
            await self.drop(taken)
            raise
        return tuple(taken)

    async def drop(self, files: Sequence[AttachedFile]) -> None:
        """Delete files that go with no answer after all. One that an ask has claimed stays."""
        for each in files:
            await self._files.drop(each.id)

    async def apply(
        self,
        asks: Asks,
        intent: Intent,
        actor: Actor,
        sent: Sequence[SentFile],
        fence: Callable[[], Fence | None] = lambda: None,
    ) -> Acted | Rejected:
        """Apply an intent with its files. None is read for a person who may not act, or a second time.

        Args:
            intent: a typed text, or an action that may come with files.
        """
        files = await self.check_and_take(asks, intent, actor, sent, fence)
        if isinstance(files, Acted | Rejected):
            return files
        wanted = intent.wanted
        assert isinstance(wanted, WithFiles | TypedText)
        result: Acted | Rejected | None = None
        try:
            with_files = intent._replace(wanted=replace(wanted, files=files))
            result = await asks.apply(with_files, actor, fence=fence())
        finally:
            if not isinstance(result, Acted) or result.repeated:
                await self.drop(files)
        return result

    async def check_and_take(
        self,
        asks: Asks,
        intent: Intent,
        actor: Actor,
        sent: Sequence[SentFile],
        fence: Callable[[], Fence | None],
    ) -> tuple[AttachedFile, ...] | Acted | Rejected:
        """Take the files of an intent in, which the caller drops unless an ask claims them.

        Returns the result instead if the intent has counted before, or if the person may not act or a file is refused.

        Args:
            intent: with what is wanted, or None if the files decide nothing about that.
        """
        asked = await asks.apply(intent._replace(wanted=None), actor, fence=fence())
        if isinstance(asked, Rejected) or asked.repeated:
            return asked
        if not isinstance(intent.wanted, WithFiles | TypedText | None):
            return Rejected(RejectReason.INVALID, asked.ask, (TAKES_NO_FILES.problem(),))
        try:
            return await self.take(sent, actor.person)
        except ProblemError as error:
            return self._rejected(error, asked.ask)

    def _rejected(self, error: ProblemError, ask: Ask) -> Rejected:
        """Return the rejection of what files were sent with, where `take` refused one."""
        reason = self._labels.files_refused.format(reason=error.detail or error.title)
        return Rejected(RejectReason.INVALID, ask, (FILE_REFUSED.problem(reason),))

    async def _look_up(self, sent: SentFile, until: float) -> SentFile:
        return await self._in_time(sent, until, sent.look_up) if sent.look_up else sent

    async def _in_time(self, sent: SentFile, until: float, work: Callable[[], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout_at(until), self._reading:
                return await retry(work)
        except TimeoutError:
            reason = self._labels.file_took_too_long
        except PlatformError as error:
            reason = str(error)
        raise _refused(
            self._labels.file_not_read.format(
                name=_name(sent), platform=self._platform, reason=reason
            )
        )


async def _read_once(sent: SentFile) -> bytes:
    data = bytearray()
    async with aclosing(sent.read()) as parts:
        async for part in parts:
            data += part
            if len(data) > MAX_FILE:
                raise _refused(too_large(_name(sent)))
    return bytes(data)


def _check_announced(sent: Sequence[SentFile]) -> None:
    for each in sent:
        if (each.size or 0) > MAX_FILE:
            raise _refused(too_large(_name(each)))
    _check_sizes([each.size or 0 for each in sent])


def _check_sizes(sizes: Sequence[int]) -> None:
    if problem := refuse_sizes(sizes):
        raise ProblemError(422, "Invalid file", problem.message, [problem])


def _name(sent: SentFile) -> str:
    return clean_name(sent.name) or "file"


def _refused(message: str) -> ProblemError:
    return ProblemError(422, "Invalid file", message, [FILE_REFUSED.problem(message)])
