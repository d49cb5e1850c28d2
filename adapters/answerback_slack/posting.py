"""The live message of an ask in Slack, its reminders and notes: the Slack calls that `LiveMessages` orchestrates.

A message is located again by its metadata, because Slack has no idempotency key
(https://docs.slack.dev/reference/methods/chat.postMessage).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
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
from answerback_chat.control_codec import object_of, text_of
from answerback_chat.live_message import (
    HistoryTooLongError,
    LiveMessages,
    Save,
    Uneditable,
    known_messages,
)
from answerback_chat.selection_drafts import SelectionDrafts
from answerback_slack import errors, parse, people_text, private_notes
from answerback_slack.api_client import SlackApi
from answerback_slack.channel_history import Conversation, event_payload, messages_between
from answerback_slack.fallback_text import fallback_text
from answerback_slack.group_membership import GroupMembership
from answerback_slack.optional_features import OptionalFeature
from answerback_slack.pictures import Pictures
from answerback_slack.render import Message, render
from answerback_slack.responder_names import ResponderNames

logger = logging.getLogger(__name__)

T = TypeVar("T")
_EventPayload = Mapping[str, object]

ASK_EVENT: Final = "answerback_ask"
REMINDER_EVENT: Final = "answerback_reminder"
_SKEW_SECONDS: Final = 300
"""Seconds by which Slack's clock and ours may differ when we search for a message by the time it was posted, and by
which it may be later than its caller gave up."""


_MAX_EARLIER: Final = 5
"""Maximum number of replaced messages whose threads are searched for reminders."""
_PROCESSING: Final = (0.3, 1.0, 2.0)
"""Seconds between tries to show pictures: https://github.com/slackapi/python-slack-sdk/issues/1797"""


@dataclass(frozen=True, slots=True)
class MessageRef:
    """The location of the live message, or (without ``ts``) where it is about to be posted."""

    channel: str
    ts: str | None = None
    thread: str | None = None
    """The ts of the parent message if the ask was sent to a thread; None if the message starts its own thread."""
    at: float | None = None
    """When the first post was about to start; set until the ``ts`` is known, or for as long as there may be two."""
    repeated: float | None = None
    """When the last post was about to start, if an earlier one has an unknown result."""
    replaced_ts: str | None = None
    """The ts of the message that this one replaces, which may still be visible."""
    since: float | None = None
    """The time, by Slack's clock, from which the message is certain to show its current content; not stored."""
    url: str | None = None
    """The permalink; stored with the ask's thread."""
    files: tuple[tuple[str, str], ...] = ()
    """The uploaded pictures: the ids of the files, and those in Slack."""
    earlier: tuple[str, ...] = ()
    """The ts of the messages that were replaced; reminders stay in their threads."""

    @classmethod
    def from_stored(cls, stored: Mapping[str, JsonValue] | None) -> MessageRef | None:
        channel = (stored or {}).get("channel")
        if stored is None or not isinstance(channel, str):
            return None
        ts, thread = stored.get("ts"), stored.get("thread")
        files, earlier = stored.get("files"), stored.get("earlier")
        at, repeated, replaced_ts = stored.get("at"), stored.get("repeated"), stored.get("dead")
        return cls(
            channel,
            ts if isinstance(ts, str) else None,
            thread if isinstance(thread, str) else None,
            float(at) if isinstance(at, (int, float)) else None,
            float(repeated) if isinstance(repeated, (int, float)) else None,
            replaced_ts if isinstance(replaced_ts, str) else None,
            files=tuple((name, str(each)) for name, each in files.items())
            if isinstance(files, dict)
            else (),
            earlier=tuple(map(str, earlier)) if isinstance(earlier, list) else (),
        )

    def to_stored(self) -> dict[str, JsonValue]:
        stored: dict[str, JsonValue] = {
            "channel": self.channel,
            "ts": self.ts,
            "thread": self.thread,
        }
        if self.ts is None:
            stored |= {"at": self.at, "dead": self.replaced_ts}
        if self.files:
            stored["files"] = dict(self.files)
        if self.earlier:
            stored["earlier"] = [*self.earlier]
        if self.repeated is not None:
            stored |= {"at": self.at, "repeated": self.repeated}
        return stored


