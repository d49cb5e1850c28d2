"""Notes to a person whose click got no response, or updates a message that has been deleted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from tests.fakes.discord.faults import Faults
from tests.unit.adapters.discord.rig import MODES, Rig, rig

LABELS = Labels()
CALLBACK, FOLLOW_UP = "POST /interactions/*/*/callback", "POST /webhooks/*/*"
QUESTIONS: list[dict[str, Any]] = [
    {"id": "env", "text": "Which one?", "answer_type": "select", "options": ["staging", "prod"]},
    {"id": "why", "text": "Why that?", "answer_type": "text"},
]
Spoil = Callable[[Faults, str], object]
LOST: dict[str, Spoil] = {
    "cut before it was done": lambda faults, place: faults.drop(place, after=False),
    "cut after it was done": lambda faults, place: faults.drop(place, after=True),
    "500 before it was done": lambda faults, place: faults.server_error(place),
    "500 after it was done": lambda faults, place: faults.server_error(place, after=True),
    "both tries cut after the first was done": lambda faults, place: (
        faults.drop(place, after=True),
        faults.drop(place, after=False),
    ),
}
UNTAKEN: dict[str, Spoil] = {
    "429": lambda faults, place: faults.rate_limit(place),
    "before the response was accepted": lambda faults, place: faults.code(place, 10015),
}


async def late_click(up: Rig, spoil: Spoil, place: str) -> None:
    """Let Ann click on a copy of the message that Bob was faster with, while something goes wrong."""
    bob = up.discord.person("bob", up.guild)
    people = [str(up.ann.id), str(bob.id)]
    ask = await up.shown(await up.submit(QUESTIONS, responders=people))
    copy = up.ann.copy(up.ann.latest(up.channel).message)
    assert (await bob.click("prod")).answered
    await up.shown(ask)
    spoil(up.discord.faults, place)
    await up.ann.click_on(copy, "staging", wait=False)


async def notes_of_ann(up: Rig, count: int = 1) -> list[str]:
    """Wait for Ann's private notes; return all of them once nothing is on its way any more."""
    await up.ann.until(lambda: len(up.ann.notes()) >= count)
    await up.surface.stop()
    return [note.text for note in up.ann.notes()]


@pytest.mark.rule("SURFACE-10")
@pytest.mark.parametrize("how", LOST)
async def test_the_note_arrives_once_whatever_became_of_the_response(up: Rig, how: str) -> None:
    await late_click(up, LOST[how], CALLBACK)
    [note] = await notes_of_ann(up)
    assert "was faster" in note


@pytest.mark.rule("SURFACE-10")
@pytest.mark.parametrize("how", UNTAKEN)
async def test_a_note_that_discord_did_not_take_is_sent_again(up: Rig, how: str) -> None:
    await late_click(up, UNTAKEN[how], FOLLOW_UP)
    [note] = await notes_of_ann(up)
    assert "was faster" in note
    assert up.discord.faults.count(FOLLOW_UP) == 2


@pytest.mark.rule("SURFACE-10")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda faults, place: faults.drop(place, after=True),
        lambda faults, place: faults.server_error(place, after=True),
        lambda faults, place: faults.server_error(place, status=502, after=True),
    ],
)
async def test_a_note_that_discord_may_have_taken_is_not_sent_again(up: Rig, spoil: Spoil) -> None:
    await late_click(up, spoil, FOLLOW_UP)
    assert len(await notes_of_ann(up)) == 1
    assert up.discord.faults.count(FOLLOW_UP) == 1


@pytest.mark.rule("SURFACE-10")
async def test_the_note_arrives_even_if_the_message_cannot_be_refreshed(
    up: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def show_again(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(up.service, "show_again", show_again)
    await late_click(up, lambda *_: None, CALLBACK)
    [note] = await notes_of_ann(up)
    assert "was faster" in note
    assert "A message could not be updated yet: the disk is full" in caplog.messages


async def open_reply(up: Rig, **fields: Any) -> Ask:
    """Ask, and let Ann write a reply in a modal that she has not submitted yet."""
    ask = await up.shown(await up.submit(QUESTIONS, **fields))
    await up.ann.click("Reply")
    up.ann.fill("Your message to the assistant", "never mind")
    return ask


@pytest.mark.rule("SURFACE-10")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("expected", [True, False], ids=["the event came", "no event came"])
async def test_a_modal_whose_message_was_deleted_is_answered_with_a_note(
    tmp_path: Path, mode: Any, expected: bool
) -> None:
    async with rig(tmp_path, mode) as up:
        ask = await open_reply(up)
        message = up.ann.latest(up.channel).message
        if expected:
            up.discord.delete(message)
            await up.shown(ask)
        else:
            message.deleted = True
        done = await up.ann.submit()
        assert done.answered, done
        stored = await up.shown(ask)
        assert (stored.status, stored.walk.reply) == ("cancelled", "never mind")
        [note] = await notes_of_ann(up)
        assert note.strip()


@pytest.mark.rule("SURFACE-10")
@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_from_a_modal_whose_message_was_deleted_leads_to_the_next_question(
    tmp_path: Path, mode: Any
) -> None:
    async with rig(tmp_path, mode) as up:
        ask = await up.shown(await up.submit([QUESTIONS[1], QUESTIONS[0]]))
        await up.ann.click(LABELS.answer)
        up.ann.fill(LABELS.other_label, "because")
        up.ann.latest(up.channel).message.deleted = True
        done = await up.ann.submit()
        assert done.answered, done
        assert LABELS.taken_elsewhere in up.ann.notes()[0].text
        await up.shown(ask)
        assert "Which one?" in up.ann.latest(up.channel).text
