"""The live message and its reminders on each chat platform: posted once, edited in place, closed with the ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask, Change, Status
from answerback.core.errors import PlatformUnavailableError
from answerback.core.labels import Labels
from answerback.service.service import Service
from answerback_chat.chat_surface import ChatSurface
from tests.unit.adapters.discord import rig as discord
from tests.unit.adapters.slack import rig as slack

YES_NO: dict[str, Any] = {"id": "go", "text": "Apply it?", "answer_type": "boolean"}
NOTE: dict[str, Any] = {"id": "note", "text": "A note?", "answer_type": "text"}


class ChatEnvironment(ABC):
    """A platform with the service connected to it, and a person who may answer."""

    surface: ChatSurface
    service: Service
    escaped_character: str
    """A character that becomes longer when it is escaped."""

    @abstractmethod
    async def asked(self, *questions: dict[str, Any], **fields: Any) -> Ask:
        """Create an ask and wait until it is shown."""

    @abstractmethod
    async def shown(self, ask: Ask) -> Ask:
        """Return the current ask once its message is up to date."""

    @abstractmethod
    def reminders(self, ask: Ask) -> list[str]:
        """Return the texts of the reminders in the ask's thread."""

    @abstractmethod
    async def answer_yes(self, ask: Ask) -> str:
        """Answer yes on the message; returns the person's name on the platform."""

    @abstractmethod
    def delete(self, ask: Ask) -> None:
        """Delete the message without notifying the service."""

    @abstractmethod
    def posts(self) -> int:
        """Return how often a message was posted in the channel."""

    def pings(self) -> int:
        """Return how often somebody was notified; 0 on platforms where an edit cannot notify anyone."""
        return 0


class Slack(ChatEnvironment):
    escaped_character = "&"

    def __init__(self, up: slack.Rig) -> None:
        self._up = up
        self.surface, self.service = up.app.surface, up.app.service

    async def asked(self, *questions: dict[str, Any], **fields: Any) -> Ask:
        return await self._up.submit(*questions, **fields)

    async def shown(self, ask: Ask) -> Ask:
        return await self._up.shown(ask)

    def reminders(self, ask: Ask) -> list[str]:
        thread = self._up.live(ask).ts
        messages = self._up.slack.messages(slack.CHANNEL)
        return [each.text for each in messages if each.thread_ts == thread]

    async def answer_yes(self, ask: Ask) -> str:
        await self._up.ada.click(self._up.live(ask), Labels().yes)
        return "ada"

    def delete(self, ask: Ask) -> None:
        self._up.slack.faults.add("chat.update", error="message_not_found")

    def posts(self) -> int:
        return self._up.slack.count("chat.postMessage")


class Discord(ChatEnvironment):
    escaped_character = "*"

    def __init__(self, up: discord.Rig) -> None:
        self._up = up
        self.surface, self.service = up.surface, up.service

    async def asked(self, *questions: dict[str, Any], **fields: Any) -> Ask:
        return await self._up.shown(await self._up.submit(list(questions), **fields))

    async def shown(self, ask: Ask) -> Ask:
        return await self._up.shown(ask)

    def reminders(self, ask: Ask) -> list[str]:
        thread = self._up.discord.world.channel(int(str((ask.placement.message or {})["thread"])))
        return [each.content for each in thread.messages.values()]

    async def answer_yes(self, ask: Ask) -> str:
        await self._up.ann.click(Labels().yes, channel=self._up.channel)
        return "Ann"

    def delete(self, ask: Ask) -> None:
        self._up.discord.faults.code("PATCH /channels/*/messages/*", 10008)

    def posts(self) -> int:
        return len(self._up.channel.messages)

    def pings(self) -> int:
        return len(self._up.discord.pings)


@asynccontextmanager
async def _slack(folder: Path) -> AsyncIterator[ChatEnvironment]:
    async with slack.rig(folder, "socket") as up:
        yield Slack(up)


@asynccontextmanager
async def _discord(folder: Path) -> AsyncIterator[ChatEnvironment]:
    async with discord.rig(folder, "gateway") as up:
        yield Discord(up)


@pytest.fixture(params=[_slack, _discord])
async def chat(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ChatEnvironment]:
    async with request.param(tmp_path) as environment:
        yield environment


def was_reminded(latest: Ask, _at: float) -> Change:
    return Change(replace(latest, schedule=replace(latest.schedule, reminders_done=1)), ())


@pytest.mark.rule("SURFACE-13")
async def test_a_question_that_is_not_shown_yet_gets_its_reminder_later(
    chat: ChatEnvironment,
) -> None:
    ask = await chat.asked(YES_NO)
    with pytest.raises(PlatformUnavailableError, match="not shown yet"):
        await chat.surface.remind(replace(ask, placement=replace(ask.placement, message=None)), 0)
    assert chat.reminders(ask) == []


@pytest.mark.rule("SURFACE-13")
async def test_the_reminder_of_an_ended_ask_says_how_it_ended(chat: ChatEnvironment) -> None:
    ask = await chat.asked(YES_NO)
    await chat.surface.remind(ask, 0)
    assert "waiting" in chat.reminders(ask)[0]
    pings = chat.pings()
    await chat.service.update(ask.id, was_reminded)
    name = await chat.answer_yes(ask)
    assert (await chat.shown(ask)).status is Status.ANSWERED
    [reminder] = chat.reminders(ask)
    assert "waiting" not in reminder
    assert f"{Labels().answered} by {name}" in reminder
    assert str(ask.placement.thread and ask.placement.thread.url) in reminder
    assert chat.pings() == pings


@pytest.mark.rule("SLACK-5", "DISCORD-5")
async def test_an_ask_whose_tool_name_grows_when_escaped_can_be_reminded_of_and_withdrawn(
    chat: ChatEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    arguments = {"tool": chat.escaped_character * 1_000, "question": YES_NO}
    ask = await chat.asked(name="tool_question", arguments=arguments)
    for _ in range(2):
        await chat.surface.remind(ask, 0)
    assert len(chat.reminders(ask)) == 1
    await chat.service.update(ask.id, was_reminded)
    await chat.service.withdraw(ask.id)
    stored = await chat.shown(ask)
    assert (stored.status, stored.placement.shown_revision) == (Status.WITHDRAWN, stored.revision)
    assert "this is a bug" not in caplog.text, "the platform accepts what is rendered"
    [reminder] = chat.reminders(ask)
    assert "Withdrawn" in reminder
    assert reminder.rstrip(">").endswith(str(ask.placement.thread and ask.placement.thread.url))


@pytest.mark.rule("PLACE-1")
async def test_a_deleted_message_of_an_ended_ask_is_left_alone(chat: ChatEnvironment) -> None:
    ask = await chat.asked(YES_NO, NOTE)
    before = chat.posts()
    chat.delete(ask)
    await chat.service.withdraw(ask.id)
    stored = await chat.shown(ask)
    assert (stored.status, stored.placement.shown_revision) == (Status.WITHDRAWN, stored.revision)
    assert chat.posts() == before


@pytest.mark.rule("SURFACE-13")
async def test_the_reminders_of_a_deleted_message_say_how_the_ask_ended(
    chat: ChatEnvironment,
) -> None:
    ask = await chat.asked(YES_NO)
    await chat.surface.remind(ask, 0)
    await chat.service.update(ask.id, was_reminded)
    [reminder] = chat.reminders(ask)
    assert "waiting" in reminder
    chat.delete(ask)
    await chat.service.withdraw(ask.id)
    assert (await chat.shown(ask)).status is Status.WITHDRAWN
    [reminder] = chat.reminders(ask)
    assert "Withdrawn" in reminder
