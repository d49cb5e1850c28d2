"""The inbox in which a simulated person ticks permissions and decides about them together."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.ports.store_values import Page
from answerback_telegram import inbox_view
from answerback_telegram.html_text import length
from answerback_telegram.limits import ENTITIES, MESSAGE_TEXT
from tests.fakes.telegram.rules import parse_html
from tests.fakes.telegram.server import FakeTelegram
from tests.fakes.telegram.world import Message, User
from tests.unit.adapters.batch_platforms import ListedOn, Town

LABELS = Labels()


class TelegramBatches:
    """See `answerback_testing.simulated_people.HasBatches`."""

    _telegram: FakeTelegram
    _user: User
    _inbox: Message

    async def list_tickable(self, *, allow: bool) -> dict[str, str]:
        """Send the command; return the rows with a tick box. Those that do not show all can only be denied."""
        chat = self._telegram.chats[self._user.id]
        known = {*chat.messages}
        said = await self._telegram.person_sends(self._user, chat, "/inbox")

        def new() -> list[Message]:
            return [m for i, m in chat.messages.items() if i not in known and m is not said]

        await self._telegram.until(new)
        [self._inbox] = new()
        texts = re.split(r"^\d+\. ", self._inbox.text, flags=re.MULTILINE)[1:]
        rows = {self._ask_id(b): texts[int(b["text"].split()[1]) - 1] for b in self._boxes()}
        return {k: text for k, text in rows.items() if not (allow and LABELS.batch_open in text)}

    async def decide_ticked(self, ask_ids: Sequence[str], *, allow: bool) -> str:
        """Tick boxes, and press the button below them."""
        for ask_id in ask_ids:
            [box] = [b for b in self._boxes() if self._ask_id(b) == ask_id]
            await self._press_in_list(box)
        label = LABELS.allow_once if allow else LABELS.deny
        [button] = [b for b in self._inbox.buttons if b["text"].startswith(f"{label} (")]
        await self._press_in_list(button)
        return self._inbox.text

    def _boxes(self) -> list[dict[str, Any]]:
        return [b for b in self._inbox.buttons if b["callback_data"].endswith(":tick")]

    @staticmethod
    def _ask_id(box: dict[str, Any]) -> str:
        return str(box["callback_data"].split(":")[1])

    async def _press_in_list(self, button: dict[str, Any]) -> None:
        version = self._inbox.version
        await self._telegram.click(self._user, self._inbox, button["callback_data"])
        await self._telegram.until(lambda: self._inbox.version > version)


class TelegramPerson(TelegramBatches):
    """A person at Telegram."""

    def __init__(self, telegram: FakeTelegram) -> None:
        self._telegram, self._user = telegram, telegram.add_user("Ada")


@asynccontextmanager
async def run_town(port: int) -> AsyncIterator[Town]:
    """Run the platform, with a person, for a service at a port."""
    async with FakeTelegram() as telegram:
        person, group = TelegramPerson(telegram), telegram.add_group()
        group.members[person._user.id] = "member"
        environment = {
            "TELEGRAM_BOT_TOKEN": telegram.token,
            "ANSWERBACK_TELEGRAM__API_URL": telegram.url,
        }
        yield Town(environment, f"telegram:{group.id}", str(person._user.id), person, 0.6)


def _check(asks: list[Ask], _allow: bool) -> str:
    ticked = [row.tick for row in inbox_view.BATCH.of(asks)]
    page = Page(tuple(asks), "d2FpdGluZzox")
    note = LABELS.selection_changed.format(submit=LABELS.allow_once)
    text = str(inbox_view.page(page, LABELS, (), ticked, note)["text"])
    parse_html(text)
    assert length(text) <= MESSAGE_TEXT
    assert text.count("</") <= ENTITIES
    assert not text.startswith("<pre>"), "the marks fit"
    return text


LISTED = ListedOn(inbox_view.ASKS_PER_PAGE, inbox_view.BATCH.of, _check)
