"""What somebody narrows the history to, as it stands in the address of a page; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from answerback.core.ask import Status
from answerback.core.walker import Person
from answerback.ports.search import Search, answerer_word, split_words
from answerback_web import limits

_LAST: Final = datetime(9999, 12, 30, tzinfo=UTC)
_ELSEWHERE: Final = re.compile(r"([a-z][a-z0-9_]*):(.+)")
"""A person of another surface, as `responders` and the API name them."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The fields of the search form as they were filled in; empty: anything."""

    q: str = ""
    status: str = ""
    agent: str = ""
    by: str = ""
    since: str = ""
    until: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Whether anything but the words is filled in."""
        return any(value for name, value in asdict(self).items() if name != "q")

    @property
    def query(self) -> str:
        """What makes the same search again, at the end of an address."""
        return urlencode({name: value for name, value in asdict(self).items() if value})

    def search(self, surface: str) -> Search:
        """What the store is asked for.

        Args:
            surface: where people without a surface in front of their ids are.

        Raises:
            ValueError: a date is not one.
        """
        words = split_words(self.q)
        if self.by:
            named = _ELSEWHERE.fullmatch(self.by)
            person = Person(surface=named[1], user_id=named[2]) if named else None
            words = (*words, answerer_word(person or Person(surface=surface, user_id=self.by)))
        until = _midnight(self.until)
        return Search(
            words,
            Status(self.status) if self.status else None,
            self.agent or None,
            _seconds(_midnight(self.since)),
            _seconds(until + timedelta(days=1) if until else None),
        )


def parse_filters(query: Mapping[str, str]) -> Filters:
    """The filters that an address has; a status that there is none of is no filter."""
    found = {
        one.name: query.get(one.name, "").strip()[: limits.FILTER_LENGTH] for one in fields(Filters)
    }
    if found["status"] not in Status.__members__.values():
        found["status"] = ""
    return Filters(**found)


def _midnight(date: str) -> datetime | None:
    """The beginning of a day; the last one there is would have no day after it."""
    found = datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC) if date else None
    return min(found, _LAST) if found else None


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()
