"""Discord in a simulation: its fake, with the real discord.py at its gateway."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Self

from nacl.signing import SigningKey

from answerback_chat.control_codec import Control as Decoded
from answerback_chat.control_codec import decode
from tests.fakes.discord.faults import Call, Fault
from tests.fakes.discord.gateway import RECONNECT
from tests.fakes.discord.interactions import Interaction
from tests.fakes.discord.person import Person
from tests.fakes.discord.rules import BUTTON, TEXT_INPUT, UPLOAD, walk
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.visible_message import Control, Modal, NotPossibleError, view_message
from tests.fakes.discord.world import Message
from tests.simulation.chat import NAMES, PUBLIC_URL, STRANGER, Chat, Shown
from tests.simulation.evidence import Json
from tests.simulation.machine import EPOCH

_POST, _EDIT = "POST /channels/*/messages", "PATCH /channels/*/messages/*"
_RESPOND, _NOTE = "POST /interactions/*/callback", "POST /webhooks/*"
_PLACES: Final = ("* *", _POST, _EDIT, _RESPOND, _NOTE)
"""The routes whose calls go wrong."""
_LATE_PLACES: Final = (_EDIT, _EDIT, _POST, _RESPOND)
"""The routes whose calls Discord may carry out after their caller has gone."""
_FORBIDDEN: Final = (50001, 50013)
"""The codes with which Discord refuses an app that somebody has taken a permission from."""
_CONTROL: Final = ":answer"
"""The verb of controls that answer a question."""
_SEED_BYTES: Final = 32
_UPDATE: Final = 7
"""The response to an interaction that edits its message."""
_FORGOTTEN: Final = "forgotten"
_ENDINGS: Final = ("asked", "closed", "cut", _FORGOTTEN)
"""The ways in which Discord ends a connection of its gateway; a forgotten one's events are lost."""
_ASK: Final = re.compile(r"ab1:(ask_[0-9a-z]+):")
_MENTION: Final = re.compile(r"<@(\d+)>")


class ShownMessage(Shown):
    """A message, or a copy of one that a client still shows."""

    def __init__(self, ask_id: str, message: Message, names: dict[str, str]) -> None:
        self.message = message
        self._names = names
        super().__init__(ask_id, str(message.id))

    def _controls(self) -> list[tuple[Control, Decoded]]:
        return _controls(self.message)

    @property
    def text(self) -> str:
        return _MENTION.sub(
            lambda found: self._names.get(found[1], found[0]), view_message(self.message).text
        )


def _controls(message: Message) -> list[tuple[Control, Decoded]]:
    buttons = [Control(each) for _, each in walk(message.components) if each["type"] == BUTTON]
    decoded = [(each, decode(each.custom_id)) for each in buttons if not each.disabled]
    return [(each, what) for each, what in decoded if what is not None]


class DiscordClient:
    """See `tests.simulation.chat.Client`."""

    gone: type[Exception] = NotPossibleError

    def __init__(self, chat: DiscordChat, person: Person) -> None:
        self._chat = chat
        self._person = person
        self.id = str(person.id)

    def sees(self) -> Sequence[ShownMessage]:
        return self._chat.messages()

    def keep(self, shown: Shown) -> ShownMessage:
        return ShownMessage(shown.ask_id, replace(_message(shown)), self._chat.names)

    def count_notes(self) -> int:
        return self._chat.count_notes(self._person.id)

    async def press(self, shown: Shown, control: Any) -> bool:
        self._person.modal = None
        return (await self._person._use(_message(shown), control, [], True)).answered

    async def sees_form(self, seconds: float) -> Modal:
        # It came with the response to the click, or not at all.
        if self._person.modal is None:
            raise TimeoutError
        return self._person.modal

    def has_open(self, form: object) -> bool:
        return self._person.modal is form

    def takes_files(self, form: Any) -> bool:
        return any(field.component["type"] == UPLOAD for field in form.fields)

    async def submit(self, form: Any, text: str, files: Mapping[str, bytes]) -> bool:
        if files:
            self._person.upload([*files.items()])
        for field in form.fields:
            if field.component["type"] == TEXT_INPUT:
                self._person.fill(field.label, text)
        return (await self._person.submit()).answered


