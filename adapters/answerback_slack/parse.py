"""Parse Slack's payloads into plain values: clicks, submitted modals and messages. Pure; never raises on any payload.

Owns the shapes of https://docs.slack.dev/reference/interaction-payloads and of the event ``message``. A payload that
is not for us parses to None.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from re import Pattern
from typing import Final, TypeAlias

from answerback.core.intents import RequestedAction, TypedText
from answerback.core.schema_field_values import FieldEntry
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from answerback_chat import bot_identity
from answerback_chat.control_codec import BATCH_VERBS, Control, Verb, decode
from answerback_slack import ids

Values: TypeAlias = Mapping[str, FieldEntry]
"""The contents of the inputs in a message or modal, by block_id: a text, or the indexes of the selected options."""

_TYPED_SUBTYPES: Final = frozenset({None, "thread_broadcast", "file_share"})
"""Subtypes of messages that a person has just typed: https://docs.slack.dev/reference/events/message"""
_READ_ONLY_VERBS: Final = frozenset({Verb.SHOW_IN_FULL, Verb.PREVIEW, Verb.PAGE, *BATCH_VERBS})
"""The verbs that act on no ask by themselves."""
_MAX_INDEX_DIGITS: Final = 6
_OFFERED_PREFIX: Final = "words:"
_MAX_SECONDS: Final = 10_000_000_000
"""No datetimepicker holds more: https://docs.slack.dev/reference/block-kit/block-elements/datetime-picker-element"""


@dataclass(slots=True)
class BotIdentity(bot_identity.BotIdentity):
    """The app's identity in the workspace, once Slack has reported it."""

    team: str | None = None
    bot: str | None = None
    """The ``bot_id`` of the bot's messages, which differs from its user id."""


@dataclass(frozen=True, slots=True)
class MessageLocation:
    """The location of a message; ``thread`` is the parent's ts if the message is in a thread."""

    channel: str
    ts: str
    thread: str | None = None

    def encode(self) -> str:
        """Encode it for a modal's ``private_metadata``, because a submission itself names no channel."""
        return json.dumps([self.channel, self.ts, self.thread])

    @property
    def delivery(self) -> str:
        """The id under which a message typed there counts once, however it arrived."""
        return f"slack:{self.channel}:{self.ts}"


@dataclass(frozen=True, slots=True)
class Click:
    """A click on a button or a choice in a menu."""

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
    """When it was clicked, by Slack's clock."""
    received_at: float = field(default_factory=time.monotonic)

    @property
    def actor(self) -> Actor:
        """Who clicked."""
        return Actor(self.person)

    @property
    def is_read_only(self) -> bool:
        """Whether it only shows what everybody may read."""
        return self.control.verb in _READ_ONLY_VERBS

    @property
    def used_message(self) -> MessageLocation:
        """The location of the typed message that a click on "Use as the answer" refers to."""
        here = self.where or MessageLocation("", "")
        return MessageLocation(here.channel, self.control.argument, here.thread)

    @property
    def delivery(self) -> str:
        """The id under which it counts once; for a typed message that is used, the message's own."""
        uses_message = self.control.verb is Verb.USE_MESSAGE
        return self.used_message.delivery if uses_message else f"slack:{self.trigger_id}"

    @property
    def at(self) -> float | None:
        """When it was clicked, or the used message was typed, by Slack's clock."""
        uses_message = self.control.verb is Verb.USE_MESSAGE
        return seconds_from_ts(self.used_message.ts) if uses_message else self.clicked_at


@dataclass(frozen=True, slots=True)
class Submission:
    """A submitted modal."""

    control: Control
    person: Person
    trigger_id: str
    where: MessageLocation | None
    values: Values
    lines: tuple[str, ...] = ()
    """The contents of its inputs as the person sees them: one line per input, with its label; options by theirs."""
    wanted: None = None
    at: None = None

    @property
    def actor(self) -> Actor:
        """Who submitted it."""
        return Actor(self.person)

    @property
    def is_read_only(self) -> bool:
        """Whether it has nothing to submit."""
        return self.control.verb in _READ_ONLY_VERBS

    @property
    def delivery(self) -> str:
        """The id under which it counts once."""
        return f"slack:{self.trigger_id}"


@dataclass(frozen=True, slots=True)
class TypedMessage:
    """A message that a person typed, with its ``text`` as Slack sent it."""

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
        """The id under which it counts once, however it arrived."""
        return self.where.delivery


def parse_interaction(
    body: Mapping[str, object], identity: BotIdentity
) -> Click | Submission | None:
    """Parse an interactive payload; None if it is not for us.

    Args:
        identity: our own, with our workspace; people from another workspace are named together with theirs.
    """
    match body.get("type"):
        case "block_actions":
            return _parse_click(body, identity.team)
        case "view_submission":
            return _parse_submission(body, identity.team)
        case _:
            return None


def typed_message_from_event(event: Mapping[str, object]) -> TypedMessage | None:
    """Parse the typed message of an event; None if no person typed one."""
    is_direct = event.get("channel_type") == "im"
    return parse_typed_message(event, _str(event.get("channel")), is_direct=is_direct)


def seconds_from_ts(ts: object) -> float | None:
    """The time of a ts, by Slack's clock: https://docs.slack.dev/messaging/retrieving-messages"""
    return float(ts) if isinstance(ts, str) and ids.TS.fullmatch(ts) else None


