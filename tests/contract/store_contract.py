"""What every store has to do: a class of tests that each store's own tests inherit.

A heir gives ``make_store``: each call makes another, unopened store on the same, first empty,
database.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from bot import ask as asks
from bot.ask import Ask, Destination, Entry, Escalation, Status, Thread
from bot.errors import StoreError
from bot.ports import (
    Created,
    Decision,
    DeliveryState,
    Existing,
    Idempotency,
    Memory,
    Shown,
    Store,
    Write,
)
from tests.contract.store_examples import (
    ANN,
    answering,
    at_revision,
    ending,
    looking,
    new_ask,
    new_delivery,
    result,
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

NEAR_CURSORS = ("YXNrczox=", "YXNrczowMQ", "YXNrczo5OTk5OTk5OTk5OTk5OTk5OTk5OQ", "YXNrczow")
"""What base64 makes of "asks:1" (with padding), "asks:01", "asks:99999999999999999999", "asks:0"."""

PER_EXAMPLE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
"""All examples share the test's one database, and mean to."""


class StoreContract:
    """The behaviour of every store."""

    @pytest.fixture
    def make_store(self) -> Callable[[], Store]:
        raise NotImplementedError("a heir says how its store is made")

    @pytest.fixture
    async def store(self, make_store: Callable[[], Store]) -> AsyncIterator[Store]:
        store = make_store()
        await store.open()
        yield store
        await store.close()

    # --- asks ---

    async def test_an_ask_comes_back_as_it_was_stored(self, store: Store) -> None:
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
            acted_by=ANN,
        )
        assert await store.create(Write(ask), None) == Created(ask)
        assert await store.get(ask.id) == ask

    async def test_an_ask_that_nobody_stored_is_none(self, store: Store) -> None:
        assert await store.get("ask_0") is None
        assert await store.change("ask_0", looking) == (None, False)
        assert await store.record("ask_0") == []

    async def test_a_change_stores_the_ask_its_record_its_deliveries_and_its_memory(
        self, store: Store
    ) -> None:
        await store.create(Write(new_ask(), asks.request_entry(new_ask(), 1_000.0)), None)

        def decide(ask: Ask | None) -> Decision[Ask]:
            write = answering()(ask).write
            assert write is not None
            memory = Memory("conv", "turn", "bash", "apply", True)
            return Decision(replace(write, deliveries=(new_delivery(),), memory=memory), write.ask)

        moved, repeated = await store.change("ask_1", decide)
        assert not repeated
        assert (moved.revision, moved.acted_by) == (2, ANN)
        assert await store.get("ask_1") == moved
        kinds = [line.entry.kind for line in await store.record("ask_1")]
        assert kinds == ["request", "answered", "request"]
        assert [d.delivery for d in await store.due_deliveries(1_000.0, 9)] == [new_delivery()]
        assert await store.remembered("conv", "turn", "bash", "apply") == (True,)

    async def test_a_decision_not_to_write_changes_nothing(self, store: Store) -> None:
        await store.create(Write(new_ask()), None)
        assert await store.change("ask_1", looking, delivery="ev") == (new_ask(), False)
        assert await store.get("ask_1") == new_ask()
        assert await store.change("ask_1", answering(), delivery="ev") != (new_ask(), True)

    async def test_an_error_of_the_decision_reaches_the_caller_and_nobody_else(
        self, store: Store
    ) -> None:
        for number in range(20):
            await store.create(Write(new_ask(number)), None)

        def fail(ask: Ask | None) -> Decision[Ask]:
            raise LookupError(ask)

        results = await asyncio.gather(
            *(store.change(f"ask_{n}", fail if n % 3 else answering()) for n in range(20)),
            return_exceptions=True,
        )
        for number, outcome in enumerate(results):
            assert isinstance(outcome, LookupError) is bool(number % 3)
            stored = await store.get(f"ask_{number}")
            assert stored is not None
            assert stored.revision == (1 if number % 3 else 2)

    async def test_a_change_that_cannot_be_stored_whole_is_not_stored_at_all(
        self, store: Store
    ) -> None:
        for number in range(3):
            await store.create(Write(new_ask(number)), None)
        await store.change("ask_0", answering(deliveries=(new_delivery(7),)))
        doubled = store.change("ask_1", answering(deliveries=(new_delivery(7),)), delivery="ev")
        other = store.change("ask_2", answering())
        outcome, (moved, _) = await asyncio.gather(doubled, other, return_exceptions=True)  # type: ignore[misc] # the second did not fail
        assert isinstance(outcome, StoreError)
        assert await store.get("ask_1") == new_ask(1)
        assert await store.record("ask_1") == []
        assert await store.get("ask_2") == moved
        assert not (await store.change("ask_1", answering(), delivery="ev"))[1]

    async def test_of_two_changes_at_the_same_revision_exactly_one_is_made(
        self, store: Store
    ) -> None:
        await store.create(Write(new_ask()), None)
        for revision in range(1, 1_001):
            first, second = await asyncio.gather(
                store.change("ask_1", at_revision(revision)),
                store.change("ask_1", at_revision(revision)),
            )
            assert first[0] is not second[0]
        stored = await store.get("ask_1")
        assert stored is not None
        assert stored.revision == 1_001
        assert len(await store.record("ask_1", limit=2_000)) == 1_000

    async def test_the_same_delivery_again_writes_nothing_and_says_so(self, store: Store) -> None:
        await store.create(Write(new_ask()), None)
        moved, repeated = await store.change("ask_1", answering(), delivery="Ev1")
        assert not repeated
        _, repeated = await store.change("ask_1", answering("staging"), delivery="Ev1")
        assert repeated
        assert await store.get("ask_1") == moved
        _, repeated = await store.change("ask_1", answering("staging"), delivery="Ev2")
        assert not repeated

    async def test_deliveries_at_the_same_moment_with_one_id_count_once(self, store: Store) -> None:
        await store.create(Write(new_ask()), None)
        results = await asyncio.gather(
            *(store.change("ask_1", at_revision(1), delivery="Ev1") for _ in range(10))
        )
        assert sorted(repeated for _, repeated in results) == [False] + [True] * 9

    async def test_what_was_stored_is_there_after_a_restart(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        await store.create(Write(new_ask()), None)
        moved, _ = await store.change("ask_1", answering(), delivery="Ev1")
        secret = await store.secret("web")
        await store.close()
        again = make_store()
        await again.open()
        assert await again.get("ask_1") == moved
        assert (await again.change("ask_1", looking, delivery="Ev1"))[1]
        assert await again.secret("web") == secret
        assert (await again.counts())["open"] == 1
        await again.close()

    # --- idempotency ---

    async def test_an_idempotency_key_again_finds_the_first_ask_as_it_stands(
        self, store: Store
    ) -> None:
        key = Idempotency("coder", "k", "digest")
        await store.create(Write(new_ask(1)), key)
        moved, _ = await store.change("ask_1", answering())
        assert await store.create(Write(new_ask(2)), key) == Existing(moved, same_body=True)
        other_body = Idempotency("coder", "k", "another")
        assert await store.create(Write(new_ask(2)), other_body) == Existing(moved, same_body=False)
        assert await store.get("ask_2") is None

    async def test_an_idempotency_key_is_its_agents_own(self, store: Store) -> None:
        await store.create(Write(new_ask(1)), Idempotency("coder", "k", "d"))
        created = await store.create(Write(new_ask(2)), Idempotency("writer", "k", "d"))
        assert created == Created(new_ask(2))

    async def test_submissions_at_the_same_moment_with_one_key_make_one_ask(
        self, store: Store
    ) -> None:
        key = Idempotency("coder", "k", "d")
        results = await asyncio.gather(*(store.create(Write(new_ask(n)), key) for n in range(10)))
        assert sum(isinstance(r, Created) for r in results) == 1
        assert len({r.ask.id for r in results}) == 1
        assert (await store.counts())["open"] == 1

    # --- what is shown ---

    async def test_what_is_shown_is_noted_and_the_walk_left_alone(self, store: Store) -> None:
        await store.create(Write(new_ask()), None)
        moved, _ = await store.change("ask_1", answering())
        thread = Thread(channel="C1", id="1.0", url="https://x.example/1")
        await store.shown("ask_1", Shown(1, {"ts": "1.0"}, thread))
        expected = {"shown_revision": 1, "message": {"ts": "1.0"}, "thread": thread}
        assert await store.get("ask_1") == moved.model_copy(update=expected)
        await store.shown("ask_1", Shown(2, {"ts": "2.0"}, thread))
        await store.shown("ask_1", Shown(1, {"ts": "1.0"}, thread))
        stored = await store.get("ask_1")
        assert stored is not None
        assert (stored.shown_revision, stored.message) == (2, {"ts": "2.0"})

    async def test_what_is_shown_at_the_revision_noted_is_noted_again(self, store: Store) -> None:
        await store.create(Write(new_ask()), None)
        await store.shown("ask_1", Shown(0, {"thread": "T"}, Thread(channel="C1", id="T")))
        stored = await store.get("ask_1")
        assert stored is not None
        assert (stored.shown_revision, stored.message) == (0, {"thread": "T"})

    async def test_showing_an_ask_that_nobody_stored_does_nothing(self, store: Store) -> None:
        await store.shown("ask_0", Shown(1, {}, Thread()))
        assert await store.get("ask_0") is None

    async def test_a_change_made_while_showing_keeps_what_is_shown(self, store: Store) -> None:
        await store.create(Write(new_ask()), None)
        thread = Thread(channel="C1", id="1.0")
        await asyncio.gather(
            store.change("ask_1", answering()),
            store.shown("ask_1", Shown(1, {"ts": "1.0"}, thread)),
            store.change("ask_1", answering("staging")),
        )
        stored = await store.get("ask_1")
        assert stored is not None
        assert (stored.revision, stored.shown_revision, stored.thread) == (3, 1, thread)

    async def test_asks_whose_message_is_behind_come_oldest_change_first(
        self, store: Store
    ) -> None:
        await store.create(Write(new_ask(1, at=3.0)), None)
        await store.create(Write(new_ask(2, at=1.0)), None)
        await store.create(Write(new_ask(3, at=2.0)), None)
        await store.create(Write(new_ask(4, at=0.0, shown_revision=1)), None)
        assert await store.behind(10) == ["ask_2", "ask_3", "ask_1"]
        assert await store.behind(2) == ["ask_2", "ask_3"]
        await store.shown("ask_2", Shown(1, {}, Thread()))
        assert await store.behind(10) == ["ask_3", "ask_1"]
        await store.change("ask_2", ending(at=9.0))
        assert await store.behind(10) == ["ask_3", "ask_1", "ask_2"]

    async def test_an_ask_is_found_by_its_channel_and_thread_newest_first(
        self, store: Store
    ) -> None:
        for number in range(1, 4):
            await store.create(Write(new_ask(number)), None)
            thread = Thread(channel="C1", id=f"T{number % 2}")
            await store.shown(f"ask_{number}", Shown(1, {}, thread))
        elsewhere = Destination(surface="discord", channel="C1")
        await store.create(Write(new_ask(4, to=elsewhere)), None)

        async def found(thread: str | None, limit: int = 10) -> list[str]:
            return [a.id for a in await store.find("slack", "C1", thread, limit)]

        assert await found("T1") == ["ask_3", "ask_1"]
        assert await found("T0") == ["ask_2"]
        assert await found(None) == ["ask_3", "ask_2", "ask_1"]
        assert await found(None, 1) == ["ask_3"]
        await store.change("ask_3", ending())
        assert await found("T1") == ["ask_1"]
        assert await store.find("slack", "C2", None, 10) == []

    async def test_an_ask_is_found_where_it_is_to_be_until_it_is_shown_elsewhere(
        self, store: Store
    ) -> None:
        to = Destination(surface="slack", user="U1")
        await store.create(Write(new_ask(to=to)), None)
        await store.shown("ask_1", Shown(1, {}, Thread(channel="D1", id="5.0")))
        assert len(await store.find("slack", "D1", "5.0", 10)) == 1

        def move(ask: Ask | None) -> Decision[None]:
            assert ask is not None
            there = Destination(surface="slack", channel="C9", thread="9.0")
            update = {"destination": there, "thread": None, "message": None, "shown_revision": 0}
            return Decision(Write(ask.model_copy(update=update | {"revision": 2})), None)

        await store.change("ask_1", move)
        assert await store.find("slack", "D1", "5.0", 10) == []
        assert len(await store.find("slack", "C9", "9.0", 10)) == 1
        await store.shown("ask_1", Shown(0, {}, Thread()))
        assert len(await store.find("slack", "C9", "9.0", 10)) == 1

    # --- the clock ---

    async def test_asks_are_due_by_their_deadlines_until_they_end(self, store: Store) -> None:
        assert await store.next_due(0.0) is None
        await store.create(Write(new_ask(1, expires_at=5_000.0)), None)
        await store.create(Write(new_ask(2, request={"remind_after": (60.0,)})), None)
        await store.create(Write(new_ask(3)), None)
        assert await store.next_due(0.0) == 1_060.0
        assert await store.next_due(1_060.0) == 5_000.0
        assert await store.due(1_059.9, 10) == []
        assert await store.due(9_000.0, 10) == ["ask_2", "ask_1"]
        assert await store.due(9_000.0, 1) == ["ask_2"]
        await store.change("ask_2", ending())
        assert await store.next_due(0.0) == 5_000.0

    # --- pages ---

    async def test_pages_go_from_the_newest_ask_to_the_oldest(self, store: Store) -> None:
        for number in range(7):
            await store.create(Write(new_ask(number)), None)
        seen: list[str] = []
        after: str | None = None
        sizes = []
        while True:
            page = await store.page(after=after, limit=3)
            seen += [ask.id for ask in page.rows]
            sizes.append(len(page.rows))
            if (after := page.after) is None:
                break
            await store.create(Write(new_ask(f"new{len(seen)}")), None)
        assert seen == [f"ask_{n}" for n in range(6, -1, -1)]
        assert sizes == [3, 3, 1]

    async def test_a_page_that_is_just_full_is_the_last(self, store: Store) -> None:
        await store.create(Write(new_ask()), None)
        assert (await store.page(limit=1)).after is None
        assert (await store.page(status=Status.FAILED)).rows == ()

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
    async def test_a_page_holds_what_is_asked_for(
        self, store: Store, filters: dict[str, str], numbers: list[int]
    ) -> None:
        await store.create(Write(new_ask(1, request={"agent": "coder"})), None)
        await store.create(Write(new_ask(2, to=Destination(surface="web"))), None)
        await store.create(Write(new_ask(3, request={"conversation": "conv"})), None)
        await store.create(Write(new_ask(4, request={"agent": "coder"})), None)
        await store.change("ask_1", ending())
        page = await store.page(**filters)  # type: ignore[arg-type] # parametrised
        assert [ask.id for ask in page.rows] == [f"ask_{n}" for n in numbers]

    @PER_EXAMPLE
    @given(cursor=st.text(max_size=30) | st.sampled_from(NEAR_CURSORS))
    def test_a_made_up_cursor_is_refused(
        self, make_store: Callable[[], Store], cursor: str
    ) -> None:
        with pytest.raises(ValueError, match="no page"):
            asyncio.run(make_store().page(after=cursor))

    async def test_a_cursor_of_one_list_is_none_of_another(self, store: Store) -> None:
        for number in range(2):
            await store.create(Write(new_ask(number)), None)
        after = (await store.page(limit=1)).after
        with pytest.raises(ValueError, match="no page"):
            await store.deliveries(state=None, agent=None, after=after, limit=1)

    # --- the record ---

    async def test_the_record_is_numbered_and_read_from_any_line(self, store: Store) -> None:
        await store.create(Write(new_ask()), None)
        lines = [Entry(at=float(n), kind="note", body={"n": n}, by=ANN) for n in range(5)]
        for line in lines:
            await store.note("ask_1", line)
            await store.note("ask_2", line)
        await store.note(None, lines[0])
        record = await store.record("ask_1")
        assert [line.entry for line in record] == lines
        numbers = [line.seq for line in record]
        assert numbers == sorted(set(numbers))
        assert await store.record("ask_1", after=numbers[1], limit=2) == record[2:4]
        assert await store.record("ask_1", after=numbers[-1]) == []

    # --- webhooks ---

    async def test_of_each_ask_only_its_first_pending_delivery_is_due(self, store: Store) -> None:
        await store.create(Write(new_ask(1)), None)
        await store.create(Write(new_ask(2)), None)
        first, second = new_delivery(1), new_delivery(2, at=1_500.0)
        other = new_delivery(3, ask="ask_2", at=900.0)
        await store.change("ask_1", answering(deliveries=(first, second)))
        await store.change("ask_2", answering(deliveries=(other,)))

        async def due(now: float) -> list[str]:
            return [d.delivery.id for d in await store.due_deliveries(now, 10)]

        assert await due(9_000.0) == ["msg_3", "msg_1"]
        assert await store.next_delivery() == 900.0
        await store.tried(
            [
                result(other, DeliveryState.DELIVERED),
                result(first, DeliveryState.PENDING, next_at=8_000.0),
            ],
            [("ask_1", Entry(at=3_000.0, kind="delivery"))],
        )
        assert await due(7_000.0) == []
        assert await store.next_delivery() == 8_000.0
        assert (await store.record("ask_1"))[-1].entry.kind == "delivery"
        dead = result(first, DeliveryState.DEAD)
        await store.tried([dead], [])
        assert await due(9_000.0) == ["msg_2"]
        assert await store.delivery("msg_1") == dead
        await store.tried([result(second, DeliveryState.DELIVERED)], [])
        assert await store.next_delivery() is None
        assert await store.delivery("msg_0") is None

    async def test_a_delivery_that_is_sent_again_is_due_again(self, store: Store) -> None:
        await store.create(Write(new_ask()), None)
        told = new_delivery()
        await store.change("ask_1", answering(deliveries=(told,)))
        await store.tried([result(told, DeliveryState.DEAD)], [])
        again = result(told, DeliveryState.PENDING, next_at=4_000.0, tries=0)
        await store.tried([again], [])
        assert await store.due_deliveries(4_000.0, 10) == [again]

    async def test_deliveries_are_paged_newest_first_by_state_and_agent(self, store: Store) -> None:
        await store.create(Write(new_ask()), None)
        told = [new_delivery(n) for n in range(5)]
        told[4] = replace(told[4], agent=None)
        await store.change("ask_1", answering(deliveries=tuple(told)))
        await store.tried([result(told[0], DeliveryState.DEAD)], [])

        async def ids(
            state: DeliveryState | None, agent: str | None, after: str | None
        ) -> list[str]:
            page = await store.deliveries(state=state, agent=agent, after=after, limit=2)
            rest = await ids(state, agent, page.after) if page.after else []
            return [d.delivery.id for d in page.rows] + rest

        assert await ids(None, None, None) == ["msg_4", "msg_3", "msg_2", "msg_1", "msg_0"]
        assert await ids(DeliveryState.PENDING, "coder", None) == ["msg_3", "msg_2", "msg_1"]
        assert await ids(DeliveryState.DEAD, None, None) == ["msg_0"]
        assert await ids(None, "nobody", None) == []

    # --- the rest ---

    async def test_counts_follow_every_change_of_status_and_state(self, store: Store) -> None:
        names = {*Status, *DeliveryState}
        assert await store.counts() == dict.fromkeys(names, 0)
        for number in range(3):
            await store.create(Write(new_ask(number)), None)
        await store.change("ask_1", answering(deliveries=(new_delivery(1), new_delivery(2))))
        await store.change("ask_2", ending(Status.EXPIRED))
        await store.tried([result(new_delivery(2), DeliveryState.DEAD)], [])
        counted = {name: n for name, n in (await store.counts()).items() if n}
        assert counted == {"open": 2, "expired": 1, "pending": 1, "dead": 1}

    async def test_a_remembered_answer_is_one_turns_and_the_last_one_counts(
        self, store: Store
    ) -> None:
        for number, value in enumerate((True, None, False)):
            memory = Memory("conv", "turn", "bash", "q", value)
            await store.create(Write(new_ask(number), memory=memory), None)
        assert await store.remembered("conv", "turn", "bash", "q") == (False,)
        assert await store.remembered("conv", "turn2", "bash", "q") is None

    async def test_a_draft_is_kept_replaced_and_dropped(self, store: Store) -> None:
        assert await store.draft("k") is None
        await store.save_draft("k", {"a": 1}, 1.0)
        await store.save_draft("k", {"a": [2]}, 2.0)
        assert await store.draft("k") == {"a": [2]}
        await store.save_draft("k", None, 3.0)
        assert await store.draft("k") is None

    async def test_a_secret_is_made_once_and_is_32_bytes(self, store: Store) -> None:
        first = await store.secret("web")
        assert len(first) == 32
        assert await store.secret("web") == first
        assert await store.secret("csrf") != first

    async def test_pruning_forgets_what_is_old_and_only_that(self, store: Store) -> None:
        for number, at in ((1, 10.0), (2, 20.0)):
            memory = Memory("conv", f"turn{number}", "bash", "q", value=True)
            key = Idempotency("coder", f"k{number}", "d")
            await store.create(Write(new_ask(number, at=at), memory=memory), key)
            await store.change(f"ask_{number}", answering(at=at), delivery=f"Ev{number}")
            await store.save_draft(f"d{number}", True, at)
        assert await store.prune(20.0) == 4
        assert await store.prune(20.0) == 0
        assert await store.remembered("conv", "turn1", "bash", "q") is None
        assert await store.remembered("conv", "turn2", "bash", "q") == (True,)
        assert await store.draft("d1") is None
        assert await store.draft("d2") is True
        assert not (await store.change("ask_1", looking, delivery="Ev1"))[1]
        assert (await store.change("ask_2", looking, delivery="Ev2"))[1]
        key = Idempotency("coder", "k1", "d")
        assert isinstance(await store.create(Write(new_ask(3)), key), Created)
        assert (await store.counts())["open"] == 3

    async def test_pruning_forgets_more_than_one_step_of_it(self, store: Store) -> None:
        await asyncio.gather(*(store.save_draft(f"d{n}", n, 1.0) for n in range(2_500)))
        assert await store.prune(2.0) == 2_500

    async def test_a_store_that_works_passes_its_check(self, store: Store) -> None:
        await store.check()
        await store.check()

    async def test_a_store_that_is_not_open_says_so(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        unopened = make_store()
        with pytest.raises(StoreError, match="not open"):
            await unopened.get("ask_1")
        with pytest.raises(StoreError, match="not open"):
            await unopened.check()
        await unopened.close()

    async def test_closing_finishes_what_was_handed_in(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        await store.create(Write(new_ask()), None)
        changes = [asyncio.ensure_future(store.note("ask_1", _note(n))) for n in range(300)]
        await asyncio.sleep(0)
        await store.close()
        await asyncio.gather(*changes)
        again = make_store()
        await again.open()
        assert len(await again.record("ask_1")) == 300
        await again.close()

    async def test_a_caller_that_leaves_does_not_undo_what_it_handed_in(self, store: Store) -> None:
        await store.create(Write(new_ask()), None)
        leaving = asyncio.ensure_future(store.change("ask_1", answering()))
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        await store.check()
        stored = await store.get("ask_1")
        assert stored is not None
        assert stored.revision == 2

    @PER_EXAMPLE
    @given(text=st.text(), value=JSON)
    def test_any_text_and_any_json_comes_back_verbatim(
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
                await store.create(Write(ask), Idempotency(text, f"{number}", text))
                assert repr(await store.get(ask.id)) == repr(ask)
                assert ask in (await store.page(conversation=text, agent=text)).rows
                assert ask in await store.find("slack", text, text, 1)
                await store.save_draft(text, value, 1.0)
                assert repr(await store.draft(text)) == repr(value)
            finally:
                await store.close()

        asyncio.run(round_trip())

    async def test_half_a_surrogate_pair_is_refused_in_words(self, store: Store) -> None:
        with pytest.raises(StoreError, match="surrogate"):
            await store.save_draft("k", "\ud800", 1.0)
        with pytest.raises(StoreError, match="surrogate"):
            await store.create(Write(new_ask(message={"a": "\ud800"})), None)
        with pytest.raises(StoreError, match="surrogate"):
            await store.get("\ud800")
        with pytest.raises(StoreError, match="surrogate"):
            await store.note(None, Entry(at=1.0, kind="note", body={"a": "\ud800"}))


def _note(number: int) -> Entry:
    return Entry(at=float(number), kind="note")
