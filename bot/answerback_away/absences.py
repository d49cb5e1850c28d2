"""Who is away and in which hours people are told of what waits. Values, and how they are read from text. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from functools import cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from answerback.core.person import Person

MAX_AWAY: Final = 366 * 86_400.0
"""Seconds for which people can be away."""
_LENGTH: Final = re.compile(r"([1-9][0-9]{0,2})([mhdw])", re.ASCII)
_UNITS: Final = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0}
_HOURS: Final = re.compile(r"([0-2]?[0-9])(?::([0-5][0-9]))?", re.ASCII)
WORKDAYS: Final = (0, 1, 2, 3, 4)
"""Monday to Friday, as `datetime.weekday` counts."""


class Absence(NamedTuple):
    """The time until which a person is away, and who stands in."""

    until: float
    stand_in: Person


class Hours(NamedTuple):
    """In which hours of which days a person is told of what waits; minutes since midnight in their time zone."""

    begins: int
    ends: int
    zone: str
    days: tuple[int, ...] = WORKDAYS

    def quiet_until(self, at: float) -> float | None:
        """Return when the next of these hours begin; None: it is one of them."""
        zone = zone_named(self.zone)
        today = datetime.fromtimestamp(at, zone).date()
        for ahead in range(-1, 9):
            day = today + timedelta(days=ahead)
            if day.weekday() not in self.days:
                continue
            opens = datetime.combine(day, _clock(self.begins), zone).timestamp()
            closes = datetime.combine(day, _clock(self.ends), zone).timestamp()
            if opens <= at < closes:
                return None
            if at < opens:
                return opens
        return None

    @property
    def spec(self) -> str:
        """The hours as `parse_hours` reads them."""
        begins, ends = (f"{each // 60}:{each % 60:02}" for each in (self.begins, self.ends))
        return f"{begins}-{ends} {self.zone}"

    @property
    def text(self) -> str:
        return (
            f"{_clock(self.begins):%H:%M}–{_clock(self.ends):%H:%M} {self.zone}, Monday to Friday"
        )


def _clock(minutes: int) -> time:
    return (
        time(minutes // 60 % 24, minutes % 60) if minutes < 24 * 60 else time(23, 59, 59, 999_999)
    )


class Said(NamedTuple):
    """The absence that one person has announced, and the account from which they did."""

    person: Person
    absence: Absence | None = None
    hours: Hours | None = None

    def absent(self, at: float) -> Absence | None:
        """Return the absence that holds at a time."""
        return self.absence if self.absence is not None and at < self.absence.until else None


def to_json(said: Said) -> JsonValue:
    absence, hours = said.absence, said.hours
    return {
        "person": _person_json(said.person),
        "absence": absence and [absence.until, _person_json(absence.stand_in)],
        "hours": hours and [hours.begins, hours.ends, hours.zone, [*hours.days]],
    }


def from_json(value: JsonValue) -> Said | None:
    """Read a stored value; one that this version cannot read counts for nothing."""
    match value:
        case {"person": person, "absence": absence, "hours": hours}:
            whose = _read_person(person)
            return (
                None if whose is None else Said(whose, _read_absence(absence), _read_hours(hours))
            )
        case _:
            return None


def _read_absence(value: JsonValue) -> Absence | None:
    match value:
        case [int() | float() as until, person] if (stand_in := _read_person(person)) is not None:
            return Absence(float(until), stand_in)
        case _:
            return None


def _read_hours(value: JsonValue) -> Hours | None:
    match value:
        case [int(begins), int(ends), str(zone), [*days]]:
            return Hours(begins, ends, zone, tuple(day for day in days if isinstance(day, int)))
        case _:
            return None


def _person_json(person: Person) -> JsonValue:
    return [person.surface, person.user_id, person.name]


def _read_person(value: JsonValue) -> Person | None:
    match value:
        case [str(surface), str(user_id), None | str() as name]:
            return Person(surface=surface, user_id=user_id, name=name)
        case _:
            return None


def parse_until(text: str, now: float) -> float | None:
    """Return until when something holds: ``30m``, ``4h``, ``3d``, ``2w``, or the beginning of a day or minute (UTC)."""
    if length := _LENGTH.fullmatch(text):
        until = now + int(length[1]) * _UNITS[length[2]]
    else:
        try:
            day = datetime.fromisoformat(text)
        except ValueError:
            return None
        until = (day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp()
    return until if now < until <= now + MAX_AWAY else None


@cache
def zone_named(name: str) -> ZoneInfo:
    """Return a time zone. It is read from a file the first time, which the event loop may not do."""
    return ZoneInfo(name)


def is_zone(name: str) -> bool:
    """Return whether this machine knows a time zone; it is then ready to be used."""
    try:
        zone_named(name)
    except (ValueError, OSError, LookupError):  # an unknown one is a KeyError
        return False
    return True


def parse_hours(text: str) -> Hours | None:
    """Return working hours as ``9-17 Europe/Berlin`` or ``9:30-17:30 UTC`` says them; None: it does not."""
    span, _, zone = text.strip().partition(" ")
    begins, dash, ends = span.partition("-")
    found = [_HOURS.fullmatch(each) for each in (begins, ends)]
    minutes = [int(each[1]) * 60 + int(each[2] or 0) for each in found if each is not None]
    if not dash or len(minutes) < 2 or not minutes[0] < minutes[1] <= 24 * 60:
        return None
    hours = Hours(minutes[0], minutes[1], zone.strip())
    return hours if is_zone(hours.zone) else None


def chain_of(
    person: Person,
    absent: Callable[[Person], Absence | None],
    is_same: Callable[[Person, Person], bool],
) -> list[Person] | None:
    """Return a person, who stands in for them, who for that one, and so on, up to somebody who is there.

    None: they stand in for each other in a circle, so that nobody is there.
    """
    chain = [person]
    while (absence := absent(chain[-1])) is not None:
        if any(is_same(absence.stand_in, each) for each in chain):
            return None
        chain.append(absence.stand_in)
    return chain
