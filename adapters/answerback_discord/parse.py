"""Parse what Discord sends: clicks, submitted modals, typed messages. Pure; malformed payloads give None.

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

from answerback.core.files import AttachedFile
from answerback.core.intents import Choose, RequestedAction
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from answerback_chat.control_codec import (
    CONFIRMED,
    NO_ASK,
    Control,
    Verb,
    decode,
    list_of,
    object_of,
    objects_of,
    parse_index,
    text_of,
    texts_of,
)
from answerback_discord import components as c
from answerback_discord import limits
from answerback_discord.command_use import command_control

SURFACE: Final = "discord"


class InteractionType(IntEnum):
    PING = 1
    COMMAND = 2
    COMPONENT = 3
    AUTOCOMPLETE = 4
    MODAL_SUBMIT = 5


class MessageType(IntEnum):
    """Discord's types of messages that people write."""

    DEFAULT = 0
    REPLY = 19


class Attachment(NamedTuple):
    """A file that a person sent: https://docs.discord.com/developers/resources/message#attachment-object"""

    name: str
    bytes: int | None
    url: str
    """Where it can be read, for about a day."""


class Interaction(NamedTuple):
    """A click, a submitted modal or a command."""

    id: str
    kind: int
    actor: Actor
    control: Control
    message_id: str | None
    place_id: str | None
    """The id of the channel or thread."""
    private: bool
    """True if it happened on a message that only this person sees."""
    values: tuple[str, ...]
    """The values that were chosen in a menu."""
    offered: tuple[str, ...]
    """The values that the menu offered, as the person saw it."""
    single: bool
    """True if the menu takes a single choice, which is a complete answer."""
    inputs: Mapping[str, JsonValue]
    """The values of a modal's inputs, by custom_id."""
    attachments: tuple[Attachment, ...] = ()
    """The files that came with a modal."""
    files: tuple[AttachedFile, ...] = ()
    """These files, once they are taken in."""

    @property
    def is_modal_submit(self) -> bool:
        return self.kind == InteractionType.MODAL_SUBMIT

    @property
    def places(self) -> tuple[int, ...]:
        """The indexes of the options that were chosen in a menu."""
        return tuple(index for value in self.values if (index := parse_index(value)) is not None)

    @property
    def wanted(self) -> RequestedAction | None:
        """The requested action, unless it depends on a stored selection or needs a second step."""
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
        """True if it only shows what anyone who sees the message may read, or is about no ask in particular."""
        return (
            self.control.verb in {Verb.SHOW_IN_FULL, Verb.PREVIEW} or self.control.ask_id == NO_ASK
        )

    @property
    def delivery(self) -> str:
        return f"discord:interaction:{self.id}"

    @property
    def at(self) -> float | None:
        return snowflake_time(self.id)


class ReferencedMessage(NamedTuple):
    """The bot's message that a person replied to, or the message that it links to, as reminders do."""

    channel_id: str
    id: str
    shown: bool = False
    """True if Discord sent the message itself, so that ``ask_id`` is known."""
    ask_id: str | None = None
    """The ask whose controls the message has."""


class TypedMessage(NamedTuple):
    id: str
    chat: str
    """The id of the channel."""
    guild_id: str | None
    actor: Actor
    text: str
    replied: ReferencedMessage | None
    """None if it is not a reply, or a reply to another person's message."""
    mentioned: frozenset[str]
    called: bool
    """True if the text itself mentions the bot; the mention that a reply implies does not count."""
    has_files: bool = False
    edited_at: float | None = None
    attachments: tuple[Attachment, ...] = ()

    @property
    def is_edit(self) -> bool:
        return self.edited_at is not None

    @property
    def delivery(self) -> str:
        return f"discord:message:{self.id}"

    @property
    def in_group(self) -> bool:
        return self.guild_id is not None

    @property
    def at(self) -> float | None:
        return self.edited_at or snowflake_time(self.id)


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
    channel_id: Any
    member: _Member
    user: _User
    message: _Message
    data: dict[Literal["custom_id", "component_type", "id"], Any]


_LINK: Final = re.compile(r"https://discord\.com/channels/[^/\s]+/(\d{1,20})/(\d{1,20})$", re.ASCII)
_SNOWFLAKE: Final = re.compile(r"[0-9]{1,20}")
_CLICK_VALIDATOR: Final = TypeAdapter(_Click).validator
"""Reads only what `parse_interaction` needs of a click on a button: most of its payload is our own message."""


