"""Who is told of a commit: those who wait for an ask, one signal an ask, and the rest of the process, by its hooks.

Nothing is kept for asks that nobody waits for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, KeysView
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from answerback.core.ask import Ask


class Follower:
    """Waits for the commits to what it follows, for as long as its context lasts; several commits in between are one.

    One task waits with it. There is one for each agent that waits, so it is small: it holds no ask that was looked at.
    """

    __slots__ = ("_latest", "_released", "_signals", "_waiting", "_what", "known")

    def __init__(self, signals: Signals, what: str) -> None:
        self._signals = signals
        self._what = what
        self._released = False
        self._waiting: asyncio.Future[None] | None = None
        self._latest: Ask | None = None
        """The ask as the last commit left it, until it is looked at."""
        self.known: int | None = None
        """The revision that whoever waits has seen, where they said so or were told."""

    def __enter__(self) -> Follower:
        self._signals.add(self, self._what)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._signals.remove(self, self._what)

    def next_commit(self) -> Coroutine[Any, Any, Ask | None]:
        """Returns after the next commit, with the ask; None when the process is stopping."""
        return self.wait_until(lambda _: True)

    async def wait_until(
        self, over: Callable[[Ask], bool], seconds: float | None = None
    ) -> Ask | None:
        """The ask once a commit has left it so; None when the process is stopping, or the time is up for good."""
        loop = asyncio.get_running_loop()
        timer = None if seconds is None else loop.call_later(seconds, self.release)
        try:
            while not self._released:
                if (ask := self._look(over)) is not None:
                    return ask
                self._waiting = loop.create_future()
                await self._waiting
            return None
        finally:
            if timer is not None:
                timer.cancel()

    def _look(self, over: Callable[[Ask], bool]) -> Ask | None:
        """What is new, if that holds of it; it is held no longer."""
        ask, self._latest = self._latest, None
        return ask if ask is not None and over(ask) else None

    def wake(self, ask: Ask) -> None:
        """Notes a commit, and wakes who waits for it."""
        if self._latest is None or ask.revision >= self._latest.revision:
            self._latest = ask
            self.known = max(ask.revision, self.known or 0)
        self._tell()

    def release(self) -> None:
        """Wakes who waits, for good: what is committed from now on is no reason to go on waiting."""
        self._released = True
        self._tell()

    def _tell(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class Signals:
    """All followers of this process, by what they follow: an ask's id, or a surface's name."""

    def __init__(self) -> None:
        self._followers: dict[str, set[Follower]] = {}
        self.count = 0
        """How many are waiting."""

    def follow(self, what: str) -> Follower:
        """A follower of an ask, or of every ask of a surface, for as long as its context lasts."""
        return Follower(self, what)

    def add(self, follower: Follower, what: str) -> None:
        """Tells a follower of what is committed from now on."""
        self._followers.setdefault(what, set()).add(follower)
        self.count += 1

    def remove(self, follower: Follower, what: str) -> None:
        """Tells it no more."""
        followers = self._followers[what]
        followers.discard(follower)
        if not followers:
            del self._followers[what]
        self.count -= 1

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
