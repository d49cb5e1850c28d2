"""The contract of stores: what the numbers are read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from answerback.core.ask import Ask
from answerback.core.labels import ENGLISH
from answerback.ports.extension_rows import AskRow
from answerback.ports.store import Store, Write
from answerback_numbers.facts import PENDING, Facts, facts_of
from answerback_numbers.numbers import count_uncounted, read_calls
from answerback_numbers.stats import TABLE, Stats, StatsReader, Sums
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import end_decision

_DAY = 24 * 3600.0
_NOW = 60 * _DAY
"""A Monday: 1970-03-02."""


def _row(agent: str, route: str, result: str, wait: int, *, week: str, call: str = "") -> AskRow:
    facts = Facts(week, agent, route, result, str(wait), call)
    return AskRow(TABLE, Facts._fields, facts)


async def _store_rows(store: Store, rows: Sequence[AskRow]) -> None:
    for number, row in enumerate(rows, 1):
        await store.asks.create(Write(new_ask(number), ask_rows=(row,)), None)


async def _read(store: Store, weeks: int = 12) -> Stats:
    return await StatsReader(store).read(_NOW, weeks, ENGLISH)


def _counts(sums: Sums) -> tuple[dict[str, int], dict[int, int]]:
    return dict(sums.ended), dict(sums.waits)


class NumbersContract:
    """Numbers."""

    @pytest.mark.rule("NUMBERS-1")
    async def test_asks_are_summed_by_week_agent_and_route(self, store: Store) -> None:
        await _store_rows(
            store,
            [
                _row("ci", "ops", "allowed", 10, week="1970-03-02"),
                _row("ci", "ops", "allowed", 10, week="1970-03-02"),
                _row("ci", "", "answered", 30, week="1970-02-23"),
                _row("cd", "ops", "granted", 0, week="1970-02-23"),
                _row("cd", "ops", "expired", 90, week="1969-01-06"),
            ],
        )
        found = await _read(store)
        assert found.since == "1969-12-15"
        assert _counts(found.total) == (
            {"allowed": 2, "answered": 1, "granted": 1},
            {10: 2, 30: 1},
        )
        assert {kind: {n: s.count for n, s in by.items()} for kind, by in found.by.items()} == {
            "week": {"1970-02-23": 2, "1970-03-02": 2},
            "agent": {"cd": 1, "ci": 3},
            "route": {"": 1, "ops": 3},
        }
        assert _counts(found.by["agent"]["cd"]) == ({"granted": 1}, {}), "nobody was waited for"
        assert (await _read(store, 1)).total.count == 2

    @pytest.mark.rule("NUMBERS-6")
    async def test_erasing_keeps_the_count_and_forgets_which_call_it_was(
        self, store: Store
    ) -> None:
        row = _row("ci", "ops", "allowed", 10, week="1970-03-02", call="ab" * 16)
        await _store_rows(store, [row])
        await store.asks.change("ask_1", end_decision())
        await store.erasure.erase("ask_1", 3_000.0, ())
        assert (await _read(store)).total.count == 1
        assert await store.rows.read(f"SELECT call FROM {TABLE}") == [("",)]

    @pytest.mark.rule("NUMBERS-4", "NUMBERS-8")
    async def test_calls_are_read_after_the_transaction(self, store: Store) -> None:
        row = _row("ci", "ops", "allowed", 10, week="1970-03-02", call=PENDING)
        await _store_rows(store, [row] * 201)
        await read_calls(store)
        found = await store.rows.read(f"SELECT DISTINCT call FROM {TABLE}")
        assert found == [("",)], "the example asks for no permission"

    @pytest.mark.rule("NUMBERS-5")
    async def test_asks_that_ended_uncounted_are_counted_once(self, store: Store) -> None:
        for number in (1, 2, 3, 4):
            await store.asks.create(Write(new_ask(number)), None)
        for number in (1, 2, 3):
            await store.asks.change(f"ask_{number}", end_decision())
        await store.erasure.erase("ask_3", 3_000.0, ())
        assert await count_uncounted(store) == 2
        assert await count_uncounted(store) == 0
        ended = await store.asks.get("ask_1")
        assert ended is not None
        expected = _facts(ended)
        columns = ", ".join(Facts._fields)
        assert await store.rows.read(f"SELECT {columns} FROM {TABLE}") == [expected] * 2


def _facts(ended: Ask) -> tuple[str, ...]:
    assert ended.outcome is not None
    return tuple(facts_of(replace(ended), ended.outcome))
