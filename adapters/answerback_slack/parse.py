"""Parse Slack's payloads into plain values: clicks, submitted modals and commands. Pure; never raises on any payload.

Owns the shapes of https://docs.slack.dev/reference/interaction-payloads. A payload that
is not for us parses to None.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from re import Pattern
from typing import Final, TypeAlias

from pydantic import JsonValue

from answerback.core.intents import RequestedAction, TypedText
from answerback.core.schema_field_values import FieldEntry
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from answerback.presentation.attribution import utc_time
from answerback_chat import bot_identity
from answerback_chat.control_codec import (
    BATCH_VERBS,
    NO_ASK,
    Control,
    Verb,
    decode,
    list_of,
    object_of,
    parse_index,
    text_of,
)
from answerback_slack import ids
from answerback_slack.file_objects import SlackFile, parse_files

Values: TypeAlias = Mapping[str, FieldEntry]
"""The contents of the inputs in a message or modal, by block_id: a text, or the indexes of the selected options."""
_MAX_SECONDS: Final = 10_000_000_000
"""No datetimepicker holds more: https://docs.slack.dev/reference/block-kit/block-elements/datetime-picker-element"""
_READ_ONLY_VERBS: Final = frozenset({Verb.SHOW_IN_FULL, Verb.PREVIEW, Verb.PAGE, *BATCH_VERBS})
"""The verbs that act on no ask by themselves."""
_OFFERED_PREFIX: Final = "words:"
FILES_BLOCK: Final = "files"
"""The block_id of the input for files in a modal."""


@dataclass(slots=True)
class BotIdentity(bot_identity.BotIdentity):
    """The app's identity in the workspace, once Slack has reported it."""

    team: str | None = None
    bot: str | None = None
    """The ``bot_id`` of the bot's messages, which differs from its user id."""
    reads_files: bool = False
    """True if its token may read files that people send."""


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
class _Interaction:
    """An action of a person on our controls."""

    control: Control
    person: Person
    trigger_id: str
    where: MessageLocation | None
    values: Values

    @property
    def actor(self) -> Actor:
        return Actor(self.person)

    @property
    def place_id(self) -> None:
        """Not compared: a channel that is converted gets another id, and clicks may tell us of it first."""

    @property
    def is_read_only(self) -> bool:
        """True if it acts on no ask by itself."""
        return self.control.verb in _READ_ONLY_VERBS

    @property
    def delivery(self) -> str:
        return f"slack:{self.trigger_id}"


@dataclass(frozen=True, slots=True)
class Click(_Interaction):
    """A click on a button or a choice in a menu; or a command, which is equivalent to a click."""

    response_url: str = ""
    """Where a note about it can be sent; empty if it was not in a message."""
    view_id: str | None = None
    view_hash: str | None = None
    wanted: RequestedAction | None = None
    clicked_at: float | None = None
    """When it was clicked, by Slack's clock."""
    received_at: float = field(default_factory=time.monotonic)

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
class Submission(_Interaction):
    lines: tuple[str, ...] = ()
    """The contents of its inputs as the person sees them: one line per input, with its label; options by theirs."""
    files: tuple[SlackFile, ...] = ()
    body: Mapping[str, JsonValue] = field(default_factory=dict)
    """The part of the payload that `parse_interaction` reads; empty if it has no files."""
    wanted: None = None
    at: None = None


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
        case None if "command" in body:
            return _parse_command(body, identity.team)
        case _:
            return None


def seconds_from_ts(ts: object) -> float | None:
    """The time of a ts, by Slack's clock: https://docs.slack.dev/messaging/retrieving-messages"""
    return float(ts) if isinstance(ts, str) and ids.TS.fullmatch(ts) else None


def latest_edit_time(message: Mapping[str, object]) -> float | None:
    """A time, by Slack's clock, at which the message's latest edit had certainly been made.

    Slack reports it in whole seconds: https://docs.slack.dev/reference/events/message/message_changed
    """
    at = seconds_from_ts(object_of(message.get("edited")).get("ts"))
    return at + 1 if at is not None and at.is_integer() else at


