"""The command, and what answers or refuses a simulated person in the chat between them and the bot."""

from __future__ import annotations

from tests.fakes.telegram.server import FakeTelegram
from tests.fakes.telegram.world import Chat, Message, User


class TelegramCommands:
    """See `HasCommands` and `HasTypedAnswers` in `answerback_testing.simulated_people`."""

    _telegram: FakeTelegram
    _chat: Chat
    _user: User
    _answer: Message

    async def give_command(self, line: str) -> str:
        """Send the command in the group; it is answered in the chat between the person and the bot."""
        direct = self._telegram.chats[self._user.id]
        known = {*direct.messages}
        await self._telegram.person_sends(self._user, self._chat, f"/answerback {line}")

        def new() -> list[Message]:
            return [each for number, each in direct.messages.items() if number not in known]

        await self._telegram.until(new)
        [self._answer] = new()
        return self._answer.text

    async def press_below_answer(self, label: str) -> str:
        """Press a button; the message changes."""
        version = self._answer.version
        [button] = [each for each in self._answer.buttons if each["text"] == label]
        await self._telegram.click(self._user, self._answer, button["callback_data"])
        await self._telegram.until(lambda: self._answer.version > version)
        assert not self._answer.buttons
        return self._answer.text

    async def refusals(self, count: int) -> list[str]:
        def notes() -> list[str]:
            own = self._telegram.chats[self._user.id].messages.values()
            return [m.text for m in own if m.sender.is_bot]

        await self._telegram.until(lambda: len(notes()) >= count)
        return notes()
