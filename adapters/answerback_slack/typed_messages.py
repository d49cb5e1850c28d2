"""Messages that people type: decide which are meant for an ask, and handle them.

A direct message, or one that mentions the bot, is meant for an ask. Anything else is people talking to each other. If
such a message is in the thread that a question started, and the question takes free text, its author is offered
privately to use it as the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from answerback.core import typed_answers
from answerback.core.ask import Ask
from answerback.core.errors import PlatformError, PlatformUnavailableError
from answerback.core.intents import Intent, TypedText
from answerback.core.labels import Labels
from answerback.core.walker import Person
from answerback.ports.surface import Acted, Actor, Asks, Rejected
from answerback.presentation import responders, text_fitting
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.control_codec import Control, Verb, list_of, object_of, text_of
from answerback_chat.retry import retry
from answerback_chat.sent_files import FileTaker, SentFile
from answerback_chat.typed_messages import Platform, TypedMessageHandler
from answerback_slack import ids, people_text, private_notes
from answerback_slack.api_client import SlackApi
from answerback_slack.blocks import Block, escape
from answerback_slack.channel_history import Conversation, read_page
from answerback_slack.errors import ALREADY_REACTED
from answerback_slack.file_objects import SlackFile, parse_files
from answerback_slack.group_membership import GroupMembership
from answerback_slack.parse import (
    BotIdentity,
    Click,
    MessageLocation,
    encode_offered_text,
    id_of,
    seconds_from_ts,
)
from answerback_slack.posting import MessageRef, may_be_message_of
from answerback_slack.private_notes import PrivateNotes
from answerback_slack.sent_files import SentFiles

_TYPED_SUBTYPES: Final = frozenset({None, "thread_broadcast", "file_share"})
"""Subtypes of messages that a person has just typed: https://docs.slack.dev/reference/events/message"""
_TAKEN_REACTION: Final = "white_check_mark"
_MAX_CARRIED: Final = 1_900
"""Characters of a typed text that a button can carry. For a longer text it carries only the message's location."""
_QUESTION_ROOM: Final = 300
"""Characters of the question in the private note that offers to use a message as the answer."""

_ENTITY: Final = re.compile(r"<([^<>]*)>")
_SCHEME: Final = re.compile(r"\A(?:[a-z][a-z0-9+.-]*://|mailto:|tel:)", re.IGNORECASE)
_SIGILS: Final = {"@": "@", "#": "#"}
_KEY_NAMES: Final = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_EMOJI_KEYS: Final = {
    **{f":{name}:": f"{digit}\ufe0f\u20e3" for digit, name in enumerate(_KEY_NAMES)},
    ":keycap_ten:": "\U0001f51f",
}
_EMOJI_KEY: Final = re.compile("|".join(_EMOJI_KEYS))


@dataclass(frozen=True, slots=True)
class TypedMessage:
    """A message that a person typed, with its ``text`` as Slack sent it."""

    where: MessageLocation
    person: Person
    text: str
    is_direct: bool
    files: tuple[SlackFile, ...] = ()
    has_more: bool = False
    """True if it has something whose bytes Slack does not have, such as a document of another service."""
    edited_at: float | None = None

    @property
    def has_files(self) -> bool:
        return bool(self.files) or self.has_more

    @property
    def is_edit(self) -> bool:
        return self.edited_at is not None

    @property
    def actor(self) -> Actor:
        return Actor(self.person)

    @property
    def at(self) -> float | None:
        return self.edited_at or seconds_from_ts(self.where.ts)

    @property
    def delivery(self) -> str:
        return self.where.delivery


def typed_message_from_event(event: Mapping[str, object]) -> TypedMessage | None:
    """Parse the typed message of an event; None if no person typed one."""
    channel, is_direct = text_of(event.get("channel")), event.get("channel_type") == "im"
    if event.get("subtype") != "message_changed":
        return parse_typed_message(event, channel, is_direct=is_direct)
    # https://docs.slack.dev/reference/events/message/message_changed
    message, before = object_of(event.get("message")), object_of(event.get("previous_message"))
    at = seconds_from_ts(object_of(message.get("edited")).get("ts"))
    if at is None or message.get("text") == before.get("text"):
        return None  # its text is unchanged; for example, the preview of a link has been added
    typed = parse_typed_message(message, channel, is_direct=is_direct)
    return typed and replace(typed, edited_at=at)


def parse_typed_message(
    message: Mapping[str, object], channel: str, *, is_direct: bool
) -> TypedMessage | None:
    """Parse a message from a conversation's history or from an event; None if no person typed it."""
    if message.get("type") != "message" or message.get("subtype") not in _TYPED_SUBTYPES:
        return None
    user, text = id_of(message.get("user"), ids.USER), text_of(message.get("text"))
    ts, thread = id_of(message.get("ts"), ids.TS), id_of(message.get("thread_ts"), ids.TS)
    sent = list_of(message.get("files"))
    is_of_bot = bool(message.get("bot_id"))
    if (
        is_of_bot
        or not ids.CHANNEL.fullmatch(channel)
        or user is None
        or ts is None
        or not (text or sent)
    ):
        return None
    # The first message of a thread is in the channel itself.
    where = MessageLocation(channel, ts, None if thread == ts else thread)
    files = parse_files(sent) if sent else ()
    person, has_more = Person(surface="slack", user_id=user), len(files) < len(sent)
    return TypedMessage(where, person, text, is_direct, files, has_more)


