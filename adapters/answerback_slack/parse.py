"""What Slack sends, as plain values: a click, a submitted modal, a message. Pure, and never raises on any payload.

Owns the shapes of https://docs.slack.dev/reference/interaction-payloads and of the event ``message``; what is none of
ours parses to None.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeAlias

from typing_extensions import TypedDict

from answerback.core.intents import RequestedAction, TypedText
from answerback.core.schema_field_values import FieldEntry
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from answerback_chat.control_codec import Control, Verb, decode

Values: TypeAlias = Mapping[str, FieldEntry]
"""What stands in the inputs of a message or modal, by block_id: text, or the indexes of what is chosen."""

_ANSWERING: Final = frozenset({None, "thread_broadcast", "file_share"})
"""Subtypes of messages that a person typed just now: https://docs.slack.dev/reference/events/message"""
_MAX_INDEX_DIGITS: Final = 6
_WORDS: Final = "words:"
_TS: Final = re.compile(r"[0-9]{1,16}\.[0-9]{1,9}")
_FAR: Final = 10_000_000_000
"""Seconds that a datetimepicker can hold: https://docs.slack.dev/reference/block-kit/block-elements/datetime-picker-element"""


class ClickPayload(TypedDict, total=False):
    """What is read of a ``block_actions`` payload."""

    type: object
    user: object
    container: object
    channel: object
    trigger_id: object
    response_url: object
    view: object
    state: object
    actions: object


@dataclass(slots=True)
class BotIdentity:
    """Who we are in the workspace, once Slack has told."""

    team: str | None = None
    bot_user: str | None = None
    bot: str | None = None
    """The id that stands with messages of the bot's, which is not its user's."""


@dataclass(frozen=True, slots=True)
class MessageLocation:
    """A message: ``thread`` is the parent's ts where it stands in a thread."""

    channel: str
    ts: str
    thread: str | None = None

    def encode(self) -> str:
        """For a modal's ``private_metadata``: a submission names no channel by itself."""
        return json.dumps([self.channel, self.ts, self.thread])

    @property
    def delivery(self) -> str:
        """The id under which what a person wrote there counts once, however it came."""
        return f"slack:{self.channel}:{self.ts}"


_READING: Final = frozenset({Verb.SHOW_IN_FULL, Verb.PREVIEW, Verb.PAGE})


@dataclass(frozen=True, slots=True)
class Click:
    """A button pressed or a menu used."""

    control: Control
    person: Person
    trigger_id: str
    response_url: str | None
    where: MessageLocation | None
    view_id: str | None
    view_hash: str | None
    wanted: RequestedAction | None
    values: Values = field(default_factory=dict)
    clicked_at: float | None = None
    """When, by Slack's clock."""
    received_at: float = field(default_factory=time.monotonic)

    @property
    def actor(self) -> Actor:
        """Who clicked."""
        return Actor(self.person)

    @property
    def is_read_only(self) -> bool:
        """Whether it shows what everybody may read."""
        return self.control.verb in _READING

    @property
    def used_message(self) -> MessageLocation:
        """Where the words stand that a click says to use."""
        here = self.where or MessageLocation("", "")
        return MessageLocation(here.channel, self.control.argument, here.thread)

    @property
    def delivery(self) -> str:
        """The id under which it counts once: words do with theirs, however they came."""
        used = self.control.verb is Verb.USE_MESSAGE
        return self.used_message.delivery if used else f"slack:{self.trigger_id}"

    @property
    def at(self) -> float | None:
        """When it was clicked, or the words were typed, by Slack's clock."""
        return (
            seconds_from_ts(self.used_message.ts)
            if self.control.verb is Verb.USE_MESSAGE
            else self.clicked_at
        )


@dataclass(frozen=True, slots=True)
class Submission:
    """A modal handed in."""

    control: Control
    person: Person
    trigger_id: str
    where: MessageLocation | None
    values: Values
    lines: tuple[str, ...] = ()
    """What stands in its inputs as the person reads it: a line an input, with its label; choices by theirs."""
    wanted: None = None
    at: None = None

    @property
    def actor(self) -> Actor:
        """Who handed it in."""
        return Actor(self.person)

    @property
    def is_read_only(self) -> bool:
        """Whether it has nothing to be handed in."""
        return self.control.verb in _READING

    @property
    def delivery(self) -> str:
        """The id under which it counts once."""
        return f"slack:{self.trigger_id}"