def encode_offered_text(value: str) -> str:
    """Encode a text that a person typed as the value of a button, distinct from any encoded control."""
    return f"{_OFFERED_PREFIX}{value}"


def selected_indexes(control: Control, values: Values) -> list[int] | None:
    """The options selected in the inputs that belong to a control's view; None if there are no such inputs."""
    indexes: list[int] = []
    has_menu = False
    for block_id, entry in values.items():
        menu = decode(block_id)
        if menu is not None and menu[:3] == (control.ask_id, control.revision, Verb.CHOOSE):
            has_menu = True
            indexes += entry if isinstance(entry, list) else []
    return sorted(indexes) if has_menu else None


def _parse_click(body: Mapping[str, object], team: str | None) -> Click | None:
    action = object_of(next(iter(list_of(body.get("actions"))), None))
    control = decode(action.get("value")) or decode(action.get("block_id"))
    person = _person(body, team)
    if control is None or person is None:
        return None
    view = object_of(body.get("view"))
    state = object_of(view.get("state") if view else body.get("state"))
    index = entered(action) if "selected_option" in action else None
    values = entered_values(state)
    indexes = index if isinstance(index, list) else selected_indexes(control, values)
    text = _offered_text(action.get("value")) if control.verb is Verb.USE_MESSAGE else None
    selected = None if indexes is None else tuple(indexes)
    return Click(
        control=control,
        person=person,
        trigger_id=text_of(body.get("trigger_id")),
        response_url=text_of(body.get("response_url")),
        where=_where(body) if not view else _metadata(view),
        view_id=text_of(view.get("id")) or None,
        view_hash=text_of(view.get("hash")) or None,
        wanted=TypedText(text) if text else control.wanted(selected),
        values=values,
        clicked_at=seconds_from_ts(action.get("action_ts")),
    )


def _parse_command(body: Mapping[str, object], team: str | None) -> Click | None:
    """Parse a slash command as the click that it is equivalent to.

    https://docs.slack.dev/interactivity/implementing-slash-commands
    """
    user = {
        "id": body.get("user_id"),
        "name": body.get("user_name"),
        "team_id": body.get("team_id"),
    }
    person = _person({"user": user}, team)
    if person is None:
        return None
    return Click(
        control=Control(NO_ASK, 0, Verb.COMMAND, text_of(body.get("text"))),
        person=person,
        trigger_id=text_of(body.get("trigger_id")),
        where=None,
        values={},
    )


def _offered_text(value: object) -> str | None:
    text = text_of(value)
    return text.removeprefix(_OFFERED_PREFIX) if text.startswith(_OFFERED_PREFIX) else None


def _parse_submission(body: Mapping[str, object], team: str | None) -> Submission | None:
    view = object_of(body.get("view"))
    control, person = decode(view.get("callback_id")), _person(body, team)
    if control is None or person is None:
        return None
    state = object_of(view.get("state"))
    files = _entered_files(state)
    return Submission(
        control=control,
        person=person,
        trigger_id=text_of(body.get("trigger_id")) or text_of(view.get("id")),
        where=_metadata(view),
        values=entered_values(state),
        lines=tuple(entered_lines(view)),
        files=files,
        body=_kept(body, view) if files else {},
    )


def _entered_files(state: Mapping[str, object]) -> tuple[SlackFile, ...]:
    """The files in a modal's input: https://docs.slack.dev/reference/block-kit/block-elements/file-input-element"""
    inputs = object_of(object_of(state.get("values")).get(FILES_BLOCK))
    return tuple(
        file for each in inputs.values() for file in parse_files(object_of(each).get("files"))
    )


