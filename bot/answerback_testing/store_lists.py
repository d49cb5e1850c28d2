"""Contract tests for what a store lists: asks by message, due timers, pages, the record, webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerback.core.ask import Ask, Destination, RecordEntry, Status, Thread
from answerback.core.handing_over import apply_hand_over
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import DeliveryState
from answerback.ports.surface import Shown
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import (
    ANN,
    answer_decision,
    delivery_result,
    end_decision,
    new_delivery,
)

ALMOST_VALID_CURSORS = ("YXNrczox=", "YXNrczowMQ", "YXNrczo5OTk5OTk5OTk5OTk5OTk5OTk5OQ", "YXNrczow")
"""The base64 of "asks:1" (with padding), "asks:01", "asks:99999999999999999999" and "asks:0"."""

PROPERTY_SETTINGS = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]
)
"""All examples share the test's database, which is intended."""


class ListsContract:
    """All lookups other than by an ask's id or place."""

    async def test_saving_what_is_shown_leaves_the_walk_alone(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        moved, _ = await store.asks.change("ask_1", answer_decision())
        thread = Thread(channel="C1", id="1.0", url="https://x.example/1")
        saved = await store.asks.save_shown("ask_1", Shown(1, {"ts": "1.0"}, thread))
        expected = replace(
            moved,
            placement=replace(
                moved.placement, shown_revision=1, message={"ts": "1.0"}, thread=thread
            ),
        )
        assert await store.asks.get("ask_1") == expected == saved
        await store.asks.save_shown("ask_1", Shown(2, {"ts": "2.0"}, thread))
        await store.asks.save_shown("ask_1", Shown(1, {"ts": "1.0"}, thread))
        stored = await store.asks.get("ask_1")
        assert stored is not None
        assert (stored.placement.shown_revision, stored.placement.message) == (1, {"ts": "2.0"}), (
            "to be shown again"
        )

    @pytest.mark.rule("PLACE-1")
    async def test_a_message_posted_for_a_deleted_one_is_noted_although_its_ask_ended_meanwhile(
        self, store: Store
    ) -> None:
        await store.asks.create(Write(new_ask()), None)
        first = Shown(1, {"ts": "1.0"}, Thread(channel="C1", id="1.0"))
        posted = await store.asks.save_shown("ask_1", first)
        assert posted is not None
        deleted = replace(posted, placement=replace(posted.placement, shown_revision=0))
        await store.asks.change("ask_1", answer_decision())
        # The response to the click has shown that; then the post of the new message begins.
        await store.asks.save_shown(
            "ask_1", Shown(2, {"ts": "1.0"}, Thread(channel="C1", id="1.0"))
        )
        pending = Shown(0, {"after": "1.0"}, Thread(channel="C1"))
        await store.asks.save_shown("ask_1", pending, deleted)
        stored = await store.asks.get("ask_1")
        assert stored is not None
        assert stored.placement.message == {"after": "1.0"}, "its post may have an unknown result"
        assert stored.placement.shown_revision < stored.revision
        # Of two that replaced it, the first stays.
        await store.asks.save_shown("ask_1", Shown(0, {"after": "0.5"}, Thread()), deleted)
        stored = await store.asks.get("ask_1")
        assert stored is not None
        assert stored.placement.message == {"after": "1.0"}

    async def test_what_is_shown_can_be_saved_again_at_the_same_revision(
        self, store: Store
    ) -> None:
        await store.asks.create(Write(new_ask()), None)
        await store.asks.save_shown(
            "ask_1", Shown(0, {"thread": "T"}, Thread(channel="C1", id="T"))
        )
        stored = await store.asks.get("ask_1")
        assert stored is not None
        assert (stored.placement.shown_revision, stored.placement.message) == (0, {"thread": "T"})

    async def test_saving_what_is_shown_of_an_unknown_ask_does_nothing(self, store: Store) -> None:
        assert await store.asks.save_shown("ask_0", Shown(1, {}, Thread())) is None
        assert await store.asks.get("ask_0") is None

    async def test_a_change_made_while_showing_keeps_what_is_shown(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        thread = Thread(channel="C1", id="1.0")
        await asyncio.gather(
            store.asks.change("ask_1", answer_decision()),
            store.asks.save_shown("ask_1", Shown(1, {"ts": "1.0"}, thread)),
            store.asks.change("ask_1", answer_decision("staging")),
        )
        stored = await store.asks.get("ask_1")
        assert stored is not None
        assert (stored.revision, stored.placement.shown_revision, stored.placement.thread) == (
            3,
            1,
            thread,
        )

    async def test_an_ask_that_looks_different_at_the_same_revision_is_outdated(
        self, store: Store
    ) -> None:
        ask = new_ask()
        await store.asks.create(Write(ask), None)

        def agent_left(latest: Ask | None) -> Decision[None]:
            assert latest is not None
            return Decision(
                Write(replace(latest, attendance=replace(latest.attendance, agent_left=True))), None
            )

        await store.asks.change("ask_1", agent_left)
        await store.asks.save_shown("ask_1", Shown(1, {"ts": "1.0"}, Thread()), ask)
        stored = await store.asks.get("ask_1")
        assert stored is not None
        assert (
            stored.placement.shown_revision,
            stored.placement.message,
            stored.placement.was_visible,
        ) == (0, {"ts": "1.0"}, True)
        assert await store.messages.list_outdated(10) == ["ask_1"]

    async def test_an_open_ask_is_found_by_the_id_of_its_message(self, store: Store) -> None:
        for number in (1, 2):
            await store.asks.create(Write(new_ask(number)), None)
            await store.asks.save_shown(f"ask_{number}", Shown(1, {"id": f"m{number}"}, Thread()))
        await store.asks.create(Write(new_ask(3)), None)
        found = [
            await store.messages.find_by_message("slack", message) for message in ("m1", "m2", "m3")
        ]
        assert [ask and ask.id for ask in found] == ["ask_1", "ask_2", None]
        assert await store.messages.find_by_message("discord", "m1") is None
        await store.asks.change("ask_1", end_decision())
        assert await store.messages.find_by_message("slack", "m1") is None

    async def test_asks_with_outdated_messages_are_listed_by_their_oldest_change(
        self, store: Store
    ) -> None:
        await store.asks.create(Write(new_ask(1, at=3.0)), None)
        await store.asks.create(Write(new_ask(2, at=1.0)), None)
        await store.asks.create(Write(new_ask(3, at=2.0)), None)
        await store.asks.create(Write(new_ask(4, at=0.0, shown_revision=1)), None)
        assert await store.messages.list_outdated(10) == ["ask_2", "ask_3", "ask_1"]
        assert await store.messages.list_outdated(2) == ["ask_2", "ask_3"]
        await store.asks.save_shown("ask_2", Shown(1, {}, Thread()))
        assert await store.messages.list_outdated(10) == ["ask_3", "ask_1"]
        await store.asks.change("ask_2", end_decision(at=9.0))
        assert await store.messages.list_outdated(10) == ["ask_3", "ask_1", "ask_2"]

    async def test_outdated_asks_are_listed_from_all_places_in_turn(self, store: Store) -> None:
        for number in range(1, 6):
            place = Destination(surface="slack", channel="C1" if number < 4 else "C2")
            await store.asks.create(Write(new_ask(number, to=place, at=float(number))), None)
        await store.asks.create(Write(new_ask(6, at=9.0, message={"ts": "1.0"})), None)
        assert await store.messages.list_outdated(3) == ["ask_1", "ask_4", "ask_6"]
        assert await store.messages.list_outdated(10) == [
            "ask_1",
            "ask_4",
            "ask_6",
            "ask_2",
            "ask_5",
            "ask_3",
        ]

    @pytest.mark.rule("CLAIM-8")
    async def test_revisions_of_many_asks_are_read_at_once(self, store: Store) -> None:
        for number in range(3):
            await store.asks.create(Write(new_ask(number)), None)
        await store.asks.change("ask_1", answer_decision())
        found = await store.changes.revisions(["ask_1", "ask_2", "ask_9"])
        assert found == {"ask_1": 2, "ask_2": 1}
        assert await store.changes.revisions([]) == {}

    # --- the clock ---

    async def test_asks_are_due_at_their_deadlines_until_they_end(self, store: Store) -> None:
        assert await store.claims.next_due(0.0) is None
        await store.asks.create(Write(new_ask(1, expires_at=5_000.0)), None)
        await store.asks.create(Write(new_ask(2, request={"remind_after": (60.0,)})), None)
        await store.asks.create(Write(new_ask(3)), None)
        assert await store.claims.next_due(0.0) == 1_060.0
        assert await store.claims.next_due(1_060.0) == 5_000.0
        assert await store.claims.claim_due(SOLE_CLAIM, 1_059.9, 10) == []
        assert await store.claims.claim_due(SOLE_CLAIM, 9_000.0, 10) == ["ask_2", "ask_1"]
        assert await store.claims.claim_due(SOLE_CLAIM, 9_000.0, 1) == ["ask_2"]
        await store.asks.change("ask_2", end_decision())
        assert await store.claims.next_due(0.0) == 5_000.0

    @pytest.mark.rule("HANDOVER-4")
    async def test_an_ask_is_due_as_soon_as_it_is_handed_over(self, store: Store) -> None:
        await store.asks.create(Write(new_ask(1)), None)

        def decide(ask: Ask | None) -> Decision[None]:
            assert ask is not None
            return Decision(Write(*apply_hand_over(ask, ("U2",), at=1_000.0, by=ANN)[:2]), None)

        await store.asks.change("ask_1", decide)
        assert await store.claims.next_due(0.0) == 1_000.0
        assert await store.claims.claim_due(SOLE_CLAIM, 1_000.0, 10) == ["ask_1"]
        stored = await store.asks.get("ask_1")
        assert stored is not None
        assert (stored.schedule.recipient_ids, stored.placement.responders) == (
            ("U2",),
            (*new_ask(1).placement.responders, "U2"),
        )
        assert [line.entry.kind for line in await store.record.read("ask_1")] == ["handed_over"]

    # --- pages ---

    @pytest.mark.rule("API-7")
    async def test_pages_go_from_the_newest_ask_to_the_oldest(self, store: Store) -> None:
        for number in range(7):
            await store.asks.create(Write(new_ask(number)), None)
        seen: list[str] = []
        after: str | None = None
        sizes = []
        while True:
            page = await store.asks.page(after=after, limit=3)
            seen += [ask.id for ask in page.rows]
            sizes.append(len(page.rows))
            if (after := page.after) is None:
                break
            await store.asks.create(Write(new_ask(f"new{len(seen)}")), None)
        assert seen == [f"ask_{n}" for n in range(6, -1, -1)]
        assert sizes == [3, 3, 1]

    async def test_a_page_that_is_exactly_full_is_the_last(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        assert (await store.asks.page(limit=1)).after is None
        assert (await store.asks.page(status=Status.FAILED)).rows == ()

    @pytest.mark.rule("API-7")
    @pytest.mark.parametrize(
        ("filters", "numbers"),
        [
            ({"status": Status.OPEN}, [4, 3, 2]),
            ({"status": Status.WITHDRAWN}, [1]),
            ({"surface": "web"}, [2]),
            ({"conversation": "conv"}, [3]),
            ({"agent": "coder"}, [4, 1]),
            ({"agent": "coder", "status": Status.OPEN}, [4]),
            ({"agent": "coder", "status": Status.OPEN, "surface": "slack"}, [4]),
            ({"agent": "coder", "conversation": "conv"}, []),
        ],
    )
    async def test_a_page_contains_the_asks_that_match_the_filters(
        self, store: Store, filters: dict[str, str], numbers: list[int]
    ) -> None:
        await store.asks.create(Write(new_ask(1, request={"agent": "coder"})), None)
        await store.asks.create(Write(new_ask(2, to=Destination(surface="web"))), None)
        await store.asks.create(Write(new_ask(3, request={"conversation": "conv"})), None)
        await store.asks.create(Write(new_ask(4, request={"agent": "coder"})), None)
        await store.asks.change("ask_1", end_decision())
        page = await store.asks.page(**filters)  # type: ignore[arg-type] # parametrised
        assert [ask.id for ask in page.rows] == [f"ask_{n}" for n in numbers]

    @pytest.mark.rule("API-7")
    @PROPERTY_SETTINGS
    @given(cursor=st.text(max_size=30) | st.sampled_from(ALMOST_VALID_CURSORS))
    def test_an_invented_cursor_is_rejected(
        self, make_store: Callable[[], Store], cursor: str
    ) -> None:
        with pytest.raises(ValueError, match="no page"):
            asyncio.run(make_store().asks.page(after=cursor))

    async def test_a_cursor_of_one_list_is_not_valid_for_another(self, store: Store) -> None:
        for number in range(2):
            await store.asks.create(Write(new_ask(number)), None)
        after = (await store.asks.page(limit=1)).after
        with pytest.raises(ValueError, match="no page"):
            await store.outbox.page(state=None, agent=None, after=after, limit=1)

    # --- the record ---

    @pytest.mark.rule("API-9", "RECORD-4")
    async def test_the_record_is_numbered_and_read_from_any_line(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        lines = [RecordEntry(at=float(n), kind="note", body={"n": n}, by=ANN) for n in range(5)]
        for line in lines:
            await store.record.add("ask_1", line)
            await store.record.add("ask_2", line)
        await store.record.add(None, lines[0])
        record = await store.record.read("ask_1")
        assert [line.entry for line in record] == lines
        numbers = [line.seq for line in record]
        assert numbers == sorted(set(numbers))
        assert await store.record.read("ask_1", after=numbers[1], limit=2) == record[2:4]
        assert await store.record.read("ask_1", after=numbers[-1]) == []

    # --- webhooks ---

    @pytest.mark.rule("WEBHOOK-4")
    async def test_only_the_first_pending_delivery_of_each_ask_is_due(self, store: Store) -> None:
        await store.asks.create(Write(new_ask(1)), None)
        await store.asks.create(Write(new_ask(2)), None)
        first, second = new_delivery(1), new_delivery(2, at=1_500.0)
        other = new_delivery(3, ask="ask_2", at=900.0)
        await store.asks.change("ask_1", answer_decision(deliveries=(first, second)))
        await store.asks.change("ask_2", answer_decision(deliveries=(other,)))

        async def due(now: float) -> list[str]:
            found = await store.outbox.claim(SOLE_CLAIM, now, 10)
            await store.outbox.release(SOLE_CLAIM.holder)
            return [each.delivery.id for each in found]

        assert await due(9_000.0) == ["msg_3", "msg_1"]
        assert await store.outbox.next_due() == 900.0
        assert await store.outbox.next_due(900.0) == 1_000.0
        await store.outbox.save_results(
            [
                delivery_result(other, DeliveryState.DELIVERED),
                delivery_result(first, DeliveryState.PENDING, next_at=8_000.0),
            ],
            [("ask_1", RecordEntry(at=3_000.0, kind="delivery"))],
        )
        assert await due(7_000.0) == []
        assert await store.outbox.next_due() == 8_000.0
        assert (await store.record.read("ask_1"))[-1].entry.kind == "delivery"
        dead = delivery_result(first, DeliveryState.DEAD)
        await store.outbox.save_results([dead], [])
        assert await due(9_000.0) == ["msg_2"]
        assert await store.outbox.get("msg_1") == dead
        await store.outbox.save_results([delivery_result(second, DeliveryState.DELIVERED)], [])
        assert await store.outbox.next_due() is None
        assert await store.outbox.get("msg_0") is None

    @pytest.mark.rule("API-10", "WEBHOOK-5")
    async def test_a_delivery_that_is_sent_again_is_due_again(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        delivery = new_delivery()
        await store.asks.change("ask_1", answer_decision(deliveries=(delivery,)))
        await store.outbox.save_results([delivery_result(delivery, DeliveryState.DEAD)], [])
        again = delivery_result(delivery, DeliveryState.PENDING, next_at=4_000.0, tries=0)
        await store.outbox.save_results([again], [])
        assert await store.outbox.claim(SOLE_CLAIM, 4_000.0, 10) == [again]

    @pytest.mark.rule("AUTH-3")
    async def test_deliveries_are_paged_newest_first_by_state_and_agent(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        deliveries = [new_delivery(n) for n in range(5)]
        deliveries[4] = replace(deliveries[4], agent=None)
        await store.asks.change("ask_1", answer_decision(deliveries=tuple(deliveries)))
        await store.outbox.save_results([delivery_result(deliveries[0], DeliveryState.DEAD)], [])

        async def ids(
            state: DeliveryState | None, agent: str | None, after: str | None
        ) -> list[str]:
            page = await store.outbox.page(state=state, agent=agent, after=after, limit=2)
            rest = await ids(state, agent, page.after) if page.after else []
            return [d.delivery.id for d in page.rows] + rest

        assert await ids(None, None, None) == ["msg_4", "msg_3", "msg_2", "msg_1", "msg_0"]
        assert await ids(DeliveryState.PENDING, "coder", None) == ["msg_3", "msg_2", "msg_1"]
        assert await ids(DeliveryState.DEAD, None, None) == ["msg_0"]
        assert await ids(None, "nobody", None) == []
