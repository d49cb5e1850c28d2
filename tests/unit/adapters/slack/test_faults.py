"""Slack fails in every possible way: the message ends up showing the stored state, with nothing doubled or lost."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.socket_mode.aiohttp import SocketModeClient

from answerback.core.ask import Ask, Destination, Status
from answerback.core.errors import (
    DestinationGoneError,
    NotDoneError,
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    UnauthorizedError,
)
from answerback_chat.delays import Delays
from answerback_slack import channel_history, connection, errors
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.slack.delivery import Ack
from tests.fakes.slack.workspace import Message
from tests.unit.adapters.slack.rig import (
    CHANNEL,
    LABELS,
    MODES,
    Rig,
    rig,
    run_app,
    workspace,
)
from tests.unit.adapters.slack.test_connection import until_ready

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}
FAULTS: dict[str, dict[str, Any]] = {
    "429": {"status": 429, "retry_after": 1},
    "500": {"status": 500},
    "hang": {"hang": True},
    "hang after it was done": {"hang": True, "when": "after"},
    "line dropped": {"drop": True},
    "line dropped after it was done": {"drop": True, "when": "after"},
    "internal_error": {"error": "internal_error"},
}


KINDS: dict[type[PlatformError], str] = {
    PlatformUnavailableError: "service_unavailable internal_error fatal_error request_timeout",
    NotDoneError: "org_login_required team_added_to_org streaming_state_conflict accesslimited expired_trigger_id "
    "exchanged_trigger_id invalid_trigger_id hash_conflict not_found",
    PayloadRejectedError: "invalid_blocks invalid_blocks_format msg_blocks_too_long msg_too_long view_too_large "
    "no_text invalid_arguments metadata_too_large push_limit_reached duplicate_external_id",
    DestinationGoneError: "channel_not_found not_in_channel is_archived is_inactive restricted_action "
    "restricted_action_thread_locked messages_tab_disabled user_not_found user_disabled "
    "cannot_reply_to_message message_not_found cant_update_message edit_window_closed no_such_code",
    UnauthorizedError: "invalid_auth not_authed token_revoked token_expired account_inactive "
    "missing_scope not_allowed_token_type app_access_restricted team_access_not_granted "
    "message_limit_exceeded ekm_access_denied",
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_code_maps_to_the_kind_that_decides_what_happens_next(
    kind: type[PlatformError],
) -> None:
    for code in KINDS[kind].split():
        error = errors.error_from_code("chat.postMessage", code)
        assert type(error) is kind, code
        assert code in str(error)


@pytest.fixture
def delays() -> Delays:
    return replace(PATIENT, call=2.0)


def _asks_shown(up: Rig, ask_id: str) -> int:
    return sum(
        (m.metadata or {}).get("event_payload", {}).get("ask_id") == ask_id
        for m in up.slack.messages(CHANNEL)
    )


@pytest.mark.rule("PLACE-5")
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_failed_post_is_made_only_once(up: Rig, fault: str) -> None:
    up.slack.faults.add("chat.postMessage", **FAULTS[fault])
    ask = await _settled(up, await up.submit(APPLY))
    assert _asks_shown(up, ask.id) == 1
    assert ask.placement.shown_revision == 1
    await up.ada.click(up.live(ask), LABELS.yes)
    assert (await up.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("PLACE-5")
async def test_a_post_is_still_searched_for_after_its_repetition_was_refused(up: Rig) -> None:
    late = up.slack.faults.add("chat.postMessage", drop=True, hang=True)
    refused = up.slack.faults.add("chat.postMessage", status=429)
    submitting = asyncio.create_task(up.submit(APPLY))
    await up.slack.until(lambda: refused.hits)
    late.release()
    ask = await _settled(up, await submitting)
    assert _asks_shown(up, ask.id) == 1
    assert ask.placement.shown_revision == 1


@pytest.mark.rule("DATA-7")
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_failed_update_is_made_up_for(up: Rig, fault: str) -> None:
    ask = await up.submit(APPLY, NOTE)
    up.slack.faults.add("chat.update", **FAULTS[fault])
    await up.ada.click(up.live(ask), LABELS.yes)
    ask = await _settled(up, ask)
    assert ask.placement.shown_revision == ask.revision == 2
    assert "A note?" in up.ada.sees(up.live(ask)).text
    assert _asks_shown(up, ask.id) == 1


@pytest.mark.rule("DATA-7")
async def test_a_rate_limited_method_is_not_called_before_its_pause_has_passed(up: Rig) -> None:
    first, second = await up.submit(APPLY, NOTE), await up.submit(APPLY, NOTE)
    up.slack.faults.add("chat.update", status=429, retry_after=1)
    before = up.slack.count("chat.update")
    await up.ada.click(up.live(first), LABELS.yes)
    await up.slack.until(lambda: up.slack.count("chat.update") == before + 1)
    await up.ada.click(up.live(second), LABELS.yes)
    await asyncio.gather(up.shown(first), up.shown(second))
    updates = [call for call in up.slack.calls if call.method == "chat.update"][before:]
    assert [call.status for call in updates] == [429, 200, 200]
    assert updates[1].at - updates[0].at >= 1.0


async def _settled(up: Rig, ask: Ask) -> Ask:
    """The ask once its message is shown again, after a call whose effect can no longer come late."""
    await up.shown(ask)
    up.app.timers.run_all()
    return await up.shown(ask)


async def _lost_post(up: Rig, monkeypatch: pytest.MonkeyPatch) -> asyncio.Task[Ask]:
    """A post whose response is lost, while a search for it finds at most ten messages, and fails at first."""
    monkeypatch.setattr(channel_history, "PAGE_SIZE", 5)
    monkeypatch.setattr(channel_history, "_MAX_PAGES", 2)
    up.slack.faults.add("chat.postMessage", drop=True, when="after")
    looking = up.slack.faults.add("conversations.history", times=None, status=503)
    submitting = asyncio.create_task(up.submit(APPLY))
    await up.slack.until(lambda: looking.hits)
    return submitting


async def test_a_post_that_is_not_found_among_too_many_messages_is_not_repeated(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitting = await _lost_post(up, monkeypatch)
    for number in range(20):
        await up.bob.post(CHANNEL, f"talk {number}")
    up.slack.faults.clear()
    before = up.slack.count("conversations.history")
    await up.slack.until(lambda: up.slack.count("conversations.history") >= before + 6)
    assert up.slack.count("chat.postMessage") == 1
    monkeypatch.setattr(channel_history, "_MAX_PAGES", 250)
    ask = await _settled(up, await submitting)
    assert _asks_shown(up, ask.id) == 1
    assert ask.placement.shown_revision == 1


async def test_a_post_is_searched_for_around_its_own_time(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitting = await _lost_post(up, monkeypatch)
    later = int(time.time()) + 600
    for number in range(20):
        talk = Message(CHANNEL, f"{later + number}.000000", up.bob.id, "talk")
        up.slack.workspace.put(talk)
    up.slack.faults.clear()
    ask = await submitting
    assert up.slack.count("chat.postMessage") == 1
    assert _asks_shown(up, ask.id) == 1


@pytest.mark.rule("PLACE-5")
@pytest.mark.parametrize(
    ("code", "status", "posts"),
    [("missing_scope", Status.OPEN, 2), ("is_archived", Status.FAILED, 1)],
)
async def test_a_post_that_may_not_be_searched_for_is_repeated_rather_than_never_seen(
    up: Rig, code: str, status: Status, posts: int
) -> None:
    up.slack.faults.add("chat.postMessage", drop=True, when="after")
    up.slack.faults.add("conversations.history", error=code)
    ask = await up.submit(APPLY)
    assert ask.status is status
    assert _asks_shown(up, ask.id) == posts


@pytest.mark.parametrize("code", ["is_archived", "channel_not_found", "not_in_channel"])
async def test_an_unreachable_channel_ends_the_ask_with_an_explanation(up: Rig, code: str) -> None:
    up.slack.faults.add("chat.postMessage", error=code)
    ask = await up.submit(APPLY)
    assert ask.status is Status.FAILED
    assert ask.outcome is not None
    assert code in (ask.outcome.message or "")
    assert "Do not retry" in (ask.outcome.message or "")


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("access_denied", "ask the workspace's administrators"),
        ("enterprise_is_restricted", "install the app in the workspace itself"),
        ("user_not_visible", "ask them in a channel"),
        ("invalid_user_combination", "ask them in a channel"),
        ("restricted_action_new", "ask the administrators"),
        ("made_up_yesterday", "see https://docs.slack.dev/reference/methods/conversations.open"),
    ],
)
async def test_a_person_who_cannot_be_messaged_ends_the_ask_with_an_explanation(
    up: Rig, code: str, advice: str
) -> None:
    fault = up.slack.faults.add("conversations.open", times=None, error=code)
    ask = await up.submit(NOTE, to="slack:@U0ADA", responders=None)
    assert ask.status is Status.FAILED
    assert ask.outcome is not None
    assert f"conversations.open ({code}): " in (ask.outcome.message or "")
    assert advice in (ask.outcome.message or "")
    assert fault.hits == 1


@pytest.mark.rule("DATA-7")
@pytest.mark.parametrize(
    "code",
    [
        *(
            "service_unavailable",
            "internal_error",
            "fatal_error",
            "request_timeout",
            "accesslimited",
        ),
        *("team_added_to_org", "streaming_state_conflict", "external_channel_migrating"),
    ],
)
async def test_temporary_errors_are_retried(up: Rig, code: str) -> None:
    up.slack.faults.add("chat.postMessage", times=2, error=code)
    assert (await up.submit(APPLY)).status is Status.OPEN
    assert len(up.slack.messages(CHANNEL)) == 1


async def test_archiving_a_channel_mid_walk_keeps_the_answer_and_ends_the_ask(up: Rig) -> None:
    ask = await up.submit(APPLY, NOTE)
    copy = up.live(ask).snapshot()
    up.slack.workspace.channels[CHANNEL].archived = True
    await up.ada.click_on(copy, LABELS.yes)
    ask = await up.shown(ask)
    assert ask.status is Status.FAILED
    assert ask.walk.answers[0].value is True


async def test_a_revoked_token_fails_unseen_asks_and_leaves_the_others_open(up: Rig) -> None:
    seen = await up.submit(APPLY, NOTE)
    copy = up.live(seen).snapshot()
    up.slack.revoked = True
    unseen = await up.submit(APPLY)
    assert unseen.status is Status.FAILED
    assert unseen.outcome is not None
    assert "token_revoked" in (unseen.outcome.message or "")
    edits = up.slack.count("chat.update")
    await up.ada.click_on(copy, LABELS.yes)
    await up.slack.until(lambda: up.slack.count("chat.update") > edits)
    await up.app.shower.wait_until_idle()
    up.slack.revoked = False
    up.app.shower.request_sync(seen)
    seen = await up.shown(seen)
    assert seen.placement.shown_revision == seen.revision == 2


async def test_rejected_blocks_are_replaced_by_plain_text_and_logged(
    up: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    bad = {"errors": ["must be less than 76 characters [json-pointer:/blocks/0/text/text]"]}
    for method in ("chat.postMessage", "chat.update"):
        up.slack.faults.add(method, error="invalid_blocks", extra=bad)
    with caplog.at_level(logging.ERROR):
        ask = await up.submit(APPLY, NOTE)
        assert "Apply the migration?" in up.ada.sees(up.live(ask)).text
        await up.ada.mention_bot(CHANNEL, "yes", thread=up.live(ask).ts)
        await up.slack.until(lambda: up.slack.count("chat.update") >= 2)
        ask = await up.shown(ask)
    assert "A note?" in up.ada.sees(up.live(ask)).text
    assert "json-pointer:/blocks/0/text/text" in caplog.text


@pytest.mark.rule("PLACE-5")
@pytest.mark.parametrize("mode", MODES)
async def test_after_a_restart_between_posting_and_storing_the_message_is_found_again(
    tmp_path: Path, mode: Any
) -> None:
    async with workspace() as (slack, ada, bob):
        async with run_app(slack, tmp_path / "db", mode) as app:
            slack.faults.add("chat.postMessage", hang=True, when="after", times=None)
            up = Rig(slack, app, ada, bob)
            submitting = asyncio.create_task(up.submit(APPLY, NOTE))
            await slack.until(lambda: slack.messages(CHANNEL))
            submitting.cancel()
        slack.faults.clear()
        async with run_app(slack, tmp_path / "db", mode) as app:
            up = Rig(slack, app, ada, bob)
            [message] = slack.messages(CHANNEL)
            await app.shower.wait_until_idle()
            await ada.click(message, LABELS.yes)
            await slack.until(lambda: "A note?" in ada.sees(message).text)
            assert len(slack.messages(CHANNEL)) == 1


@pytest.mark.rule("SLACK-10")
async def test_cut_connections_are_reopened_and_clicks_continue(up: Rig) -> None:
    ask = await up.submit(APPLY, NOTE)
    await up.slack.socket.connected(2)
    opened = up.slack.socket.opened
    await up.slack.socket.disconnect("refresh_requested")
    await up.slack.socket.reconnected(opened + 1)
    ack = await up.ada.click(up.live(ask), LABELS.yes)
    assert ack is not None
    assert ack.ok
    assert (await up.shown(ask)).revision == 2


@pytest.mark.rule("SLACK-10")
async def test_renewing_one_connection_loses_no_click(up: Rig) -> None:
    ask = await up.submit(APPLY, NOTE)
    await up.slack.socket.connected(2)
    first = up.slack.socket.connections[0]
    await first.socket.send_json({"type": "disconnect", "reason": "refresh_requested"})
    await first.socket.close()
    ack: Ack | None = await up.ada.click(up.live(ask), LABELS.yes)
    assert ack is not None
    assert ack.ok


async def test_an_unexpected_socket_failure_is_logged_and_the_socket_reopened(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    connect: Any = SocketModeClient.connect

    async def odd_at_first(client: Any) -> None:
        calls.append(client)
        if len(calls) <= connection.CONNECTIONS:
            raise AttributeError("'list' object has no attribute 'get'")
        await connect(client)

    monkeypatch.setattr(SocketModeClient, "connect", odd_at_first)
    async with rig(tmp_path) as up:
        await until_ready(up.app, "")
        ack = await up.ada.click(up.live(await up.submit(APPLY)), LABELS.yes)
        assert ack is not None
        assert ack.ok
        assert up.app.surface.unready_reason() is None  # the click arrived: a connection is usable
    failed = [each for each in caplog.records if each.message == "Socket Mode failed"]
    assert all(each.exc_info is not None for each in failed)
    assert len(failed) == connection.CONNECTIONS


@pytest.mark.rule("SURFACE-14")
async def test_a_message_left_behind_says_where_the_question_moved_to(up: Rig) -> None:
    ask = await up.submit(APPLY)
    to = Destination(surface="slack", channel="C0ELSE")
    await up.app.surface.retire_message(ask, ask.placement.message or {}, to)
    sight = up.ada.sees(up.live(ask))
    assert sight.text.strip() == LABELS.escalated.format(where="#C0ELSE")
    assert sight.controls == ()


async def test_errors_are_distinguished_for_the_operator(up: Rig) -> None:
    client = up.app.surface._calls
    up.slack.faults.add("auth.test", status=429, retry_after=7)
    with pytest.raises(RateLimitedError) as limited:
        await client.call(client.client.auth_test)
    assert limited.value.retry_after == 7
    up.slack.scopes.discard("im:write")
    ask = await up.submit(APPLY, to="slack:@U0ADA", responders=None)
    assert ask.outcome is not None
    assert "add the scope im:write" in (ask.outcome.message or "")
    with pytest.raises(DestinationGoneError):
        await client.call(client.client.conversations_info, channel="C0NONE")
