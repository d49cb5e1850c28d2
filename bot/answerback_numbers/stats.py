"""The statistics that are read of the counts: sums by week, agent and route, and calls that were always allowed."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from answerback.core.ask import Ask
from answerback.core.form import OptionKind
from answerback.core.granting import describe_match
from answerback.core.labels import Labels
from answerback.ports.store import Store, get_readable
from answerback_numbers.facts import PENDING, UNASKED, Result, grantable, week_of
from answerback_numbers.waits import quantile

TABLE: Final = "numbers"
MAX_WEEKS: Final = 520
WEEKS: Final = 12
"""The number of weeks that are read unless more are wanted, the current one included."""
OFTEN: Final = 3
"""The number of times that a call has to be allowed before it is listed."""
_LISTED: Final = 20
"""Calls that are listed at most."""
_COUNTS: Final = f"SELECT week, count(*) FROM {TABLE} WHERE week >= $1 GROUP BY week ORDER BY week"
_SUMS: Final = {
    "agent": f"""SELECT agent, result, wait, count(*) FROM {TABLE} WHERE week = $1
        GROUP BY agent, result, wait""",
    "route": f"""SELECT route, result, wait, count(*) FROM {TABLE} WHERE week = $1
        GROUP BY route, result, wait""",
}
"""The sums of a week, which are read of one index alone."""
_ALWAYS: Final = f"""WITH always AS MATERIALIZED (
        SELECT call, count(*) AS n, max(seq) AS latest FROM {TABLE}
        WHERE call <> '' AND call <> '{PENDING}' AND week >= $1 GROUP BY call
        HAVING count(*) >= {OFTEN} AND min(result) = $2 AND max(result) = $2
        ORDER BY n DESC, latest DESC LIMIT {_LISTED})
    SELECT asks.id, n FROM always JOIN asks ON asks.seq = latest ORDER BY n DESC, latest DESC"""


@dataclass(slots=True)
class Sums:
    """The number of asks by their end, and the times that agents waited for people."""

    ended: Counter[str] = field(default_factory=Counter)
    """The number of asks by `Result`."""
    waits: Counter[int] = field(default_factory=Counter)
    """The number of waits by their step."""

    def add(self, result: str, step: int, number: int) -> None:
        self.ended[result] += number
        if result not in UNASKED:
            self.waits[step] += number

    def add_all(self, other: Sums) -> None:
        self.ended.update(other.ended)
        self.waits.update(other.waits)

    @property
    def count(self) -> int:
        return self.ended.total()

    @property
    def median(self) -> float | None:
        """The seconds that half of the agents waited at most."""
        return quantile(self.waits, 0.5)

    @property
    def ninety_percent(self) -> float | None:
        """The seconds that nine of ten agents waited at most."""
        return quantile(self.waits, 0.9)


@dataclass(frozen=True, slots=True)
class AlwaysAllowed:
    """A call that people allowed each time, as it was asked last."""

    times: int
    agent: str | None
    route: str | None
    folder: str
    headline: str
    grant: str
    """A description of the calls that a grant for it would allow."""
    may_grant: bool
    """True if its route lets people give such a grant."""
    rule: str | None
    """The option by which its host would stop asking; None: the host offered none."""


@dataclass(frozen=True, slots=True)
class Stats:
    """The numbers since the beginning of a week."""

    since: str
    total: Sums
    by: Mapping[str, Mapping[str, Sums]]
    """The sums by ``week``, ``agent`` and ``route``, each by name. The name of what has none is empty."""
    always_allowed: tuple[AlwaysAllowed, ...]


class _Week(NamedTuple):
    """The sums of a week."""

    asks: int
    by: Mapping[str, Mapping[str, Sums]]
    """The sums by ``agent`` and ``route``, each by name."""


class StatsReader:
    """Reads the numbers. It keeps the sums of a week for as long as no more asks of that week are counted.

    So a million asks of a year are read once; from then on only this week's are, and the others are counted.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._weeks: dict[str, _Week] = {}

    async def read(self, now: float, weeks: int, labels: Labels) -> Stats:
        """Read the numbers of so many weeks, the current one included."""
        since = week_of(now, weeks - 1)
        found: dict[str, _Week] = {}
        for week, count in await self._store.rows.read(_COUNTS, since):
            known = self._weeks.get(week)
            if known is None or known.asks != count:
                known = self._weeks[week] = await self._read_week(week)
            found[week] = known
        for week in [each for each in self._weeks if each < week_of(now, MAX_WEEKS)]:
            del self._weeks[week]
        # With many agents, that takes too long for the event loop.
        total, by = await asyncio.to_thread(_merge, found)
        return Stats(since, total, by, await _always_allowed(self._store, since, labels))

    async def _read_week(self, week: str) -> _Week:
        by: dict[str, Mapping[str, Sums]] = {}
        for kind, statement in _SUMS.items():
            by[kind] = await asyncio.to_thread(
                _summed, await self._store.rows.read(statement, week)
            )
        return _Week(sum(each.count for each in by["route"].values()), by)


def _summed(rows: Iterable[tuple[str, str, str, int]]) -> dict[str, Sums]:
    found = defaultdict[str, Sums](Sums)
    for name, result, wait, number in rows:
        found[name].add(result, int(wait), number)
    return dict(found)


def _merge(weeks: Mapping[str, _Week]) -> tuple[Sums, dict[str, dict[str, Sums]]]:
    """Return the sum of weeks, and their sums by week, agent and route."""
    total, by = Sums(), {kind: defaultdict[str, Sums](Sums) for kind in ("week", *_SUMS)}
    for name, week in weeks.items():
        for kind, all_of in week.by.items():
            for each, sums in all_of.items():
                by[kind][each].add_all(sums)
        for sums in week.by["route"].values():
            by["week"][name].add_all(sums)
            total.add_all(sums)
    return total, {
        kind: {name: found[name] for name in sorted(found)} for kind, found in by.items()
    }


async def _always_allowed(store: Store, since: str, labels: Labels) -> tuple[AlwaysAllowed, ...]:
    rows = await store.rows.read(_ALWAYS, since, Result.ALLOWED.value)
    found = [(await get_readable(store.asks, ask_id), int(times)) for ask_id, times in rows]
    return tuple(_described(((ask, times) for ask, times in found if ask is not None), labels))


def _described(found: Iterable[tuple[Ask, int]], labels: Labels) -> Iterable[AlwaysAllowed]:
    for ask, times in found:
        offer, request = grantable(ask), ask.request
        if offer is None:  # it was erased meanwhile
            continue
        match, question = offer.matches[0], ask.form.questions[0]
        kept = next((o for o in question.options if o.kind is OptionKind.ALLOW_ALWAYS), None)
        yield AlwaysAllowed(
            times=times,
            agent=request.agent,
            route=request.route,
            folder=request.origin.folder or "",
            headline=question.text,
            grant=describe_match(match.match, match.subject, labels),
            may_grant=request.grants is not None,
            rule=None if kept is None else kept.label,
        )
