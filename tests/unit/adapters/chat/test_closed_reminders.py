"""The reminders of an ask that has ended are closed within a rate limit, however little it leaves at a time.

Telegram stands for all chats, which share what is tested here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask, Change, Status
from answerback.core.labels import Labels
from answerback.ports.store import Decision, Write
from answerback.service.live_messages import decide_outdated
from tests.fakes.telegram.faults import Planned
from tests.unit.adapters.telegram.rig import Rig, rig
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press

EDIT = "editMessageText"


def was_reminded(latest: Ask, _at: float) -> Change:
    return Change(replace(latest, schedule=replace(latest.schedule, reminders_done=3)), ())


def was_read(latest: Ask | None) -> Decision[None]:
    assert latest is not None
    read = replace(latest.collection, unread_by_agent=False, read_by_agent_at=latest.updated_at)
    return Decision(Write(replace(latest, collection=read)), None)


async def reminded_ask(at: Rig) -> tuple[Ask, list[int]]:
    """Return an ask with three reminders, and the ids of its message and of these."""
    ask = await at.submit([GO])
    for number in range(3):
        await at.surface.remind(ask, number)
    await at.service.update(ask.id, was_reminded)
    message = live(at.group, ask)
    reminders = [each.id for each in at.group.messages.values() if each.reply_to == message.id]
    return await at.shown(ask), [message.id, *reminders]


def limit_edit(at: Rig, message: int) -> Planned:
    """Have the next edit of a message exceed the group's limit."""
    said = "Too Many Requests: retry after 0"
    return at.telegram.plan(Planned(EDIT, 1, 429, said, 0, about=f"'message_id': {message},"))


def edits(at: Rig) -> Counter[Any]:
    """Return how often each message was edited, also with what it showed already."""
    log = at.telegram.log
    return Counter(
        body["message_id"] for method, body, status in log if method == EDIT and status != 429
    )


@pytest.mark.rule("SURFACE-13")
async def test_each_attempt_goes_on_where_the_limit_stopped_the_last(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, messages = await reminded_ask(at)
        limits = [limit_edit(at, each) for each in messages[1:]]
        await press(at, at.ann, live(at.group, ask), Labels().yes)
        assert (await at.shown(ask)).status is Status.ANSWERED
        assert [each.hits for each in limits] == [1, 1, 1]
        assert edits(at) == Counter(messages)


@pytest.mark.rule("SURFACE-13")
async def test_two_asks_that_share_a_limit_both_come_to_their_end(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        first, messages = await reminded_ask(at)
        second, others = await reminded_ask(at)
        limits = [limit_edit(at, each) for each in (*messages, *others)]
        for ask in (first, second):
            await at.service.withdraw(ask.id)
        assert (await at.shown(second)).status is Status.WITHDRAWN
        assert {each.hits for each in limits} == {1}
        assert edits(at) == Counter([*messages, *others])


@pytest.mark.rule("SURFACE-13", "DATA-4")
async def test_an_ask_that_changes_meanwhile_is_edited_again_with_its_reminders(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ask, messages = await reminded_ask(at)
        limit_edit(at, messages[2]).retry_after = 1
        await press(at, at.ann, live(at.group, ask), Labels().yes)
        await at.telegram.until(lambda: any(status == 429 for *_, status in at.telegram.log))
        await at.store.asks.change(ask.id, was_read)
        await at.shown(ask)
        main, first, *others = messages
        assert edits(at) == Counter([main, main, first, first, *others])


async def test_what_is_shown_again_later_is_edited_again(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, messages = await reminded_ask(at)
        await press(at, at.ann, live(at.group, ask), Labels().yes)
        await at.shown(ask)
        await at.store.asks.change(ask.id, decide_outdated)
        at.message_sync.request_sync(await at.shown(ask))
        await at.shown(ask)
        assert edits(at) == Counter(2 * messages)
