"""Slack in a simulation: its fake, called by Slack's own SDK, by HTTP or by Socket Mode."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence, Sized
from typing import Any, Final, Self

from answerback_chat.control_codec import Control as Decoded
from answerback_chat.control_codec import decode
from tests.fakes.slack import methods_chat
from tests.fakes.slack.faults import Fault
from tests.fakes.slack.person import Person
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.state import ClientRefusalError
from tests.fakes.slack.visible_message import Control, look
from tests.fakes.slack.visible_message import controls_of as block_controls
from tests.fakes.slack.workspace import Message, Snapshot, View
from tests.simulation.chat import NAMES, PUBLIC_URL, STRANGER, Chat, Shown
from tests.simulation.evidence import Json
from tests.simulation.machine import EPOCH

CHANNEL: Final = "C0OPS"
_PEOPLE: Final = {name: f"U0{name.upper()}" for name in NAMES}
_STRANGER: Final = f"U0{STRANGER.upper()}"
_LATE_METHODS: Final = ("chat.update", "chat.update", "chat.postMessage", "views.open")
"""The methods that Slack may carry out after its caller has gone."""
_FORBIDDEN: Final = ("missing_scope", "app_access_restricted", "message_limit_exceeded")
"""The reasons for which Slack lets no app edit until somebody who administers it has done something."""
_CONTROL: Final = ":answer"
"""The verb of controls that answer a question."""
_METHODS: Final = ("*", "chat.postMessage", "chat.update", "chat.postEphemeral", "views.open")


_Controls = list[tuple[Control, Decoded]]

_read: dict[str, tuple[list[Json], _Controls]] = {}
"""The blocks and controls of each message when last read, by its timestamp: people look more often than it changes."""


class ShownMessage(Shown):
    """A message, or a copy of one that a client still shows."""

    def __init__(self, ask_id: str, target: Message | Snapshot) -> None:
        self.target = target
        super().__init__(ask_id, target.ts if isinstance(target, Message) else target.payload["ts"])

    def _controls(self) -> _Controls:
        blocks, (before, controls) = _blocks_of(self.target), _read.get(self.id, (None, []))
        if blocks is not before:
            controls = _controls_of(blocks)
        if isinstance(self.target, Message):
            _read[self.id] = blocks, controls
        return controls

    @property
    def text(self) -> str:
        return look(self.target).visible_text


def _blocks_of(target: Message | Snapshot) -> list[Json]:
    if isinstance(target, Message):
        return target.blocks
    found: list[Json] = target.payload.get("blocks", [])
    return found


def _controls_of(blocks: list[Json]) -> _Controls:
    found = []
    # `look` would read all texts too, which takes most of a simulation's time.
    for control in (c for block in blocks for c in block_controls(block)):
        decoded = (
            decode(str(control.element.get("value", ""))) if control.kind == "button" else None
        )
        if decoded is not None:
            found.append((control, decoded))
    return found


def _shown(messages: Sequence[Message]) -> list[ShownMessage]:
    """Return the messages that show an ask, by the metadata that the app gave them."""
    about = [(each.metadata or {}, each) for each in messages]
    return [
        ShownMessage(metadata["event_payload"]["ask_id"], message)
        for metadata, message in about
        if metadata.get("event_type") == "answerback_ask"
    ]


class SlackClient:
    """See `tests.simulation.chat.Client`."""

    gone: type[Exception] = ClientRefusalError

    def __init__(self, slack: FakeSlack, person: Person) -> None:
        self._slack = slack
        self._person = person
        self.id = person.id

    def sees(self) -> Sequence[ShownMessage]:
        return _shown(self._person.messages(CHANNEL))

    def keep(self, shown: Shown) -> ShownMessage:
        message = _target(shown)
        return ShownMessage(
            shown.ask_id, message.snapshot() if isinstance(message, Message) else message
        )

    def count_notes(self) -> int:
        return sum(m.ephemeral_to == self.id for m in self._person.messages(CHANNEL))

    async def press(self, shown: Shown, control: Any) -> bool:
        self._slack.workspace.stacks.pop(self.id, None)
        action: dict[str, Any] = {"type": "button", "text": control.element["text"]}
        action["value"] = control.element["value"]
        copy = _target(self.keep(shown))
        assert isinstance(copy, Snapshot)
        return (await self._person._act(copy, control, action)).ok

    async def sees_form(self, seconds: float) -> View:
        return await self._person.sees_modal(seconds)

    def has_open(self, form: object) -> bool:
        return self._person.modal is form

    def takes_files(self, form: Any) -> bool:
        return any(c.kind == "file_input" for c in look(form).controls)

    async def submit(self, form: Any, text: str, files: Mapping[str, bytes]) -> bool:
        share = self._slack.people_files.share
        shared = [share(name, data) for name, data in files.items()]
        values: dict[str, object] = {"plain_text_input": text, "file_input": shared}
        fields = {c.label: values[c.kind] for c in look(form).controls if c.kind in values}
        ack = await self._person.submit(fields)
        return ack.ok and not self.has_open(form)


def _target(shown: Shown) -> Message | Snapshot:
    assert isinstance(shown, ShownMessage)
    return shown.target


class SlackFaults:
    """See `tests.simulation.chat.ChatFaults`."""

    def __init__(self, slack: FakeSlack) -> None:
        self._slack = slack
        self._plan = slack.faults.add

    def limit(self, rng: random.Random) -> None:
        method, seconds = rng.choice(_METHODS), rng.choice([1, 5, 30])
        self._plan(method, times=rng.randint(1, 5), status=429, retry_after=seconds)

    def refuse(self, rng: random.Random) -> None:
        method = rng.choice(_METHODS)
        self._plan(method, times=rng.randint(1, 5), status=rng.choice([500, 502, 503]))

    def lose_answer(self, rng: random.Random) -> None:
        method, when = rng.choice(_METHODS), rng.choice(["before", "after", "after"])
        self._plan(method, times=rng.randint(1, 3), drop=True, when=when)

    def late_call(self, rng: random.Random) -> Fault:
        method = rng.choice(_LATE_METHODS)
        # Of edits, the next one that leaves an ask open: another one may follow it.
        about = _CONTROL if method == "chat.update" else ""
        return self._plan(method, hang=True, drop=True, about=about)

    def was_outrun(self, late: Any, begun: int) -> bool:
        calls = self._slack.calls
        late_args = next(call.args for call in reversed(calls[:begun]) if call.fault is not None)
        return any(
            call.ok
            and call.method == "chat.update"
            and call.args.get("ts") == late_args.get("ts")
            and call.args.get("blocks") != late_args.get("blocks")
            for call in calls[begun:]
        )

    def late_answer(self) -> Fault:
        return self._plan("chat.update", hang=True, when="after", about=_CONTROL)

    def forbid_edits(self, rng: random.Random) -> Callable[[], None]:
        return self._plan("chat.update", times=None, error=rng.choice(_FORBIDDEN)).release

    def fail_files(self, rng: random.Random) -> Callable[[], None]:
        files = self._slack.people_files
        files.faults, files.stalls = [500] * rng.randint(1, 3), rng.random() < 0.3
        return self.read_files

    def read_files(self) -> None:
        files = self._slack.people_files
        files.faults, files.stalls = [], False

    def renew(self, rng: random.Random) -> Coroutine[Any, Any, Any]:
        # Slack closes each connection of Socket Mode from time to time.
        return self._slack.socket.disconnect(rng.choice(["warning", "refresh_requested"]))

    def repeat_event(self, rng: random.Random) -> Coroutine[Any, Any, Any] | None:
        slack = self._slack
        if slack.way is slack.http and slack.http.sent:
            return slack.http.post(rng.choice(slack.http.sent[-5:]))
        if slack.socket.wire and slack.socket.connections:
            connection = rng.choice(slack.socket.connections)
            return slack.socket.deliver(rng.choice(slack.socket.wire[-5:]), connection)
        return None

    async def until(self, condition: Callable[[], object], seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await self._slack.until(condition, seconds)


class SlackChat(Chat):
    """See `tests.simulation.chat.Chat`.

    Args:
        by_http: whether Slack sends requests; otherwise the service uses Socket Mode.
    """

    surface = "slack"
    channel = CHANNEL
    people = _PEOPLE
    stranger = _STRANGER

    def __init__(self, front: str, *, by_http: bool) -> None:
        self.front = front
        self._by_http = by_http
        self._slack = FakeSlack(retry_delays=(1.0, 60.0, 300.0))
        self.faults: SlackFaults = SlackFaults(self._slack)
        self.calls = self._slack.calls
        self.deleted = set()

    async def __aenter__(self) -> Self:
        slack = await self._slack.__aenter__()
        people = [slack.person(id_, name) for id_, name in self.names.items()]
        self._clients = {each.id: SlackClient(slack, each) for each in people}
        slack.workspace.add_channel(CHANNEL, *self._clients, name="ops")
        if self._by_http:
            slack.deliver_to(f"{PUBLIC_URL}/slack/events")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._slack.__aexit__(None, None, None)

    @property
    def settings(self) -> Json:
        slack = self._slack
        way = (
            {"signing_secret": slack.signing_secret}
            if self._by_http
            else {"app_token": slack.app_token}
        )
        return {"bot_token": slack.bot_token, "api_url": slack.api_url, **way}

    def client(self, person: str) -> SlackClient:
        return self._clients[person]

    def messages(self) -> Sequence[ShownMessage]:
        return _shown(self._slack.messages(CHANNEL))

    def remove(self, shown: Shown) -> None:
        message = _target(shown)
        assert isinstance(message, Message)
        methods_chat.remove(self._slack, message)

    def reminders(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for message in self._slack.messages(CHANNEL):
            metadata = message.metadata or {}
            if metadata.get("event_type") == "answerback_reminder":
                about = metadata["event_payload"]
                found.setdefault(about["ask_id"], []).append(str(about["number"]))
        return found

    def pictures(self, shown: Shown) -> Sequence[bytes]:
        blocks = _blocks_of(_target(shown))
        ids = [block["slack_file"]["id"] for block in blocks if "slack_file" in block]
        return [self._slack.uploads.received[each] for each in ids]

    def kept_pictures(self) -> Sequence[bytes]:
        uploads = self._slack.uploads
        return [uploads.received[each] for each in uploads.complete]

    @property
    def delivered(self) -> Sized:  # type: ignore[override] # which one may change
        slack = self._slack
        return slack.http.sent if slack.way is slack.http else slack.socket.wire

    @property
    def failed_at(self) -> float:
        failed = (call.at for call in reversed(self._slack.calls) if call.fault is not None)
        return next(failed, EPOCH) - EPOCH

    def stop_faults(self) -> None:
        self._slack.faults.clear()
        self.faults.read_files()