def is_id(text: str) -> bool:
    """Return True if a text can be an id: https://docs.discord.com/developers/reference#snowflakes"""
    return _SNOWFLAKE.fullmatch(text) is not None


def snowflake_time(snowflake: str) -> float | None:
    """Return when an id was created: https://docs.discord.com/developers/reference#snowflakes"""
    if not is_id(snowflake):
        return None
    return ((int(snowflake) >> 22) + limits.EPOCH_MS) / 1_000


def changed_at(message: Mapping[str, JsonValue]) -> float | None:
    """Return when a message was last changed, by Discord's clock."""
    edited = message.get("edited_timestamp")
    if not isinstance(edited, str):
        return snowflake_time(text_of(message.get("id")))
    try:
        return datetime.fromisoformat(edited).timestamp()
    except ValueError:
        return None


def response_updated_at(body: JsonValue) -> float | None:
    """Return when the response to an interaction updated its message, from Discord's answer."""
    resource = object_of(object_of(body).get("resource"))
    message = object_of(resource.get("message"))
    return changed_at(message) if message.get("edited_timestamp") else None


def parse_body(raw: bytes) -> c.Json | None:
    """Parse a request, a click only as far as `parse_interaction` needs; None if it is not a JSON object."""
    try:
        body: JsonValue = _CLICK_VALIDATOR.validate_json(raw)
    except ValidationError:
        try:
            body = from_json(raw)
        except ValueError:
            return None
    return body if isinstance(body, dict) else None


def parse_interaction(body: Mapping[str, JsonValue]) -> Interaction | None:
    """Parse a click, a submitted modal or our command; None if the payload is something else, or not ours."""
    kind, data = body.get("type"), body.get("data")
    actor = _actor(body, body.get("member"), body.get("user"))
    if not isinstance(data, dict) or actor is None or not isinstance(kind, int):
        return None
    if not can_be_answered(body):
        return None
    custom_id = data.get("custom_id")
    is_command = kind == InteractionType.COMMAND
    control = command_control(data) if is_command else decode(custom_id)
    if control is None:
        return None
    message = object_of(body.get("message"))
    flags = message.get("flags")
    menu = _menu(message, custom_id) if "values" in data else {}
    return Interaction(
        id=str(body["id"]),
        kind=kind,
        actor=actor,
        control=control,
        message_id=_id(message.get("id")),
        place_id=_id(body.get("channel_id")),
        private=isinstance(flags, int) and bool(flags & limits.EPHEMERAL),
        values=texts_of(data["values"]) if "values" in data else (),
        offered=tuple(str(each.get("value")) for each in objects_of(menu.get("options"))),
        single=menu.get("min_values") == 1,
        inputs=inputs_of(data["components"]) if "components" in data else {},
        attachments=uploads_of(body) if "resolved" in data else (),
    )


def can_be_answered(body: Mapping[str, JsonValue]) -> bool:
    """Return True if an interaction has the address that a response to it needs."""
    return bool(
        _id(body.get("id")) and _id(body.get("application_id")) and text_of(body.get("token"))
    )


def parse_typed_message(body: Mapping[str, JsonValue], bot_id: str) -> TypedMessage | None:
    """Parse a message with text from a person; None for everything else that appears in a channel.

    Messages from bots and webhooks are ignored. Without the privileged intent, Discord sends the text only if the
    message mentions the bot, replies to it, or is a direct message to it.
    """
    author = object_of(body.get("author"))
    if author.get("bot") or body.get("webhook_id"):
        return None
    number, channel_id = _id(body.get("id")), _id(body.get("channel_id"))
    if body.get("type") not in list(MessageType) or number is None or channel_id is None:
        return None
    actor = _actor(body, body.get("member"), author)
    content = text = text_of(body.get("content"))
    for mention in (f"<@{bot_id}>", f"<@!{bot_id}>"):
        text = text.replace(mention, "")
    has_files = any(list_of(body.get(each)) for each in ("attachments", "sticker_items"))
    has_files = has_files or bool(object_of(body.get("poll")))
    if actor is None or not (content.strip() or has_files):
        return None
    return TypedMessage(
        id=number,
        chat=channel_id,
        guild_id=_id(body.get("guild_id")),
        actor=actor,
        text=text.strip(),
        replied=_referenced_message(body, channel_id, bot_id),
        mentioned=frozenset(str(each.get("id")) for each in objects_of(body.get("mentions"))),
        called=text != content,
        has_files=has_files,
        attachments=_attachments(body.get("attachments")),
    )


