"""Notifies of commits: those who wait for an ask, with one signal per ask, and the rest of the process through hooks.

Nothing is kept for asks without a waiting caller.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Coroutine, Iterator, KeysView
from typing import Any, Final, Generic, ParamSpec

from answerback.core.ask import Ask

P = ParamSpec("P")
LONG_WAIT: Final = 20.0
"""Seconds of a wait that may end a second early."""


class Follower:
    """Waits for commits while its context lasts; several commits between two waits count as one.

    Only one task waits with it. There is one for each waiting agent, so it is small: it holds no ask that was taken.
    """

    __slots__ = ("_latest", "_released", "_signals", "_wakeup", "_what", "known")

    def __init__(self, signals: Signals, what: str) -> None:
        self._signals = signals
        self._what = what
        self._released = False
        self._wakeup: asyncio.Future[None] | None = None
        self._latest: Ask | None = None
        """The ask after the last commit, until it is taken."""
        self.known: int | None = None
        """The revision that the waiter has seen, if it named one or was given one."""

    def __enter__(self) -> Follower:
        self._signals.add(self, self._what)
        return self

    def __exit__(self, *_: object) -> None:
        self._signals.remove(self, self._what)

    def next_commit(self) -> Coroutine[Any, Any, Ask | None]:
        """Wait for the next commit and return the ask; None when the process is stopping."""
        return self.wait_until(lambda _: True)

    async def wait_until(
        self, condition: Callable[[Ask], bool], seconds: float | None = None
    ) -> Ask | None:
        """Return the ask once a commit meets the condition; None when the process is stopping or the time is up."""
        loop, timers = asyncio.get_running_loop(), self._signals.timers
        due = None if seconds is None else timers.add(self, seconds)
        try:
            while not self._released:
                if (ask := self._take_latest(condition)) is not None:
                    return ask
                self._wakeup = loop.create_future()
                await self._wakeup
            return None
        finally:
            if due is not None:
                timers.remove(self, due)

    def _take_latest(self, condition: Callable[[Ask], bool]) -> Ask | None:
        """The newest ask if it meets the condition; either way it is no longer held."""
        ask, self._latest = self._latest, None
        return ask if ask is not None and condition(ask) else None

    def newest(self, ask: Ask) -> Ask:
        """The ask after the last commit that was not taken yet, or an ask that was read if that is newer."""
        latest = self._latest
        return ask if latest is None or latest.revision < ask.revision else latest

    def wake(self, ask: Ask) -> None:
        """Note a commit, and wake the waiter."""
        if self._latest is None or ask.revision >= self._latest.revision:
            self._latest = ask
            self.known = max(ask.revision, self.known or 0)
        self._wake_waiter()

    def release(self) -> None:
        """Wake the waiter for good: later commits do not make it wait again."""
        self._released = True
        self._wake_waiter()

    def _wake_waiter(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)


class _Timers:
    """Releases followers when their time is up.

    Long waits that end in the same second share a timer, and end up to a second early: each timer takes 700 bytes, and
    thousands of agents may wait.
    """

    def __init__(self, long_wait: float) -> None:
        self._long_wait = long_wait
        self._due: dict[float, tuple[dict[Follower, None], asyncio.TimerHandle]] = {}
        """By the loop's time."""

    def add(self, follower: Follower, seconds: float) -> float:
        """Release a follower after some seconds; return the time for `remove`."""
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds
        if seconds >= self._long_wait:
            at = math.floor(at)
        if at not in self._due:
            self._due[at] = {}, loop.call_at(at, self._release, at)
        self._due[at][0][follower] = None
        return at

    def remove(self, follower: Follower, at: float) -> None:
        """Do not release a follower, unless that was done."""
        if at not in self._due:
            return
        followers, timer = self._due[at]
        followers.pop(follower, None)
        if not followers:
            timer.cancel()
            del self._due[at]

    def _release(self, at: float) -> None:
        followers, _ = self._due.pop(at)
        for follower in followers:
            follower.release()