def _message(shown: Shown) -> Message:
    assert isinstance(shown, ShownMessage)
    return shown.message


class DiscordFaults:
    """See `tests.simulation.chat.ChatFaults`."""

    def __init__(self, discord: FakeDiscord) -> None:
        self._discord = discord
        self._plan = discord.faults

    def limit(self, rng: random.Random) -> None:
        place, seconds = rng.choice(_PLACES), rng.choice([1, 5, 30])
        self._plan.rate_limit(place, retry_after=seconds, times=rng.randint(1, 5))

    def refuse(self, rng: random.Random) -> None:
        place, status = rng.choice(_PLACES), rng.choice([500, 502, 503])
        self._plan.server_error(place, status=status, times=rng.randint(1, 5))

    def lose_answer(self, rng: random.Random) -> None:
        place, after = rng.choice(_PLACES), rng.choice([False, True, True])
        self._plan.drop(place, after=after, times=rng.randint(1, 3))

    def late_call(self, rng: random.Random) -> Fault:
        place = rng.choice(_LATE_PLACES)
        late = self._plan.drop_until_released(place)
        # Of edits, the next one that leaves an ask open: another one may follow it. Of the others, one without
        # pictures: their bytes are lost with the connection.
        late.when = _leaves_open if place == _EDIT else _is_whole
        return late

    def was_outrun(self, late: Any, begun: int) -> bool:
        edit = next(call for call in reversed(self._plan.log[:begun]) if call.fault)
        return any(
            _succeeded(call)
            and (
                (call.place == edit.place and call.body.get("components") != edit.body.get("components"))
                or call.body.get("type") == _UPDATE
            )
            for call in self._plan.log[begun:]
        )  # fmt: skip

    def late_answer(self) -> Fault:
        late = self._plan.hang(_EDIT, after=True)
        late.when = _leaves_open
        return late

    def forbid_edits(self, rng: random.Random) -> Callable[[], None]:
        # Of an ask that has ended, the service gives such an edit up, and logs that as an error.
        forbidden = self._plan.code(_EDIT, rng.choice(_FORBIDDEN), times=10_000)
        forbidden.when = _leaves_open
        return forbidden.release

    def fail_files(self, rng: random.Random) -> Callable[[], None]:
        files = self._discord.attachments
        files.statuses = [500] * rng.randint(1, 3)
        files.stalled = asyncio.Event() if rng.random() < 0.3 else None
        return self.read_files

    def read_files(self) -> None:
        """Let files be read again."""
        files = self._discord.attachments
        files.statuses = []
        if files.stalled is not None:
            files.stalled.set()
            files.stalled = None

    def renew(self, rng: random.Random) -> Coroutine[Any, Any, Any]:
        return self._end_connections(rng.choice(_ENDINGS))

    async def _end_connections(self, how: str) -> None:
        gateway = self._discord.gateway
        gateway.refuse_resume = how == _FORGOTTEN
        match how:
            case "asked":
                for connection in gateway.connections:
                    connection.send(RECONNECT)
            case "cut":
                gateway.abort()
            case _:
                await gateway.disconnect()

    def repeat_event(self, rng: random.Random) -> Coroutine[Any, Any, Any] | None:
        recent = [*self._discord.interactions.all.values()][-5:]
        return self._deliver_again(rng.choice(recent)) if recent else None

    async def _deliver_again(self, interaction: Interaction) -> None:
        interactions = self._discord.interactions
        if self._discord.application.interactions_endpoint_url:
            await interactions._post_out(interaction)
        else:
            interactions.redeliver(interaction)

    async def until(self, condition: Callable[[], object], seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await self._discord.bell.until(lambda: bool(condition()), timeout=seconds)


def _leaves_open(call: Call) -> bool:
    return _CONTROL in str(call.body)


def _is_whole(call: Call) -> bool:
    return bool(call.body)


def _succeeded(call: Call) -> bool:
    return call.status is not None and 200 <= call.status < 300


class DiscordChat(Chat):
    """See `tests.simulation.chat.Chat`.

    Args:
        by_http: whether Discord posts clicks to the service; otherwise they come by the gateway, as all else does.
    """

    surface = "discord"

    def __init__(self, front: str, *, by_http: bool) -> None:
        self.front = front
        self._by_http = by_http
        discord = self._discord = FakeDiscord()
        # libsodium takes random bytes from the system.
        discord.application.signing_key = SigningKey(os.urandom(_SEED_BYTES))
        guild = discord.add_guild()
        self._channel = discord.add_channel(guild, "ops")
        self.channel = str(self._channel.id)
        people = [discord.person(name, guild) for name in (*NAMES, STRANGER)]
        *ids, self.stranger = [str(each.id) for each in people]
        self.people = dict(zip(NAMES, ids, strict=True))
        self._clients = {str(each.id): DiscordClient(self, each) for each in people}
        self._notes = set[tuple[int, int]]()
        """People, with the ids of messages that only they saw."""
        self.faults: DiscordFaults = DiscordFaults(discord)
        self.calls = discord.faults.log
        self.delivered = discord.interactions.all
        self.deleted = set()
        self._asks: dict[int, str] = {}
        """The asks of messages, by the messages' ids."""
        self._asks_of_nonces: dict[str, str] = {}
        self._read = 0
        """The calls that `_asks_of_nonces` knows."""

    async def __aenter__(self) -> Self:
        await self._discord.__aenter__()
        if self._by_http:
            url = f"{PUBLIC_URL}/discord/interactions"
            self._discord.application.interactions_endpoint_url = url
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._discord.__aexit__(None, None, None)

    @property
    def settings(self) -> Json:
        application = self._discord.application
        way = {"public_key": application.public_key} if self._by_http else {}
        return {"bot_token": application.token, "api_url": self._discord.api_url, **way}

    def client(self, person: str) -> DiscordClient:
        return self._clients[person]

    def messages(self) -> Sequence[ShownMessage]:
        found = []
        for message in self._channel.messages.values():
            is_public = message.author_id == self._discord.bot.id and not message.ephemeral
            if is_public and not message.deleted and (ask_id := self._ask_of(message)) is not None:
                found.append(ShownMessage(ask_id, message, self.names))
        return found

    def _ask_of(self, message: Message) -> str | None:
        """Return the ask of which a message is: one that has ended has no control that says so, but its post had."""
        if message.id not in self._asks:
            calls, self._read = (
                self._discord.faults.log[self._read :],
                len(self._discord.faults.log),
            )
            for call in calls:
                named = _ASK.search(str(call.body.get("components")))
                if named is not None and "nonce" in call.body:
                    self._asks_of_nonces[str(call.body["nonce"])] = named[1]
            ask_id = self._asks_of_nonces.get(str(message.nonce))
            if ask_id is None:
                return None
            self._asks[message.id] = ask_id
        return self._asks[message.id]

    def remove(self, shown: Shown) -> None:
        self._discord.delete(_message(shown))

    def count_notes(self, person: int) -> int:
        """Return the number of messages so far that only this person saw."""
        for channel in self._discord.world.channels.values():
            for message in channel.messages.values():
                if message.only_for == person:
                    self._notes.add((person, message.id))  # it may be deleted between two counts
        return sum(of == person for of, _ in self._notes)

    def reminders(self) -> dict[str, list[str]]:
        self.messages()  # so that all are known
        found: dict[str, list[str]] = {}
        for channel in self._discord.world.channels.values():
            for message in channel.messages.values():
                # Each ends with the address of its ask's message, and has a nonce that follows from its number.
                about = message.content.rpartition("/")[2]
                if about.isdigit() and message.nonce and int(about) in self._asks:
                    found.setdefault(self._asks[int(about)], []).append(str(message.nonce))
        return found

    @property
    def failed_at(self) -> float:
        failed = (call.at for call in reversed(self._discord.faults.log) if call.fault)
        return next(failed, EPOCH) - EPOCH

    def stop_faults(self) -> None:
        self._discord.faults.clear()
        self.faults.read_files()
