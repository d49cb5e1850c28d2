"""The slash command, and the private messages that answer a simulated person."""

from __future__ import annotations

from tests.fakes.slack.person import Person
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visible_message import look
from tests.fakes.slack.workspace import Message
from tests.unit.adapters.slack.rig import CHANNEL


class SlackCommands:
    """See `answerback_testing.simulated_people.HasCommands`."""

    _slack: FakeSlack
    _person: Person
    _answer: Message

    async def give_command(self, line: str) -> str:
        """Type the command; the answer is the acknowledgement."""
        self._answer = await self._person.slash("/answerback", line, CHANNEL)
        assert self._answer.ephemeral_to == self._person.id
        return look(self._answer).text

    async def press_below_answer(self, label: str) -> str:
        """Press a button; the answer replaces the message."""
        before = look(self._answer).text
        ack = await self._person.click(self._answer, label)
        assert ack is not None
        assert ack.ok, ack
        await self._slack.until(lambda: look(self._answer).text != before)
        assert not look(self._answer).buttons
        return look(self._answer).text
