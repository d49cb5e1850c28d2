"""Changes to messages and channels while no events arrived are found after the start, in few reads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback_slack import channel_history
from tests.fakes.long_timeouts import HASTY
from tests.fakes.slack.workspace import BOT_USER
from tests.unit.adapters.slack.rig import CHANNEL, Rig, workspace
from tests.unit.adapters.slack.test_catch_up import Town

APPLY = {"id": "go", "text": "Apply?", "answer_type": "boolean"}
READS = ("conversations.info", "conversations.history", "conversations.replies")


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[Town]:
    async with workspace() as (slack, ada, bob):
        yield Town(slack, ada, bob, tmp_path, "socket", HASTY)


def delete(town: Town, ask: Ask) -> None:
    """Delete an ask's message without an event."""
    del town.slack.workspace.messages[CHANNEL][str((ask.placement.message or {})["ts"])]


async def looked(up: Rig) -> None:
    """Return once the service has looked for what it missed."""
    changes = up.app.surface._changes
    assert changes is not None
    assert changes._task is not None
    await changes._task
    await up.app.shower.wait_until_idle()


async def was_posted_again(up: Rig, ask: Ask) -> bool:
    return (await up.shown(ask)).placement.message != ask.placement.message


@pytest.mark.rule("PLACE-1")
async def test_a_page_of_messages_shows_several_asks(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_history, "PAGE_SIZE", 4)
    async with town.up() as up:
        parent = await up.ada.post(CHANNEL, "About the migration")
        thread = f"slack:{CHANNEL}/{parent.ts}"
        here = [await up.submit(APPLY) for _ in range(6)]
        there = [await up.submit(APPLY, to=thread) for _ in range(6)]
        direct = await up.submit(APPLY, to=f"slack:@{up.ada.id}")
    for gone in (here[0], here[4], there[1], there[5]):
        delete(town, gone)
    before = len(town.slack.calls)
    async with town.up() as up:
        await looked(up)
        again = [await was_posted_again(up, ask) for ask in (*here, *there)]
        assert [i for i, posted in enumerate(again) if posted] == [0, 4, 7, 11]
        assert not await was_posted_again(up, direct)
    looks = [call for call in town.slack.calls[before:] if call.args.get("inclusive")]
    assert len(looks) <= 6
    infos = [call for call in town.slack.calls[before:] if call.method == "conversations.info"]
    assert len(infos) == 2, "one for each place that is not direct"


@pytest.mark.rule("PLACE-2")
@pytest.mark.parametrize("how", ["left", "deleted"])
async def test_asks_in_a_channel_that_cannot_be_reached_any_more_fail(town: Town, how: str) -> None:
    async with town.up() as up:
        asks = [await up.submit(APPLY) for _ in range(2)]
    room = town.slack.workspace.channels[CHANNEL]
    if how == "left":
        room.members.discard(BOT_USER)
    else:
        del town.slack.workspace.channels[CHANNEL]
    async with town.up() as up:
        await looked(up)
        for ask in asks:
            stored = await up.app.store.asks.get(ask.id)
            assert stored is not None
            assert stored.status == "failed"
            assert stored.outcome is not None
            assert "invite" in str(stored.outcome.message)


@pytest.mark.rule("PLACE-1")
@pytest.mark.parametrize(
    ("method", "fault"),
    [
        ("conversations.info", {"error": "missing_scope"}),
        ("conversations.info", {"status": 429, "retry_after": 0}),
        ("conversations.history", {"error": "internal_error"}),
    ],
)
async def test_a_failed_read_does_not_keep_a_deleted_message_from_coming_back(
    town: Town, method: str, fault: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with town.up() as up:
        ask = await up.submit(APPLY)
    delete(town, ask)
    town.slack.faults.add(method, **fault)
    async with town.up() as up:
        await looked(up)
        assert await was_posted_again(up, ask)


@pytest.mark.parametrize(
    ("error", "edits"), [("missing_scope", 0), ("some_new_error", 1), ("thread_not_found", 1)]
)
@pytest.mark.rule("PLACE-1")
async def test_messages_that_may_not_be_read_stay(town: Town, error: str, edits: int) -> None:
    async with town.up() as up:
        parent = await up.ada.post(CHANNEL, "About the migration")
        ask = await up.submit(APPLY, to=f"slack:{CHANNEL}/{parent.ts}")
    town.slack.faults.add("conversations.replies", error=error, times=None)
    before = town.slack.count("chat.update")
    async with town.up() as up:
        await looked(up)
        assert not await was_posted_again(up, ask)
    assert town.slack.count("chat.update") - before == edits