@dataclass(eq=False)
class TypedMessageListener(Platform[TypedMessage]):
    """Handle typed messages, however they arrive; see `answerback_chat.typed_messages.Platform`."""

    asks: Asks
    calls: SlackApi
    notes: PrivateNotes
    later: BackgroundTasks
    labels: Labels
    identity: BotIdentity
    groups: GroupMembership
    files: SentFiles
    taker: FileTaker

    def __post_init__(self) -> None:
        self._handler = TypedMessageHandler(self.asks, self, self.later, taker=self.taker)

    async def handle_message(self, message: TypedMessage) -> None:
        """Handle one message if it is meant for us; otherwise, perhaps offer its author to use it as the answer.

        Raises:
            StoreError: it is not certain that anything was saved; Slack should send the message again.
            PlatformError: it is not known yet which ask the message is for; Slack should send it again.
        """
        if self.is_addressed(message):
            await self._handler.handle(message)
        elif message.where.thread is not None and not message.is_edit and _is_answer(message):
            self.later.spawn("offer", self._offer(message, message.where.thread))

    def is_addressed(self, message: TypedMessage) -> bool:
        bot = self.identity.bot_user
        return message.is_direct or (bot is not None and mentions_user(message.text, bot))

    def typed_text(self, message: TypedMessage) -> str:
        return text_as_typed(strip_mention(message.text, self.identity.bot_user or ""))

    async def find_candidates(self, message: TypedMessage) -> Sequence[Ask]:
        """The asks that looked open in its thread; for a channel, those whose own messages are in the channel."""
        channel, thread = message.where.channel, message.where.thread
        if thread is None and not message.is_direct:
            return await self.asks.list_open_at(
                "slack", channel, None, message.at, wanted=_started_thread
            )
        asks = await self.asks.list_open_at("slack", channel, thread, message.at)
        if asks or thread is None:
            return asks
        may_be_there = partial(may_be_message_of, ts=thread, parent=thread)
        if await self.asks.list_open_in("slack", channel, None, wanted=may_be_there):
            raise PlatformUnavailableError("It is not known yet which ask this thread belongs to")
        # A post may have been confirmed since the first lookup.
        return await self.asks.list_open_in("slack", channel, thread)

    def disambiguation_note(self, message: TypedMessage, meant: Sequence[Ask]) -> str:
        if not meant:
            return escape(self.labels.nothing_open)
        own_threads = message.where.thread is None and all(map(_started_thread, meant))
        return escape(self.labels.which_one_thread if own_threads else self.labels.which_one)

    def edit_note(self, message: TypedMessage, *, is_known: bool) -> str:
        return escape(self.labels.edit_not_read)

    def sent_files(self, message: TypedMessage) -> Sequence[SentFile]:
        return self.files.of(message.files)

    def leaves_out(self, message: TypedMessage) -> bool:
        return message.has_more

    def files_note(self, message: TypedMessage) -> str:
        return escape(self.labels.files_left_out)

    def moved_note(self, ask: Ask) -> str:
        text, _ = people_text.moved_note(ask.placement.destination, self.labels)
        return _with_link(text, ask)

    # --- messages that are not meant for us --------------------------------------------------------

    async def _offer(self, message: TypedMessage, thread: str) -> None:
        """Offer a responder, once per question, to use their message as the answer if the question takes free text."""
        found = await self.asks.list_open_in(
            "slack", message.where.channel, thread, wanted=_started_thread
        )
        ask = next(iter(found), None)
        if ask is None or ask.question is None or not typed_answers.accepts_free_text(ask):
            return
        if typed_answers.check_not_too_early(ask, message.at, self.labels) is not None:
            return
        if not await self._is_probably_responder(ask, message.person):
            return
        key = f"offer:{ask.id}:{ask.revision}:{message.person.user_id}"
        if await self.asks.draft(key) is not None:
            return
        await self.asks.save_draft(key, value=True)
        labels, typed = self.labels, text_as_typed(message.text)
        question = text_fitting.shorten(ask.question.text, _QUESTION_ROOM)
        text = labels.offer_text.format(question=question, use_text=labels.use_text)
        control = Control(ask.id, ask.revision, Verb.USE_MESSAGE, message.where.ts).encode()
        # With files, the message is read once more: the button cannot carry them.
        fits = not message.files and text_fitting.utf16_length(typed) <= _MAX_CARRIED
        carried = encode_offered_text(typed if fits else "")
        await self.tell_author(
            message,
            escape(text),
            private_notes.note_with_button(text, labels.use_text, control, carried),
        )

    async def _is_probably_responder(self, ask: Ask, person: Person) -> bool:
        """Return True if an offer makes sense. Their right to answer is checked when they accept it."""
        if responders.missing_groups(ask.actors, Actor(person, all_groups=True)) is None:
            return True
        for group in responders.responder_groups(ask):
            if person.user_id in await self.groups.recent_members(group):
                return True
        return False

    async def use_offered_message(self, ask: Ask, click: Click) -> Acted | Rejected | None:
        """Use the message that a click says to use, if the button could not carry it; None if it is gone.

        Raises:
            PlatformError: the message cannot be read.
        """
        where, control = click.used_message, click.control
        thread = (
            where.thread
            or ((ref := MessageRef.from_stored(ask.placement.message)) and ref.ts)
            or ""
        )
        place, at = Conversation(where.channel, thread), where.ts
        page = await retry(
            partial(read_page, self.calls, place, oldest=at, latest=at, inclusive=True)
        )
        for each in page.messages:
            message = parse_typed_message(each, where.channel, is_direct=False)
            if message is not None and message.where.ts == where.ts:
                typed = TypedText(text_as_typed(message.text))
                intent = Intent(ask.id, typed, control.revision, message.delivery, message.at)
                return await self._handler.apply(intent, click.actor, self.sent_files(message))
        return None

    # --- responses to typed messages ---------------------------------------------------------------

    async def mark_taken(self, message: Click | TypedMessage) -> None:
        where = message.used_message if isinstance(message, Click) else message.where
        add = self.calls.client.reactions_add
        mark = {"channel": where.channel, "timestamp": where.ts, "name": _TAKEN_REACTION}
        try:
            await self.calls.call(add, **mark)
        except PlatformError as error:
            if error.code != ALREADY_REACTED:
                raise

    def refusal(self, rejected: Rejected, message: Click | TypedMessage) -> str:
        """Explain as mrkdwn why a message was not taken, with a link to the question."""
        text = private_notes.rejection_mrkdwn(rejected, message.person, self.labels)
        return _with_link(text, rejected.ask)

    async def tell_author(
        self,
        message: TypedMessage,
        text: str,
        blocks: Sequence[Block] | None = None,
        *,
        is_refused: bool = True,
    ) -> None:
        await self.notes.send(text, message.person.user_id, message.where, blocks=blocks)


