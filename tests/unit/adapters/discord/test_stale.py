"""Outdated messages: anyone who uses one is told so, and the message is updated at once."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Destination
from answerback.core.labels import Labels
from answerback.core.walker import Person
from answerback.ports.store import Decision, Write
from answerback.ports.surface import Actor
from answerback.runtime.clock import SystemClock
from answerback_testing.example_asks import with_values
from tests.fakes.discord.world import Message
from tests.unit.adapters.discord.rig import MODES, Mode, Rig, rig

TWO: list[dict[str, Any]] = [
    {"id": "go", "text": "Go on?", "answer_type": "boolean"},
    {"id": "why", "text": "Why so?", "answer_type": "text"},
]
EDIT = "PATCH /channels/*/messages/*"
LABELS = Labels()


@pytest.fixture(params=MODES)
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    mode: Mode = request.param
    async with rig(tmp_path, mode) as made:
        yield made


def live_message(up: Rig, ask: Ask) -> Message:
    message = ask.placement.message or {}
    channel = up.discord.world.channel(int(str(message["channel"])))
    return channel.messages[int(str(message["id"]))]


async def change_ask(up: Rig, ask: Ask, **fields: Any) -> None:
    def decide(latest: Ask | None) -> Decision[None]:
        assert latest is not None
        return Decision(Write(with_values(latest, **fields)), None)

    await up.store.asks.change(ask.id, decide)


async def make_stale(
    up: Rig, questions: list[dict[str, Any]], code: int = 50001, **fields: Any
) -> Ask:
    """An ask that Bob changed a minute ago, and whose message Discord has not let us edit since."""
    ask = await up.shown(await up.submit(questions, responders="anyone", **fields))
    edits = up.discord.faults.count(EDIT)
    up.discord.faults.code(EDIT, code, times=1_000)
    bob = Actor(Person(surface="discord", user_id="7", name="Bob"))
    await up.service.act(ask.id, Answer(value=True), bob)
    await up.discord.faults.called(EDIT, edits + 1)
    await up.message_sync.wait_until_idle()
    moved = await up.store.asks.get(ask.id)
    assert moved is not None
    await change_ask(up, ask, updated_at=moved.updated_at - 60)
    assert "Go on?" in up.ann.sees(live_message(up, ask)).text
    return moved


async def test_a_click_on_an_outdated_message_updates_it_at_once(up: Rig) -> None:
    ask = await make_stale(up, TWO)
    made = await up.ann.click("No", on=live_message(up, ask))
    assert made.answered
    assert "Why so?" in up.ann.sees(live_message(up, ask)).text
    await up.ann.finds(LABELS.out_of_date.partition("{question}")[0])
    assert (await up.shown(ask)).revision == 2


class ClockBehind(SystemClock):
    """The machine's clock, so many seconds ago."""

    seconds = 0.0

    def now(self) -> float:
        return time.time() - self.seconds


async def test_a_message_updated_by_the_response_is_recorded_as_shown(tmp_path: Path) -> None:
    clock = ClockBehind()
    clock.seconds = 90.0
    async with rig(tmp_path, "gateway", clock=clock) as up:
        clock.seconds = 0.0  # no edit of a process before this one can still arrive
        ask = await make_stale(up, TWO)
        edits = up.discord.faults.count(EDIT)
        assert (await up.ann.click("Reply", on=live_message(up, ask))).answered
        await up.ann.finds(LABELS.out_of_date.partition("{question}")[0])
        assert (await up.shown(ask)).placement.shown_revision == 2
        assert up.discord.faults.count(EDIT) == edits


async def test_a_record_that_could_not_be_shown_is_shown_after_a_click(up: Rig) -> None:
    ask = await make_stale(up, TWO[:1])
    assert (await up.ann.click("No", on=live_message(up, ask))).answered
    assert up.ann.sees(live_message(up, ask)).controls == []
    await up.ann.finds("have ended")


async def test_a_thread_whose_unlocking_was_missed_is_updated_after_one_click(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, "http", gateway=False) as up:
        thread = up.discord.add_thread(up.channel)
        ask = await make_stale(up, TWO, 160005, to=f"discord:{up.channel.id}/{thread.id}")
        up.discord.faults.clear()
        assert (await up.ann.click("No", on=live_message(up, ask))).answered
        assert "Why so?" in up.ann.sees(live_message(up, ask)).text
        await up.ann.finds(LABELS.out_of_date.partition("{question}")[0])


async def test_a_late_modal_gives_the_text_back_and_the_message_is_updated(
    up: Rig,
) -> None:
    ask = await up.shown(await up.submit(TWO, responders="anyone"))
    await up.ann.click("Reply", on=live_message(up, ask))
    up.ann.fill("Your message to the assistant", "a long story")
    up.discord.faults.code(EDIT, 50001)
    bob = Actor(Person(surface="discord", user_id="7", name="Bob"))
    await up.service.act(ask.id, Answer(value=True), bob)
    await up.discord.faults.called(EDIT)
    await up.message_sync.wait_until_idle()
    assert (await up.ann.submit()).answered
    assert "a long story" in up.ann.notes()[0].text
    assert "<@7> was faster" in up.ann.notes()[0].text
    await up.ann.until(lambda: "Why so?" in up.ann.sees(live_message(up, ask)).text)


@pytest.mark.rule("SURFACE-10", "SURFACE-16")
async def test_a_modal_of_another_version_gives_the_text_back(up: Rig) -> None:
    ask = await up.shown(await up.submit(TWO, responders="anyone"))
    await up.ann.click("Reply", on=live_message(up, ask))
    up.ann.fill("Your message to the assistant", "a very long story")
    assert up.ann.modal is not None
    up.ann.modal.data["custom_id"] = f"ab9:{ask.id}:1:new"
    assert (await up.ann.submit()).answered
    note = up.ann.notes()[0].text
    assert LABELS.not_found in note
    assert "a very long story" in note
    assert (await up.shown(ask)).revision == 1


async def test_a_person_who_may_not_answer_is_told_so_and_the_outdated_message_is_updated(
    up: Rig,
) -> None:
    ask = await make_stale(up, TWO)
    await change_ask(up, ask, responders=("7",))
    assert (await up.ann.click("No", on=live_message(up, ask))).answered
    assert "Why so?" in up.ann.sees(live_message(up, ask)).text
    await up.ann.finds("may answer here")


@pytest.mark.parametrize("surface", ["discord", "slack"])
async def test_an_old_message_of_a_moved_ask_says_where_it_went(up: Rig, surface: str) -> None:
    ask = await up.shown(await up.submit(TWO))
    old = live_message(up, ask)
    to = Destination(surface=surface, channel="41")
    await change_ask(
        up, ask, destination=to, message=None, escalated=True, revision=2, shown_revision=2
    )
    assert (await up.ann.click("Yes", on=old)).answered
    assert up.ann.sees(old).controls == []
    where = "<#41>" if surface == "discord" else "Slack"
    assert LABELS.escalated.format(where=where) in up.ann.sees(old).text
