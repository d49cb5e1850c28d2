"""The inbox and its modal in which a simulated person decides about several permissions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from answerback.core.labels import Labels
from answerback_discord.command_use import INBOX
from tests.fakes.discord.person import Person
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.visible_message import options_of
from tests.fakes.discord.world import Channel

LABELS = Labels()
_BUTTONS = {True: LABELS.allow_several, False: LABELS.deny_several}


class DiscordBatches:
    """See `answerback.testing.simulated_people.HasBatches`."""

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