def latest_edit_time(message: Mapping[str, object]) -> float | None:
    """A time, by Slack's clock, at which the message's latest edit had certainly been made.

    Slack reports it in whole seconds: https://docs.slack.dev/reference/events/message/message_changed
    """
    at = seconds_from_ts(_dict(message.get("edited")).get("ts"))
    return at + 1 if at is not None and at.is_integer() else at


def encode_offered_text(value: str) -> str:
    """Encode a text that a person typed as the value of a button, distinct from any encoded control."""
    return f"{_OFFERED_PREFIX}{value}"


def parse_typed_message(
    message: Mapping[str, object], channel: str, *, is_direct: bool
) -> TypedMessage | None:
    """Parse a message from a conversation's history or from an event; None if no person typed it."""
    if message.get("type") != "message" or message.get("subtype") not in _TYPED_SUBTYPES:
        return None
    user, text = _id(message.get("user"), ids.USER), _str(message.get("text"))
    ts, thread = _id(message.get("ts"), ids.TS), _id(message.get("thread_ts"), ids.TS)
    if message.get("bot_id") or not (user and text and ids.CHANNEL.fullmatch(channel) and ts):
        return None
    # The first message of a thread is in the channel itself.
    where = MessageLocation(channel, ts, None if thread == ts else thread)
    return TypedMessage(where, Person(surface="slack", user_id=user), text, is_direct)


def selected_indexes(control: Control, values: Values) -> list[int] | None:
    """The options selected in the inputs that belong to a control's view; None if there are no such inputs."""
    indexes: list[int] = []
    has_menu = False
    for block_id, entry in values.items():
        menu = decode(block_id)
        if menu is None or menu.verb is not Verb.CHOOSE:
            continue
        if (menu.ask_id, menu.revision) == (control.ask_id, control.revision):
            has_menu = True
            indexes += entry if isinstance(entry, list) else []
    return sorted(indexes) if has_menu else None


def _parse_click(body: Mapping[str, object], team: str | None) -> Click | None:
    action = _dict(next(iter(_list(body.get("actions"))), None))
    control = decode(action.get("value")) or decode(action.get("block_id"))
    person = _person(body, team)
    if control is None or person is None:
        return None
    view = _dict(body.get("view"))
    state = _dict(view.get("state") if view else body.get("state"))
    index = _entry(action) if "selected_option" in action else None
    values = _values(state)
    indexes = index if isinstance(index, list) else selected_indexes(control, values)
    text = _offered_text(action.get("value")) if control.verb is Verb.USE_MESSAGE else None
    selected = None if indexes is None else tuple(indexes)
    return Click(
        control=control,
        person=person,
        trigger_id=_str(body.get("trigger_id")),
        response_url=_str(body.get("response_url")) or None,
        where=_where(body) if not view else _metadata(view),
        view_id=_str(view.get("id")) or None,
        view_hash=_str(view.get("hash")) or None,
        wanted=TypedText(text) if text else control.wanted(selected),
        values=values,
        clicked_at=seconds_from_ts(action.get("action_ts")),
    )


def _offered_text(value: object) -> str | None:
    text = _str(value)
    return text.removeprefix(_OFFERED_PREFIX) if text.startswith(_OFFERED_PREFIX) else None


def _parse_submission(body: Mapping[str, object], team: str | None) -> Submission | None:
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
            if text := _displayed_text(_dict(element)):
                yield f"{_text_of(block.get('label'))}: {text}"


def _displayed_text(element: Mapping[str, object]) -> str:
    """The content of one input as the person sees it."""
    options = _list(element.get("selected_options")) or [element.get("selected_option")]
    chosen = [_text_of(_dict(option).get("text")) for option in options]
    seconds = element.get("selected_date_time")
    if isinstance(seconds, int) and 0 <= seconds < _MAX_SECONDS:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    entry = _entry(element)
    return entry if isinstance(entry, str) else ", ".join(text for text in chosen if text)


def _text_of(value: object) -> str:
    return _str(_dict(value).get("text"))


def user_id_of(body: Mapping[str, object]) -> str | None:
    """The id of the user who clicked or submitted something; None if there is no valid one."""
    return _id(_dict(body.get("user")).get("id"), ids.USER)


def _person(body: Mapping[str, object], team: str | None) -> Person | None:
    user, user_id = _dict(body.get("user")), user_id_of(body)
    if user_id is None:
        return None
    name = _str(user.get("name")) or _str(user.get("username")) or None
    home = _str(user.get("team_id"))
    if name and team and home and home != team:
        name = f"{name} ({home})"
    return Person(surface="slack", user_id=user_id, name=name)


def _where(body: Mapping[str, object]) -> MessageLocation | None:
    container = _dict(body.get("container"))
    channel = container.get("channel_id") or _dict(body.get("channel")).get("id")
    channel, ts = _id(channel, ids.CHANNEL), _id(container.get("message_ts"), ids.TS)
    if channel is None or ts is None:
        return None
    return MessageLocation(channel, ts, _id(container.get("thread_ts"), ids.TS))


def _metadata(view: Mapping[str, object]) -> MessageLocation | None:
    try:
        stored = json.loads(_str(view.get("private_metadata")))
    except (ValueError, RecursionError):
        return None
    match stored:
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
    for key in ("value", "selected_date", "selected_time", "selected_user"):
        if isinstance(each.get(key), str):
            return _str(each[key])
    seconds = each.get("selected_date_time")
    return str(seconds) if isinstance(seconds, int) and not isinstance(seconds, bool) else None


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


def _id(value: object, form: Pattern[str]) -> str | None:
    """The value if it is an id of this form."""
    return value if isinstance(value, str) and form.fullmatch(value) else None


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""
