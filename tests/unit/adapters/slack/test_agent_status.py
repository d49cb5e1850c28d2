"""Slack's own view of an agent at work: its status in the thread, and Slack's Stop button as End Turn."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.core.ask import Ask, Status
from answerback_slack import agent_status as ours
from answerback_slack.manifest import AGENT_EVENT
from tests.fakes.slack import agent_sessions
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, Rig, rig

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
WHERE = {"id": "env", "text": "Where?", "answer_type": "text"}


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path) as made:
        made.slack.event_types |= {AGENT_EVENT}
        made.slack.is_agent = True
        yield made


def statuses(up: Rig, thread: str) -> list[str]:
    return up.slack.workspace.sessions.get((CHANNEL, thread), [])


async def until(up: Rig, thread: str, *wanted: str) -> None:
    await up.slack.until(lambda: statuses(up, thread) == [*wanted])


async def answered(up: Rig, ask: Ask) -> None:
    """Answer once the session is suspended, because a pending status is superseded by a later one."""
    live = up.live(ask)
    thread = live.thread_ts or live.ts
    await up.slack.until(
        lambda: not up.slack.is_agent or statuses(up, thread)[-1:] == ["suspended"]
    )
    await up.ada.click(up.live(ask), LABELS.yes)
    await up.shown(ask)


@pytest.mark.rule("SLACK-12")
async def test_a_session_is_suspended_while_a_question_is_open_and_then_processing(
    up: Rig,
) -> None:
    ask = await up.submit(APPLY, WHERE)
    thread = up.live(ask).ts
    await until(up, thread, "suspended")
    await answered(up, ask)  # the next question of the same form is open
    assert statuses(up, thread) == ["suspended"]
    await up.type_answer(ask, "staging")
    await until(up, thread, "suspended", "processing")


@pytest.mark.rule("SLACK-12")
async def test_a_session_is_processing_only_for_a_while(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ours, "PROCESSING_SECONDS", 0.3)
    ask = await up.submit(APPLY)
    # However long it takes to show the answer, it does not count as old.
    monkeypatch.setattr(up.app.surface._sessions, "now", lambda: ask.created_at)
    await answered(up, ask)
    await until(up, up.live(ask).ts, "suspended", "processing", "active")


@pytest.mark.rule("SLACK-12")
async def test_another_question_in_the_thread_suspends_its_session_again(up: Rig) -> None:
    first = await up.submit(APPLY)
    thread = up.live(first).ts
    await until(up, thread, "suspended")
    second = await up.submit(APPLY, to=f"slack:{CHANNEL}/{thread}")
    await until(up, thread, "suspended", "suspended")
    await answered(up, first)
    await until(up, thread, "suspended", "suspended", "suspended")
    await answered(up, second)
    await until(up, thread, "suspended", "suspended", "suspended", "processing")


@pytest.mark.rule("SLACK-12")
@pytest.mark.parametrize("way", ["end turn", "withdrawn"])
async def test_a_session_is_active_if_the_agent_does_not_continue(up: Rig, way: str) -> None:
    ask = await up.submit(APPLY)
    thread = up.live(ask).ts
    await until(up, thread, "suspended")
    if way == "withdrawn":
        await up.app.service.withdraw(ask.id)
    else:
        await up.ada.click(up.live(ask), LABELS.end_turn)
    await until(up, thread, "suspended", "active")


@pytest.mark.rule("SLACK-12")
async def test_slacks_stop_button_ends_the_turn_of_all_asks_open_in_the_thread(up: Rig) -> None:
    first = await up.submit(APPLY)
    thread = up.live(first).ts
    await answered(up, first)
    await until(up, thread, "suspended", "processing")
    up.slack.faults.add("agents.sessions.setStatus", times=None, error="internal_error")
    others = [await up.submit(APPLY, to=f"slack:{CHANNEL}/{thread}") for _ in range(11)]
    agent_sessions.press_stop(up.ada, CHANNEL, thread)
    up.slack.faults.clear()
    for other in others:
        ended = await up.app.service.wait(other.id, 5)
        assert ended is not None
        assert ended.status is Status.TURN_ENDED
        assert ended.outcome is not None
        assert ended.outcome.ended_by is not None
        assert ended.outcome.ended_by.user_id == up.ada.id
    await up.slack.until(lambda: statuses(up, thread)[-1] == "active")


@pytest.mark.rule("SLACK-12")
async def test_a_person_who_may_not_answer_may_not_stop_and_is_notified(up: Rig) -> None:
    first = await up.submit(APPLY)
    thread = up.live(first).ts
    await answered(up, first)
    await until(up, thread, "suspended", "processing")
    up.slack.faults.add("agents.sessions.setStatus", times=1, error="internal_error")
    second = await up.submit(APPLY, to=f"slack:{CHANNEL}/{thread}")
    agent_sessions.press_stop(up.bob, CHANNEL, thread)
    result = await up.wait_for_notes(up.bob)
    assert "may answer here" in result[0]
    assert (await up.shown(second)).open


@pytest.mark.rule("SLACK-12")
async def test_stop_without_an_open_ask_gets_a_reply_and_ends_the_status(up: Rig) -> None:
    ask = await up.submit(APPLY)
    thread = up.live(ask).ts
    await answered(up, ask)
    await until(up, thread, "suspended", "processing")
    agent_sessions.press_stop(up.ada, CHANNEL, thread)
    assert await up.wait_for_notes(up.ada) == [LABELS.nothing_to_stop]
    await until(up, thread, "suspended", "processing", "active")


@pytest.mark.rule("SLACK-12")
async def test_an_app_that_is_not_an_agent_works_without_sessions_and_it_is_logged_once(
    up: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    up.slack.is_agent = False
    for _ in range(3):
        ask = await up.submit(APPLY)
        await up.slack.until(lambda: up.slack.count("agents.sessions.setStatus"))
        await answered(up, ask)
        assert (await up.shown(ask)).status is Status.ANSWERED
    assert up.slack.count("agents.sessions.setStatus") == 1
    logged = [each.getMessage() for each in caplog.records]
    [warning] = [message for message in logged if message.startswith("Slack rejected the status")]
    assert "-agent" in warning


@pytest.mark.rule("SLACK-12")
async def test_a_status_that_slack_refuses_is_logged_and_the_next_one_is_set(
    up: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    refused = up.slack.faults.add("agents.sessions.setStatus", error="channel_not_found")
    ask = await up.submit(APPLY)
    await up.slack.until(lambda: refused.hits)
    await up.ada.click(up.live(ask), LABELS.yes)
    await until(up, up.live(ask).ts, "processing")
    assert "channel_not_found" in caplog.text


@pytest.mark.rule("SLACK-12")
async def test_a_status_on_its_way_is_not_overtaken_by_a_later_one(up: Rig) -> None:
    first = await up.submit(APPLY)
    thread = up.live(first).ts
    await until(up, thread, "suspended")
    hangs = up.slack.faults.add("agents.sessions.setStatus", hang=True)
    await answered(up, first)
    await up.slack.until(lambda: hangs.hits)
    await up.submit(APPLY, to=f"slack:{CHANNEL}/{thread}")
    elsewhere = up.live(await up.submit(APPLY)).ts
    await until(up, elsewhere, "suspended")
    hangs.release()
    await until(up, thread, "suspended", "processing", "suspended")


@pytest.mark.rule("SLACK-12")
async def test_a_delayed_status_does_not_overwrite_a_later_one(up: Rig) -> None:
    up.slack.faults.add("agents.sessions.setStatus", times=1, status=429, retry_after=3)
    ask = await up.submit(APPLY)
    thread = up.live(ask).ts
    await up.slack.until(lambda: up.slack.count("agents.sessions.setStatus"))
    await up.app.service.withdraw(ask.id)
    await until(up, thread, "active")
    await up.app.surface.stop()
    assert statuses(up, thread) == ["active"]


@pytest.mark.rule("SLACK-12")
async def test_a_stopping_process_leaves_no_session_processing(tmp_path: Path) -> None:
    async with rig(tmp_path) as up:
        up.slack.is_agent = True
        ask = await up.submit(APPLY)
        thread = up.live(ask).ts
        await answered(up, ask)
        await until(up, thread, "suspended", "processing")
        await up.app.surface.stop()
        assert statuses(up, thread)[-1] == "active"


@pytest.mark.rule("SLACK-12")
async def test_a_stop_ends_processing_even_if_slack_has_not_confirmed_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as up:
        up.slack.is_agent = True
        ask = await up.submit(APPLY)
        thread = up.live(ask).ts
        await until(up, thread, "suspended")
        up.slack.faults.add("agents.sessions.setStatus", hang=True, when="after")
        await answered(up, ask)
        await until(up, thread, "suspended", "processing")
        await up.app.surface.stop()
        await until(up, thread, "suspended", "processing", "active")
