"""Contract tests for a store's other duties: counts, remembered answers, pruning, opening and closing, any text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core.ask import Ask, Destination, RecordEntry, Status
from answerback.core.errors import StoreError
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import (
    Created,
    DeliveryState,
    Existing,
    Idempotency,
    RememberedAnswer,
)
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import (
    PATIENCE,
    answer_decision,
    delivery_result,
    end_decision,
    new_delivery,
    read_only_decision,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)

PROPERTY_SETTINGS = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]
)
"""All examples share the test's database, which is intended."""


class MaintenanceContract:
    """The rest of the store protocol, and what holds for all of it."""

    async def test_counts_follow_every_change_of_status_and_state(self, store: Store) -> None:
        names = {*Status, *DeliveryState}
        assert await store.counts() == dict.fromkeys(names, 0)
        for number in range(3):
            await store.asks.create(Write(new_ask(number)), None)
        await store.asks.change(
            "ask_1", answer_decision(deliveries=(new_delivery(1), new_delivery(2)))
        )
        await store.asks.change("ask_2", end_decision(Status.EXPIRED))
        await store.outbox.save_results([delivery_result(new_delivery(2), DeliveryState.DEAD)], [])
        counted = {name: n for name, n in (await store.counts()).items() if n}
        assert counted == {"open": 2, "expired": 1, "pending": 1, "dead": 1}

    async def test_the_oldest_open_ask_of_each_route_is_known(self, store: Store) -> None:
        assert await store.oldest_open() == {}
        odd = {"arguments": {"q": '\x00 "route": "x"'}}
        for number, (route, at) in enumerate(
            [("ops", 20.0), ("ops", 30.0), ('a "b"', 5.0), (None, 7.0), ("ops", 1.0)]
        ):
            ask = new_ask(number, at=at, request={"route": route, **odd})
            await store.asks.create(
                Write(
                    replace(
                        ask,
                        schedule=replace(ask.schedule, clock_set_back=2.0 if number == 0 else 0.0),
                    )
                ),
                None,
            )
        await store.asks.change("ask_4", end_decision(Status.EXPIRED))
        assert await store.oldest_open() == {"ops": 18.0, 'a "b"': 5.0, "": 7.0}

    @pytest.mark.rule("ROUTE-5")
    async def test_a_remembered_answer_belongs_to_one_turn_and_the_last_one_counts(
        self, store: Store
    ) -> None:
        for number, value in enumerate((True, None, False)):
            memory = RememberedAnswer("coder", "conv", "turn", "bash", "q", value)
            await store.asks.create(Write(new_ask(number), memory=memory), None)
        assert await store.asks.get_remembered("coder", "conv", "turn", "bash", "q") == (False,)
        assert await store.asks.get_remembered("coder", "conv", "turn2", "bash", "q") is None
        assert await store.asks.get_remembered("other", "conv", "turn", "bash", "q") is None

    async def test_a_draft_is_kept_replaced_and_dropped(self, store: Store) -> None:
        assert await store.drafts.get("k") is None
        await store.drafts.save("k", {"a": 1}, 1.0)
        await store.drafts.save("k", {"a": [2]}, 2.0)
        assert await store.drafts.get("k") == {"a": [2]}
        await store.drafts.save("k", None, 3.0)
        assert await store.drafts.get("k") is None

    async def test_of_changes_of_a_draft_at_the_same_time_none_is_lost(self, store: Store) -> None:
        def add(number: int) -> Callable[[JsonValue], JsonValue]:
            return lambda draft: [*(draft if isinstance(draft, list) else []), number]

        changes = [store.drafts.change("k", add(number), 1.0) for number in range(8)]
        await asyncio.gather(*changes)
        kept = await store.drafts.get("k")
        assert isinstance(kept, list)
        assert sorted(map(str, kept)) == sorted(map(str, range(8)))

    @pytest.mark.parametrize(("before", "after"), [(None, None), (None, 1), (1, [2]), ([2], None)])
    async def test_a_draft_that_is_changed_can_appear_and_be_dropped(
        self, store: Store, before: JsonValue, after: JsonValue
    ) -> None:
        def change(draft: JsonValue) -> JsonValue:
            assert draft == before
            return after

        await store.drafts.save("k", before, 1.0)
        assert await store.drafts.change("k", change, 2.0) == after
        assert await store.drafts.get("k") == after

    async def test_a_secret_is_made_once_and_is_32_bytes(self, store: Store) -> None:
        first = await store.secret("web")
        assert len(first) == 32
        assert await store.secret("web") == first
        assert await store.secret("csrf") != first

    @pytest.mark.rule("DATA-16")
    async def test_pruning_forgets_only_old_data(self, store: Store) -> None:
        for number, at in ((1, 10.0), (2, 20.0)):
            memory = RememberedAnswer("coder", "conv", f"turn{number}", "bash", "q", value=True)
            key = Idempotency("coder", f"k{number}", "d")
            await store.asks.create(Write(new_ask(number, at=at), memory=memory), key)
            await store.asks.change(f"ask_{number}", end_decision(at=at), delivery=f"Ev{number}")
            await store.drafts.save(f"d{number}", True, at)
        assert await store.maintenance.prune(20.0) == 4
        assert await store.maintenance.prune(20.0) == 0
        assert await store.asks.get_remembered("coder", "conv", "turn1", "bash", "q") is None
        assert await store.asks.get_remembered("coder", "conv", "turn2", "bash", "q") == (True,)
        assert await store.drafts.get("d1") is None
        assert await store.drafts.get("d2") is True
        assert not (await store.asks.change("ask_1", read_only_decision, delivery="Ev1"))[1]
        assert (await store.asks.change("ask_2", read_only_decision, delivery="Ev2"))[1]
        key = Idempotency("coder", "k1", "d")
        assert isinstance(await store.asks.create(Write(new_ask(3)), key), Created)
        assert (await store.counts())["open"] == 1

    @pytest.mark.rule("DATA-16")
    async def test_pruning_keeps_the_key_of_an_ask_that_is_still_open(self, store: Store) -> None:
        key = Idempotency("coder", "k", "d")
        await store.asks.create(Write(new_ask(at=10.0)), key)
        assert await store.asks.find_created(key) == Existing(new_ask(at=10.0), same_body=True)
        await store.maintenance.prune(20.0)
        again = await store.asks.create(Write(new_ask(2, at=30.0)), key)
        assert again == Existing(new_ask(at=10.0), same_body=True)
        await store.asks.change("ask_1", end_decision(at=2_000.0))
        await store.maintenance.prune(2_000.0)
        assert await store.asks.find_created(key) is not None, "it has only just ended"
        assert await store.maintenance.prune(2_001.0) == 1
        assert await store.asks.find_created(key) is None

    @pytest.mark.rule("DATA-16")
    async def test_pruning_keeps_the_drafts_of_an_ask_that_is_open_or_has_just_ended(
        self, store: Store
    ) -> None:
        """Messages are known by nothing else, and have yet to say how the ask ended."""
        for number in (1, 2, 12):
            await store.asks.create(Write(new_ask(number, at=1.0)), None)
        await store.asks.change("ask_2", end_decision(at=5.0))
        await store.drafts.save("chat:shown:ask_1:U1", "of it", 10.0)
        await store.drafts.save("chat:about:17", "ask_2", 10.0, "ask_2")
        await store.drafts.save("chat:about:17", "ask_1", 10.0, "ask_1")
        await store.drafts.save("chat:about:18", "ask_2", 10.0, "ask_2")
        await store.drafts.save("chat:about:19", "ask_3", 10.0, "ask_3")
        await store.drafts.change("chat:about:17", lambda _: "changed", 10.0)
        assert await store.maintenance.prune(20.0) == 2
        kept = [await store.drafts.get(f"chat:{key}") for key in ("shown:ask_1:U1", "about:17")]
        assert kept == ["of it", "changed"]
        await store.asks.change("ask_1", end_decision(at=2_000.0))
        assert await store.maintenance.prune(2_000.0) == 0
        assert await store.maintenance.prune(2_001.0) == 2

    async def test_pruning_continues_beyond_one_batch(self, store: Store) -> None:
        await asyncio.gather(*(store.drafts.save(f"d{n}", n, 1.0) for n in range(2_500)))
        assert await store.maintenance.prune(2.0) == 2_500

    @pytest.mark.rule("DATA-16")
    async def test_pruning_finds_old_drafts_among_many_that_are_kept(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        about = ("", "ask_1")
        drafts = (store.drafts.save(f"d{n}", n, 1.0 + n, about[n % 2]) for n in range(2_500))
        await asyncio.gather(*drafts)
        assert await store.maintenance.prune(2_401.0) == 1_200
        assert await store.maintenance.prune(2_401.0) == 0
        for n in range(2_500):
            is_kept = n % 2 == 1 or n >= 2_400
            assert (await store.drafts.get(f"d{n}") is not None) == is_kept

    @pytest.mark.rule("DATA-16")
    async def test_pruning_finds_old_deliveries_among_many_recent_ones(self, store: Store) -> None:
        def touch_decision(at: float) -> Callable[[Ask | None], Decision[None]]:
            def decide(ask: Ask | None) -> Decision[None]:
                assert ask is not None
                new = replace(ask, updated_at=at, revision=ask.revision + 1)
                return Decision(Write(new), None)

            return decide

        await store.asks.create(Write(new_ask()), None)
        numbers = range(1_100)
        changes = (
            store.asks.change("ask_1", touch_decision(10.0 + n % 2 * 20.0), delivery=f"Ev{n}")
            for n in numbers
        )
        await asyncio.gather(*changes)
        assert await store.maintenance.prune(20.0) == 550
        for n in (0, 1, 999, 1_000, 1_098, 1_099):
            _, repeated = await store.asks.change("ask_1", read_only_decision, delivery=f"Ev{n}")
            assert repeated == bool(n % 2)

    @pytest.mark.rule("DATA-16")
    async def test_pruning_deletes_webhooks_that_were_settled_long_ago(self, store: Store) -> None:
        states = {
            1: (DeliveryState.DELIVERED, 10.0),
            2: (DeliveryState.DEAD, 10.0),
            3: (DeliveryState.PENDING, 10.0),
            4: (DeliveryState.DELIVERED, 20.0),
            5: (DeliveryState.DEAD, 20.0),
        }
        webhooks = {n: new_delivery(n, ask=f"ask_{n}", at=1.0) for n in states}
        many = [new_delivery(n, at=1.0) for n in range(100, 1_200)]
        await store.asks.create(Write(new_ask(), deliveries=(*webhooks.values(), *many)), None)
        results = [
            replace(delivery_result(webhooks[n], state), updated_at=at)
            for n, (state, at) in states.items()
        ]
        results += [
            replace(delivery_result(each, DeliveryState.DELIVERED), updated_at=11.0)
            for each in many
        ]
        await store.outbox.save_results(results, [])
        assert await store.maintenance.prune_deliveries(20.0) == 1_102
        assert await store.maintenance.prune_deliveries(20.0) == 0
        page = await store.outbox.page(state=None, agent=None, after=None, limit=9)
        assert {each.delivery.id for each in page.rows} == {"msg_3", "msg_4", "msg_5"}
        counted = await store.counts()
        assert (counted["pending"], counted["delivered"], counted["dead"]) == (1, 1, 1)

    @pytest.mark.rule("DATA-15")
    async def test_an_ask_expires_no_later_because_the_clock_is_set_back(
        self, store: Store
    ) -> None:
        for number, message in ((1, {"id": "1"}), (2, None)):
            ask = new_ask(number, expires_at=1_060.0, message=message, shown_revision=1)
            await store.asks.create(Write(ask), None)
        await store.maintenance.shift_schedule(500.0, 510.0)
        assert await store.claims.next_due(0.0) == 560.0
        found = await store.asks.get("ask_1")
        assert found is not None
        assert found.schedule.expires_at == 560.0
        assert await store.messages.list_outdated(9) == ["ask_1"], "it says when it closes"

    @pytest.mark.rule("DATA-15")
    async def test_setting_the_clock_back_reschedules_pending_work_once(self, store: Store) -> None:
        assert await store.record.last_time() is None
        reminded = {"remind_after": (60.0,)}
        await store.asks.create(
            Write(new_ask(1, request=reminded), deliveries=(new_delivery(),)), None
        )
        early = new_delivery(2, ask="ask_2", at=650.0)
        await store.asks.create(
            Write(new_ask(2, at=698.0, request=reminded), deliveries=(early,)), None
        )
        for _ in range(2):
            await store.maintenance.shift_schedule(500.0, 700.0)
        assert await store.claims.next_due(0.0) == 560.0
        assert await store.claims.next_due(560.0) == 758.0, (
            "it was created according to the new time"
        )
        assert await store.outbox.next_due() == 500.0
        page = await store.outbox.page(state=None, agent=None, after=None, limit=9)
        planned = {each.delivery.id: each.next_at for each in page.rows}
        assert planned == {"msg_1": 500.0, "msg_2": 650.0}, "one was already due at the new time"
        assert await store.record.last_time() == 700.0

    async def test_a_working_store_passes_its_check(self, store: Store) -> None:
        await store.check()
        await store.check()

    async def test_a_store_that_is_not_open_says_so(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        unopened = make_store()
        with pytest.raises(StoreError, match="not open"):
            await unopened.asks.get("ask_1")
        with pytest.raises(StoreError, match="not open"):
            await unopened.check()
        await unopened.close()

    async def test_closing_completes_pending_writes(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        await store.asks.create(Write(new_ask()), None)
        changes = [asyncio.ensure_future(store.record.add("ask_1", _note(n))) for n in range(300)]
        await asyncio.sleep(0)
        await store.close()
        await asyncio.gather(*changes)
        again = make_store()
        await again.open()
        assert len(await again.record.read("ask_1")) == 300
        await again.close()

    async def test_a_cancelled_caller_does_not_undo_its_change(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        notified: list[Ask] = []
        leaving = asyncio.ensure_future(
            store.asks.change("ask_1", answer_decision(), then=notified.append)
        )
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        async with asyncio.timeout(PATIENCE):
            while not notified:  # noqa: ASYNC110 - nothing else signals that it is stored
                await asyncio.sleep(0.001)
        stored = await store.asks.get("ask_1")
        assert stored is not None
        assert stored.revision == 2
        assert notified == [stored], "the callback is called"

    @PROPERTY_SETTINGS
    @given(text=st.text(), value=JSON)
    def test_any_text_and_any_json_is_returned_verbatim(
        self, make_store: Callable[[], Store], text: str, value: JsonValue
    ) -> None:
        async def round_trip() -> None:
            store = make_store()
            await store.open()
            try:
                number = (await store.counts())["open"]
                ask = new_ask(
                    f"{number}{text}",
                    to=Destination(surface="slack", channel=text, thread=text),
                    request={"conversation": text, "agent": text, "metadata": {text: value}},
                    message={text: value},
                    responders=(text,),
                )
                await store.asks.create(Write(ask), Idempotency(text, f"{number}", text))
                assert repr(await store.asks.get(ask.id)) == repr(ask)
                assert ask in (await store.asks.page(conversation=text, agent=text)).rows
                assert ask in await store.messages.find_open("slack", text, text, 1)
                await store.drafts.save(text, value, 1.0)
                assert repr(await store.drafts.get(text)) == repr(value)
            finally:
                await store.close()

        asyncio.run(round_trip())

    async def test_half_a_surrogate_pair_is_rejected_with_a_message(self, store: Store) -> None:
        with pytest.raises(StoreError, match="surrogate"):
            await store.drafts.save("k", "\ud800", 1.0)
        with pytest.raises(StoreError, match="surrogate"):
            await store.asks.create(Write(new_ask(message={"a": "\ud800"})), None)
        with pytest.raises(StoreError, match="surrogate"):
            await store.asks.get("\ud800")
        with pytest.raises(StoreError, match="surrogate"):
            await store.record.add(None, RecordEntry(at=1.0, kind="note", body={"a": "\ud800"}))


def _note(number: int) -> RecordEntry:
    return RecordEntry(at=float(number), kind="note")
