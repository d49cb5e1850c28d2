"""What Discord sends, read: a click, a submitted modal, a typed message. Pure; what is malformed gives None.

https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object and
https://docs.discord.com/developers/resources/message#message-object
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from enum import IntEnum
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field, JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json
from typing_extensions import TypedDict

from answerback.core.intents import Choose, RequestedAction
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from answerback_chat.control_codec import NO_ASK, Control, Verb, decode, parse_index
from answerback_discord import components as c
from answerback_discord import limits

SURFACE: Final = "discord"
INBOX: Final = "inbox"
"""The command that tells a member, privately, what waits for them."""
CONFIRMED: Final = "yes"
"""The argument of the End Turn control that ends the turn indeed."""


class InteractionType(IntEnum):
    """Types of interactions."""

    PING = 1
    COMMAND = 2
    COMPONENT = 3
    AUTOCOMPLETE = 4
    MODAL_SUBMIT = 5


class MessageType(IntEnum):
    """Types of messages that people write."""

    DEFAULT = 0
    REPLY = 19


class Interaction(NamedTuple):
    """A click, a submitted modal or a command."""

    id: str
    token: str
    kind: int
    actor: Actor
    control: Control
    message_id: str | None
    private: bool
    """Whether it was used on a message that only this person sees."""
    values: tuple[str, ...]
    """What was chosen in a menu."""
    offered: tuple[str, ...]
    """What that menu offered, as the person saw it."""
    single: bool
    """Whether that menu takes one choice, which is an answer by itself."""
    inputs: Mapping[str, JsonValue]
    """What a modal's inputs hold, by their custom_id."""

    @property
    def is_modal_submit(self) -> bool:
        """Whether it is a modal that was handed in."""
        return self.kind == InteractionType.MODAL_SUBMIT

    @property
    def places(self) -> tuple[int, ...]:
        """The places of what was chosen in a menu."""
        return tuple(place for value in self.values if (place := parse_index(value)) is not None)

    @property
    def wanted(self) -> RequestedAction | None:
        """What is wanted, where it needs neither what is selected elsewhere nor a second step."""
        control, places = self.control, (self.places or None) if self.values else None
        match control.verb:
            case Verb.CHOOSE if self.single and not self.is_modal_submit:
                return Choose(places)
            case Verb.SUBMIT_SELECTION:
                return None
            case Verb.END_TURN if control.argument != CONFIRMED:
                return None
            case _:
                return control.wanted(places)

    @property
    def is_read_only(self) -> bool:
        """Whether it shows what everybody may read who sees the message."""
        return self.control.verb in {Verb.SHOW_IN_FULL, Verb.PREVIEW, Verb.INBOX}

    @property
    def delivery(self) -> str:
        """The id under which this is counted once."""
        return f"discord:interaction:{self.id}"

    @property
    def at(self) -> float | None:
        """When it was used, by Discord's clock."""
        return snowflake_time(self.id)


class ReferencedMessage(NamedTuple):
    """The message of the bot's that somebody replied to, or the one that it points at, as a reminder does."""

    channel_id: str
    id: str
    shown: bool = False
    """Whether Discord showed us that message, so that ``ask_id`` is known."""
    ask_id: str | None = None
    """The ask whose controls it has."""


class TypedMessage(NamedTuple):
    """A message that somebody wrote."""

    id: str
    channel_id: str
    guild_id: str | None
    actor: Actor
    text: str
    replied: ReferencedMessage | None
    """None where it is no reply, or one to what somebody else wrote."""
    mentioned: frozenset[str]
    called: bool
    """Whether the words themselves mention the bot, as a reply to it does not."""

    @property
    def delivery(self) -> str:
        """The id under which this is counted once."""
        return f"discord:message:{self.id}"

    @property
    def at(self) -> float | None:
        """When it was written, by Discord's clock."""
        return snowflake_time(self.id)


class _User(TypedDict, total=False):
    id: Any
    username: Any
    global_name: Any


class _Member(TypedDict, total=False):
    user: _User
    nick: Any
    roles: Any


class _Message(TypedDict, total=False):
    id: Any
    flags: Any


class _Click(TypedDict, total=False):
    id: Any
    application_id: Any
    type: Annotated[
        int, Field(strict=True, ge=InteractionType.COMPONENT, le=InteractionType.COMPONENT)
    ]
    token: Any
    guild_id: Any
    member: _Member
    user: _User
    message: _Message
    data: dict[Literal["custom_id", "component_type", "id"], Any]


_LINK: Final = re.compile(r"https://discord\.com/channels/[^/\s]+/(\d{1,20})/(\d{1,20})$", re.ASCII)
_INBOX: Final = Control(NO_ASK, 0, Verb.INBOX)
"""What the command is the same as."""
_CLICK: Final = TypeAdapter(_Click).validator
"""What `parse_interaction` wants of a click on a button: most of a click is the message, as we rendered it."""


def snowflake_time(snowflake: str) -> float | None:
    """The moment at which an id was made: https://docs.discord.com/developers/reference#snowflakes"""
    if not (snowflake.isascii() and snowflake.isdigit()):
        return None
    return ((int(snowflake) >> 22) + limits.EPOCH_MS) / 1_000


def changed_at(message: Mapping[str, JsonValue]) -> float | None:
    """Since when a message of ours is as it is now, by Discord's clock."""
    edited = message.get("edited_timestamp")
    if not isinstance(edited, str):
        return snowflake_time(_text(message.get("id")) or "")
    try:
        return datetime.fromisoformat(edited).timestamp()
    except ValueError:
        return None


