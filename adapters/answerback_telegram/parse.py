"""Parse what Telegram sends: clicks and typed messages. Pure; malformed updates give None.

https://core.telegram.org/bots/api#update
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.actions import Answer
from answerback.core.errors import PlatformUnavailableError
from answerback.core.files import AttachedFile
from answerback.core.intents import RequestedAction
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from answerback.presentation.form_spec import WITH_FILES
from answerback_chat.control_codec import (
    BATCH_VERBS,
    COMMAND_VERBS,
    CONFIRMED,
    NO_ASK,
    Control,
    Verb,
    decode,
    list_of,
    object_of,
    text_of,
)
from answerback_chat.typed_entries import KEEP, Entry
from answerback_telegram import limits
from answerback_telegram.attachments import Attachment, attachments_of
from answerback_telegram.keyboards import CLOSE, EMPTY

SURFACE: Final = "telegram"
INBOX: Final = "inbox"
"""The command that lists what is waiting for a person."""
START: Final = "start"
CANCEL: Final = "cancel"
"""The command that closes the request to type which this person was sent last."""
HELP: Final = "help"
_COMMAND: Final = re.compile(
    r"/([a-z0-9_]{1,32})(?:@(\w{1,40}))?(?![\w/<>@])", re.IGNORECASE | re.ASCII
)
"""A command at the beginning of a text, as Telegram's apps recognise it: https://core.telegram.org/bots/features#commands"""
_FILES: Final = frozenset(
    {
        *(
            "animation",
            "audio",
            "checklist",
            "contact",
            "dice",
            "document",
            "game",
            "location",
            "paid_media",
        ),
        *("photo", "poll", "sticker", "story", "venue", "video", "video_note", "voice"),
    }
)
"""The fields of a message that may stand in place of a text: https://core.telegram.org/bots/api#message"""
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}")
_MAX_ID: Final = 1 << 63
_SEPARATOR: Final = ":"
_ON_INBOX: Final = frozenset({Verb.INBOX, Verb.TICK, *BATCH_VERBS})


class Place(NamedTuple):
    """A chat, and the topic in it if it has topics."""

    chat: str
    thread: str | None = None

    @property
    def is_group(self) -> bool:
        """True if it is a group; a chat with one person has that person's id."""
        return self.chat.startswith("-")


class Click(NamedTuple):
    """The use of a button, or an entry that was typed."""

    id: str
    actor: Actor
    control: Control
    place: Place
    message: str
    """The id of the message with the button, or of the message that asked for the entry."""
    is_helper: bool
    """True if that message is beside an ask's own, which replies to nothing, and has such a button."""
    is_about: bool = True
    """True if a button of that message is for the same ask, or the message is an inbox: the data may be forged."""
    entry: Entry | None = None
    text: str = ""
    """The text that was typed."""
    typed: str | None = None
    """The id of the message that was typed; None for a button."""
    at: float | None = None
    has_files: bool = False
    """True if the text came with a picture, a file or the like."""
    attachments: tuple[Attachment, ...] = ()
    """The files among that which can be read."""
    files: tuple[AttachedFile, ...] = ()
    """These files, once they are taken in."""
    album: str = ""

    @property
    def wanted(self) -> RequestedAction | None:
        """The requested action, unless it depends on what is stored or needs a second step."""
        control = self.control
        if self.typed is not None or control.argument == CLOSE:
            return None
        match control.verb, control.argument:
            case Verb.ANSWER, argument if argument == EMPTY:
                return Answer(value="")
            case Verb.END_TURN, argument if argument != CONFIRMED:
                return None
            case Verb.SUBMIT_SELECTION, _:
                return None
            case _:
                return control.wanted(None)

    @property
    def takes_files(self) -> bool:
        """True if files can come with what is entered."""
        return self.control.entry in WITH_FILES

    @property
    def chat(self) -> str:
        return self.place.chat

    @property
    def thread(self) -> str | None:
        return self.place.thread

    @property
    def place_id(self) -> str:
        return self.place.chat

    @property
    def is_read_only(self) -> bool:
        """True if it only shows what anyone who sees the message may read, or is on an inbox."""
        return self.is_on_inbox or self.control.verb in {Verb.SHOW_IN_FULL, Verb.PREVIEW}

    @property
    def is_on_inbox(self) -> bool:
        return self.control.verb in _ON_INBOX

    @property
    def delivery(self) -> str:
        if self.typed is None:
            return f"telegram:click:{self.id}"
        return _delivery(self.typed, self.chat, self.album)


