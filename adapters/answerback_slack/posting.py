"""The live message of an ask in Slack, and what is said beside it: the calls that `LiveMessages` puts in order.

A message is found again by its metadata, because Slack has no idempotency key
(https://docs.slack.dev/reference/methods/chat.postMessage).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Destination, Thread
from answerback.core.errors import (
    DestinationGoneError,
    PayloadRejectedError,
    PlatformError,
    UnauthorizedError,
)
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback.ports.surface import Shown
from answerback_chat.live_message import LiveMessages, Save, Uneditable
from answerback_chat.selection_drafts import SelectionDrafts
from answerback_slack import errors, parse, record_text, reminders
from answerback_slack.api_client import SlackApi
from answerback_slack.blocks import escape, section
from answerback_slack.channel_history import ChannelHistory, as_objects, event_payload
from answerback_slack.fallback_text import fallback_text
from answerback_slack.group_membership import GroupMembership
from answerback_slack.optional_features import OptionalFeature
from answerback_slack.render import Message, render
from answerback_slack.responder_names import ResponderNames

logger = logging.getLogger(__name__)

T = TypeVar("T")

ASK_EVENT: Final = "answerback_ask"
REMINDER_EVENT: Final = "answerback_reminder"
_MOST_DIRECT: Final = 1_000
_SKEW_SECONDS: Final = 300
"""How far Slack's clock and ours may differ when a message is looked for by the time of its post."""


@dataclass(frozen=True, slots=True)
class MessageRef:
    """Where the live message is, or (without ``ts``) where it is about to be posted."""

    channel: str
    ts: str | None = None
    thread: str | None = None
    """The parent's ts where the ask was given a thread; None: the message starts its own."""
    at: float | None = None
    """When it was about to be posted, while that is all that is known."""
    replaced_ts: str | None = None
    """The ts of the message that this one replaces, which is still to be seen perhaps."""
    since: float | None = None
    """Since when it surely shows what it was made to show just now, by Slack's clock; not kept."""
    url: str | None = None
    """Its address; kept with the ask's thread."""

    @classmethod
    def from_stored(cls, stored: Mapping[str, JsonValue] | None) -> MessageRef | None:
        """What is kept with an ask."""
        channel = (stored or {}).get("channel")
        if stored is None or not isinstance(channel, str):
            return None
        ts, thread, at, replaced_ts = (stored.get(key) for key in ("ts", "thread", "at", "dead"))
        return cls(
            channel,
            ts if isinstance(ts, str) else None,
            thread if isinstance(thread, str) else None,
            float(at) if isinstance(at, (int, float)) else None,
            replaced_ts if isinstance(replaced_ts, str) else None,
        )

    def to_stored(self) -> dict[str, JsonValue]:
        """What to keep with the ask."""
        marked = {"at": self.at, "dead": self.replaced_ts} if self.ts is None else {}
        return {"channel": self.channel, "ts": self.ts, "thread": self.thread, **marked}

    def shown(self, revision: int) -> Shown:
        """What the store is told."""
        thread = Thread(channel=self.channel, id=self.thread or self.ts, url=self.url)
        return Shown(revision, self.to_stored(), thread, self.since)


