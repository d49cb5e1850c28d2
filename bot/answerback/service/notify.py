"""Who is told of a commit: those who wait for an ask, one signal an ask, and the rest of the process, by its hooks.

Nothing is kept for asks that nobody waits for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, KeysView
from contextlib import contextmanager
from dataclasses import dataclass, field

from answerback.core.ask import Ask


class Follower:
    """Waits for the commits to one ask; several commits in between are one.

    One task waits with it. Small, because there is one for each agent that waits: no `asyncio.Event`.
    """

    __slots__ = ("_released", "_unseen", "_waiting", "known", "latest")

    def __init__(self) -> None:
        self._unseen = self._released = False
        self._waiting: asyncio.Future[None] | None = None
        self.latest: Ask | None = None
        """The ask as the last commit left it; None before the first."""
        self.known: int | None = None
        """The revision that whoever waits has seen, where they said so or were told."""

    async def changed(self) -> Ask | None:
        """Returns after the next commit, with the ask; None when the process is stopping."""
        if not self._unseen:
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        if self._released:
            return None
        self._unseen = False
        return self.latest

    async def until(self, over: Callable[[Ask], bool], ask: Ask, seconds: float) -> Ask:
        """The ask once that holds of it, or as it stands when ``seconds`` are over or the process stops."""
        try:
            async with asyncio.timeout(seconds):
                while not over(ask) and (changed := await self.changed()) is not None:
                    ask = changed
        except TimeoutError:
            pass
        return ask

    def wake(self, ask: Ask) -> None:
        """Notes a commit, and wakes who waits for it."""
        if self.latest is None or ask.revision >= self.latest.revision:
            self.latest = ask
            self.known = max(ask.revision, self.known or 0)
        self._tell()

    def release(self) -> None:
        """Wakes who waits, for good: what is committed from now on is no reason to go on waiting."""
        self._released = True
        self._tell()

    def _tell(self) -> None:
        self._unseen = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class Signals:
    """All followers of this process, by what they follow: an ask's id, or a surface's name."""

    def __init__(self) -> None:
        self._followers: dict[str, set[Follower]] = {}
        self.count = 0
        """How many are waiting."""

    @contextmanager
    def follow(self, what: str) -> Iterator[Follower]:
        """A follower of an ask, or of every ask of a surface, for as long as the context lasts."""
        follower = Follower()
        self._followers.setdefault(what, set()).add(follower)
        self.count += 1
        try:
            yield follower
        finally:
            self.count -= 1
            followers = self._followers[what]
            followers.discard(follower)
            if not followers:
                del self._followers[what]

    @property
    def followed(self) -> KeysView[str]:
        """What is followed now."""
        return self._followers.keys()

    def behind(self, what: str, revision: int) -> Iterator[Follower]:
        """Followers of an ask who may not have seen this revision."""
        followers = self._followers.get(what, ())
        return (one for one in followers if one.known is None or one.known < revision)

    def notify(self, ask: Ask) -> None:
        """Tells an ask's followers, and its surface's, of a commit."""
        for what in (ask.id, ask.destination.surface):
            for follower in self._followers.get(what, ()):
                follower.wake(ask)

    def release(self) -> None:
        """Wakes everybody: the process is stopping."""
        for followers in self._followers.values():
            for follower in followers:
                follower.release()


@dataclass(slots=True)
class Hooks:
    """Who is told of a commit beside those who wait for the ask: set by the app when it wires the rest."""

    show: Callable[[Ask], None] = field(default=lambda _ask: None)
    """The live message is behind."""
    deliver: Callable[[], None] = field(default=lambda: None)
    """The outbox has something new."""
    due: Callable[[float], None] = field(default=lambda _at: None)
    """The clock has something to do at this time."""
    acted: Callable[[str, str, str, float], None] = field(default=lambda *_what: None)
    """Somebody acted: on which surface, with what, what came of it, and in how many seconds."""
