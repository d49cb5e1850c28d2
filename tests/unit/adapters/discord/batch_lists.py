"""The inbox and its modal in which a simulated person decides about several permissions."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.ports.store_values import Page
from answerback_chat.control_codec import NO_ASK, Control, Verb
from answerback_discord import inbox_view
from answerback_discord.command_use import INBOX
from tests.fakes.discord import rules
from tests.fakes.discord.person import Person
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.visible_message import options_of
from tests.fakes.discord.world import Channel
from tests.unit.adapters.batch_platforms import ListedOn, Town

LABELS = Labels()
_BUTTONS = {True: LABELS.allow_several, False: LABELS.deny_several}


class DiscordBatches:
    """See `answerback_testing.simulated_people.HasBatches`."""

    _discord: FakeDiscord
    _channel: Channel
    _person: Person
    _asked_for: set[int]

    async def list_tickable(self, *, allow: bool) -> dict[str, str]:
        """Use the command, and open the modal; return its rows."""
        if self._person.modal is not None:
            self._person.dismiss()
        await self._person.until(lambda: self._discord.application.commands)
        assert (await self._person.command(INBOX, self._channel)).answered
        inbox = self._person.notes()[0]
        self._asked_for.add(inbox.message.id)
        self._inbox = inbox.message
        if _BUTTONS[allow] not in inbox.labels:
            return {}
        assert (await self._person.click(_BUTTONS[allow], on=inbox.message)).answered
        assert self._person.modal is not None
        texts = re.split(r"^\*\*\d+\. ", self._person.modal.texts[0], flags=re.MULTILINE)[1:]
        [field] = self._person.modal.fields
        values = [each.value.partition(":")[0] for each in options_of(field.component)]
        return dict(zip(values, texts, strict=True))

    async def decide_ticked(self, ask_ids: Sequence[str], *, allow: bool) -> str:
        """Tick boxes in the modal, and submit it."""
        assert self._person.modal is not None
        [field] = self._person.modal.fields
        assert field.label == (LABELS.allow_once if allow else LABELS.deny)
        values = [each.value for each in options_of(field.component)]
        field.value = [each for each in values if each.partition(":")[0] in ask_ids]
        done = await self._person.submit()
        assert done.answered, done.problem
        return self._person.sees(self._inbox).text


class DiscordPerson(DiscordBatches):
    """A person at Discord."""

    def __init__(self, discord: FakeDiscord) -> None:
        guild = discord.add_guild()
        self._discord, self._channel = discord, discord.add_channel(guild)
        self._person, self._asked_for = discord.person("ada", guild), set()


@asynccontextmanager
async def run_town(port: int) -> AsyncIterator[Town]:
    """Run the platform, with a person, for a service at a port."""
    async with FakeDiscord() as discord:
        person = DiscordPerson(discord)
        application = discord.application
        application.interactions_endpoint_url = f"http://127.0.0.1:{port}/discord/interactions"
        environment = {
            "DISCORD_BOT_TOKEN": application.token,
            "DISCORD_PUBLIC_KEY": application.public_key,
            "ANSWERBACK_DISCORD__API_URL": discord.api_url,
        }
        yield Town(environment, f"discord:{person._channel.id}", str(person._person.id), person)


def _check(asks: list[Ask], allow: bool) -> str:
    page = Page(tuple(asks), "d2FpdGluZzox")
    shown = inbox_view.page(page, LABELS, after="d2FpdGluZzox", left=3)
    assert rules.check_callback({"type": 4, "data": shown}) == []
    verb = Verb.ALLOW_SEVERAL if allow else Verb.DENY_SEVERAL
    control = Control(NO_ASK, 999_999_999, verb, "d2FpdGluZzox")
    modal = inbox_view.batch_modal(page, control, LABELS, allow=allow)
    assert modal is None or rules.check_callback({"type": 9, "data": modal}) == []
    return json.dumps(modal, ensure_ascii=False)


LISTED = ListedOn(inbox_view.ASKS_PER_PAGE, inbox_view.BATCH.of, _check)