@dataclass(eq=False)
class Posting(LiveMessages[MessageRef, Message]):
    platform = "Slack"

    calls: SlackApi
    labels: Labels
    groups: GroupMembership
    names: ResponderNames
    selections: SelectionDrafts
    now: Callable[[], float]
    pictures: Pictures

    def __post_init__(self) -> None:
        self._containers = OptionalFeature(
            "container blocks",
            "long records are shown in full",
            frozenset({"invalid_blocks", "invalid_blocks_format"}),
        )
        self._replacing = OptionalFeature(
            "replacing rich text with other blocks",
            "edited messages begin with rich text instead, which looks slightly different",
            frozenset({errors.BLOCK_MISMATCH}),
        )
        self._direct_channels: dict[str, str] = {}
        """Recently opened direct conversations, by user: a post that has to wait does not open one again."""

    # --- the stored reference --------------------------------------------------------------------

    def parse_ref(self, stored: Mapping[str, JsonValue] | None) -> MessageRef | None:
        return MessageRef.from_stored(stored)

    def is_posted(self, ref: MessageRef) -> bool:
        return ref.ts is not None

    def mark_pending(self, ref: MessageRef, *, again: bool) -> MessageRef:
        return replace(ref, repeated=self.now()) if again else replace(ref, at=self.now())

    def clear_pending(self, ref: MessageRef) -> Mapping[str, JsonValue]:
        return replace(ref, ts=ref.replaced_ts).to_stored() if ref.replaced_ts else {}

    def shown(self, ref: MessageRef, revision: int) -> Shown:
        thread = Thread(channel=ref.channel, id=ref.thread or ref.ts, url=ref.url)
        return Shown(revision, ref.to_stored(), thread, ref.since)

    # --- the message -----------------------------------------------------------------------------

    async def choose_place(self, ask: Ask) -> MessageRef:
        await self.groups.require_reachable_responders(ask.placement.responders)
        destination = ask.placement.destination
        if destination.user is None:
            return MessageRef(destination.channel or "", None, destination.thread)
        user = destination.user
        if (known := self._direct_channels.get(user)) is not None:
            return MessageRef(known, None, destination.thread)
        answer = await self.calls.call(self.calls.client.conversations_open, users=user)
        self._direct_channels[user] = text_of(object_of(answer.get("channel")).get("id"))
        return MessageRef(self._direct_channels[user], None, destination.thread)

    async def find(self, ask: Ask, ref: MessageRef) -> MessageRef:
        try:
            ts = await anext(self._posted(ask, ref), None)
        except (DestinationGoneError, UnauthorizedError) as error:
            if error.code not in {"not_in_channel", "missing_scope"}:
                raise
            # We may post here but not read. A question that nobody sees is worse than one that is posted twice.
            extra = {"action": "cannot_look", "ask_id": ask.id, "code": error.code}
            logger.warning("Cannot check whether the ask was posted: %s", error, extra=extra)
            return ref
        # At revision 1 the message still shows its first content.
        since = parse.seconds_from_ts(ts) if ts and ask.revision == 1 else None
        return replace(ref, ts=ts, since=since)

    async def _posted(self, ask: Ask, ref: MessageRef) -> AsyncGenerator[str]:
        """Yield the messages that posts at ``ref`` left, and that are not known to be the ask's: each one's ts."""
        place, known = Conversation(ref.channel, ref.thread), _known_ts(ask)
        async for message in messages_between(self.calls, place, *_post_time_range(ask, ref)):
            if event_payload(message, ASK_EVENT).get("ask_id") == ask.id:
                ts = str(message.get("ts"))
                if ts != ref.ts and ts not in known:
                    yield ts

    async def remove_doubles(self, ask: Ask, ref: MessageRef) -> MessageRef:
        if ref.repeated is None:
            return ref
        try:
            for ts in [each async for each in self._posted(ask, ref)]:
                await delete_message(self.calls, ref.channel, ts)
        except (DestinationGoneError, UnauthorizedError, HistoryTooLongError) as error:
            # A click on the second message, if there is one, removes it.
            extra = {"action": "cannot_look", "ask_id": ask.id, "code": error.code}
            logger.warning("Cannot check whether the ask was posted twice: %s", error, extra=extra)
        is_over = self.now() > ref.repeated + _SKEW_SECONDS
        return replace(ref, at=None, repeated=None) if is_over else ref

    def raise_if_limited(self, ref: MessageRef) -> None:
        if ref.ts is None:
            self.calls.raise_if_limited("chat.postMessage", ref.channel)
        else:
            self.calls.raise_if_limited("chat.update")

    async def render(self, ask: Ask) -> Message:
        has_files = bool(ask.request.files)
        return await self._render(ask, await self.pictures.upload(ask) if has_files else {})

    async def _render(self, ask: Ask, pictures: Mapping[str, str]) -> Message:
        view, names = await self.names.name_all(self._view(ask))
        selected = await self.selections.load(ask) if ask.asides else None
        return render(
            view,
            self.labels,
            names,
            selected,
            collapse_long_records=self._containers.is_on,
            pictures=pictures,
        )

    def minimal_payload(self, ask: Ask) -> Message:
        return Message(fallback_text(self._view(ask), self.labels), [])

    def _view(self, ask: Ask) -> View:
        view = view_of(ask, self.labels)
        # In a direct message it goes without saying who may answer.
        direct = (ask.placement.destination.channel or "").startswith(
            "D"
        ) and ANYONE in view.responders
        return view._replace(responders=()) if direct else view

    async def post(self, ask: Ask, ref: MessageRef, payload: Message) -> MessageRef:
        event = {"ask_id": ask.id, "revision": ask.revision}

        async def send(message: Message) -> str:
            return await self._post(ref.channel, ref.thread, message, ASK_EVENT, event)

        ts = await self._try_send(ask, payload, send)
        files = tuple(payload.pictures.items())
        return replace(ref, ts=ts, since=parse.seconds_from_ts(ts), files=files)

    async def edit(self, ask: Ask, ref: MessageRef, payload: Message) -> MessageRef | Uneditable:
        try:
            edited = await self._try_send(
                ask, payload, lambda message: self._replace_blocks(ref, message)
            )
            if ask.erased_at is not None and ref.files:
                await self.pictures.delete(ask)
            files = tuple(payload.pictures.items())
            return edited if files == ref.files else replace(edited, files=files)
        except DestinationGoneError as error:
            if error.code not in errors.UNEDITABLE_CODES:
                raise
            return Uneditable.DELETED if error.code == errors.MESSAGE_DELETED else Uneditable.FROZEN

    async def _try_send(
        self, ask: Ask, message: Message, send: Callable[[Message], Awaitable[T]]
    ) -> T:
        """Send a message; if Slack rejects its collapsed parts, or pictures, render and send it again without them."""
        if message.shows_pictures:
            sent = await self._try_send_pictures(message, send)
            if sent is not None:
                return sent
            message = await self._render(ask, {})
        try:
            return await send(message)
        except PayloadRejectedError as error:
            collapsed = message.has_collapsed_parts
            if not (collapsed and self._containers.turn_off_if_unsupported(error)):
                raise
        return await send(await self.render(ask))

    async def _try_send_pictures(
        self, message: Message, send: Callable[[Message], Awaitable[T]]
    ) -> T | None:
        """Send a message with pictures; None if Slack rejects it, as it does until it has processed the uploads."""
        for pause in (*_PROCESSING, None):
            try:
                return await send(message)
            except PayloadRejectedError as error:
                if pause is None:
                    logger.warning("Slack does not show pictures, so they are named: %s", error)
                    return None
            await asyncio.sleep(pause)
        return None

    async def _replace_blocks(self, ref: MessageRef, message: Message) -> MessageRef:
        """Edit the message; if Slack refuses to replace rich text with other blocks, include rich text."""
        if self._replacing.is_on:
            try:
                return await self._update(ref, message)
            except DestinationGoneError as error:
                has_rich_text = message.with_rich_text() is message
                if has_rich_text or not self._replacing.turn_off_if_unsupported(error):
                    raise
        return await self._update(ref, message.with_rich_text())

    async def replacement_ref(self, ask: Ask, ref: MessageRef) -> MessageRef:
        earlier = [*dict.fromkeys((*ref.earlier, ref.ts or ""))][-_MAX_EARLIER:]
        return replace(
            ref, ts=None, replaced_ts=ref.ts, since=None, at=None, repeated=None,
            earlier=ref.earlier if ref.thread else tuple(earlier),
        )  # fmt: skip

    async def remove_replaced(self, ask: Ask, ref: MessageRef) -> MessageRef:
        if ref.replaced_ts is None:
            return ref
        try:
            await delete_message(self.calls, ref.channel, ref.replaced_ts)
        except PlatformError as error:
            extra = {"action": "old_message_stays", "ask_id": ask.id, "code": error.code}
            logger.warning("Cannot delete a replaced message: %s", error, extra=extra)
        return replace(ref, replaced_ts=None)

    async def complete(self, ask: Ask, ref: MessageRef, save: Save) -> MessageRef:
        if (
            ask.placement.thread is not None
            and ask.placement.thread.url
            and ref.ts == _stored_ts(ask)
        ):
            return replace(ref, url=ask.placement.thread.url)
        await save(self.shown(ref, ask.revision))
        return replace(ref, url=await self._permalink(ref))

    # --- reminders, and messages left behind -----------------------------------------------------

    async def post_reminder(self, ask: Ask, ref: MessageRef, number: int) -> None:
        url = await self._url(ask, ref)
        message = private_notes.reminder(ask, number, url, self.labels)
        payload = {"ask_id": ask.id, "number": number}
        await self._post(ref.channel, ref.thread or ref.ts, message, REMINDER_EVENT, payload)

    async def reminders(self, ask: Ask, ref: MessageRef) -> AsyncIterator[tuple[str, int]]:
        since = f"{ask.created_at - _SKEW_SECONDS:.6f}"
        for parent in dict.fromkeys((*ref.earlier, ref.thread or ref.ts)):
            place = Conversation(ref.channel, parent)
            try:
                async for message in messages_between(self.calls, place, since):
                    payload = event_payload(message, REMINDER_EVENT)
                    if payload.get("ask_id") == ask.id:
                        yield str(message.get("ts")), int(str(payload.get("number")))
            except DestinationGoneError as error:
                # A thread without replies is gone with its parent.
                if parent not in ref.earlier or error.code != errors.THREAD_NOT_FOUND:
                    raise

    async def close_reminder(self, ask: Ask, ref: MessageRef, reminder: str) -> None:
        url = await self._url(ask, ref)
        view, _ = await self.names.name_all(view_of(ask))
        ending = people_text.ending_mrkdwn(view, self.labels)
        closed = Message(f"{ending} <{url}>" if url else ending, [])
        await self._update(replace(ref, ts=reminder), closed)

    async def show_moved_note(self, ref: MessageRef, to: Destination) -> float | None:
        text, block = people_text.moved_note(to, self.labels)
        edited = await self._replace_blocks(replace(ref, since=None), Message(text, [block]))
        return edited.since

    async def _url(self, ask: Ask, ref: MessageRef) -> str | None:
        return (
            ref.url
            or (ask.placement.thread.url if ask.placement.thread else None)
            or await self._permalink(ref)
        )

    # --- calls -----------------------------------------------------------------------------------

    async def _post(
        self, channel: str, thread: str | None, message: Message, event: str, payload: _EventPayload
    ) -> str:
        answer = await self.calls.call(
            self.calls.client.chat_postMessage,
            channel=channel,
            thread_ts=thread,
            text=message.text,
            blocks=message.blocks or None,
            metadata={"event_type": event, "event_payload": dict(payload)},
            unfurl_links=False,
            unfurl_media=False,
        )
        return str(answer.get("ts") or "")

    async def _update(self, ref: MessageRef, message: Message) -> MessageRef:
        client = self.calls.client
        # An empty list removes the previous blocks. Not `chat_update`, which inspects every block for model objects.
        text, blocks = message.text, message.blocks
        body = {"channel": ref.channel, "ts": ref.ts, "text": text, "blocks": blocks}
        call = partial(client.api_call, "chat.update", json=body)
        answer = await self.calls.send("chat.update", call)
        edited = parse.latest_edit_time(object_of(answer.get("message")))
        return replace(ref, since=ref.since or edited)

    async def _permalink(self, ref: MessageRef) -> str | None:
        """Fetch a link to the message; None if that fails, as the ask can be shown without one."""
        method, ts = self.calls.client.chat_getPermalink, ref.ts or ""
        try:
            answer = await self.calls.call(method, channel=ref.channel, message_ts=ts)
        except PlatformError as error:
            extra = {"action": "no_permalink", "code": error.code}
            logger.warning("Could not get the link to a message: %s", error, extra=extra)
            return None
        return str(answer.get("permalink") or "") or None


