"""A live message that cannot be edited is edited in another way if possible, else replaced; it is never shown twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.ask import Destination, Status
from answerback_chat.delays import Delays
from tests.fakes.long_timeouts import PATIENT
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, Rig

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}
EXPLAINED = {**APPLY, "context": "It adds **one** column."}
"""Its context is rich text, and the record of its ask has none."""


@pytest.fixture
def delays() -> Delays:
    return replace(PATIENT, call=2.0)


def _asks_shown(up: Rig, ask_id: str) -> int:
    return sum(
        (m.metadata or {}).get("event_payload", {}).get("ask_id") == ask_id
        for m in up.slack.messages(CHANNEL)
    )


@pytest.mark.parametrize("how", ["deleted", "cant_update_message", "edit_window_closed"])
async def test_a_deleted_message_is_posted_again(up: Rig, how: str) -> None:
    ask = await up.submit(APPLY, NOTE)
    live = up.live(ask)
    copy = live.snapshot()
    if how == "deleted":
        await up.ada.delete(live)
    else:
        up.slack.faults.add("chat.update", error=how)
    await up.ada.click_on(copy, LABELS.yes)
    ask = await up.shown(ask)
    newest = up.slack.messages(CHANNEL)[-1]
    assert newest.ts != live.ts
    assert "A note?" in up.ada.sees(newest).text
    assert ask.placement.message is not None
    assert ask.placement.message["ts"] == newest.ts


async def test_a_replacement_is_not_mistaken_for_the_message_it_replaces(up: Rig) -> None:
    parent = await up.bob.post(CHANNEL, "Deploying now")
    ask = await up.submit(APPLY, NOTE, to=f"slack:{CHANNEL}/{parent.ts}")
    live = up.live(ask)
    up.slack.faults.add("chat.update", error="edit_window_closed")
    up.slack.faults.add("chat.postMessage", drop=True, when="after")
    await up.ada.click(live, LABELS.yes)
    ask = await up.shown(ask)
    assert up.slack.count("chat.postMessage") == 2
    assert live.deleted
    assert _asks_shown(up, ask.id) == 1
    newest = up.slack.messages(CHANNEL)[-1]
    assert ask.placement.message == {"channel": CHANNEL, "ts": newest.ts, "thread": parent.ts}
    assert "A note?" in up.ada.sees(newest).text


async def test_a_message_that_cannot_be_edited_is_deleted_once_it_is_replaced(
    up: Rig,
) -> None:
    ask = await up.submit(APPLY, NOTE)
    live = up.live(ask)
    up.slack.faults.add("chat.update", error="edit_window_closed")
    await up.ada.click(live, LABELS.yes)
    ask = await up.shown(ask)
    assert live.deleted
    assert _asks_shown(up, ask.id) == 1


async def test_an_old_message_that_cannot_be_deleted_stays(up: Rig) -> None:
    ask = await up.submit(APPLY, NOTE)
    live = up.live(ask)
    up.slack.faults.add("chat.update", error="cant_update_message")
    up.slack.faults.add("chat.delete", error="cant_delete_message")
    await up.ada.click(live, LABELS.yes)
    ask = await up.shown(ask)
    newest = up.slack.messages(CHANNEL)[-1]
    assert ask.placement.message is not None
    assert ask.placement.message["ts"] == newest.ts != live.ts
    assert not live.deleted


async def test_rich_text_that_slack_refuses_to_replace_is_edited_with_rich_text(
    up: Rig,
) -> None:
    up.slack.keeps_rich_text = True
    ask = await up.submit(EXPLAINED, NOTE)
    live = up.live(ask)
    await up.ada.click(live, LABELS.yes)
    await up.shown(ask)
    assert "A note?" in up.ada.sees(live).text
    assert _refusals(up) == ["block_mismatch", None]
    await up.ada.click(live, LABELS.back)
    await up.shown(ask)
    await up.ada.click(live, LABELS.no)
    await up.shown(ask)
    await up.ada.click(live, LABELS.end_turn, confirm=True)
    ended = await up.shown(ask)
    assert ended.status is Status.TURN_ENDED
    record = up.ada.sees(live)
    assert LABELS.turn_ended in record.text
    assert record.buttons == [LABELS.details]
    assert up.slack.count("chat.postMessage") == 1
    assert _refusals(up).count("block_mismatch") == 1


async def test_a_message_with_rich_text_says_where_the_question_moved_to(up: Rig) -> None:
    up.slack.keeps_rich_text = True
    ask = await up.submit(EXPLAINED)
    to = Destination(surface="slack", channel="C0ELSE")
    await up.app.surface.retire_message(ask, ask.placement.message or {}, to)
    sight = up.ada.sees(up.live(ask))
    assert sight.text.strip() == LABELS.escalated.format(where="#C0ELSE")
    assert not sight.buttons


async def test_rich_text_that_cannot_be_edited_at_all_is_replaced_by_a_single_message(
    up: Rig,
) -> None:
    ask = await up.submit(EXPLAINED, NOTE)
    live = up.live(ask)
    refused = up.slack.faults.add("chat.update", error="block_mismatch", times=2)
    await up.ada.click(live, LABELS.yes)
    ask = await up.shown(ask)
    newest = up.slack.messages(CHANNEL)[-1]
    assert "A note?" in up.ada.sees(newest).text
    assert live.deleted
    assert refused.hits == 2
    assert up.slack.count("chat.postMessage") == 2
    assert _asks_shown(up, ask.id) == 1


def _refusals(up: Rig) -> list[object]:
    """The error of each edit; None if it succeeded."""
    made = [call.answer for call in up.slack.calls if call.method == "chat.update"]
    return [(answer or {}).get("error") for answer in made]