def parse_edited_message(body: Mapping[str, JsonValue], bot_id: str) -> TypedMessage | None:
    """Parse a message that a person has edited; None if something else of it has changed, such as a link's preview.

    https://docs.discord.com/developers/events/gateway-events#message-update
    """
    typed = parse_typed_message(body, bot_id) if body.get("edited_timestamp") else None
    return typed and typed._replace(edited_at=changed_at(body))


def live_message_control(message: Mapping[str, JsonValue]) -> Control | None:
    """Return one of the controls of a live message, which say what it shows; None if this is not one."""
    controls = (
        decode(part.get("custom_id")) for part in c.iter_components(message.get("components"))
    )
    return next((control for control in controls if control is not None), None)


def linked_message(content: str) -> tuple[str, str] | None:
    """Return the channel and the id of the message to which a link ends a note or a reminder."""
    link = _LINK.search(content)
    return (link[1], link[2]) if link else None


def _referenced_message(
    body: Mapping[str, JsonValue], channel_id: str, bot_id: str
) -> ReferencedMessage | None:
    number = _id(object_of(body.get("message_reference")).get("message_id"))
    message = object_of(body.get("referenced_message"))
    if number is None or object_of(message.get("author")).get("id") not in {None, bot_id}:
        return None
    linked = linked_message(text_of(message.get("content")))
    if linked is not None:
        return ReferencedMessage(*linked)
    control = live_message_control(message)
    return ReferencedMessage(channel_id, number, bool(message), control.ask_id if control else None)


def uploads_of(body: Mapping[str, JsonValue]) -> tuple[Attachment, ...]:
    """Return the files that were uploaded in a modal."""
    if body.get("type") != InteractionType.MODAL_SUBMIT:
        return ()
    data = object_of(body.get("data"))
    known = object_of(object_of(data.get("resolved")).get("attachments"))
    uploads = (
        each
        for each in c.iter_components(data.get("components"))
        if each.get("type") == c.FILE_UPLOAD
    )
    ids = dict.fromkeys(id for each in uploads for id in texts_of(each.get("values")))
    return _attachments([known.get(each) for each in ids])


def _attachments(listed: JsonValue) -> tuple[Attachment, ...]:
    found = []
    for each in objects_of(listed):
        url, size = text_of(each.get("url")), each.get("size")
        name = text_of(each.get("filename"))
        found.append(Attachment(name, size if isinstance(size, int) else None, url))
    return tuple(found)


def _actor(body: Mapping[str, JsonValue], member: JsonValue, user: JsonValue) -> Actor | None:
    """The person and their roles; in a server Discord sends all of them, so none need to be looked up."""
    member_object, guild = object_of(member), _id(body.get("guild_id"))
    account = member_object.get("user")
    if not isinstance(account, dict):
        account = object_of(user)
    user_id = _id(account.get("id"))
    if user_id is None:
        return None
    name = member_object.get("nick") or account.get("global_name") or account.get("username")
    roles = texts_of(member_object.get("roles"))
    if guild is not None:
        roles = (*roles, guild)  # the id of the role @everyone is the server's
    groups = frozenset(roles)
    person = Person(surface=SURFACE, user_id=user_id, name=text_of(name) or None)
    return Actor(person, groups, groups, all_groups=isinstance(member, dict))


def _menu(message: Mapping[str, JsonValue], custom_id: JsonValue) -> c.Json:
    """The menu that was used, as the person saw it; empty if it was not a menu."""
    for component in c.iter_components(message.get("components")):
        if component.get("type") == c.STRING_SELECT and component.get("custom_id") == custom_id:
            return component
    return {}


def inputs_of(components: JsonValue) -> dict[str, JsonValue]:
    """Return the values of a submitted modal's inputs, by custom_id."""
    inputs: dict[str, JsonValue] = {}
    for component in c.iter_components(components):
        name = component.get("custom_id")
        if not isinstance(name, str):
            continue
        if component.get("type") == c.TEXT_INPUT:
            inputs[name] = text_of(component.get("value"))
        elif component.get("type") == c.RADIO_GROUP:
            value = component.get("value")
            inputs[name] = [value] if isinstance(value, str) else []
        elif component.get("type") == c.USER_SELECT:
            inputs[name] = next(iter(texts_of(component.get("values"))), "")
        elif component.get("type") != c.FILE_UPLOAD:
            inputs[name] = [*texts_of(component.get("values"))]
    return inputs


def _id(value: JsonValue) -> str | None:
    """The value if it is a snowflake."""
    return value if isinstance(value, str) and is_id(value) else None