async def delete_message(calls: SlackApi, channel: str, ts: str) -> None:
    """Delete one of our messages; one that is gone already is no error.

    Raises:
        PlatformError: it could not be deleted.
    """
    try:
        await calls.call(calls.client.chat_delete, channel=channel, ts=ts)
    except PlatformError as error:
        if error.code != errors.MESSAGE_DELETED:
            raise


def is_double(ask: Ask, ts: str) -> bool:
    """Return True if a message that shows an ask is none of the messages that the ask is known to have.

    Until the ts of the live message is known, any message may be the live one.
    """
    live = ask.placement.message
    if live is not None and live.get("ts") == ts:
        return False  # as with almost every click
    ref = MessageRef.from_stored(live)
    is_known = (
        ask.placement.destination.surface == "slack" and ref is not None and ref.ts is not None
    )
    return is_known and ts not in _known_ts(ask)


def _known_ts(ask: Ask) -> frozenset[JsonValue]:
    return frozenset(each.get("ts") for each in known_messages(ask))


def may_be_message_of(ask: Ask, ts: str, parent: str) -> bool:
    """Return True if the message with this ts may be the ask's own, whose post was started but is not confirmed yet.

    ``parent`` is the ts of its thread's first message, or its own.
    """
    ref = MessageRef.from_stored(ask.placement.message)
    if ref is None or ref.ts is not None or (ref.thread or ts) != parent:
        return False
    oldest, latest = _post_time_range(ask, ref)
    return oldest < ts and (latest is None or ts < latest)


def _stored_ts(ask: Ask) -> str | None:
    """The ts of the message that the ask's stored permalink leads to."""
    ref = MessageRef.from_stored(ask.placement.message)
    return ref.ts if ref else None


def _post_time_range(ask: Ask, ref: MessageRef) -> tuple[str, str | None]:
    """The time range in which the message was posted, if it was: never before the message that it replaces."""
    since = (ask.created_at if ref.at is None else ref.at) - _SKEW_SECONDS
    last = ref.at if ref.repeated is None else ref.repeated
    until = None if last is None else f"{last + _SKEW_SECONDS:.6f}"
    oldest = f"{since:.6f}"
    return max(oldest, ref.replaced_ts or oldest), until
