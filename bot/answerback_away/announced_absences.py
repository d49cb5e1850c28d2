"""Where people say that they are away, as commands and the page see it."""

from __future__ import annotations

from typing import Protocol

from answerback.core.people import People
from answerback.core.person import Person
from answerback_away.absences import Hours, Said


class AnnouncedAbsences(Protocol):
    """The absences that people have announced, which they can change from any of their accounts."""

    people: People

    def now(self) -> float:
        """The time, in seconds since the epoch."""

    async def said_by(self, person: Person) -> Said: ...

    async def leave(self, person: Person, until: float, stand_in: Person) -> str | None:
        """Note that a person is away; returns why not: a key of `answerback_away.texts.REFUSED`."""

    async def return_(self, person: Person) -> None:
        """Note that a person is back."""

    async def set_hours(self, person: Person, hours: Hours | None) -> None:
        """Note in which hours a person is told of what waits; None: at any time."""

    def find_person(self, name: str, surface: str) -> Person | str:
        """Return whom a name means: in the directory, or an account on a surface; or why it means no one person: a key
        of `answerback_away.texts.REFUSED`."""