def parse_body(raw: bytes) -> c.Json | None:
    """The body of a request, of a click no more than `parse_interaction` wants; None where it is no JSON object."""
    try:
        body: JsonValue = _CLICK.validate_json(raw)
    except ValidationError:
        try:
            body = from_json(raw)
        except ValueError:
            return None
    return body if isinstance(body, dict) else None


def parse_interaction(body: Mapping[str, JsonValue]) -> Interaction | None:
    """A click, a submitted modal or our command; None where the payload is none, or has no control of ours."""
    number, token, kind, data = map(body.get, ("id", "token", "type", "data"))
    actor = _actor(body, body.get("member"), body.get("user"))
    if not isinstance(data, dict) or actor is None or not isinstance(token, str):
        return None
    if not isinstance(kind, int) or not isinstance(number, str):
        return None
    custom_id = data.get("custom_id")
    control = (
        _INBOX
        if kind == InteractionType.COMMAND and data.get("name") == INBOX
        else decode(custom_id)
    )
    if control is None:
        return None
    message = _object(body.get("message"))
    flags = message.get("flags")
    menu = _menu(message, custom_id) if "values" in data else {}
    return Interaction(
        id=number,
        token=token,
        kind=kind,
        actor=actor,
        control=control,
        message_id=_text(message.get("id")),
        private=isinstance(flags, int) and bool(flags & limits.EPHEMERAL),
        values=_texts(data["values"]) if "values" in data else (),
        offered=_offered(menu) if menu else (),
        single=menu.get("min_values") == 1,
        inputs=_inputs(data["components"]) if "components" in data else {},
    )


def parse_typed_message(body: Mapping[str, JsonValue], bot_id: str) -> TypedMessage | None:
    """A message that a person wrote with words in it; None for everything else that a channel shows.

    What bots and webhooks write is left alone. Without the privileged intent Discord
    hands over the text only where the bot is mentioned, replied to, or written to directly.
    """
    author = _object(body.get("author"))
    if author.get("bot") or body.get("webhook_id"):
        return None
    if body.get("type") not in list(MessageType) or not isinstance(body.get("channel_id"), str):
        return None
    actor = _actor(body, body.get("member"), author)
    content = text = str(body.get("content") or "")
    for mention in (f"<@{bot_id}>", f"<@!{bot_id}>"):
        text = text.replace(mention, "")
    if actor is None or not content.strip() or not isinstance(body.get("id"), str):
        return None
    mentions = body.get("mentions")
    listed = mentions if isinstance(mentions, list) else []
    return TypedMessage(
        id=str(body["id"]),
        channel_id=str(body["channel_id"]),
        guild_id=_text(body.get("guild_id")),
        actor=actor,
        text=text.strip(),
        replied=_replied(body, str(body["channel_id"]), bot_id),
        mentioned=frozenset(str(_object(each).get("id")) for each in listed),
        called=text != content,
    )


def live_message_ask_id(message: Mapping[str, JsonValue]) -> str | None:
    """The id of the ask whose live message this is, by its controls."""
    found = (decode(part.get("custom_id")) for part in c.iter_components(message.get("components")))
    return next((control.ask_id for control in found if control is not None), None)


def _replied(
    body: Mapping[str, JsonValue], channel_id: str, bot_id: str
) -> ReferencedMessage | None:
    number = _text(_object(body.get("message_reference")).get("message_id"))
    message = _object(body.get("referenced_message"))
    if number is None or _object(message.get("author")).get("id") not in {None, bot_id}:
        return None
    link = _LINK.search(str(message.get("content") or ""))
    if link is not None:
        return ReferencedMessage(link[1], link[2])
    return ReferencedMessage(channel_id, number, bool(message), live_message_ask_id(message))


def _actor(body: Mapping[str, JsonValue], member: JsonValue, user: JsonValue) -> Actor | None:
    """The person and their roles: in a server Discord sends all of them, so that none is to be looked up."""
    known, guild = _object(member), body.get("guild_id")
    account = known.get("user")
    if not isinstance(account, dict):
        account = _object(user)
    user_id = account.get("id")
    if not isinstance(user_id, str):
        return None
    name = known.get("nick") or account.get("global_name") or account.get("username")
    roles = _texts(known.get("roles"))
    if isinstance(guild, str):
        roles = (*roles, guild)  # the role @everyone has the server's own id
    groups = frozenset(roles)
    person = Person(surface=SURFACE, user_id=user_id, name=_text(name))
    return Actor(person, groups, groups, all_groups=isinstance(member, dict))


def _menu(message: Mapping[str, JsonValue], custom_id: JsonValue) -> c.Json:
    """The menu that was used, as the person saw it; empty where it was none."""
    for component in c.iter_components(message.get("components")):
        if component.get("type") == c.STRING_SELECT and component.get("custom_id") == custom_id:
            return component
    return {}


def _offered(menu: c.Json) -> tuple[str, ...]:
    options = menu.get("options")
    listed = options if isinstance(options, list) else []
    return tuple(str(_object(option).get("value")) for option in listed)


def _inputs(components: JsonValue) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for component in c.iter_components(components):
        name = component.get("custom_id")
        if not isinstance(name, str):
            continue
        if component.get("type") == c.TEXT_INPUT:
            found[name] = _text(component.get("value")) or ""
        elif component.get("type") == c.RADIO_GROUP:
            value = component.get("value")
            found[name] = [value] if isinstance(value, str) else []
        else:
            found[name] = [*_texts(component.get("values"))]
    return found


def _object(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple([v for v in value if isinstance(v, str)]) if isinstance(value, list) else ()