class Posting(LiveMessages[MessageRef, Message]):
    """Says to Slack what is stored."""

    def __init__(
        self,
        calls: SlackApi,
        labels: Labels,
        groups: GroupMembership,
        names: ResponderNames,
        now: Callable[[], float],
    ) -> None:
        super().__init__("Slack")
        self._calls = calls
        self._labels = labels
        self._groups = groups
        self._now = now
        self._names = names
        self._folding = OptionalFeature(
            "container blocks",
            "they fold long records, and are still new",
            frozenset({"invalid_blocks", "invalid_blocks_format"}),
        )
        self._replacing = OptionalFeature(
            "blocks without rich text in the place of rich text",
            "its messages begin with rich text from now on, which looks a little different",
            frozenset({errors.BLOCK_MISMATCH}),
        )
        self.selections: SelectionDrafts | None = None
        """What was selected where somebody asked back; set before anything is shown."""
        self._history = ChannelHistory(calls)
        self._direct: dict[str, str] = {}
        """The conversations with people that were opened last: a post that has to wait does not open them again."""

    # --- what is kept ----------------------------------------------------------------------------

    def parse_ref(self, stored: Mapping[str, JsonValue] | None) -> MessageRef | None:
        """See `LiveMessages.parse_ref`."""
        return MessageRef.from_stored(stored)

    def is_posted(self, ref: MessageRef) -> bool:
        """See `LiveMessages.is_posted`."""
        return ref.ts is not None

    def mark_pending(self, ref: MessageRef) -> MessageRef:
        """See `LiveMessages.mark_pending`."""
        return replace(ref, at=self._now())

    def clear_pending(self, ref: MessageRef) -> Mapping[str, JsonValue]:
        """See `LiveMessages.clear_pending`."""
        return replace(ref, ts=ref.replaced_ts).to_stored() if ref.replaced_ts else {}

    def shown(self, ref: MessageRef, revision: int) -> Shown:
        """See `LiveMessages.shown`."""
        return ref.shown(revision)

    # --- the message -----------------------------------------------------------------------------

    async def choose_place(self, ask: Ask) -> MessageRef:
        """See `LiveMessages.choose_place`."""
        await self._groups.require_reachable_responders(ask.responders)
        destination = ask.destination
        if destination.user is None:
            return MessageRef(destination.channel or "", None, destination.thread)
        user = destination.user
        if (known := self._direct.get(user)) is not None:
            return MessageRef(known, None, destination.thread)
        answer = await self._calls.call(
            "conversations.open", lambda: self._calls.client.conversations_open(users=user)
        )
        channel = answer.get("channel")
        opened = channel.get("id") if isinstance(channel, dict) else None
        while len(self._direct) >= _MOST_DIRECT:
            del self._direct[next(iter(self._direct))]
        self._direct[user] = str(opened or "")
        return MessageRef(self._direct[user], None, destination.thread)

    async def find(self, ask: Ask, ref: MessageRef) -> MessageRef:
        """See `LiveMessages.find`."""
        ts: str | None = None
        try:
            async for said in self._history.messages_between(
                ref.channel, ref.thread, _around(ask, ref)
            ):
                if event_payload(said, ASK_EVENT).get("ask_id") == ask.id:
                    ts = str(said.get("ts"))
                    break
        except (DestinationGoneError, UnauthorizedError) as error:
            if error.code not in {"not_in_channel", "missing_scope"}:
                raise
            # Posting is allowed here and reading is not. A question that nobody sees is worse than one seen twice.
            extra = {"action": "cannot_look", "ask_id": ask.id, "code": error.code}
            logger.warning("Whether the ask was posted cannot be seen: %s", error, extra=extra)
            return ref
        # At the first revision it shows what it was posted with.
        since = parse.seconds_from_ts(ts) if ts and ask.revision == 1 else None
        return replace(ref, ts=ts, since=since)

    def raise_if_limited(self, ref: MessageRef) -> None:
        """See `LiveMessages.raise_if_limited`."""
        if ref.ts is None:
            self._calls.raise_if_limited("chat.postMessage", ref.channel)
        else:
            self._calls.raise_if_limited("chat.update")

    async def render(self, ask: Ask) -> Message:
        """See `LiveMessages.render`."""
        view = self._view(ask)
        names = await self._names.look_up(view)
        selected = await self.selections.load(ask) if self.selections and ask.asides else None
        return render(
            view, self._labels, names, selected, collapse_long_records=self._folding.is_on
        )

    def minimal_payload(self, ask: Ask) -> Message:
        """See `LiveMessages.minimal_payload`."""
        return Message(fallback_text(self._view(ask), self._labels), [])

    @staticmethod
    def _view(ask: Ask) -> View:
        view = view_of(ask)
        direct = (ask.destination.channel or "").startswith("D")
        return view._replace(responders=()) if direct and ANYONE in view.responders else view

    async def post(self, ask: Ask, ref: MessageRef, payload: Message) -> MessageRef:
        """See `LiveMessages.post`."""
        event = {"ask_id": ask.id, "revision": ask.revision}
        ts = await self._taken(
            ask, payload, lambda said: self._post(ref.channel, ref.thread, said, ASK_EVENT, event)
        )
        return replace(ref, ts=ts, since=parse.seconds_from_ts(ts))

    async def edit(self, ask: Ask, ref: MessageRef, payload: Message) -> MessageRef | Uneditable:
        """See `LiveMessages.edit`."""
        try:
            return await self._taken(ask, payload, lambda said: self._replaced(ref, said))
        except DestinationGoneError as error:
            if error.code not in errors.UNEDITABLE_CODES:
                raise
            return Uneditable.DELETED if error.code == errors.MESSAGE_DELETED else Uneditable.FROZEN

    async def _taken(
        self, ask: Ask, message: Message, send: Callable[[Message], Awaitable[T]]
    ) -> T:
        """What ``send`` gives; where Slack refuses a message in which something is folded, without that."""
        try:
            return await send(message)
        except PayloadRejectedError as error:
            if not (message.has_collapsed_parts and self._folding.turn_off_if_unsupported(error)):
                raise
        return await send(await self.render(ask))

    async def _replaced(self, ref: MessageRef, message: Message) -> MessageRef:
        """Edits; where Slack keeps rich text from being replaced by other blocks, with rich text in the message."""
        rich = message.with_rich_text()
        if rich is message:
            return await self._update(ref, message)
        if self._replacing.is_on:
            try:
                return await self._update(ref, message)
            except DestinationGoneError as error:
                if not self._replacing.turn_off_if_unsupported(error):
                    raise
        return await self._update(ref, rich)

    async def replacement_ref(self, ask: Ask, ref: MessageRef) -> MessageRef:
        """See `LiveMessages.replacement_ref`."""
        return replace(ref, ts=None, replaced_ts=ref.ts, since=None)

    async def remove_replaced(self, ask: Ask, ref: MessageRef) -> MessageRef:
        """See `LiveMessages.remove_replaced`."""
        client, replaced_ts = self._calls.client, ref.replaced_ts
        if replaced_ts is None:
            return ref
        try:
            await self._calls.call(
                "chat.delete", lambda: client.chat_delete(channel=ref.channel, ts=replaced_ts)
            )
        except PlatformError as error:
            if error.code != errors.MESSAGE_DELETED:
                extra = {"action": "old_message_stays", "ask_id": ask.id, "code": error.code}
                logger.warning("A message that was replaced stays: %s", error, extra=extra)
        return replace(ref, replaced_ts=None)

    async def complete(self, ask: Ask, ref: MessageRef, save: Save) -> MessageRef:
        """See `LiveMessages.complete`."""
        if ask.thread is not None and ask.thread.url and ref.ts == _kept_ts(ask):
            return replace(ref, url=ask.thread.url)
        await save(ref.shown(ask.revision))
        return replace(ref, url=await self._permalink(ref))

    # --- reminders, and what is left behind ------------------------------------------------------

    async def post_reminder(self, ask: Ask, ref: MessageRef, number: int) -> None:
        """See `LiveMessages.post_reminder`."""
        url = await self._url(ask, ref)
        message = reminders.build_reminder(view_of(ask), ask.responders, url, self._labels)
        event = {"ask_id": ask.id, "number": number}
        await self._post(ref.channel, ref.thread or ref.ts, message, REMINDER_EVENT, event)

    async def reminders(self, ask: Ask, ref: MessageRef) -> AsyncIterator[tuple[str, int]]:
        """See `LiveMessages.reminders`."""
        async for message in self._history.messages_between(
            ref.channel, ref.thread or ref.ts, _since(ask)
        ):
            found = event_payload(message, REMINDER_EVENT)
            if found.get("ask_id") == ask.id:
                yield str(message.get("ts")), int(str(found.get("number")))

    async def close_reminder(self, ask: Ask, ref: MessageRef, reminder: str) -> None:
        """See `LiveMessages.close_reminder`."""
        url = await self._url(ask, ref)
        ending = record_text.ending_mrkdwn(view_of(ask), self._labels)
        over = Message(f"{ending} <{url}>" if url else ending, [])
        await self._update(replace(ref, ts=reminder), over)

    async def show_moved_note(self, ref: MessageRef, to: Destination) -> None:
        """See `LiveMessages.show_moved_note`."""
        text = self._labels.escalated.format(where=destination_text(to))
        await self._replaced(ref, Message(escape(text), [section(text)]))

    async def _url(self, ask: Ask, ref: MessageRef) -> str | None:
        return ref.url or (ask.thread.url if ask.thread else None) or await self._permalink(ref)

    # --- calls -----------------------------------------------------------------------------------

    async def _post(
        self,
        channel: str,
        thread: str | None,
        message: Message,
        event: str,
        payload: Mapping[str, object],
    ) -> str:
        client = self._calls.client
        answer = await self._calls.call(
            "chat.postMessage",
            lambda: client.chat_postMessage(
                channel=channel,
                thread_ts=thread,
                text=message.text,
                blocks=message.blocks or None,
                metadata={"event_type": event, "event_payload": dict(payload)},
                unfurl_links=False,
                unfurl_media=False,
            ),
            channel,
        )
        return str(answer.get("ts") or "")

    async def _update(self, ref: MessageRef, message: Message) -> MessageRef:
        client = self._calls.client
        # An empty list of blocks takes away what was there. No `chat_update`: it looks at each block for models.
        said = {
            "channel": ref.channel,
            "ts": ref.ts,
            "text": message.text,
            "blocks": message.blocks,
        }
        answer = await self._calls.call(
            "chat.update", lambda: client.api_call("chat.update", json=said)
        )
        return replace(
            ref, since=ref.since or parse.latest_edit_time(as_objects([answer.get("message")])[0])
        )

    async def _permalink(self, ref: MessageRef) -> str | None:
        """A link to the message; without one, the ask is shown all the same."""
        client, ts = self._calls.client, ref.ts or ""
        try:
            answer = await self._calls.call(
                "chat.getPermalink",
                lambda: client.chat_getPermalink(channel=ref.channel, message_ts=ts),
            )
        except PlatformError as error:
            extra = {"action": "no_permalink", "code": error.code}
            logger.warning("A message's link could not be had: %s", error, extra=extra)
            return None
        return str(answer.get("permalink") or "") or None