def _is_answer(message: TypedMessage) -> bool:
    return bool(message.text.strip() or message.files)


def _with_link(text: str, ask: Ask | None) -> str:
    thread = ask.placement.thread if ask else None
    return f"{text} <{escape(thread.url)}>" if thread and thread.url else text


def _started_thread(ask: Ask) -> bool:
    """Return True if the ask's own message started the thread that it is shown in."""
    ref = MessageRef.from_stored(ask.placement.message)
    return ref is not None and ref.thread is None and ref.ts is not None


# --- the text that a person typed, from Slack's formatting of it ----------------------------------
# https://docs.slack.dev/messaging/formatting-message-text (retrieving formatted messages)


def mentions_user(text: str, user_id: str) -> bool:
    return re.search(rf"<@{re.escape(user_id)}(\|[^<>]*)?>", text) is not None


def strip_mention(text: str, user_id: str) -> str:
    """Remove the mention that addresses the bot, at the start or else the end, with the punctuation around it.

    A mention in the middle of the text is part of the text.
    """
    mention = rf"<@{re.escape(user_id)}(?:\|[^<>]*)?>"
    emoji = r":[\w+'-]+:"
    if first := re.match(rf"\s*{mention}[ \t]*(?!{emoji})[,:]?[ \t]*\n?", text):
        return text[first.end() :]
    if last := re.search(rf"{mention}\s*\Z", text):
        return text[: last.start()].rstrip()
    return text


def text_as_typed(text: str) -> str:
    """Restore the characters that the person typed: links without Slack's additions, mentions as @name, keys as emoji.

    A link with a text of its own keeps its URL in brackets after the text.
    """
    plain = _EMOJI_KEY.sub(lambda name: _EMOJI_KEYS[name[0]], _ENTITY.sub(_entity_as_typed, text))
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _entity_as_typed(match: re.Match[str]) -> str:
    target, _, label = match[1].partition("|")
    if target[:1] in _SIGILS:
        return _SIGILS[target[0]] + (label or target[1:]).removeprefix(target[0])
    if target.startswith("!date^"):
        return label
    if target.startswith("!"):
        return "@" + (label or target[1:].partition("^")[2] or target[1:]).removeprefix("@")
    url = target.removeprefix("mailto:")
    if not label or label == target or _strip_scheme(label) == _strip_scheme(target):
        return label or url
    return f"{label} ({url})"


def _strip_scheme(url: str) -> str:
    """A URL as a person types it, without the scheme and the final slash that Slack adds."""
    return _SCHEME.sub("", url).removesuffix("/")
