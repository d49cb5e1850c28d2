"""Contract tests for late answers: a store keeps the outcomes that agents have not seen yet, and those they have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from answerback.core import ask as asks
from answerback.core.ask import Ask, Reason, Status
from answerback.ports.late_answers import LateAnswer, LateAnswerQuery, SeenState
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import Delivery
from answerback_testing.example_asks import new_ask

CODER = LateAnswerQuery("coder")
Decide = Callable[[Ask | None], Decision[None]]


async def create_ended_ask(
    store: Store,
    number: int,
    *,
    conversation: str | None = "c1",
    agent: str | None = "coder",
    deliveries: tuple[Delivery, ...] = (),
) -> str:
    """Create an ask that has ended and whose agent has not seen its outcome; returns its id."""
    request = {"agent": agent, "conversation": conversation}
    await store.asks.create(Write(new_ask(number, request=request)), None)

    def expire(ask: Ask | None) -> Decision[None]:
        assert ask is not None
        change = asks.end_ask(ask, Status.EXPIRED, at=2_000.0 + number, reason=Reason.EXPIRED)
        return Decision(Write(change.ask, change.entries, deliveries, owed=True), None)

    await store.asks.change(f"ask_{number}", expire)
    return f"ask_{number}"


def ask_ids_of(answers: Sequence[LateAnswer]) -> list[str]:
    return [answer.ask.id for answer in answers]


class LateAnswersContract:
    """`answerback.ports.late_answers.LateAnswerStore`."""

    @pytest.mark.rule("LATE-1")
    async def test_an_outcome_is_listed_until_its_agent_has_acknowledged_it(
        self, store: Store
    ) -> None:
        await store.asks.create(Write(new_ask(9, request={"agent": "coder"})), None)
        assert await store.late_answers.list_owed(CODER, 5.0) == []
        first, second = await create_ended_ask(store, 1), await create_ended_ask(store, 2)
        listed = await store.late_answers.list_owed(CODER, 5.0)
        assert ask_ids_of(listed) == [first, second]
        assert listed[0].ask == await store.asks.get(first)
        assert await store.late_answers.list_owed(CODER, 5.0) == listed, (
            "listing does not acknowledge"
        )
        assert await store.late_answers.get_seen_state(first) is SeenState.UNSEEN
        assert await store.late_answers.set_seen_state([first], SeenState.SEEN, 6.0) == [first]
        assert await store.late_answers.get_seen_state(first) is SeenState.SEEN
        assert await store.late_answers.get_seen_state("ask_9") is SeenState.SEEN, "nothing is owed"
        assert await store.late_answers.list_owed(CODER, 7.0) == listed[1:]
        assert ask_ids_of(await store.late_answers.list_owed(replace(CODER, after=0), 8.0)) == [
            second
        ]

    @pytest.mark.rule("LATE-10")
    async def test_what_a_person_says_after_the_end_is_listed_anew(self, store: Store) -> None:
        first, second = await create_ended_ask(store, 1), await create_ended_ask(store, 2)
        listed = await store.late_answers.list_owed(CODER, 5.0)
        await store.late_answers.set_seen_state([first, second], SeenState.SEEN, 6.0)

        def tell(ask: Ask | None) -> Decision[None]:
            assert ask is not None
            return Decision(Write(ask, owed=True), None)

        await store.asks.change(first, tell)
        (again,) = await store.late_answers.list_owed(CODER, 7.0)
        assert again.ask.id == first
        assert again.number > listed[-1].number

    @pytest.mark.rule("LATE-1")
    async def test_late_answers_belong_to_one_agent_and_conversation(self, store: Store) -> None:
        await create_ended_ask(store, 1)
        await create_ended_ask(store, 2, conversation="c2")
        await create_ended_ask(store, 3, conversation=None)
        await create_ended_ask(store, 4, agent="other")
        await create_ended_ask(store, 5, agent=None, conversation=None)
        assert ask_ids_of(await store.late_answers.list_owed(CODER, 5.0)) == [
            "ask_1",
            "ask_2",
            "ask_3",
        ]
        assert ask_ids_of(
            await store.late_answers.list_owed(LateAnswerQuery("coder", "c2"), 5.0)
        ) == ["ask_2"]
        assert ask_ids_of(
            await store.late_answers.list_owed(LateAnswerQuery("coder", ""), 5.0)
        ) == ["ask_3"]
        assert ask_ids_of(await store.late_answers.list_owed(LateAnswerQuery("other"), 5.0)) == [
            "ask_4"
        ]
        assert ask_ids_of(await store.late_answers.list_owed(LateAnswerQuery(""), 5.0)) == ["ask_5"]

    @pytest.mark.rule("LATE-3")
    async def test_a_number_acknowledges_what_was_listed_and_lists_the_rest_again(
        self, store: Store
    ) -> None:
        for number in range(1, 4):
            await create_ended_ask(store, number)
        listed = await store.late_answers.list_owed(replace(CODER, limit=2), 5.0)
        assert ask_ids_of(listed) == ["ask_1", "ask_2"]
        await store.late_answers.set_seen_state(ask_ids_of(listed), SeenState.LISTED, 5.0)
        assert ask_ids_of(await store.late_answers.list_owed(CODER, 5.0)) == ["ask_3"]
        again = await store.late_answers.list_owed(replace(CODER, after=listed[0].number), 6.0)
        assert again[0] == listed[1], (
            "the agent says it has not received the list that contained it"
        )
        assert ask_ids_of(again) == ["ask_2", "ask_3"]
        last = again[-1].number
        assert await store.late_answers.list_owed(replace(CODER, after=last), 7.0) == []
        assert await store.late_answers.list_owed(replace(CODER, after=0), 8.0) == [], (
            "an acknowledgement is final"
        )

    @pytest.mark.rule("LATE-3")
    async def test_numbers_grow_in_the_order_of_listing_across_restarts(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        first, second = await create_ended_ask(store, 1), await create_ended_ask(store, 2)
        (early,) = await store.late_answers.list_owed(
            replace(CODER, without=frozenset([first])), 5.0
        )
        assert early.ask.id == second
        assert await store.late_answers.list_owed(replace(CODER, after=early.number, limit=1), 5.0)
        await store.late_answers.set_seen_state([first, second], SeenState.SEEN, 6.0)
        assert await store.maintenance.prune(7.0) == 2
        await store.close()
        again = make_store()
        await again.open()
        await create_ended_ask(again, 3)
        (late,) = await again.late_answers.list_owed(replace(CODER, after=early.number + 1), 8.0)
        assert (late.ask.id, late.number) == ("ask_3", early.number + 2)
        await again.close()

    @pytest.mark.rule("LATE-3")
    async def test_another_conversations_list_is_not_acknowledged(self, store: Store) -> None:
        await create_ended_ask(store, 1)
        await create_ended_ask(store, 2, conversation="c2")
        await create_ended_ask(store, 3, agent="other")
        first = await store.late_answers.list_owed(LateAnswerQuery("coder", "c1"), 5.0)
        await store.late_answers.list_owed(LateAnswerQuery("coder", "c2"), 5.0)
        await store.late_answers.list_owed(LateAnswerQuery("other"), 5.0)
        assert (
            await store.late_answers.list_owed(LateAnswerQuery("coder", "c1", after=99), 5.0) == []
        )
        assert ask_ids_of(first) == ["ask_1"]
        assert ask_ids_of(await store.late_answers.list_owed(CODER, 5.0)) == ["ask_2"]
        assert ask_ids_of(await store.late_answers.list_owed(LateAnswerQuery("other"), 5.0)) == [
            "ask_3"
        ]

    @pytest.mark.rule("LATE-3")
    async def test_only_a_listing_that_failed_is_undone(self, store: Store) -> None:
        first = await create_ended_ask(store, 1)
        assert await store.late_answers.set_seen_state(
            [first, "ask_none"], SeenState.LISTED, 5.0
        ) == [first]
        assert await store.late_answers.set_seen_state([first], SeenState.LISTED, 5.0) == []
        assert await store.late_answers.set_seen_state([first], SeenState.SEEN, 5.0) == [first]
        assert await store.late_answers.set_seen_state([first], SeenState.LISTED, 5.0) == []
        assert await store.late_answers.list_owed(CODER, 5.0) == []
        assert await store.late_answers.set_seen_state([first], SeenState.UNSEEN, 5.0) == [first]
        assert await store.late_answers.set_seen_state([first], SeenState.UNSEEN, 5.0) == []
        assert ask_ids_of(await store.late_answers.list_owed(CODER, 5.0)) == [first]

    @pytest.mark.rule("LATE-11")
    async def test_an_ask_and_what_its_agent_has_seen_of_it_change_together(
        self, store: Store
    ) -> None:
        first, second = await create_ended_ask(store, 1), await create_ended_ask(store, 2)

        def collect(state: SeenState, at: float, *, owed: bool = False) -> Decide:
            def decide(ask: Ask | None) -> Decision[None]:
                assert ask is not None
                return Decision(
                    Write(
                        replace(ask, collection=replace(ask.collection, read_by_agent_at=at)),
                        owed=owed,
                        seen_state=state,
                    ),
                    None,
                )

            return decide

        async def seen_states() -> list[SeenState]:
            return [await store.late_answers.get_seen_state(each) for each in (first, second)]

        await asyncio.gather(
            store.asks.change(first, collect(SeenState.LISTED, 6.0)),
            store.asks.change(second, collect(SeenState.SEEN, 7.0)),
        )
        assert await seen_states() == [SeenState.LISTED, SeenState.SEEN]
        found = [await store.asks.get(each) for each in (first, second)]
        assert [ask and ask.collection.read_by_agent_at for ask in found] == [6.0, 7.0]
        await asyncio.gather(
            store.asks.change(first, collect(SeenState.SEEN, 8.0)),
            store.asks.change(second, collect(SeenState.LISTED, 8.0)),
        )
        assert await seen_states() == [SeenState.SEEN, SeenState.SEEN], "it is never less"
        # Told once more, and seen, before anything is written: as it is when several changes are committed together.
        await asyncio.gather(
            store.asks.change(first, collect(SeenState.UNSEEN, 9.0, owed=True)),
            store.asks.change(first, collect(SeenState.LISTED, 9.0)),
            store.asks.change(second, collect(SeenState.LISTED, 9.0)),
            store.asks.change(second, collect(SeenState.UNSEEN, 9.0, owed=True)),
        )
        assert await seen_states() == [SeenState.LISTED, SeenState.UNSEEN]
        await store.asks.create(Write(new_ask(3)), None)
        await store.asks.change("ask_3", collect(SeenState.LISTED, 9.0))
        assert ask_ids_of(await store.late_answers.list_owed(CODER, 10.0)) == [second], (
            "nothing was owed of an ask that has not ended"
        )

    async def test_pruning_forgets_seen_outcomes_and_keeps_unseen_ones(self, store: Store) -> None:
        first, _ = await create_ended_ask(store, 1), await create_ended_ask(store, 2)
        await store.late_answers.set_seen_state([first], SeenState.SEEN, 5.0)
        assert await store.maintenance.prune(5.0) == 0
        assert await store.maintenance.prune(9_000.0) == 1
        assert ask_ids_of(await store.late_answers.list_owed(CODER, 5.0)) == ["ask_2"]
