"""Telegram in a simulation: its fake, by long polls or by a webhook."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, Self

from answerback_chat.control_codec import Control as Decoded
from answerback_chat.control_codec import Verb, decode
from tests.fakes.telegram.faults import Planned
from tests.fakes.telegram.server import FakeTelegram
from tests.fakes.telegram.world import Message, User
from tests.simulation.chat import NAMES, STRANGER, Chat, Shown
from tests.simulation.evidence import Json
from tests.simulation.machine import EPOCH

_EDIT, _POST, _ANSWER = "editMessageText", "sendMessage", "answerCallbackQuery"
_METHODS: Final = ("*", _POST, _EDIT, _ANSWER, "getUpdates")
_CONTROL: Final = ":answer"
"""The verb of controls that answer a question."""
_PATIENCE: Final = 30.0
"""Seconds for which somebody waits for what a click or a text does."""
_TAKEN: Final = "👍"
_CLOSE: Final = "close"
"""The argument of the control that closes what a message shows in full."""


class ShownMessage(Shown):
    """A message, or a copy of one that a client still shows."""

    def __init__(self, ask_id: str, message: Message) -> None:
        self.message = message
        super().__init__(ask_id, str(message.id))

    def _controls(self) -> list[tuple[str, Decoded]]:
        data = [str(each.get("callback_data", "")) for each in self.message.buttons]
        found = [(each, what) for each in data if (what := decode(each)) is not None]
        # Whoever sends what an answer starts with says nothing new: nobody does here.
        return [
            (each, what) for each, what in found if what.verb is not Verb.ANSWER or what.argument
        ]

    @property
    def text(self) -> str:
        return self.message.text


def _message(shown: Shown) -> Message:
    assert isinstance(shown, ShownMessage)
    return shown.message


class TelegramClient:
    """See `tests.simulation.chat.Client`."""

    gone: type[Exception] = LookupError

    def __init__(self, chat: TelegramChat, telegram: FakeTelegram, user: User) -> None:
        self._chat = chat
        self._telegram = telegram
        self._user = user
        self._opened_after = 0
        self.id = str(user.id)

    def sees(self) -> Sequence[ShownMessage]:
        return self._chat.shown()

    def keep(self, shown: Shown) -> ShownMessage:
        return ShownMessage(shown.ask_id, copy.copy(_message(shown)))

    def count_notes(self) -> int:
        telegram = self._telegram
        private = telegram.chats[self._user.id].messages.values()
        answered = [each for number, each in telegram.answers.items() if self._clicked(number)]
        return (
            sum(bool(each.get("text")) for each in answered)
            + sum(each.sender is telegram.bot for each in private)
            + self._chat.count_helpers()
        )

    def _clicked(self, number: str) -> bool:
        return self._telegram.clickers[number] == self._user.id

    async def press(self, shown: Shown, control: Any) -> bool:
        message = _message(shown)
        self._opened_after = message.chat.next_id - 1
        number = await self._telegram.click(self._user, message, control)
        return await self._chat.happens(lambda: number in self._telegram.answers, _PATIENCE)

    def _form(self) -> Message | None:
        """Return the last message that asks this person to reply with a text."""
        for message in reversed(self._chat.group.messages.values()):
            if message.id <= self._opened_after:
                return None
            if message.markup and message.markup.get("force_reply") and self._is_named(message):
                return message
        return None

    def _is_named(self, message: Message) -> bool:
        return self.id in message.parsed.mentioned

    async def sees_form(self, seconds: float) -> Message:
        if not await self._chat.happens(lambda: self._form() is not None, seconds):
            raise TimeoutError
        form = self._form()
        assert form is not None
        return form

    def has_open(self, form: object) -> bool:
        return isinstance(form, Message) and form.id in self._chat.group.messages

    def takes_files(self, form: Any) -> bool:
        return False

    async def submit(self, form: Any, text: str, files: Mapping[str, bytes]) -> bool:
        sent = await self._telegram.person_sends(self._user, self._chat.group, text, form.id)
        await self._chat.happens(lambda: sent.reactions, _PATIENCE)
        return sent.reactions == [_TAKEN]


class TelegramFaults:
    """See `tests.simulation.chat.ChatFaults`."""

    def __init__(self, chat: TelegramChat, telegram: FakeTelegram) -> None:
        self._chat = chat
        self._telegram = telegram

    def limit(self, rng: random.Random) -> None:
        method, seconds = rng.choice(_METHODS), rng.choice([1, 5, 30])
        said = f"Too Many Requests: retry after {seconds}"
        self._telegram.plan(Planned(method, rng.randint(1, 5), 429, said, seconds))

    def refuse(self, rng: random.Random) -> None:
        method, status = rng.choice(_METHODS), rng.choice([500, 502, 503])
        self._telegram.plan(Planned(method, rng.randint(1, 5), status, "Bad Gateway"))

    def lose_answer(self, rng: random.Random) -> None:
        method, cut = rng.choice(_METHODS), rng.choice(["before", "after", "after"])
        self._telegram.plan(Planned(method, rng.randint(1, 3), cut=cut))

    def late_call(self, rng: random.Random) -> Planned:
        # Of edits alone: of a post that took effect late, no bot can learn.
        return self._telegram.plan(Planned(_EDIT, cut="before", hangs=True, about=_CONTROL))

    def was_outrun(self, late: Any, begun: int) -> bool:
        return any(
            method == _EDIT
            and status == 200
            and body.get("message_id") == late.body.get("message_id")
            and body.get("reply_markup") != late.body.get("reply_markup")
            for method, body, status in self._telegram.log[-20:]
        )

    def late_answer(self) -> Planned:
        return self._telegram.plan(Planned(_EDIT, hangs=True, about=_CONTROL))

    def forbid_edits(self, rng: random.Random) -> Callable[[], None]:
        said = "Bad Request: not enough rights to send text messages to the chat"
        # Of an ask that has ended, the service gives such an edit up, and logs that as an error.
        return self._telegram.plan(Planned(_EDIT, 10_000, 400, said, about=_CONTROL)).release

    def fail_files(self, rng: random.Random) -> Callable[[], None]:
        return lambda: None  # nobody sends files there yet

    def renew(self, rng: random.Random) -> Coroutine[Any, Any, Any] | None:
        return None if self._telegram.webhook is not None else self._telegram.interrupt_poll()

    def repeat_event(self, rng: random.Random) -> Coroutine[Any, Any, Any] | None:
        # What was confirmed does not come again by a poll.
        if self._telegram.webhook is None or not self._telegram.sent:
            return None
        return self._telegram._deliver(rng.choice(self._telegram.sent[-5:]))

    async def until(self, condition: Callable[[], object], seconds: float) -> None:
        await self._chat.happens(condition, seconds)


class TelegramChat(Chat):
    """See `tests.simulation.chat.Chat`.

    A bot cannot look for its messages, so a post whose result it does not know may be there twice. People see both;
    the later one is judged, but not for what it shows while no answer and no click has told the bot of it.

    Args:
        by_http: whether Telegram posts updates to the service; otherwise the service polls.
    """

    surface = "telegram"
    tells_of_deletions = False

    def __init__(self, front: str, *, by_http: bool) -> None:
        self.front = front
        self._by_http = by_http
        telegram = self._telegram = FakeTelegram()
        telegram.retry_seconds = 5.0
        self.group = telegram.add_group()
        users = [telegram.add_user(name) for name in (*NAMES, STRANGER)]
        for user in users:
            self.group.members[user.id] = "member"
        *ids, self.stranger = [str(each.id) for each in users]
        self.channel = str(self.group.id)
        self.people = dict(zip(NAMES, ids, strict=True))
        self._clients = {str(each.id): TelegramClient(self, telegram, each) for each in users}
        self._helpers = set[int]()
        self.faults = TelegramFaults(self, telegram)
        self.calls = telegram.arrived
        self.delivered = telegram.sent
        self.deleted = set()

    async def __aenter__(self) -> Self:
        await self._telegram.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._telegram.__aexit__()

    @property
    def settings(self) -> Json:
        telegram = self._telegram
        return {"bot_token": telegram.token, "api_url": telegram.url, "webhook": self._by_http}

    def client(self, person: str) -> TelegramClient:
        return self._clients[person]

    def shown(self) -> list[ShownMessage]:
        """Return the messages of asks, by the keyboards with which they were sent."""
        return [
            ShownMessage(ask_id, message)
            for message in self.group.messages.values()
            if (ask_id := self._ask_of(message)) is not None
        ]

    def _ask_of(self, message: Message) -> str | None:
        if message.sender is not self._telegram.bot or message.reply_to is not None:
            return None
        rows = (message.sent_markup or {}).get("inline_keyboard", ())
        named = [decode(each.get("callback_data", "")) for row in rows for each in row]
        if any(each is not None and each.argument == _CLOSE for each in named):
            return None  # everything in full, which below a message that was deleted is no reply
        return next((each.ask_id for each in named if each is not None), None)

    def messages(self) -> Sequence[ShownMessage]:
        latest = {each.ask_id: each for each in self.shown()}
        for each in latest.values():
            each.is_known = int(each.id) not in self._telegram.unanswered
        return [*latest.values()]

    def count_helpers(self) -> int:
        """Return the number of messages so far that are no asks, such as requests to type."""
        bot = self._telegram.bot
        for each in self.group.messages.values():
            if each.sender is bot and each.reply_to is not None:
                self._helpers.add(each.id)  # it may be deleted between two counts
        return len(self._helpers)

    def remove(self, shown: Shown) -> None:
        for each in self.shown():
            if each.ask_id == shown.ask_id:
                del self.group.messages[_message(each).id]

    def reminders(self) -> dict[str, list[str]]:
        asks = {int(each.id): each.ask_id for each in self.shown()}
        found: dict[str, list[str]] = {}
        for message in self.group.messages.values():
            if message.sender is self._telegram.bot and message.sent_markup is None:
                ask_id = asks.get(message.reply_to or 0)
                if ask_id is not None:
                    found.setdefault(ask_id, []).append(message.text)
        return found

    async def happens(self, condition: Callable[[], object], seconds: float) -> bool:
        """Return True as soon as something is so; False if it is not within some seconds."""
        changed = self._telegram._changed
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), changed:
                await changed.wait_for(condition)
        return bool(condition())

    @property
    def failed_at(self) -> float:
        return max(0.0, self._telegram.failed_at - EPOCH)

    def stop_faults(self) -> None:
        for planned in self._telegram.planned:
            planned.release()
        self._telegram.planned.clear()
