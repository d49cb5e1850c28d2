"""The filters of the history, as in a page's query string; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from answerback.core.ask import Status
from answerback.core.walker import Person
from answerback.ports.search import Search, project_word, split_words
from answerback_web import limits

_LAST_DAY: Final = datetime(9999, 12, 30, tzinfo=UTC)
_OTHER_SURFACE: Final = re.compile(r"([a-z][a-z0-9_]*):(.+)")
"""A person of another surface, as `responders` and the API name them."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The search form's fields as filled in; empty: anything."""

    q: str = ""
    status: str = ""
    agent: str = ""
    project: str = ""
    by: str = ""
    since: str = ""
    until: str = ""

    @property
    def is_narrowed(self) -> bool:
        """True if any field other than the search words is filled in."""
        return any(value for name, value in asdict(self).items() if name != "q")

    @property
    def query(self) -> str:
        """The query string that repeats this search."""
        return urlencode({name: value for name, value in asdict(self).items() if value})

    def search(self, surface: str) -> Search:
        """Return the search to run in the store.

        Args:
            surface: the surface of people whose ids have no surface prefix.

        Raises:
            ValueError: a date is invalid.
        """
        terms = split_words(self.q)
        if self.project:
            terms = (*terms, project_word(self.project))
        by: tuple[tuple[Person, ...], ...] = ()
        if self.by:
            match = _OTHER_SURFACE.fullmatch(self.by)
            person = Person(surface=match[1], user_id=match[2]) if match else None
            by = ((person or Person(surface=surface, user_id=self.by),),)
        until = _midnight(self.until)
        return Search(
            terms,
            Status(self.status) if self.status else None,
            ended=self.status != Status.OPEN.value,
            agent=self.agent or None,
            since=_seconds(_midnight(self.since)),
            until=_seconds(until + timedelta(days=1) if until else None),
            by=by,
        )


def parse_filters(query: Mapping[str, str]) -> Filters:
    """Parse the filters in a query string; an unknown status is ignored."""
    values = {
        field.name: query.get(field.name, "").strip()[: limits.FILTER_LENGTH]
        for field in fields(Filters)
    }
    if values["status"] not in Status.__members__.values():
        values["status"] = ""
    return Filters(**values)


def _midnight(date: str) -> datetime | None:
    """Return the start of a day; capped, because the last day of the calendar has no next day."""
    start = datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC) if date else None
    return min(start, _LAST_DAY) if start else None


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()
