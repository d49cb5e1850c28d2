"""Words that people type: which of them are meant for an ask, and what becomes of them.

A direct message is meant for an ask, and a message that mentions the bot. All else is people talking to each other:
where it stands in the thread that a question began, and the question takes words, its author is offered privately
to use it as the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from answerback.core import typed_answers
from answerback.core.ask import Ask
from answerback.core.errors import PlatformUnavailableError
from answerback.core.intents import Intent, TypedText
from answerback.core.labels import Labels
from answerback.ports.surface import Asks, Rejected, SupportsGroups
from answerback_chat import responders, text_fitting
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.control_codec import Control, Verb
from answerback_chat.retry import retry
from answerback_chat.typed_messages import TypedMessageHandler
from answerback_slack import private_notes
from answerback_slack.api_client import SlackApi
from answerback_slack.blocks import Block, escape
from answerback_slack.parse import (
    BotIdentity,
    Click,
    TypedMessage,
    encode_offered_text,
    parse_typed_message,
)
from answerback_slack.posting import MessageRef, may_be_message_of
from answerback_slack.private_notes import PrivateNotes

_TAKEN: Final = "white_check_mark"
_CARRIED: Final = 1_900
"""Characters of words that a button carries; of longer ones it knows where they stand."""
_NAMED: Final = 300
"""Characters of the question in the private note that offers words to be used for it."""

_ENTITY: Final = re.compile(r"<([^<>]*)>")
_SCHEME: Final = re.compile(r"\A(?:[a-z][a-z0-9+.-]*://|mailto:|tel:)", re.IGNORECASE)
_SIGILS: Final = {"@": "@", "#": "#"}


class TypedMessageListener:
    """Takes in messages, however they come; see `answerback_chat.typed_messages.Platform`."""

    def __init__(
        self,
        asks: Asks,
        calls: SlackApi,
        told: PrivateNotes,
        later: BackgroundTasks,
        labels: Labels,
        identity: BotIdentity,
        surface: SupportsGroups,
    ) -> None:
        self._asks = asks
        self._calls = calls
        self._notes = told
        self._later = later
        self._labels = labels
        self._identity = identity
        self._surface = surface
        self._typed = TypedMessageHandler(asks, self, later)

    async def handle_message(self, said: TypedMessage) -> None:
        """One message: handed on where it is meant for us; else its author is offered to use it, at most.

        Raises:
            StoreError: nothing is known to be saved; Slack is to send the message again.
            PlatformError: what it is for cannot be told yet; neither.
        """
        bot = self._identity.bot_user
        if said.is_direct or (bot is not None and mentions_user(said.text, bot)):
            await self._typed.handle(said)
        elif said.where.thread is not None:
            self._later.spawn("offer", self._offer(said, said.where.thread))

    def words(self, said: TypedMessage) -> str:
        """See `answerback_chat.typed_messages.Platform.words`."""
        return text_as_typed(strip_mention(said.text, self._identity.bot_user or ""))

    async def find_candidates(self, said: TypedMessage) -> Sequence[Ask]:
        """Those in its thread; in a channel, those whose own messages stand there."""
        channel, thread = said.where.channel, said.where.thread
        found = await self._asks.list_open_in("slack", channel, thread)
        if thread is None:
            return found if said.is_direct else [ask for ask in found if _began(ask)]
        if not found:
            shown_here = await self._asks.list_open_in("slack", channel, None)
            if any(may_be_message_of(ask, thread) for ask in shown_here):
                raise PlatformUnavailableError("Whose thread this was typed in is not known yet")
            # Since the first look, a post may have become known.
            return [ask for ask in shown_here if ask.thread and ask.thread.id == thread]
        return found

    def disambiguation_note(self, said: TypedMessage, meant: Sequence[Ask]) -> str:
        """See `answerback_chat.typed_messages.Platform.disambiguation_note`."""
        if not meant:
            return escape(self._labels.nothing_open)
        own_threads = said.where.thread is None and all(map(_began, meant))
        return escape(self._labels.which_one_reply if own_threads else self._labels.which_one)

    # --- words that are not meant for us -----------------------------------------------------------

    async def _offer(self, said: TypedMessage, thread: str) -> None:
        """Offers a responder to use what they wrote under a question that takes words; once a question."""
        found = await self._asks.list_open_in("slack", said.where.channel, thread)
        ask = next(filter(_began, found), None)
        if ask is None or ask.question is None or not typed_answers.accepts_free_text(ask):
            return
        if typed_answers.check_not_too_early(ask, said.at, said.person, self._labels) is not None:
            return
        if responders.is_excluded(
            ask, await responders.resolve_actor(ask, said.person, self._surface)
        ):
            return
        key = f"offer:{ask.id}:{ask.revision}:{said.person.user_id}"
        if await self._asks.draft(key) is not None:
            return
        await self._asks.save_draft(key, value=True)
        labels, words = self._labels, text_as_typed(said.text)
        question = text_fitting.shorten(ask.question.text, _NAMED)
        text = labels.offer_words.format(question=question, use_words=labels.use_words)
        control = Control(ask.id, ask.revision, Verb.USE_MESSAGE, said.where.ts).encode()
        carried = encode_offered_text(words if text_fitting.utf16_length(words) <= _CARRIED else "")
        await self.tell_author(
            said,
            escape(text),
            private_notes.note_with_button(text, labels.use_words, control, carried),
        )

    async def found(self, ask: Ask, click: Click) -> Intent | None:
        """What a click says to use, where the words were too long for its button; None: they are not there any more.

        Raises:
            PlatformError: they cannot be read.
        """
        where, client = click.used_message, self._calls.client
        thread = where.thread or ((ref := MessageRef.from_stored(ask.message)) and ref.ts) or ""
        answer = await retry(
            lambda: self._calls.call(
                "conversations.replies",
                lambda: client.conversations_replies(
                    channel=where.channel,
                    ts=thread,
                    oldest=where.ts,
                    latest=where.ts,
                    inclusive=True,
                ),
            )
        )
        listed = answer.get("messages")
        control = click.control
        for message in listed if isinstance(listed, list) else []:
            said = parse_typed_message(message, where.channel, is_direct=False)
            if said is not None and said.where.ts == where.ts:
                words = TypedText(text_as_typed(said.text))
                return Intent(ask.id, words, control.revision, said.delivery, said.at)
        return None

    # --- what becomes of words ---------------------------------------------------------------------

    async def mark_taken(self, said: Click | TypedMessage) -> None:
        """Marks words as taken."""
        client, where = (
            self._calls.client,
            said.used_message if isinstance(said, Click) else said.where,
        )
        await self._calls.call(
            "reactions.add",
            lambda: client.reactions_add(channel=where.channel, timestamp=where.ts, name=_TAKEN),
        )

    def refusal(self, rejected: Rejected, said: Click | TypedMessage) -> str:
        """Why words were not taken, as mrkdwn, and where the question stands."""
        text = private_notes.rejection_mrkdwn(rejected, said.person, self._labels)
        thread = rejected.ask.thread if rejected.ask else None
        return f"{text} <{escape(thread.url)}>" if thread and thread.url else text

    async def tell_author(
        self, said: TypedMessage, text: str, blocks: Sequence[Block] | None = None
    ) -> None:
        """Tells the author privately, where they typed."""
        await self._notes.send(text, said.person.user_id, said.where, blocks=blocks)


def _began(ask: Ask) -> bool:
    """Whether the ask's own message began the thread that it is shown in."""
    ref = MessageRef.from_stored(ask.message)
    return ref is not None and ref.thread is None and ref.ts is not None