@dataclass(frozen=True, slots=True)
class TypedMessage:
    """A message that a person typed. ``text`` is as Slack sends it."""

    where: MessageLocation
    person: Person
    text: str
    is_direct: bool

    @property
    def actor(self) -> Actor:
        """Who typed it."""
        return Actor(self.person)

    @property
    def at(self) -> float | None:
        """When it was typed, by Slack's clock."""
        return seconds_from_ts(self.where.ts)

    @property
    def delivery(self) -> str:
        """The id under which it counts once, however it came."""
        return self.where.delivery


def parse_interaction(
    body: Mapping[str, object], identity: BotIdentity
) -> Click | Submission | None:
    """What an interactive payload says, or None where it is nothing for us.

    Args:
        identity: of our own workspace; people of another one are named with theirs.
    """
    match body.get("type"):
        case "block_actions":
            return _click(body, identity.team)
        case "view_submission":
            return _submission(body, identity.team)
        case _:
            return None


def typed_message_from_event(payload: object) -> TypedMessage | None:
    """The words in the payload of an event; None where no person typed any."""
    event = _dict(_dict(payload).get("event"))
    is_direct = event.get("channel_type") == "im"
    return parse_typed_message(event, _str(event.get("channel")), is_direct=is_direct)


def seconds_from_ts(ts: object) -> float | None:
    """The moment that a ts stands for, by Slack's clock: https://docs.slack.dev/messaging/retrieving-messages"""
    return float(ts) if isinstance(ts, str) and _TS.fullmatch(ts) else None


def latest_edit_time(message: Mapping[str, object]) -> float | None:
    """A moment by which a message had been edited as it is, by Slack's clock.

    Slack tells it in whole seconds: https://docs.slack.dev/reference/events/message/message_changed
    """
    at = seconds_from_ts(_dict(message.get("edited")).get("ts"))
    return at + 1 if at is not None and at.is_integer() else at


def encode_offered_text(value: str) -> str:
    """What a person typed, as the value of a control, which no control is mistaken for."""
    return f"{_WORDS}{value}"


def parse_typed_message(
    message: Mapping[str, object], channel: str, *, is_direct: bool
) -> TypedMessage | None:
    """What a message says, as it stands in a conversation's history or in an event; None where no person typed it."""
    if message.get("type") != "message" or message.get("subtype") not in _ANSWERING:
        return None
    user, text = _str(message.get("user")), _str(message.get("text"))
    where = MessageLocation(
        channel, _str(message.get("ts")), _str(message.get("thread_ts")) or None
    )
    if message.get("bot_id") or not (user and text and channel and where.ts):
        return None
    if where.thread == where.ts:
        where = MessageLocation(
            channel, where.ts
        )  # the first message of a thread stands in the channel
    return TypedMessage(where, Person(surface="slack", user_id=user), text, is_direct)


def selected_indexes(control: Control, values: Values) -> list[int] | None:
    """The options chosen in the menus or boxes that belong to a control's view; None when there are none of them."""
    found: list[int] = []
    seen = False
    for block_id, entry in values.items():
        menu = decode(block_id)
        if menu is None or menu.verb is not Verb.CHOOSE:
            continue
        if (menu.ask_id, menu.revision) == (control.ask_id, control.revision):
            seen = True
            found += entry if isinstance(entry, list) else []
    return sorted(found) if seen else None


def _click(body: Mapping[str, object], team: str | None) -> Click | None:
    action = _dict(next(iter(_list(body.get("actions"))), None))
    control = decode(action.get("value")) or decode(action.get("block_id"))
    person = _person(body, team)
    if control is None or person is None:
        return None
    view = _dict(body.get("view"))
    state = _dict(view.get("state") if view else body.get("state"))
    index = _entry(action) if "selected_option" in action else None
    values = _values(state)
    places = index if isinstance(index, list) else selected_indexes(control, values)
    words = _carried(action.get("value")) if control.verb is Verb.USE_MESSAGE else None
    return Click(
        control=control,
        person=person,
        trigger_id=_str(body.get("trigger_id")),
        response_url=_str(body.get("response_url")) or None,
        where=_where(body) if not view else _metadata(view),
        view_id=_str(view.get("id")) or None,
        view_hash=_str(view.get("hash")) or None,
        wanted=TypedText(words)
        if words
        else control.wanted(None if places is None else tuple(places)),
        values=values,
        clicked_at=seconds_from_ts(action.get("action_ts")),
    )


