"""The reminders of an ask that has ended are closed within a rate limit, however little it leaves at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from answerback.core.ask import Ask, Destination, Thread
from answerback.core.errors import RateLimitedError
from answerback.ports.surface import Shown
from answerback_chat.live_message import Json, JsonMessages, Uneditable
from tests.unit.bot.approval_support import expired, make_ask

REMINDERS = ["r1", "r2", "r3"]


@dataclass(eq=False)
class Channel(JsonMessages):
    """A place whose platform accepts a number of edits, and then none until more are allowed."""

    platform = "a chat"
    left: int = 0
    edits: list[str] = field(default_factory=list)

    def accept(self, edited: str) -> None:
        if not self.left:
            raise RateLimitedError("the chat accepts no more edits", retry_after=1.0)
        self.left -= 1
        self.edits.append(edited)

    async def edit(self, ask: Ask, ref: Json, payload: Json) -> Json | Uneditable:
        self.accept(str(payload["text"]))
        return ref

    async def close_reminder(self, ask: Ask, ref: Json, reminder: str) -> None:
        self.accept(reminder)

    async def reminders(self, ask: Ask, ref: Json) -> AsyncIterator[tuple[str, int]]:
        for number, reminder in enumerate(REMINDERS):
            yield reminder, number

    def thread(self, ref: Json) -> Thread:
        return Thread()

    async def render(self, ask: Ask) -> Json:
        return {"text": "erased" if ask.erased_at else "ended"}

    async def choose_place(self, ask: Ask) -> Json:
        raise NotImplementedError

    async def post(self, ask: Ask, ref: Json, payload: Json) -> Json:
        raise NotImplementedError

    def minimal_payload(self, ask: Ask) -> Json:
        raise NotImplementedError

    async def post_reminder(self, ask: Ask, ref: Json, number: int) -> None:
        raise NotImplementedError

    async def show_moved_note(self, ref: Json, to: Destination) -> float | None:
        raise NotImplementedError


async def save(_shown: Shown) -> None:
    raise NotImplementedError


def ended() -> Ask:
    ask = expired(make_ask("tool_approval"))
    return replace(
        ask,
        schedule=replace(ask.schedule, reminders_done=len(REMINDERS)),
        placement=replace(ask.placement, message={"id": "m1"}),
    )


async def attempts(channel: Channel, ask: Ask, *, left: int, at_most: int) -> int:
    """Show the ask with this many edits an attempt; return how many attempts that took."""
    for number in range(1, at_most + 1):
        channel.left = left
        try:
            await channel.show(ask, save)
        except RateLimitedError:
            continue
        return number
    raise AssertionError(channel.edits)


@pytest.mark.rule("SURFACE-13")
@pytest.mark.parametrize("left", [1, 2, 3])
async def test_each_attempt_goes_on_where_the_limit_stopped_the_last(left: int) -> None:
    channel = Channel()
    await attempts(channel, ended(), left=left, at_most=4)
    assert channel.edits == ["ended", *REMINDERS]


@pytest.mark.rule("SURFACE-13")
async def test_two_asks_that_share_a_limit_both_come_to_their_end() -> None:
    channel, first, second = Channel(), ended(), replace(ended(), id="ask_2")
    waiting: list[Any] = [first, second]
    for _ in range(2 * (1 + len(REMINDERS)) + 2):
        for ask in list(waiting):
            channel.left = 1
            try:
                await channel.show(ask, save)
            except RateLimitedError:
                continue
            waiting.remove(ask)
    assert not waiting
    assert sorted(channel.edits) == sorted(2 * ["ended", *REMINDERS])


@pytest.mark.rule("SURFACE-13", "DATA-4")
async def test_an_ask_that_changes_meanwhile_is_edited_again_with_its_reminders() -> None:
    channel, ask = Channel(), ended()
    with pytest.raises(AssertionError):
        await attempts(channel, ask, left=1, at_most=2)
    await attempts(channel, replace(ask, erased_at=1.0), left=2, at_most=3)
    assert channel.edits == ["ended", "r1", "erased", *REMINDERS]


async def test_what_is_shown_again_later_is_edited_again() -> None:
    channel, ask = Channel(), ended()
    await attempts(channel, ask, left=4, at_most=1)
    await attempts(channel, ask, left=4, at_most=1)
    assert channel.edits == 2 * ["ended", *REMINDERS]
