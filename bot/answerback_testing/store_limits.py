"""Contract tests for the limits of what an agent may ask: exact, however many processes store its asks at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.ports.store import Store, Write
from answerback.ports.store_values import (
    AskLimits,
    Created,
    Existing,
    FilesGone,
    GrantGone,
    Idempotency,
    LimitReached,
)
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import end_decision

_AGENT = "coder"


def _ask(number: int, *, at: float = 1_000.0, agent: str | None = _AGENT, **request: Any) -> Ask:
    return new_ask(number, at=at, request={"agent": agent, **request})


async def _create(store: Store, ask: Ask, limits: AskLimits) -> Created | Existing | LimitReached:
    stored = await store.asks.create(Write(ask), None, limits)
    assert not isinstance(stored, GrantGone | FilesGone)
    return stored


@pytest.mark.rule("LIMIT-1")
class AskLimitsContract:
    """Limits of new asks."""

    @pytest.mark.parametrize("agent", [_AGENT, None, "x" * 500])
    async def test_only_so_many_asks_are_stored_within_a_minute(
        self, store: Store, agent: str | None
    ) -> None:
        limits = AskLimits(asks_per_minute=2)
        for number, at in enumerate((1_000.0, 1_020.0)):
            asked = _ask(number, at=at, agent=agent)
            assert await _create(store, asked, limits) == Created(asked)
            await store.asks.change(asked.id, end_decision())  # the ended ones count
        refused = await _create(store, _ask(2, at=1_050.0, agent=agent), limits)
        assert refused == LimitReached("asks_per_minute", 10.0)
        assert await store.asks.get("ask_2") is None
        other = _ask(3, at=1_050.0, agent="other")
        assert await _create(store, other, limits) == Created(other)
        later = _ask(4, at=1_060.0, agent=agent)
        assert await _create(store, later, limits) == Created(later)
        assert isinstance(
            await _create(store, _ask(5, at=1_060.0, agent=agent), limits), LimitReached
        )

    @pytest.mark.parametrize("agent", [_AGENT, None, "x" * 500])
    async def test_only_so_many_asks_are_open_at_once(
        self, store: Store, agent: str | None
    ) -> None:
        limits = AskLimits(open_asks=2)
        for number in range(2):
            await _create(store, _ask(number, agent=agent), limits)
        assert await _create(store, _ask(2, agent=agent), limits) == LimitReached("open_asks")
        other = _ask(3, agent="other")
        assert await _create(store, other, limits) == Created(other)
        await store.asks.change("ask_0", end_decision())
        again = _ask(4, agent=agent)
        assert await _create(store, again, limits) == Created(again)

    @pytest.mark.parametrize("agent", [_AGENT, None])
    async def test_only_so_many_asks_of_a_conversation_are_open_at_once(
        self, store: Store, agent: str | None
    ) -> None:
        limits = AskLimits(open_asks_per_conversation=1)
        await _create(store, _ask(0, agent=agent, conversation="c"), limits)
        refused = await _create(store, _ask(1, agent=agent, conversation="c"), limits)
        assert refused == LimitReached("open_asks_per_conversation")
        for number, asked in enumerate(
            (
                _ask(2, agent=agent, conversation="d"),
                _ask(3, agent=agent),
                _ask(4, agent=agent),
                _ask(5, agent="other", conversation="c"),
            )
        ):
            assert await _create(store, asked, limits) == Created(asked), number
        await store.asks.change("ask_0", end_decision())
        again = _ask(6, agent=agent, conversation="c")
        assert await _create(store, again, limits) == Created(again)

    async def test_an_ask_that_nobody_waits_for_is_not_limited_by_open_ones(
        self, store: Store
    ) -> None:
        limits = AskLimits(open_asks=1, open_asks_per_conversation=1)
        await _create(store, _ask(0, conversation="c"), limits)
        ended = end_decision()(_ask(1, conversation="c")).result
        assert await _create(store, ended, limits) == Created(ended)

    async def test_without_limits_any_number_is_stored(self, store: Store) -> None:
        for number in range(5):
            asked = _ask(number, conversation="c")
            assert await _create(store, asked, AskLimits()) == Created(asked)

    async def test_a_repeated_key_finds_its_ask_and_a_refused_one_stays_unused(
        self, store: Store
    ) -> None:
        limits = AskLimits(asks_per_minute=1)
        first, second = (Idempotency(_AGENT, key, "digest") for key in ("one", "two"))
        asked = _ask(0)
        assert await store.asks.create(Write(asked), first, limits) == Created(asked)
        assert await store.asks.create(Write(_ask(1)), first, limits) == Existing(asked, True)
        refused = await store.asks.create(Write(_ask(2)), second, limits)
        assert isinstance(refused, LimitReached)
        assert await store.asks.find_created(second) is None
        later = _ask(3, at=1_060.0)
        assert await store.asks.create(Write(later), second, limits) == Created(later)

    async def test_asks_that_are_stored_at_once_stay_within_the_limits(self, store: Store) -> None:
        limits = AskLimits(asks_per_minute=5, open_asks=5, open_asks_per_conversation=3)
        asked = [
            _create(store, _ask(number, conversation=f"c{number % 2}"), limits)
            for number in range(40)
        ]
        results = await asyncio.gather(*asked)
        stored = [result.ask for result in results if isinstance(result, Created)]
        assert len(stored) == 5
        together = [ask for ask in stored if ask.request.conversation == "c0"]
        assert len(together) in {2, 3}
