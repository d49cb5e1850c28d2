"""Counts the asks of a service as they end, and those that had ended before it counted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from answerback.core.ask import Ask, Change
from answerback.core.labels import Labels
from answerback.ports.extension import Running, ServiceParts
from answerback.ports.extension_rows import NO_ROWS, AskRow, Rows
from answerback.ports.store import Store, get_readable
from answerback_numbers.facts import PENDING, Facts, call_of, facts_of
from answerback_numbers.stats import TABLE, Stats, StatsReader

logger = logging.getLogger(__name__)

_STEP: Final = 200
"""Asks that are counted later at a time."""
_DELAY: Final = 300.0
"""Seconds after a start: people come first."""
_CALLS_PAUSE: Final = 300.0
"""Seconds after which calls are read that were decided meanwhile."""
_PENDING: Final = f"""SELECT asks.id FROM {TABLE} JOIN asks ON asks.seq = {TABLE}.seq
    WHERE call = '{PENDING}' AND call <> '' LIMIT {_STEP}"""
_SET_CALLS: Final = f"""UPDATE {TABLE} SET call = column2 FROM (VALUES {{values}}) AS new
    JOIN asks ON asks.id = column1 WHERE {TABLE}.seq = asks.seq AND call = '{PENDING}'"""
_PAUSE: Final = 3_600.0
"""Seconds after which asks are looked for that ended uncounted, as with an older replica."""
_UNCOUNTED: Final = f"""SELECT id, {{ended_at}} FROM asks {{ended}} AND {{ended_at}} >= $1
    AND NOT EXISTS (SELECT 1 FROM {TABLE} WHERE {TABLE}.seq = asks.seq) ORDER BY {{ended_at}} LIMIT {_STEP}"""
_COUNT: Final = f"""INSERT INTO {TABLE} (seq, {", ".join(Facts._fields)})
    SELECT asks.seq, column2, column3, column4, column5, column6, column7 FROM (VALUES {{values}}) AS new
    JOIN asks ON asks.id = column1 WHERE erased_at IS NULL ON CONFLICT DO NOTHING"""


class Numbers(Running):
    """The counts of a running service."""

    kinds = frozenset({"ended"})

    def __init__(self, parts: ServiceParts) -> None:
        self._store, self._clock = parts.store, parts.clock
        self._reader = StatsReader(parts.store)

    def on_change(self, before: Ask | None, change: Change, at: float) -> Rows:
        outcome = change.ask.outcome
        # An ended ask may change again, as when it is tried again or its grant is revoked.
        if outcome is None or (before is not None and before.outcome is not None):
            return NO_ROWS
        return Rows(ask_rows=(AskRow(TABLE, Facts._fields, facts_of(change.ask, outcome)),))

    async def read(self, weeks: int, labels: Labels) -> Stats:
        """Read the numbers of so many weeks, this one included."""
        await read_calls(self._store)
        return await self._reader.read(self._clock.now(), weeks, labels)

    def for_page(self, surface: str) -> object | None:
        if surface != "web":
            return None
        from answerback_numbers.page import NumbersPages

        return NumbersPages(self.read)

    def loops(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        return {"numbers": self._count_later, "numbers of calls": self._read_calls_later}

    async def _read_calls_later(self) -> None:
        while True:
            await asyncio.sleep(_CALLS_PAUSE)
            await read_calls(self._store)

    async def _count_later(self) -> None:
        await asyncio.sleep(_DELAY)
        while True:
            counted = await count_uncounted(self._store)
            if counted:
                extra = {"action": "numbers_counted", "asks": counted}
                logger.info("Asks that had ended before were counted", extra=extra)
            await asyncio.sleep(_PAUSE)


async def read_calls(store: Store) -> None:
    """Read what was decided: which calls are alike is too much to find out within the transaction of a click."""
    while pending := await store.rows.read(_PENDING):
        asks = {ask_id: await get_readable(store.asks, ask_id) for (ask_id,) in pending}
        calls = [(ask_id, call_of(ask) if ask else "") for ask_id, ask in asks.items()]
        await store.rows.write(_SET_CALLS, calls)


async def count_uncounted(store: Store) -> int:
    """Count the asks that ended uncounted, but not those that were erased; returns how many there were."""
    rows, counted, since = store.rows, 0, 0.0
    tried: set[str] = set()
    while True:
        found = await rows.read(_UNCOUNTED, since)
        new = [ask_id for ask_id, _ in found if ask_id not in tried]
        if not new:
            return counted
        tried = {ask_id for ask_id, _ in found}  # one that cannot be read is found again
        since = found[-1][1]
        asks = [await get_readable(store.asks, ask_id) for ask_id in new]
        facts = [(ask.id, *facts_of(ask, ask.outcome)) for ask in asks if ask and ask.outcome]
        if facts:
            await rows.write(_COUNT, facts)
        counted += len(facts)
