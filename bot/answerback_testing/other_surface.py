"""A second surface beside the one under test, for asks that concern people on both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from answerback.core.ask import Ask, Destination, Thread
from answerback.core.errors import PlatformUnavailableError
from answerback.core.people import People
from answerback.ports.surface import Shown
from answerback_testing.surface_harness import SurfaceHarness

ELSEWHERE: Final = Destination(surface="elsewhere", channel="C9")
"""A place on it."""


@dataclass(frozen=True)
class OtherSurface:
    """A surface that only notes that asks are shown; if it ``is_down``, its platform does not answer."""

    is_down: bool
    name: str = ELSEWHERE.surface
    live: bool = True

    async def start(self) -> None:
        """Connect to nothing."""

    async def stop(self) -> None:
        """Disconnect from nothing."""

    def unready_reason(self) -> str | None:
        """Say whether the platform answers."""
        return "the platform does not answer" if self.is_down else None

    async def show(self, ask: Ask, save: Callable[[Shown], Awaitable[None]]) -> Shown:
        """Return a reference to a message that nobody sees, or fail as a platform does that will answer again."""
        if self.is_down:
            raise PlatformUnavailableError("503")
        return Shown(
            ask.revision, {"id": ask.id}, Thread(channel=ask.placement.destination.channel)
        )

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        """Return nobody."""
        return ()

    def destination_problem(self, destination: Destination) -> str | None:
        """Accept any destination."""
        return None


@contextmanager
def add_other_surface(harness: SurfaceHarness, *, is_down: bool = False) -> Iterator[None]:
    """Add the other surface to each service while the context is entered."""
    replicas = (harness, *harness.other_replicas)
    tables = [each.service.surfaces for each in replicas]
    for table in tables:
        assert isinstance(table, dict)
        table[ELSEWHERE.surface] = OtherSurface(is_down)
    try:
        yield
    finally:
        for table in tables:
            assert isinstance(table, dict)
            del table[ELSEWHERE.surface]


@contextmanager
def list_people(harness: SurfaceHarness, accounts: Mapping[str, tuple[str, ...]]) -> Iterator[None]:
    """List people in the directory of each service, by their accounts, while the context is entered."""
    directories = [each.service.people for each in (harness, *harness.other_replicas)]
    for each in directories:
        each.update_from(People(accounts))
    try:
        yield
    finally:
        for each in directories:
            each.update_from(People({}))
