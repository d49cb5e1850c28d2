"""The slash command, and the private messages that answer a simulated person."""

from __future__ import annotations

from tests.fakes.discord.person import Person
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.world import Channel, Message
from tests.unit.adapters.discord.sight import remove_escapes


class DiscordCommands:
    """See `answerback_testing.simulated_people.HasCommands`."""

    _discord: FakeDiscord
    _channel: Channel
    _person: Person
    _asked_for: set[int]
    _answer: Message

    async def give_command(self, line: str) -> str:
        """Use the subcommand; the answer is an ephemeral message."""
        await self._person.until(lambda: len(self._discord.application.commands) > 1)
        used = await self._person.command("answerback", self._channel, line)
        assert used.answered, used.problem
        [self._answer] = used.notes
        assert self._answer.only_for == self._person.id
        self._asked_for.add(self._answer.id)
        return self._read()

    async def press_below_answer(self, label: str) -> str:
        """Press a button; the response updates the message."""
        used = await self._person.click(label, on=self._answer)
        assert used.answered, used.problem
        assert not self._person.sees(self._answer).labels
        return self._read()

    def _read(self) -> str:
        return remove_escapes(self._person.sees(self._answer).text)