# --- what a person typed, out of what Slack makes of it -------------------------------------------
# https://docs.slack.dev/messaging/formatting-message-text (retrieving formatted messages)


def mentions_user(text: str, user_id: str) -> bool:
    """Whether the message mentions this user."""
    return re.search(rf"<@{re.escape(user_id)}(\|[^<>]*)?>", text) is not None


def strip_mention(text: str, user_id: str) -> str:
    """The message without the mention that addressed it, at its start or else its end, and what sets that apart.

    A mention in the middle of the words is one of them.
    """
    mention = rf"<@{re.escape(user_id)}(?:\|[^<>]*)?>"
    if first := re.match(rf"\s*{mention}[ \t]*[,:]?[ \t]*\n?", text):
        return text[first.end() :]
    if last := re.search(rf"{mention}\s*\Z", text):
        return text[: last.start()].rstrip()
    return text


def text_as_typed(text: str) -> str:
    """The characters that the person typed: links without what Slack adds, mentions as @name.

    A link that was given other words keeps its address behind them.
    """
    plain = _ENTITY.sub(_entity, text)
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _entity(match: re.Match[str]) -> str:
    target, _, label = match[1].partition("|")
    if target[:1] in _SIGILS:
        return _SIGILS[target[0]] + (label or target[1:]).removeprefix(target[0])
    if target.startswith("!date^"):
        return label
    if target.startswith("!"):
        return "@" + (label or target[1:].partition("^")[2] or target[1:]).removeprefix("@")
    address = target.removeprefix("mailto:")
    if not label or label == target or _bare(label) == _bare(target):
        return label or address
    return f"{label} ({address})"


def _bare(address: str) -> str:
    """An address as a person types it: Slack adds the scheme."""
    return _SCHEME.sub("", address).removesuffix("/")