class TypedMessage(NamedTuple):
    """A message that a person sent: a text, or something else, with a caption or without."""

    id: str
    place: Place
    actor: Actor
    text: str
    replied: str | None
    """The id of the bot's message that it replies to."""
    shown: Control | None
    """A control of that message as Telegram quoted it."""
    called: bool
    """True if it mentions the bot."""
    at: float | None
    command: str = ""
    """The name of the command that it is: never an answer."""
    quoted_at: float | None = None
    """When that message was sent, if it may be a request to type."""
    replies_to_request: bool = False
    """True if that message certainly is a request to type: by its buttons, or because it addresses this person."""
    is_edit: bool = False
    has_files: bool = False
    is_foreign: bool = False
    """True if somebody else wrote it: it is forwarded, or made by another bot."""
    album: str = ""
    """The id of the album that it is a part of: only one of the parts has a caption."""
    attachments: tuple[Attachment, ...] = ()
    """The files of it that can be read, such as a photo."""

    @property
    def delivery(self) -> str:
        return _delivery(self.id, self.chat, self.album)

    @property
    def chat(self) -> str:
        return self.place.chat

    @property
    def is_addressed(self) -> bool:
        """True if it is meant for the bot."""
        return self.called or self.replied is not None or not self.in_group

    def as_command(self) -> Click:
        """Return it as the use of a button that is equivalent to it."""
        line = self.text.split(maxsplit=1)[1:]
        control = Control(NO_ASK, 0, Verb.COMMAND, "".join(line))
        return Click(self.id, self.actor, control, self.place, "", is_helper=False, typed=self.id)

    def as_entry(self, request: str, entry: Entry) -> Click:
        """Return it as what a message of ours asked for."""
        click = Click(
            self.id, self.actor, entry.control, self.place, request, is_helper=True, entry=entry
        )
        return click._replace(
            text=self.text,
            typed=self.id,
            at=self.at,
            has_files=self.has_files,
            attachments=self.attachments,
            album=self.album,
        )

    def as_cancel(self, request: str, entry: Entry) -> Click:
        """Return it as the use of the button that cancels a request."""
        control = entry.control._replace(argument=CLOSE)
        return Click(
            self.id, self.actor, control, self.place, request, is_helper=True, typed=self.id
        )

    @property
    def in_group(self) -> bool:
        return self.place.is_group


def _delivery(message: str, chat: str, album: str) -> str:
    """Return the id by which a message counts once: all of an album's count together."""
    return f"telegram:album:{chat}:{album}" if album else f"telegram:message:{message}"


def full_id(chat: str, message: str) -> str:
    """Return the id of a message among all chats: its own is unique in its chat only."""
    return f"{chat}{_SEPARATOR}{message}"


def chat_id(full: object) -> str | None:
    chat, found, _ = str(full).partition(_SEPARATOR)
    return chat if found else None


def message_id(full: object) -> int | None:
    _, _, number = str(full).partition(_SEPARATOR)
    return int(number) if number.isascii() and number.isdigit() else None


def id_of_sent(sent: Mapping[str, JsonValue], chat: str) -> str:
    """Return the full id of a message that Telegram has returned.

    Raises:
        PlatformUnavailableError: it has none.
    """
    if (number := _id(sent.get("message_id"))) is None:
        raise PlatformUnavailableError("Telegram's response to a post had no message id.")
    return full_id(chat, number)


def changed_at(message: Mapping[str, JsonValue]) -> float | None:
    """Return when a message was last changed, in whole seconds."""
    return _time(message.get("edit_date") or message.get("date"))


def parse_click(update: Mapping[str, JsonValue]) -> Click | None:
    """Parse the use of one of our buttons; None if the update is anything else."""
    query = object_of(update.get("callback_query"))
    message = object_of(query.get("message"))
    actor, number, place = _actor(query), text_of(query.get("id")), _place(message)
    control, sent = decode(query.get("data")), _id(message.get("message_id"))
    if actor is None or not number or place is None or control is None or sent is None:
        return None
    above = _id(object_of(message.get("reply_to_message")).get("message_id"))
    own = {(each.ask_id, each.verb) for each in message_controls(message)}
    # In a topic, whatever replies to nothing replies to the topic's first message.
    replies = above is not None and above != place.thread
    is_helper = replies and (control.ask_id, control.verb) in own
    about = NO_ASK if control.verb in _ON_INBOX else control.ask_id
    is_about = about in {ask_id for ask_id, _ in own}
    if control.verb in COMMAND_VERBS:
        is_about = (NO_ASK, control.verb) in own
    return Click(number, actor, control, place, full_id(place.chat, sent), is_helper, is_about)


def query_id(update: Mapping[str, JsonValue]) -> str | None:
    """Return the id of the click that an update is about, which has to be answered whatever is in it."""
    return text_of(object_of(update.get("callback_query")).get("id")) or None


def public_group(update: Mapping[str, JsonValue]) -> str | None:
    """Return the group from which an update comes, if anyone can find and join it."""
    message = _message_of(update) or object_of(update.get("callback_query")).get("message")
    chat = object_of(object_of(message).get("chat"))
    return _id(chat.get("id")) if chat.get("username") and chat.get("type") != "private" else None


