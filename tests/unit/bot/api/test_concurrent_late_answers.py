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


@pytest.mark.rule("LATE-1")
async def test_an_answer_that_another_call_gets_while_a_list_is_read_is_not_in_that_list(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_id = (await answered_ask(api))["id"]
    service = api.running.service
    stored = service.store.late_answers
    list_owed, has_read, go = stored.list_owed, asyncio.Event(), asyncio.Event()

    async def list_slowly(query: LateAnswerQuery, at: float) -> Sequence[LateAnswer]:
        monkeypatch.undo()
        owed = await list_owed(query, at)
        has_read.set()
        await go.wait()
        return owed

    monkeypatch.setattr(stored, "list_owed", list_slowly)
    slow = asyncio.create_task(ids(api))
    await has_read.wait()
    assert await ids(api) == [ask_id]
    await service.late_answer_tracker.wait_until_reported(ask_id)
    go.set()
    assert await slow == []
