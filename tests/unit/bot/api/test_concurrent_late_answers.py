"""Late answers that several calls ask for at the same time: one of them gets each."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence

import pytest

from answerback.ports.late_answers import LateAnswer, LateAnswerQuery
from tests.unit.bot.api.conftest import Served
from tests.unit.bot.api.test_late_answers import answered_ask, ids


@pytest.mark.rule("LATE-1")
async def test_of_calls_at_the_same_time_one_gets_an_answer(api: Served) -> None:
    asks = [(await answered_ask(api))["id"] for _ in range(3)]
    lists = await asyncio.gather(*(ids(api, "?limit=2") for _ in range(8)))
    assert sorted(itertools.chain(*lists)) == sorted(asks)


@pytest.mark.rule("LATE-1", "LATE-3")
@pytest.mark.parametrize("query", ["?limit=", "?after=0&limit="])
async def test_an_answer_that_another_call_gets_while_a_list_is_read_is_not_in_that_list(
    api: Served, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """Unless the agent says what it has, and so gets a list that may have been lost once more."""
    first, second = [(await answered_ask(api))["id"] for _ in range(2)]
    service = api.running.service
    stored = service.store.late_answers
    list_owed, has_read, go = stored.list_owed, asyncio.Event(), asyncio.Event()

    async def list_slowly(wanted: LateAnswerQuery, at: float) -> Sequence[LateAnswer]:
        monkeypatch.setattr(stored, "list_owed", list_owed)
        owed = await list_owed(wanted, at)
        has_read.set()
        await go.wait()
        return owed

    monkeypatch.setattr(stored, "list_owed", list_slowly)
    slow = asyncio.create_task(ids(api, f"{query}2"))
    await has_read.wait()
    assert await ids(api, f"{query}1") == [first]
    await service.late_answer_tracker.wait_until_reported(first)
    go.set()
    assert await slow == ([first, second] if "after" in query else [second])