def _kept(body: Mapping[str, object], view: dict[str, JsonValue]) -> dict[str, JsonValue]:
    kept = {
        name: view.get(name)
        for name in ("callback_id", "private_metadata", "state", "blocks", "id")
    }
    return {
        "type": "view_submission",
        "user": object_of(body.get("user")),
        "trigger_id": text_of(body.get("trigger_id")),
        "view": kept,
    }


def user_id_of(body: Mapping[str, object]) -> str | None:
    """The id of the user who clicked or submitted something; None if there is no valid one."""
    return id_of(object_of(body.get("user")).get("id"), ids.USER)


def _person(body: Mapping[str, object], team: str | None) -> Person | None:
    user, user_id = object_of(body.get("user")), user_id_of(body)
    if user_id is None:
        return None
    name = text_of(user.get("name")) or text_of(user.get("username")) or None
    home = text_of(user.get("team_id"))
    if name and team and home and home != team:
        name = f"{name} ({home})"
    return Person(surface="slack", user_id=user_id, name=name)


def _where(body: Mapping[str, object]) -> MessageLocation | None:
    container = object_of(body.get("container"))
    channel = container.get("channel_id") or object_of(body.get("channel")).get("id")
    channel, ts = id_of(channel, ids.CHANNEL), id_of(container.get("message_ts"), ids.TS)
    if channel is None or ts is None:
        return None
    return MessageLocation(channel, ts, id_of(container.get("thread_ts"), ids.TS))


def _metadata(view: Mapping[str, object]) -> MessageLocation | None:
    try:
        stored = json.loads(text_of(view.get("private_metadata")))
    except (ValueError, RecursionError):
        return None
    match stored:
        case [str(channel), str(ts), str() | None as thread]:
            return MessageLocation(channel, ts, thread)
        case _:
            return None


def entered_values(state: Mapping[str, object]) -> dict[str, FieldEntry]:
    return {
        block_id: entered(element)
        for block_id, block in object_of(state.get("values")).items()
        for element in object_of(block).values()
        if block_id != FILES_BLOCK
    }


def entered(element: object) -> FieldEntry:
    """The content of one input: https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload"""
    each = object_of(element)
    if "selected_options" in each:
        return [i for o in list_of(each["selected_options"]) if (i := _index(o)) is not None]
    if "selected_option" in each:
        index = _index(each["selected_option"])
        return None if index is None else [index]
    for key in ("value", "selected_date", "selected_time", "selected_user"):
        if isinstance(each.get(key), str):
            return text_of(each[key])
    seconds = each.get("selected_date_time")
    return str(seconds) if isinstance(seconds, int) and not isinstance(seconds, bool) else None


def _index(option: object) -> int | None:
    return parse_index(text_of(object_of(option).get("value")))


def id_of(value: object, form: Pattern[str]) -> str | None:
    return value if isinstance(value, str) and form.fullmatch(value) else None


def entered_lines(view: Mapping[str, object]) -> Iterator[str]:
    """Yield the entries of a modal as the person sees them: one line per input, with its label; options by theirs."""
    values = object_of(object_of(view.get("state")).get("values"))
    for block in map(object_of, list_of(view.get("blocks"))):
        for element in object_of(values.get(text_of(block.get("block_id")))).values():
            if text := _displayed_text(object_of(element)):
                yield f"{_text_of(block.get('label'))}: {text}"


def _displayed_text(element: Mapping[str, JsonValue]) -> str:
    """The content of one input as the person sees it."""
    options = list_of(element.get("selected_options")) or [element.get("selected_option")]
    chosen = [_text_of(object_of(option).get("text")) for option in options]
    seconds = element.get("selected_date_time")
    if isinstance(seconds, int) and 0 <= seconds < _MAX_SECONDS:
        return utc_time(seconds)
    entry = entered(element)
    return entry if isinstance(entry, str) else ", ".join(text for text in chosen if text)


def _text_of(value: object) -> str:
    return text_of(object_of(value).get("text"))