class Signals:
    """All followers in this process, by what they follow: an ask's id, or a surface's name.

    Args:
        surfaces: the surfaces' names.
        long_wait: seconds from which on waits share timers.
    """

    def __init__(self, surfaces: Collection[str] = (), long_wait: float = LONG_WAIT) -> None:
        self._surfaces = surfaces
        self._followers: dict[str, Follower | dict[Follower, None]] = {}
        """In the order in which they came, which is the order in which they are woken.

        Most asks have one, and thousands of collections of one would take more memory than the followers.
        """
        self.timers = _Timers(long_wait)
        self.count = 0
        """The number of followers."""

    def follow(self, what: str) -> Follower:
        """Create a follower of an ask, or of every ask of a surface."""
        return Follower(self, what)

    def add(self, follower: Follower, what: str) -> None:
        """Notify a follower of commits from now on."""
        there = self._followers.setdefault(what, follower)
        if isinstance(there, dict):
            there[follower] = None
        elif there is not follower:
            self._followers[what] = {there: None, follower: None}
        self.count += 1

    def remove(self, follower: Follower, what: str) -> None:
        """Stop notifying a follower."""
        there = self._followers[what]
        if isinstance(there, dict):
            there.pop(follower, None)
        if not isinstance(there, dict) or not there:
            del self._followers[what]
        self.count -= 1

    @property
    def followed(self) -> KeysView[str]:
        """The ids and names that are followed now."""
        return self._followers.keys()

    def followers_of(self, what: str) -> Collection[Follower]:
        """The followers of an ask or a surface."""
        found = self._followers.get(what, ())
        return (found,) if isinstance(found, Follower) else found

    def behind(self, what: str, revision: int) -> Iterator[Follower]:
        """The followers of an ask that may not have seen this revision."""
        return (
            each for each in self.followers_of(what) if each.known is None or each.known < revision
        )

    def notify(self, ask: Ask) -> None:
        """Notify the followers of an ask, and of its surface, of a commit."""
        # It may have left any of the surfaces, or wait for people there.
        is_anywhere = (
            ask.schedule.escalated or ask.unreachable_accounts or ask.placement.confirmers_elsewhere
        )
        surfaces = self._surfaces if is_anywhere else (ask.placement.destination.surface,)
        for what in (ask.id, *surfaces):
            self._wake(what, ask)

    def notify_lists(self, surface: str, ask: Ask) -> None:
        """Notify the followers of a surface that an ask has left somebody's list there, or is there again."""
        self._wake(surface, ask)

    def _wake(self, what: str, ask: Ask) -> None:
        if what in self._followers:  # seldom: most changes are of asks that nobody waits for here
            for follower in self.followers_of(what):
                follower.wake(ask)

    def release(self) -> None:
        """Wake all followers: the process is stopping."""
        for what in self._followers:
            for follower in self.followers_of(what):
                follower.release()


class Event(Generic[P]):
    """Something that other parts of the process react to."""

    def __init__(self) -> None:
        self._listeners: list[Callable[P, object]] = []

    def listen(self, listener: Callable[P, object]) -> None:
        """Call ``listener`` each time it happens, from now on."""
        self._listeners.append(listener)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all listeners: it has happened."""
        for listener in self._listeners:
            listener(*args, **kwargs)


class Hooks:
    """The hooks of commits. The parts that react are given these hooks when they are created, and listen."""

    def __init__(self, trace: Callable[[str], dict[str, str]] | None = None) -> None:
        self.show = Event[[Ask]]()
        """The live message is outdated."""
        self.deliver = Event[[]]()
        """The outbox has a new delivery."""
        self.due = Event[[float]]()
        """A timer is due at this time."""
        self.acted = Event[[str, str, str, float, Ask | None]]()
        """A person acted: the surface, the action, its result, how many seconds it took, and the ask after it."""
        self.shown = Event[[Ask, float]]()
        """People can see an ask for the first time, after this many seconds."""
        self.changed = Event[[Ask]]()
        """An ask has changed, or is new."""
        self.ended = Event[[Ask]]()
        """An ask has ended."""
        self.trace = trace
        """Begins the trace of a new ask, by its id, and returns its W3C context. None: nothing is traced."""
        self.limited = Event[[str, str]]()
        """An agent (empty: there are no tokens) has reached a limit, by its key."""