def _carried(value: object) -> str | None:
    found = _str(value)
    return found.removeprefix(_WORDS) if found.startswith(_WORDS) else None


def _submission(body: Mapping[str, object], team: str | None) -> Submission | None:
    view = _dict(body.get("view"))
    control, person = decode(view.get("callback_id")), _person(body, team)
    if control is None or person is None:
        return None
    return Submission(
        control=control,
        person=person,
        trigger_id=_str(body.get("trigger_id")) or _str(view.get("id")),
        where=_metadata(view),
        values=_values(_dict(view.get("state"))),
        lines=tuple(_lines(view)),
    )


def _lines(view: Mapping[str, object]) -> Iterator[str]:
    values = _dict(_dict(view.get("state")).get("values"))
    for block in map(_dict, _list(view.get("blocks"))):
        for _, element in _items(values.get(_str(block.get("block_id")))):
            text = _as_read(_dict(element))
            if text:
                yield f"{_text_of(block.get('label'))}: {text}"


def _as_read(element: Mapping[str, object]) -> str:
    """What a person reads in one input."""
    options = _list(element.get("selected_options")) or [element.get("selected_option")]
    chosen = [_text_of(_dict(option).get("text")) for option in options]
    moment = element.get("selected_date_time")
    if isinstance(moment, int) and 0 <= moment < _FAR:
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")
    entry = _entry(element)
    return entry if isinstance(entry, str) else ", ".join(text for text in chosen if text)


def _text_of(value: object) -> str:
    return _str(_dict(value).get("text"))


def _person(body: Mapping[str, object], team: str | None) -> Person | None:
    user = _dict(body.get("user"))
    user_id = _str(user.get("id"))
    if not user_id:
        return None
    name = _str(user.get("name")) or _str(user.get("username")) or None
    home = _str(user.get("team_id"))
    if name and team and home and home != team:
        name = f"{name} ({home})"
    return Person(surface="slack", user_id=user_id, name=name)


def _where(body: Mapping[str, object]) -> MessageLocation | None:
    container = _dict(body.get("container"))
    channel = _str(container.get("channel_id")) or _str(_dict(body.get("channel")).get("id"))
    ts = _str(container.get("message_ts"))
    if not channel or not ts:
        return None
    return MessageLocation(channel, ts, _str(container.get("thread_ts")) or None)


def _metadata(view: Mapping[str, object]) -> MessageLocation | None:
    try:
        kept = json.loads(_str(view.get("private_metadata")))
    except (ValueError, RecursionError):
        return None
    match kept:
        case [str(channel), str(ts), str() | None as thread]:
            return MessageLocation(channel, ts, thread)
        case _:
            return None


def _values(state: Mapping[str, object]) -> dict[str, FieldEntry]:
    return {
        block_id: _entry(element)
        for block_id, block in _items(state.get("values"))
        for _, element in _items(block)
    }


def _entry(element: object) -> FieldEntry:
    """The content of one input: https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload"""
    each = _dict(element)
    if "selected_options" in each:
        return [i for o in _list(each["selected_options"]) if (i := _index(o)) is not None]
    if "selected_option" in each:
        index = _index(each["selected_option"])
        return None if index is None else [index]
    for key in ("value", "selected_date", "selected_time"):
        if isinstance(each.get(key), str):
            return _str(each[key])
    moment = each.get("selected_date_time")
    return str(moment) if isinstance(moment, int) and not isinstance(moment, bool) else None


def _index(option: object) -> int | None:
    value = _str(_dict(option).get("value"))
    if value.isascii() and value.isdigit() and len(value) <= _MAX_INDEX_DIGITS:
        return int(value)
    return None


def _items(value: object) -> Iterator[tuple[str, object]]:
    for key, item in _dict(value).items():
        yield str(key), item


def _dict(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""