def parse_typed_message(
    update: Mapping[str, JsonValue], bot_id: str, bot_name: str
) -> TypedMessage | None:
    """Parse what a person sent, or edited; None for everything else that appears in a chat.

    Whoever writes as a group or a channel is nobody: https://core.telegram.org/bots/api#message (sender_chat)
    """
    message = _message_of(update)
    place, number, actor = _place(message), _id(message.get("message_id")), _actor(message)
    text = text_of(message.get("text")) or text_of(message.get("caption"))
    has_files = not _FILES.isdisjoint(message)
    if place is None or number is None or actor is None or not (text or has_files):
        return None
    if message.get("sender_chat"):
        return None
    is_edit = "edited_message" in update
    quoted = object_of(message.get("reply_to_message"))
    is_ours = _id(object_of(quoted.get("from")).get("id")) == bot_id
    quoted_id = _id(quoted.get("message_id")) if is_ours else None
    shown = next(iter(message_controls(quoted)), None) if quoted_id else None
    may_be_request = shown is None or shown.argument in {KEEP, EMPTY, CLOSE}
    called, typed = _without_name(text, bot_name)
    command, to = _command(text)
    if to and to != bot_name.lower():
        return None
    return TypedMessage(
        full_id(place.chat, number),
        place,
        actor,
        typed,
        full_id(place.chat, quoted_id) if quoted_id else None,
        shown,
        called or bool(to),
        changed_at(message) if is_edit else _time(message.get("date")),
        command,
        _time(quoted.get("date")) if quoted_id and may_be_request else None,
        (shown is not None and may_be_request) or (is_ours and _addresses(quoted, actor)),
        is_edit,
        has_files,
        bool(message.get("via_bot") or message.get("forward_origin")),
        text_of(message.get("media_group_id")),
        attachments_of(message, number),
    )


def _addresses(message: Mapping[str, JsonValue], actor: Actor) -> bool:
    """Return True if a message begins with a mention of a person by their account."""
    first = object_of(next(iter(list_of(message.get("entities"))), None))
    link = f"tg://user?id={actor.person.user_id}"
    mentioned = _id(object_of(first.get("user")).get("id")) == actor.person.user_id
    return first.get("offset") == 0 and (mentioned or first.get("url") == link)


def message_controls(message: Mapping[str, JsonValue]) -> list[Control]:
    """Return the controls of a message, as Telegram itself has them."""
    rows = list_of(object_of(message.get("reply_markup")).get("inline_keyboard"))
    buttons = (each for row in rows for each in list_of(row))
    controls = (decode(object_of(each).get("callback_data")) for each in buttons)
    return [control for control in controls if control is not None]


def _without_name(text: str, bot_name: str) -> tuple[bool, str]:
    """Return True if a text mentions the bot, and the text without that mention."""
    rest = re.sub(rf"(?<![\w@/])@{re.escape(bot_name)}(?!\w)", "", text, flags=re.IGNORECASE)
    return rest != text, rest.strip() if rest != text else text


def _command(text: str) -> tuple[str, str]:
    """The name of the command that a text is, and of the bot that it names, in lower case; empty if there is none."""
    match = _COMMAND.match(text)
    return (match[1].lower(), (match[2] or "").lower()) if match else ("", "")


def _message_of(update: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return object_of(update.get("message") or update.get("edited_message"))


def _actor(of: Mapping[str, JsonValue]) -> Actor | None:
    """The person; None for bots and for administrators who write as the group."""
    user = object_of(of.get("from"))
    user_id = _id(user.get("id"))
    if user_id is None or user.get("is_bot") or user_id == limits.ANONYMOUS_ADMINISTRATOR:
        return None
    names = (text_of(user.get("first_name")), text_of(user.get("last_name")))
    name = " ".join(filter(None, names)) or text_of(user.get("username")) or None
    return Actor(Person(surface=SURFACE, user_id=user_id, name=name))


def _place(message: Mapping[str, JsonValue]) -> Place | None:
    chat = _id(object_of(message.get("chat")).get("id"))
    if chat is None or object_of(message.get("chat")).get("type") == "channel":
        return None
    topic = _id(message.get("message_thread_id")) if message.get("is_topic_message") else None
    return Place(chat, topic)


def _id(value: JsonValue) -> str | None:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= _MAX_ID:
        return None
    return str(value)


def is_id(text: str) -> bool:
    """Return True if a text is the id of a chat or a person."""
    return _NUMBER.fullmatch(text) is not None


def _time(value: JsonValue) -> float | None:
    is_number = isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MAX_ID
    return float(value) if is_number and isinstance(value, int) else None
