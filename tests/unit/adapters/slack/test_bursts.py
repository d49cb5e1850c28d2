"""A burst of asks is shown in order, as fast as Slack allows, without searching or stalling any channel."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask, Status
from answerback.service.submission_request import Submission
from answerback.workers import message_queues
from answerback_chat.delays import Delays
from answerback_slack import api_client
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.slack.faults import Buckets
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, Rig, rig

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}
OTHER = "C0OTHER"
POST_SECONDS = api_client.POST_INTERVAL_SECONDS
SPEED = 2.0
"""The factor by which time passes faster than in Slack."""


@pytest.fixture
async def up(tmp_path: Path, delays: Delays, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    monkeypatch.setattr(
        api_client, "POST_INTERVAL_SECONDS", api_client.POST_INTERVAL_SECONDS / SPEED
    )
    async with rig(tmp_path, delays=delays) as made:
        made.slack.workspace.add_channel(OTHER, made.ada.id, made.bob.id, name="other")
        yield made


async def _submitted(up: Rig, **fields: Any) -> Ask:
    """Submit an ask without waiting for its post."""
    body = {
        "name": "ask_user",
        "arguments": {"questions": [APPLY, NOTE]},
        "to": f"slack:{CHANNEL}",
        "responders": [up.ada.id],
        **fields,
    }
    return (await up.app.service.submit(Submission.model_validate(body))).ask


def _shown(up: Rig, channel: str = CHANNEL) -> list[str]:
    """The shown asks, in the order of their messages."""
    return [m.metadata["event_payload"]["ask_id"] for m in up.slack.messages(channel) if m.metadata]


@pytest.mark.long
@pytest.mark.rule("PLACE-4")
async def test_two_dozen_asks_are_posted_in_order_as_fast_as_slack_allows(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        api_client, "POST_INTERVAL_SECONDS", POST_SECONDS
    )  # what a busy machine adds is less than that
    up.slack.buckets = Buckets(posts=2)
    asks = [await _submitted(up) for _ in range(24)]
    await up.slack.until(lambda: len(_shown(up)) == 24)
    assert _shown(up) == [ask.id for ask in asks]
    posts = [call for call in up.slack.calls if call.method == "chat.postMessage"]
    assert up.slack.count("conversations.history") == 0
    assert sum(call.status == 429 for call in posts) <= 4
    pauses = [later.at - earlier.at for earlier, later in itertools.pairwise(posts)]
    # Slack accepts one every half second here; an overly careful client would post one per second.
    assert statistics.median(pauses) <= 0.75


@pytest.mark.rule("PLACE-4")
async def test_a_rate_limited_channel_stalls_neither_other_channels_nor_edits(up: Rig) -> None:
    seen = await up.submit(APPLY, NOTE)
    limited = up.slack.faults.add(
        "chat.postMessage", status=429, retry_after=30, channel=CHANNEL, times=None
    )
    asks = [await _submitted(up) for _ in range(3)]
    await up.slack.until(lambda: limited.hits)
    await _submitted(up, to=f"slack:{OTHER}")
    await up.slack.until(lambda: len(_shown(up, OTHER)) == 1)
    await up.ada.click(up.live(seen), LABELS.yes)
    await up.slack.until(lambda: "A note?" in up.ada.sees(up.live(seen)).text)
    assert limited.hits == 1, "nobody posts there before its time"
    assert up.slack.count("conversations.history") == 0
    for ask in asks:
        stored = await up.app.store.asks.get(ask.id)
        assert stored is not None
        assert (stored.status, stored.placement.message) == (Status.OPEN, None)


@pytest.mark.parametrize("delays", [replace(PATIENT, call=2.0)])
async def test_a_post_with_an_unknown_result_does_not_hold_up_those_behind_it(up: Rig) -> None:
    up.slack.faults.add("chat.postMessage", hang=True, when="after")
    looking = up.slack.faults.add("conversations.history", times=None, status=503)
    asks = [await _submitted(up) for _ in range(3)]
    await up.slack.until(lambda: looking.hits and len(_shown(up)) == 3)
    up.slack.faults.clear()
    await up.app.shower.wait_until_idle()
    assert sorted(_shown(up)) == sorted(ask.id for ask in asks)


@pytest.mark.rule("PLACE-4")
async def test_a_rate_limited_replacement_is_posted_later_and_only_once(up: Rig) -> None:
    ask = await up.submit(APPLY, NOTE)
    old = up.live(ask)
    copy = old.snapshot()
    await up.ada.delete(old)
    up.slack.faults.add("chat.postMessage", status=429, retry_after=1)
    await up.ada.click_on(copy, LABELS.yes)
    ask = await up.shown(ask)
    assert ask.placement.shown_revision == 2
    assert "A note?" in up.ada.sees(up.live(ask)).text
    assert up.slack.count("conversations.history") == 0


async def test_a_direct_conversation_is_opened_once_for_posts_that_wait(up: Rig) -> None:
    up.slack.faults.add("chat.postMessage", times=2, status=429, retry_after=1)
    ask = await up.submit(APPLY, to="slack:@U0ADA", responders=None)
    assert ask.placement.shown_revision == 1
    assert up.slack.count("conversations.open") == 1


@pytest.mark.rule("DATA-8")
async def test_memory_holds_only_a_few_asks_and_the_others_wait_in_the_database(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_queues, "MAX_QUEUED_PER_PLACE", 3)
    limited = up.slack.faults.add("chat.postMessage", status=429, retry_after=3)
    asks = [await _submitted(up) for _ in range(12)]
    await up.slack.until(lambda: limited.hits)
    assert len(up.app.shower._queues) == 3
    await up.slack.until(lambda: len(_shown(up)) == 12)
    await up.app.shower.wait_until_idle()
    assert _shown(up) == [ask.id for ask in asks]


async def test_every_channel_gets_its_turn_when_memory_is_full(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_queues, "MAX_QUEUED", 4)
    limited = up.slack.faults.add("chat.postMessage", status=429, retry_after=3, channel=CHANNEL)
    for _ in range(6):
        await _submitted(up)
    await up.slack.until(lambda: limited.hits)
    for _ in range(2):
        await _submitted(up, to=f"slack:{OTHER}")
    assert len(up.app.shower._queues) == 4
    await up.slack.until(lambda: len(_shown(up)) == 6 and len(_shown(up, OTHER)) == 2)
    await up.app.shower.wait_until_idle()
    assert await up.app.store.messages.list_outdated(10) == []
