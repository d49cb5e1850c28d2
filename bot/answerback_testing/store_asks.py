"""Contract tests for how a store creates, changes and finds asks: atomically, and only once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from answerback.core import ask as asks
from answerback.core.ask import Ask, Destination, Escalation, Thread
from answerback.core.errors import IdempotencyKeyReusedError, StoreError
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import (
    Created,
    Existing,
    Idempotency,
    RememberedAnswer,
)
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import (
    ANN,
    answer_decision,
    answer_if_at_revision,
    new_delivery,
    read_only_decision,
)


class AsksContract:
    """Asks, their changes, and the ids that keep changes from happening twice."""

    async def test_an_ask_is_loaded_as_it_was_stored(self, store: Store) -> None:
        ask = new_ask(
            to=Destination(surface="discord", channel="C", thread="T", user="U"),
            request={
                "agent": "coder",
                "conversation": "c",
                "turn": "t",
                "metadata": {"a": [1, 1.5, None, "ü\x00😀"]},
                "remind_after": (900.0,),
                "escalation": Escalation(after=5.0, responders=("anyone",)),
            },
            expires_at=5_000.25,
            message={"ts": "1.0"},
            thread=Thread(channel="C", id="1.0", url="https://x.example"),
            last_actor=ANN,
        )
        assert await store.asks.create(Write(ask), None) == Created(ask)
        assert await store.asks.get(ask.id) == ask

    async def test_an_unknown_ask_is_none(self, store: Store) -> None:
        assert await store.asks.get("ask_0") is None
        assert await store.asks.change("ask_0", read_only_decision) == (None, False)
        assert await store.record.read("ask_0") == []

    @pytest.mark.rule("WEBHOOK-2")
    async def test_a_change_stores_the_ask_its_record_its_deliveries_and_its_memory(
        self, store: Store
    ) -> None:
        await store.asks.create(Write(new_ask(), asks.request_entry(new_ask(), 1_000.0)), None)

        def decide(ask: Ask | None) -> Decision[Ask]:
            write = answer_decision()(ask).write
            assert write is not None
            memory = RememberedAnswer("coder", "conv", "turn", "bash", "apply", True)
            return Decision(write._replace(deliveries=(new_delivery(),), memory=memory), write.ask)

        moved, repeated = await store.asks.change("ask_1", decide)
        assert not repeated
        assert (moved.revision, moved.last_actor) == (2, ANN)
        assert await store.asks.get("ask_1") == moved
        kinds = [line.entry.kind for line in await store.record.read("ask_1")]
        assert kinds == ["request", "answered", "request"]
        assert [d.delivery for d in await store.outbox.claim(SOLE_CLAIM, 1_000.0, 9)] == [
            new_delivery()
        ]
        assert await store.asks.get_remembered("coder", "conv", "turn", "bash", "apply") == (True,)

    async def test_a_decision_not_to_write_changes_nothing(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        assert await store.asks.change("ask_1", read_only_decision, delivery="ev") == (
            new_ask(),
            False,
        )
        assert await store.asks.get("ask_1") == new_ask()
        assert await store.asks.change("ask_1", answer_decision(), delivery="ev") != (
            new_ask(),
            True,
        )

    async def test_an_error_in_a_decision_reaches_only_its_caller(self, store: Store) -> None:
        for number in range(20):
            await store.asks.create(Write(new_ask(number)), None)

        def fail(ask: Ask | None) -> Decision[Ask]:
            raise LookupError(ask)

        results = await asyncio.gather(
            *(
                store.asks.change(f"ask_{n}", fail if n % 3 else answer_decision())
                for n in range(20)
            ),
            return_exceptions=True,
        )
        for number, outcome in enumerate(results):
            assert isinstance(outcome, LookupError) is bool(number % 3)
            stored = await store.asks.get(f"ask_{number}")
            assert stored is not None
            assert stored.revision == (1 if number % 3 else 2)

    @pytest.mark.rule("WEBHOOK-2", "DATA-3")
    async def test_a_change_that_cannot_be_stored_whole_is_not_stored_at_all(
        self, store: Store
    ) -> None:
        for number in range(3):
            await store.asks.create(Write(new_ask(number)), None)
        await store.asks.change("ask_0", answer_decision(deliveries=(new_delivery(7),)))
        doubled = store.asks.change(
            "ask_1", answer_decision(deliveries=(new_delivery(7),)), delivery="ev"
        )
        other = store.asks.change("ask_2", answer_decision())
        outcome, (moved, _) = await asyncio.gather(doubled, other, return_exceptions=True)  # type: ignore[misc] # the second did not fail
        assert isinstance(outcome, StoreError)
        assert await store.asks.get("ask_1") == new_ask(1)
        assert await store.record.read("ask_1") == []
        assert await store.asks.get("ask_2") == moved
        assert not (await store.asks.change("ask_1", answer_decision(), delivery="ev"))[1]

    async def test_the_callback_is_called_for_a_stored_change_but_not_for_a_failed_or_repeated_one(
        self, store: Store
    ) -> None:
        await store.asks.create(Write(new_ask()), None)
        notified: list[Ask | None] = []

        def fail(_ask: Ask | None) -> Decision[Ask | None]:
            raise LookupError

        with pytest.raises(LookupError):
            await store.asks.change("ask_1", fail, delivery="ev", then=notified.append)
        assert notified == []
        moved, _ = await store.asks.change(
            "ask_1", answer_decision(), delivery="ev", then=notified.append
        )
        assert notified == [moved]
        await store.asks.change("ask_1", read_only_decision, delivery="ev", then=notified.append)
        assert notified == [moved]

    @pytest.mark.rule("WALK-15")
    async def test_of_two_changes_at_the_same_revision_exactly_one_is_made(
        self, store: Store
    ) -> None:
        await store.asks.create(Write(new_ask()), None)
        for revision in range(1, 1_001):
            first, second = await asyncio.gather(
                store.asks.change("ask_1", answer_if_at_revision(revision)),
                store.asks.change("ask_1", answer_if_at_revision(revision)),
            )
            assert first[0] is not second[0]
        stored = await store.asks.get("ask_1")
        assert stored is not None
        assert stored.revision == 1_001
        assert len(await store.record.read("ask_1", limit=2_000)) == 1_000

    async def test_many_simultaneous_changes_are_all_stored(self, store: Store) -> None:
        await asyncio.gather(*(store.asks.create(Write(new_ask(n)), None) for n in range(300)))
        results = await asyncio.gather(
            *(
                store.asks.change(f"ask_{n}", answer_decision(at=n / 3), delivery=f"Ev{n}")
                for n in range(300)
            )
        )
        for number, (moved, repeated) in enumerate(results):
            assert not repeated
            assert moved.updated_at == number / 3
            assert await store.asks.get(f"ask_{number}") == moved
            assert len(await store.record.read(f"ask_{number}")) == 2
            assert (
                await store.asks.change(f"ask_{number}", read_only_decision, delivery=f"Ev{number}")
            )[1]

    @pytest.mark.rule("ACT-7")
    async def test_a_repeated_delivery_writes_nothing_and_is_reported(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        moved, repeated = await store.asks.change("ask_1", answer_decision(), delivery="Ev1")
        assert not repeated
        _, repeated = await store.asks.change("ask_1", answer_decision("staging"), delivery="Ev1")
        assert repeated
        assert await store.asks.get("ask_1") == moved
        _, repeated = await store.asks.change("ask_1", answer_decision("staging"), delivery="Ev2")
        assert not repeated

    @pytest.mark.rule("ACT-7")
    async def test_simultaneous_deliveries_with_one_id_count_once(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        results = await asyncio.gather(
            *(
                store.asks.change("ask_1", answer_if_at_revision(1), delivery="Ev1")
                for _ in range(10)
            )
        )
        assert sorted(repeated for _, repeated in results) == [False] + [True] * 9

    @pytest.mark.rule("ACT-9")
    async def test_a_repeated_delivery_with_another_digest_is_an_error_and_writes_nothing(
        self, store: Store
    ) -> None:
        await store.asks.create(Write(new_ask()), None)
        await store.asks.create(Write(new_ask(2)), None)
        moved, _ = await store.asks.change("ask_1", answer_decision(), delivery="key", digest="one")
        notified: list[object] = []
        for name, decide, digest in (
            ("ask_1", answer_decision("staging"), "two"),
            ("ask_2", answer_decision(), "two"),
            ("ask_1", answer_decision("staging"), ""),
        ):
            with pytest.raises(IdempotencyKeyReusedError):
                await store.asks.change(
                    name, decide, delivery="key", digest=digest, then=notified.append
                )
        assert notified == []
        assert await store.asks.get("ask_1") == moved
        assert await store.asks.get("ask_2") == new_ask(2)
        assert (await store.asks.change("ask_1", read_only_decision, delivery="key", digest="one"))[
            1
        ]

    @pytest.mark.rule("ACT-9")
    async def test_of_simultaneous_deliveries_with_one_id_the_first_digest_counts(
        self, store: Store
    ) -> None:
        await store.asks.create(Write(new_ask()), None)
        results = await asyncio.gather(
            *(
                store.asks.change("ask_1", answer_if_at_revision(1), delivery="key", digest=str(n))
                for n in range(9)
            ),
            return_exceptions=True,
        )
        assert [isinstance(each, IdempotencyKeyReusedError) for each in results].count(True) == 8
        assert [each[1] for each in results if not isinstance(each, BaseException)] == [False]

    async def test_stored_data_survives_a_restart(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        await store.asks.create(Write(new_ask()), None)
        moved, _ = await store.asks.change("ask_1", answer_decision(), delivery="Ev1", digest="one")
        secret = await store.secret("web")
        await store.close()
        again = make_store()
        await again.open()
        assert await again.asks.get("ask_1") == moved
        assert (await again.asks.change("ask_1", read_only_decision, delivery="Ev1", digest="one"))[
            1
        ]
        with pytest.raises(IdempotencyKeyReusedError):
            await again.asks.change("ask_1", read_only_decision, delivery="Ev1", digest="two")
        assert await again.secret("web") == secret
        assert (await again.counts())["open"] == 1
        await again.close()

    # --- idempotency ---

    @pytest.mark.rule("SUBMIT-3")
    async def test_a_reused_idempotency_key_finds_the_current_state_of_the_first_ask(
        self, store: Store
    ) -> None:
        key = Idempotency("coder", "k", "digest")
        await store.asks.create(Write(new_ask(1)), key)
        moved, _ = await store.asks.change("ask_1", answer_decision())
        assert await store.asks.create(Write(new_ask(2)), key) == Existing(moved, same_body=True)
        other_body = Idempotency("coder", "k", "another")
        assert await store.asks.create(Write(new_ask(2)), other_body) == Existing(
            moved, same_body=False
        )
        assert await store.asks.get("ask_2") is None

    @pytest.mark.rule("AUTH-3")
    async def test_each_agent_has_its_own_idempotency_keys(self, store: Store) -> None:
        await store.asks.create(Write(new_ask(1)), Idempotency("coder", "k", "d"))
        created = await store.asks.create(Write(new_ask(2)), Idempotency("writer", "k", "d"))
        assert created == Created(new_ask(2))

    @pytest.mark.rule("SUBMIT-3")
    async def test_simultaneous_submissions_with_one_key_create_one_ask(self, store: Store) -> None:
        key = Idempotency("coder", "k", "d")
        results = await asyncio.gather(
            *(store.asks.create(Write(new_ask(n)), key) for n in range(10))
        )
        assert sum(isinstance(r, Created) for r in results) == 1
        assert len({r.ask.id for r in results if isinstance(r, Created | Existing)}) == 1
        assert (await store.counts())["open"] == 1
