"""A private note arrives once, whatever Slack says: Slack takes each note that it gets for a new one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from answerback_chat.delays import Delays
from tests.fakes.long_timeouts import PATIENT
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, Rig

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}
UNTAKEN: dict[str, dict[str, Any]] = {
    "429": {"status": 429, "retry_after": 1},
    "404": {"status": 404},
    "500": {"status": 500},
}
REFUSED: dict[str, dict[str, Any]] = {
    "429": {"status": 429, "retry_after": 1},
    "500": {"status": 500},
    "internal_error": {"error": "internal_error"},
}


@pytest.fixture
def delays() -> Delays:
    return replace(PATIENT, call=2.0)


async def click_too_late(up: Rig) -> None:
    """Let Bob click on a copy of the message that Ada was faster with."""
    ask = await up.submit(APPLY, NOTE, responders=[up.ada.id, up.bob.id])
    copy = up.live(ask).snapshot()
    await up.ada.click(up.live(ask), LABELS.yes)
    await up.shown(ask)
    await up.bob.click_on(copy, LABELS.no)


async def notes_of_bob(up: Rig) -> list[str]:
    """Wait for Bob's note; return all of his notes once nothing is on its way any more."""
    await up.wait_for_notes(up.bob)
    await up.app.surface.stop()
    return up.bob.private_notes(CHANNEL)


@pytest.mark.rule("SURFACE-10")
@pytest.mark.parametrize("fault", UNTAKEN)
async def test_a_note_that_the_response_url_did_not_take_is_sent_otherwise(
    up: Rig, fault: str
) -> None:
    up.slack.faults.add("response_url", **UNTAKEN[fault])
    await click_too_late(up)
    assert len(await notes_of_bob(up)) == 1
    assert up.slack.count("chat.postEphemeral") == 1


@pytest.mark.rule("SURFACE-10")
async def test_a_note_for_a_response_url_that_cannot_be_reached_is_sent_otherwise(up: Rig) -> None:
    up.slack.interactivity.base = "http://127.0.0.1:1/"
    await click_too_late(up)
    assert len(await notes_of_bob(up)) == 1
    assert up.slack.count("chat.postEphemeral") == 1


@pytest.mark.rule("SURFACE-10")
async def test_a_note_that_the_response_url_may_have_taken_is_not_sent_again(up: Rig) -> None:
    up.slack.faults.add("response_url", drop=True, when="after")
    await click_too_late(up)
    assert len(await notes_of_bob(up)) == 1
    assert up.slack.count("chat.postEphemeral") == 0


async def type_for_others(up: Rig) -> None:
    """Let Bob type an answer to a question for Ada."""
    ask = await up.submit(NOTE)
    await up.type_answer(ask, "mine", up.bob)


@pytest.mark.rule("SURFACE-10")
@pytest.mark.parametrize("fault", REFUSED)
async def test_a_note_that_slack_refused_for_the_moment_is_sent_again(up: Rig, fault: str) -> None:
    up.slack.faults.add("chat.postEphemeral", **REFUSED[fault])
    await type_for_others(up)
    assert len(await notes_of_bob(up)) == 1
    assert up.slack.count("chat.postEphemeral") == 2


@pytest.mark.rule("SURFACE-10")
async def test_a_note_that_slack_may_have_shown_is_not_sent_again(up: Rig) -> None:
    up.slack.faults.add("chat.postEphemeral", drop=True, when="after")
    await type_for_others(up)
    assert len(await notes_of_bob(up)) == 1
    assert up.slack.count("chat.postEphemeral") == 1
