"""Presses of buttons, and the requests to type that they send, by a simulated person."""

from __future__ import annotations

from typing import Any

from answerback.core.labels import Labels
from tests.fakes.telegram.server import FakeTelegram
from tests.fakes.telegram.world import Chat, Message, User

LABELS = Labels()


class TelegramPresses:
    """The presses that the methods of a `answerback_testing.simulated_people.SimulatedPerson` are made of."""

    _telegram: FakeTelegram
    _chat: Chat
    _user: User
    _copy: Message
    _request: Message | None = None

    async def _click(self, button: dict[str, Any], message: Message | None = None) -> str:
        """Click a button; return the note that the person sees."""
        number = await self._telegram.click(
            self._user, message or self._copy, button["callback_data"]
        )
        await self._telegram.until(lambda: number in self._telegram.answers)
        return str(self._telegram.answers[number].get("text", ""))

    async def _press(self, label: str) -> str:
        button = named(self._copy, label)
        assert button is not None, (label, [each["text"] for each in self._copy.buttons])
        return await self._click(button)

    async def _helper_after(self, button: dict[str, Any]) -> Message | None:
        """Click a button that sends a message; None if the click was refused."""
        before = {*self._chat.messages}
        if await self._click(button):
            return None

        def new() -> list[Message]:
            added = [m for i, m in self._chat.messages.items() if i not in before]
            return [m for m in added if m.sender.is_bot and m.reply_to == self._copy.id]

        await self._telegram.until(new)
        return new()[0]

    async def _open(self, label: str) -> Message | None:
        button = named(self._copy, label)
        assert button is not None, (label, [each["text"] for each in self._copy.buttons])
        self._request = await self._helper_after(button)
        return self._request

    async def _write(self, label: str, text: str) -> None:
        request = await self._open(label)
        if request is None:
            return
        empty = [b for b in request.buttons if b["text"].endswith(LABELS.none_chosen)]
        if not text.strip() or (text == "null" and empty):  # an empty field of a schema
            await self._click(empty[0], request)
            return
        await self._type_reply(request, text)

    async def _type_reply(self, to: Message, text: str) -> Message:
        self._telegram.pass_time()
        said = await self._telegram.person_sends(self._user, self._chat, text, to.id)
        await self._telegram.until(lambda: said.reactions or self._replies_to(said))
        return said

    async def _next_request(self, to: Message, text: str) -> Message:
        """Type what one request asks for; return the next one."""
        said = await self._telegram.person_sends(self._user, self._chat, text, to.id)

        def new() -> list[Message]:
            return [m for i, m in self._chat.messages.items() if i > said.id and m.sender.is_bot]

        await self._telegram.until(new)
        return new()[0]

    def _replies_to(self, message: Message) -> list[Message]:
        return [
            m for m in self._chat.messages.values() if m.reply_to == message.id and m.sender.is_bot
        ]


def named(message: Message, label: str) -> dict[str, Any] | None:
    """Return the button with a label."""
    return next((each for each in message.buttons if each["text"] == label), None)
