"""Contract tests for how a store finds asks by where they are shown, and by where they were shown before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from answerback.core.ask import AbandonedMessage, Ask, Destination, Thread
from answerback.core.escalation import move
from answerback.ports.store import Decision, Store, Write
from answerback.ports.surface import Shown
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import end_decision

_THERE = Destination(surface="slack", channel="C2")


class PlacesContract:
    """Asks are found by surface, channel and thread."""

    async def test_an_ask_is_found_by_its_channel_and_thread_newest_first(
        self, store: Store
    ) -> None:
        for number in range(1, 4):
            await store.asks.create(Write(new_ask(number)), None)
            thread = Thread(channel="C1", id=f"T{number % 2}")
            await store.asks.save_shown(f"ask_{number}", Shown(1, {}, thread))
        elsewhere = Destination(surface="discord", channel="C1")
        await store.asks.create(Write(new_ask(4, to=elsewhere)), None)

        async def found(thread: str | None, limit: int = 10) -> list[str]:
            return [a.id for a in await store.messages.find_open("slack", "C1", thread, limit)]

        assert await found("T1") == ["ask_3", "ask_1"]
        assert await found("T0") == ["ask_2"]
        assert await found(None) == ["ask_3", "ask_2", "ask_1"]
        assert await found(None, 1) == ["ask_3"]
        older = await store.messages.find_open("slack", "C1", None, 10, "ask_3")
        assert [ask.id for ask in older] == ["ask_2", "ask_1"]
        assert await store.messages.find_open("slack", "C1", "T1", 10, "ask_1") == []
        await store.asks.change("ask_3", end_decision())
        assert await found("T1") == ["ask_1"]
        assert await store.messages.find_open("slack", "C2", None, 10) == []

    async def test_asks_that_ended_are_found_by_their_place_latest_end_first(
        self, store: Store
    ) -> None:
        for number, thread in enumerate(("T1", "T1", "T2", "T1"), 1):
            await store.asks.create(Write(new_ask(number)), None)
            shown = Shown(1, {}, Thread(channel="C1", id=thread))
            await store.asks.save_shown(f"ask_{number}", shown)
        for number, at in ((2, 2_001.0), (1, 2_002.0), (3, 2_003.0)):
            await store.asks.change(f"ask_{number}", end_decision(at=at))

        async def found(thread: str | None, since: float = 2_000.0, limit: int = 10) -> list[str]:
            asks = await store.messages.find_ended("slack", "C1", thread, since, limit)
            return [ask.id for ask in asks]

        assert await found("T1") == ["ask_1", "ask_2"]
        assert await found(None) == ["ask_3", "ask_1", "ask_2"]
        assert await found(None, limit=1) == ["ask_3"]
        assert await found("T1", since=2_002.0) == ["ask_1"]
        assert await store.messages.find_ended("discord", "C1", None, 0.0, 10) == []
        assert await store.messages.find_ended("slack", "C2", None, 0.0, 10) == []

    async def test_an_ask_is_found_at_its_destination_until_it_is_shown_elsewhere(
        self, store: Store
    ) -> None:
        to = Destination(surface="slack", user="U1")
        await store.asks.create(Write(new_ask(to=to)), None)
        await store.asks.save_shown("ask_1", Shown(1, {}, Thread(channel="D1", id="5.0")))
        assert len(await store.messages.find_open("slack", "D1", "5.0", 10)) == 1

        def move(ask: Ask | None) -> Decision[None]:
            assert ask is not None
            there = Destination(surface="slack", channel="C9", thread="9.0")
            moved = replace(
                ask,
                placement=replace(
                    ask.placement, destination=there, thread=None, message=None, shown_revision=0
                ),
                revision=2,
            )
            return Decision(Write(moved), None)

        await store.asks.change("ask_1", move)
        assert await store.messages.find_open("slack", "D1", "5.0", 10) == []
        assert len(await store.messages.find_open("slack", "C9", "9.0", 10)) == 1
        await store.asks.save_shown("ask_1", Shown(0, {}, Thread()))
        assert len(await store.messages.find_open("slack", "C9", "9.0", 10)) == 1

    async def test_a_message_at_the_old_place_of_a_moved_ask_is_abandoned(
        self, store: Store
    ) -> None:
        for number in range(2):
            ask = new_ask(number)
            await store.asks.create(Write(ask), None)
            shown = store.asks.save_shown(
                ask.id, Shown(1, {"ts": "1.0"}, Thread(channel="C1")), ask
            )
            handed_on = store.asks.change(ask.id, move_decision(None))
            await asyncio.gather(*((shown, handed_on) if number else (handed_on, shown)))
            stored = await store.asks.get(ask.id)
            assert stored is not None
            assert stored.placement.old_message == AbandonedMessage(
                destination=ask.placement.destination,
                message={"ts": "1.0"},
                thread=Thread(channel="C1"),
            )
            assert (stored.placement.message, stored.placement.destination.channel) == (None, "C2")
            assert (
                next(a.id for a in await store.messages.find_open("slack", "C2", None, 10))
                == ask.id
            )

    async def test_an_ask_that_has_moved_is_found_where_its_message_looked_open(
        self, store: Store
    ) -> None:
        for number, (thread, until) in enumerate(
            (("T1", 3_000.0), ("T1", None), ("T2", 5_000.0), ("T1", 4_000.0)), 1
        ):
            await store.asks.create(Write(new_ask(number)), None)
            shown = Shown(1, {"id": f"m{number}"}, Thread(channel="C1", id=thread), 1_500.0)
            await store.asks.save_shown(f"ask_{number}", shown)
            await store.asks.change(f"ask_{number}", move_decision(until))

        async def found(thread: str | None, since: float = 3_000.0, limit: int = 10) -> list[str]:
            asks = await store.messages.find_moved("slack", "C1", thread, since, limit)
            return [ask.id for ask in asks]

        assert await found("T1") == ["ask_2", "ask_4", "ask_1"]
        assert await found(None) == ["ask_2", "ask_3", "ask_4", "ask_1"]
        assert await found(None, limit=2) == ["ask_2", "ask_3"]
        assert await found("T1", limit=2) == ["ask_2", "ask_4"]
        assert await found("T1", since=4_000.1) == ["ask_2"]
        assert await store.messages.find_moved("slack", "C2", None, 0.0, 10) == []
        assert await store.messages.find_moved("discord", "C1", None, 0.0, 10) == []
        for ask_id in ("ask_1", "ask_2"):
            await store.asks.change(ask_id, end_decision())
        assert await found("T1") == ["ask_2", "ask_4", "ask_1"], "also if it has ended since"
        await store.erasure.erase("ask_2", 6_000.0, frozenset())
        assert await found("T1") == ["ask_4", "ask_1"]
        [ask] = await store.messages.find_moved("slack", "C1", "T2", 0.0, 1)
        assert ask == await store.asks.get("ask_3")
        assert ask.placement.old_message == AbandonedMessage(
            destination=new_ask().placement.destination,
            message={"id": "m3"},
            thread=Thread(channel="C1", id="T2"),
            since=1_500.0,
            until=5_000.0,
        )

    async def test_an_erased_ask_keeps_what_turns_its_message_there_into_a_note(
        self, store: Store
    ) -> None:
        person = Destination(surface="slack", channel="D1", user="U1")
        for number, (until, opaque) in enumerate(
            ((None, frozenset({"slack"})), (None, frozenset[str]()), (9.0, frozenset[str]()))
        ):
            ask = new_ask(number, to=person)
            await store.asks.create(Write(ask), None)
            await store.asks.save_shown(ask.id, Shown(1, {"id": "m"}, Thread()), ask)
            await store.asks.change(ask.id, move_decision(until))
            await store.asks.change(ask.id, end_decision())
            await store.erasure.erase(ask.id, 6_000.0, opaque)
        left = [
            each.placement.old_message if (each := await store.asks.get(f"ask_{n}")) else None
            for n in range(3)
        ]
        kept = AbandonedMessage(destination=person, message={"id": "m"})
        assert left == [kept, replace(kept, destination=replace(person, user=None)), None]

    async def test_a_message_left_behind_that_is_shown_again_looks_open_again(
        self, store: Store
    ) -> None:
        ask = new_ask()
        await store.asks.create(Write(ask), None)
        thread = Thread(channel="C1", id="T1")
        await store.asks.save_shown("ask_1", Shown(1, {"id": "m"}, thread, 1_500.0))
        await store.asks.change("ask_1", move_decision(3_000.0))
        late = await store.asks.save_shown("ask_1", Shown(1, {"id": "m"}, thread, 3_500.0), ask)
        assert late is not None
        assert late.placement.old_message is not None
        assert (
            late.placement.old_message.since,
            late.placement.old_message.until,
            late.placement.old_message.thread,
        ) == (1_500.0, None, thread)
        [found] = await store.messages.find_moved("slack", "C1", "T1", 9_000.0, 10)
        assert found == late

    async def test_when_people_first_saw_an_ask_is_kept_wherever_it_moves(
        self, store: Store
    ) -> None:
        ask = new_ask()
        await store.asks.create(Write(ask), None)
        await store.asks.save_shown(ask.id, Shown(1, {"id": "m"}, Thread(), 1_500.0))

        def decide(stored: Ask | None) -> Decision[None]:
            assert stored is not None
            return Decision(Write(replace(move(stored, _THERE), revision=2)), None)

        for since in (2_500.0, 3_500.0):
            await store.asks.change(ask.id, decide)
            moved = await store.asks.save_shown(ask.id, Shown(2, {"id": "n"}, Thread(), since))
            assert moved is not None
            assert (moved.placement.first_seen, moved.placement.seen_since) == (1_500.0, since)


def move_decision(until: float | None) -> Callable[[Ask | None], Decision[None]]:
    """Return a decision that moves an ask to another channel; its message there is a note since ``until``."""

    def decide(ask: Ask | None) -> Decision[None]:
        assert ask is not None
        left = None
        if ask.placement.message:
            left = AbandonedMessage(
                destination=ask.placement.destination,
                message=ask.placement.message,
                thread=ask.placement.thread,
                since=ask.placement.seen_since,
                until=until,
            )
        moved = replace(
            ask,
            placement=replace(
                ask.placement, destination=_THERE, message=None, thread=None, old_message=left
            ),
        )
        return Decision(Write(replace(moved, revision=ask.revision + 1)), None)

    return decide