def may_be_message_of(ask: Ask, ts: str) -> bool:
    """Whether the message of this ts may be the ask's, which was posted or is being posted, and is not found yet."""
    ref = MessageRef.from_stored(ask.message)
    if ref is None or ref.ts is not None or ref.thread is not None:
        return False
    oldest, latest = _around(ask, ref)
    return oldest < ts and (latest is None or ts < latest)


def destination_text(destination: Destination) -> str:
    """A destination in words, for people."""
    where = destination.channel or (f"@{destination.user}" if destination.user else "")
    return f"{destination.surface} {where}".strip()


def _kept_ts(ask: Ask) -> str | None:
    """The message that the ask's address leads to."""
    ref = MessageRef.from_stored(ask.message)
    return ref.ts if ref else None


def _since(ask: Ask) -> tuple[str, None]:
    """All that was said since the ask was made."""
    return f"{ask.created_at - _SKEW_SECONDS:.6f}", None


def _around(ask: Ask, ref: MessageRef) -> tuple[str, str | None]:
    """Between which moments the message was posted, if it was: later than the one that it replaces."""
    since = (ask.created_at if ref.at is None else ref.at) - _SKEW_SECONDS
    until = None if ref.at is None else f"{ref.at + _SKEW_SECONDS:.6f}"
    oldest = f"{since:.6f}"
    return max(oldest, ref.replaced_ts or oldest), until
