"""Reminders in Slack ping each responder once, with no markup other than their ids."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.ask import Ask, Change, Status
from answerback.core.errors import PlatformUnavailableError, RateLimitedError
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, Rig

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}


def was_reminded(latest: Ask, _at: float) -> Change:
    return Change(replace(latest, schedule=replace(latest.schedule, reminders_done=1)), ())


@pytest.mark.rule("SURFACE-13")
async def test_a_reminder_pings_the_responders_once(up: Rig) -> None:
    ask = await up.submit(APPLY, responders=[up.ada.id, "@S0OPS"])
    up.slack.faults.add("chat.postMessage", drop=True, when="after")
    with pytest.raises(PlatformUnavailableError):
        await up.app.surface.remind(ask, 0)
    await up.app.surface.remind(ask, 0)
    replies = [m for m in up.slack.messages(CHANNEL) if m.thread_ts == up.live(ask).ts]
    assert len(replies) == 1
    sight = up.ada.sees(replies[0])
    assert sight.mentions == ["U0ADA", "S0OPS"]
    assert ask.placement.thread is not None
    assert (ask.placement.thread.url, ask.placement.thread.url) in sight.links
    await up.app.surface.remind(ask, 1)
    assert len([m for m in up.slack.messages(CHANNEL) if m.thread_ts]) == 2


@pytest.mark.parametrize(
    "made_up", ["U0ADA> <!channel", "@S0OPS> <!here", "U0ADA>\n<https://evil.example|click", "ada"]
)
async def test_a_responder_that_is_not_an_id_never_becomes_markup(up: Rig, made_up: str) -> None:
    ask = await up.submit(APPLY, responders=[up.ada.id, made_up])
    await up.app.surface.remind(ask, 0)
    sight = up.ada.sees(up.slack.messages(CHANNEL)[-1])
    assert sight.mentions == [up.ada.id]
    assert ask.placement.thread is not None
    assert sight.links == [(ask.placement.thread.url, ask.placement.thread.url)]
    await up.bob.click(up.live(ask), LABELS.yes)
    [note] = await up.wait_for_notes(up.bob)
    assert made_up in note


@pytest.mark.rule("SURFACE-13")
async def test_a_reminder_is_a_single_message_however_many_may_answer(up: Rig) -> None:
    many = [up.ada.id, *(f"U0{number:08d}" for number in range(999))]
    ask = await up.submit(APPLY, responders=many)
    await up.app.surface.remind(ask, 0)
    replies = [m for m in up.slack.messages(CHANNEL) if m.thread_ts == up.live(ask).ts]
    assert len(replies) == 1
    sight = up.ada.sees(replies[0])
    assert sight.mentions == many[:40]
    assert LABELS.reminder.format(label="The assistant") in sight.text


@pytest.mark.parametrize("code", ["missing_scope", "thread_not_found"])
async def test_an_ask_can_end_even_if_its_reminders_cannot_be_found(up: Rig, code: str) -> None:
    ask = await up.submit(APPLY, responders=[up.ada.id])
    await up.app.surface.remind(ask, 0)
    await up.app.service.update(ask.id, was_reminded)
    up.slack.faults.add("conversations.replies", error=code)
    await up.ada.click(up.live(ask), LABELS.yes)
    assert (await up.shown(ask)).status is Status.ANSWERED


async def test_a_reminder_that_was_certainly_not_posted_is_not_searched_for(up: Rig) -> None:
    ask = await up.submit(APPLY, responders=[up.ada.id])
    up.slack.faults.add("chat.postMessage", status=429, retry_after=60)
    with pytest.raises(RateLimitedError):
        await up.app.surface.remind(ask, 0)
    searched = up.slack.count("conversations.replies")
    up.app.surface._calls._limits.clear()
    await up.app.surface.remind(ask, 0)
    assert up.slack.count("conversations.replies") == searched
    assert len([m for m in up.slack.messages(CHANNEL) if m.thread_ts]) == 1
