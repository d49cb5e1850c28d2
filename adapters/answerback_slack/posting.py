"""Keeps one live message an ask: posted once, edited in place, found again after a crash, replaced when it is gone.

Owns what is said to Slack about an ask unasked: the live message, reminders, the note at a place that an
ask left. A post is preceded by a mark in the store, which is taken back where Slack says that nothing was posted.
With a mark and no message, what was said around its time is searched for our metadata before anything is posted
again, because Slack has no idempotency key (https://docs.slack.dev/reference/methods/chat.postMessage).
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination, Thread
from answerback.core.errors import (
    GoneError,
    PlatformError,
    RefusedError,
    UnauthorizedError,
    UnavailableError,
)
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.surface import Shown
from answerback_chat import texts
from answerback_slack import errors, lines, parse
from answerback_slack.blocks import Block, escape, escape_within, section
from answerback_slack.calls import Calls
from answerback_slack.history import History, TooMuchSaidError, has, objects
from answerback_slack.lines import NAME_ROOM
from answerback_slack.render import Message, render

logger = logging.getLogger(__name__)

Save = Callable[[Shown], Awaitable[None]]

ASK_EVENT: Final = "answerback_ask"
REMINDER_EVENT: Final = "answerback_reminder"
_ID: Final = re.compile(r"(?:[UW]|@S)[A-Z0-9]{1,30}")
_MOST_REMINDED: Final = 40
"""A reminder is one message however many may answer: Slack makes several of a longer text."""
_REMINDER_ROOM: Final = 2_000
"""Units of a reminder's words: names and the link have the rest of `limits.MESSAGE_TEXT`."""
_MOST_DIRECT: Final = 1_000
_MOST_UNSENT: Final = 1_000
_SKEW_SECONDS: Final = 300
"""How far Slack's clock and ours may differ when a message is looked for by the time of its post."""


@dataclass(frozen=True, slots=True)
class Ref:
    """Where the live message is, or (without ``ts``) where it is about to be posted."""

    channel: str
    ts: str | None = None
    thread: str | None = None
    """The parent's ts where the ask was given a thread; None: the message starts its own."""
    at: float | None = None
    """When it was about to be posted, while that is all that is known."""
    dead: str | None = None
    """The ts of the message that this one replaces, which is still to be seen perhaps."""
    since: float | None = None
    """Since when it surely shows what it was made to show just now, by Slack's clock; not kept."""

    @classmethod
    def read(cls, stored: Mapping[str, JsonValue] | None) -> Ref | None:
        """What is kept with an ask."""
        channel = (stored or {}).get("channel")
        if stored is None or not isinstance(channel, str):
            return None
        ts, thread, at, dead = (stored.get(key) for key in ("ts", "thread", "at", "dead"))
        return cls(
            channel,
            ts if isinstance(ts, str) else None,
            thread if isinstance(thread, str) else None,
            float(at) if isinstance(at, (int, float)) else None,
            dead if isinstance(dead, str) else None,
        )

    def kept(self) -> dict[str, JsonValue]:
        """What to keep with the ask."""
        marked = {"at": self.at, "dead": self.dead} if self.ts is None else {}
        return {"channel": self.channel, "ts": self.ts, "thread": self.thread, **marked}

    def shown(self, revision: int, url: str | None) -> Shown:
        """What the store is told."""
        thread = Thread(channel=self.channel, id=self.thread or self.ts, url=url)
        return Shown(revision, self.kept(), thread, self.since)


class Posting:
    """Says to Slack what is stored."""

    def __init__(self, calls: Calls, labels: Labels) -> None:
        self._calls = calls
        self._labels = labels
        self._history = History(calls)
        self._unsent: set[tuple[str, int]] = set()
        """Reminders of which Slack said that they were not posted: nothing is searched for them."""
        self._direct: dict[str, str] = {}
        """The conversations with people that were opened last: a post that has to wait does not open them again."""

    async def show(self, ask: Ask, save: Save) -> Shown:
        """See `answerback.ports.surface.Surface.show`."""
        ref = Ref.read(ask.message)
        if ref is None:
            ref = await self._place(ask.destination)
        elif ref.ts is None:
            ref = await self._found(ask, ref)
        url = ask.thread.url if ask.thread else None
        if ref.ts is None and not ask.open:
            return ref.shown(ask.revision, url)  # nobody has seen it, and nobody has to
        if ref.ts is None:
            self._calls.demand("chat.postMessage", ref.channel)
        message = render(view_of(ask), self._labels)
        if ref.ts is not None:
            updated = await self._updated(ask, ref, message)
            if updated is None:
                ref, url = replace(ref, ts=None, dead=ref.ts), None
                self._calls.demand("chat.postMessage", ref.channel)
            else:
                ref = updated
        if ref.ts is None:
            ref = await self._first_post(ask, ref, message, save)
        if ask.reminded and not ask.open:
            await self._settle_reminders(ask, ref)
        return ref.shown(ask.revision, url or await self._permalink(ref))

    async def remind(self, ask: Ask, number: int) -> None:
        """See `answerback.ports.surface.Reminds.remind`."""
        ref = Ref.read(ask.message)
        if ref is None or ref.ts is None:
            raise UnavailableError("The question is not shown yet, so nobody can be reminded of it")
        thread = ref.thread or ref.ts
        event: dict[str, JsonValue] = {"ask_id": ask.id, "number": number}
        searched = _since(ask), REMINDER_EVENT, event
        unsent = (ask.id, number) in self._unsent
        self._unsent.discard((ask.id, number))
        if not unsent and await self._search(ref.channel, thread, *searched):
            return
        message = await self._with_link(reminder(ask, self._labels), ask, ref)
        metadata = {"event_type": REMINDER_EVENT, "event_payload": event}
        try:
            await self._post(ref.channel, thread, message, metadata)
        except PlatformError as error:
            if not errors.may_be_done(error) and len(self._unsent) < _MOST_UNSENT:
                self._unsent.add((ask.id, number))
            raise

    async def _settle_reminders(self, ask: Ask, ref: Ref) -> None:
        """Edits the reminders of an ask that is over: nobody is waited for any more."""
        thread = ref.thread or ref.ts
        found = self._history.said(ref.channel, thread, _since(ask))
        over = await self._with_link(lines.ending(view_of(ask), self._labels), ask, ref)
        try:
            reminders = [m async for m in found if has(m, REMINDER_EVENT, {"ask_id": ask.id})]
            for reminder in reminders:
                await self._update(replace(ref, ts=str(reminder.get("ts"))), over)
        except (GoneError, UnauthorizedError, TooMuchSaidError) as error:
            extra = {"action": "reminders_stay", "ask_id": ask.id, "code": error.code}
            logger.warning(
                "Reminders of an ask that is over stay as they are: %s", error, extra=extra
            )

    async def _with_link(self, text: str, ask: Ask, ref: Ref) -> Message:
        url = (ask.thread.url if ask.thread else None) or await self._permalink(ref)
        return Message(f"{text} <{url}>" if url else text, [])

    async def moved(self, left: Mapping[str, JsonValue], to: Destination) -> None:
        """See `answerback.ports.surface.Moves.moved`."""
        ref = Ref.read(left)
        if ref is None or ref.ts is None:
            return
        text = self._labels.escalated.format(where=place(to))
        await self._update(ref, Message(escape(text), [section(text)]))

    async def _first_post(self, ask: Ask, ref: Ref, message: Message, save: Save) -> Ref:
        ref = replace(ref, at=time.time())
        await save(ref.shown(ask.shown_revision, None))
        try:
            ts = await self._posted(ask, ref, message)
        except PlatformError as error:
            if not errors.may_be_done(error):
                kept = replace(ref, ts=ref.dead).kept() if ref.dead else {}
                await save(Shown(ask.shown_revision, kept, ask.thread or Thread()))
            raise
        ref = replace(ref, ts=ts, since=parse.seconds(ts))
        await save(ref.shown(ask.revision, None))
        return ref

    # --- finding and posting ---------------------------------------------------------------------

    async def _place(self, destination: Destination) -> Ref:
        if destination.user is None:
            return Ref(destination.channel or "", None, destination.thread)
        user = destination.user
        if (known := self._direct.get(user)) is not None:
            return Ref(known, None, destination.thread)
        answer = await self._calls.do(
            "conversations.open", lambda: self._calls.client.conversations_open(users=user)
        )
        channel = answer.get("channel")
        opened = channel.get("id") if isinstance(channel, dict) else None
        while len(self._direct) >= _MOST_DIRECT:
            del self._direct[next(iter(self._direct))]
        self._direct[user] = str(opened or "")
        return Ref(self._direct[user], None, destination.thread)

    async def _found(self, ask: Ask, ref: Ref) -> Ref:
        """The message that an interrupted post may have left behind."""
        try:
            ts = await self._search(
                ref.channel, ref.thread, _around(ask, ref), ASK_EVENT, {"ask_id": ask.id}
            )
        except (GoneError, UnauthorizedError) as error:
            if error.code not in {"not_in_channel", "missing_scope"}:
                raise
            # Posting is allowed here and reading is not. A question that nobody sees is worse than one seen twice.
            extra = {"action": "cannot_look", "ask_id": ask.id, "code": error.code}
            logger.warning("Whether the ask was posted cannot be seen: %s", error, extra=extra)
            return ref
        # At the first revision it shows what it was posted with.
        return replace(ref, ts=ts, since=parse.seconds(ts) if ask.revision == 1 else None)

    async def _search(
        self,
        channel: str,
        thread: str | None,
        between: tuple[str, str | None],
        event: str,
        payload: dict[str, JsonValue],
    ) -> str | None:
        """The ts of our message with this metadata, among all between two moments.

        Raises:
            PlatformError: not all of them could be read, so that nobody knows.
        """
        async for message in self._history.said(channel, thread, between):
            if has(message, event, payload):
                return str(message.get("ts"))
        return None

    async def _updated(self, ask: Ask, ref: Ref, message: Message) -> Ref | None:
        """Edits the message; None where it is not there any more."""
        try:
            return await self._update(ref, message)
        except GoneError as error:
            if error.code not in errors.MESSAGE_GONE:
                raise
            extra = {"action": "message_gone", "ask_id": ask.id, "code": error.code}
            logger.info("The live message is gone; another one is posted", extra=extra)
            return None
        except RefusedError as error:
            self._defect(ask, error)
            return await self._update(ref, Message(message.text, []))

    async def _posted(self, ask: Ask, ref: Ref, message: Message) -> str:
        metadata: dict[str, object] = {
            "event_type": ASK_EVENT,
            "event_payload": {"ask_id": ask.id, "revision": ask.revision},
        }
        try:
            return await self._post(ref.channel, ref.thread, message, metadata)
        except RefusedError as error:
            self._defect(ask, error)
            return await self._post(ref.channel, ref.thread, Message(message.text, []), metadata)

    def _defect(self, ask: Ask, error: RefusedError) -> None:
        extra = {"action": "blocks_refused", "ask_id": ask.id, "code": error.code}
        logger.error(
            "Slack refuses our blocks, which is a defect of Answerback; plain text is shown: %s",
            error, extra=extra,
        )  # fmt: skip

    async def _post(
        self, channel: str, thread: str | None, message: Message, metadata: Mapping[str, object]
    ) -> str:
        client = self._calls.client
        answer = await self._calls.do(
            "chat.postMessage",
            lambda: client.chat_postMessage(
                channel=channel,
                thread_ts=thread,
                text=message.text,
                blocks=message.blocks or None,
                metadata=dict(metadata),
                unfurl_links=False,
                unfurl_media=False,
            ),
            channel,
        )
        return str(answer.get("ts") or "")

    async def _update(self, ref: Ref, message: Message) -> Ref:
        client = self._calls.client
        blocks: list[Block] = message.blocks  # an empty list takes away what was there
        answer = await self._calls.do(
            "chat.update",
            lambda: client.chat_update(
                channel=ref.channel, ts=ref.ts or "", text=message.text, blocks=blocks
            ),
        )
        return replace(ref, since=ref.since or parse.edited_by(objects([answer.get("message")])[0]))

    async def _permalink(self, ref: Ref) -> str | None:
        """A link to the message; without one, the ask is shown all the same."""
        client, ts = self._calls.client, ref.ts or ""
        try:
            answer = await self._calls.do(
                "chat.getPermalink",
                lambda: client.chat_getPermalink(channel=ref.channel, message_ts=ts),
            )
        except PlatformError as error:
            extra = {"action": "no_permalink", "code": error.code}
            logger.warning("A message's link could not be had: %s", error, extra=extra)
            return None
        return str(answer.get("permalink") or "") or None


def mention(responder: str) -> str:
    """A responder as mrkdwn that notifies them: a person, or a user group (``@S…``).

    An id is what the agent says: one that can be none of Slack's is shown as the text that it is.
    """
    if not _ID.fullmatch(responder):
        return escape(texts.shorten(responder, NAME_ROOM))
    return f"<!subteam^{responder[1:]}>" if responder.startswith("@") else f"<@{responder}>"


def reminder(ask: Ask, labels: Labels) -> str:
    """The words of a reminder, as mrkdwn: who is waited for, and by whom."""
    pinged = [who for who in ask.responders if _ID.fullmatch(who)]
    names = " ".join(mentions(pinged, _MOST_REMINDED))
    said = escape_within(labels.reminder.format(label=view_of(ask).label), _REMINDER_ROOM)
    return f"{names} {said}".strip()


def mentions(responders: Sequence[str], most: int) -> list[str]:
    """The first ``most`` responders as `mention` has them, and an ellipsis where there are more."""
    return [*map(mention, responders[:most]), *(["…"] if len(responders) > most else [])]


def may_be(ask: Ask, ts: str) -> bool:
    """Whether the message of this ts may be the ask's, which was posted or is being posted, and is not found yet."""
    ref = Ref.read(ask.message)
    if ref is None or ref.ts is not None or ref.thread is not None:
        return False
    oldest, latest = _around(ask, ref)
    return oldest < ts and (latest is None or ts < latest)


def place(destination: Destination) -> str:
    """A destination in words, for people."""
    where = destination.channel or (f"@{destination.user}" if destination.user else "")
    return f"{destination.surface} {where}".strip()


def _since(ask: Ask) -> tuple[str, None]:
    """All that was said since the ask was made."""
    return f"{ask.created_at - _SKEW_SECONDS:.6f}", None


def _around(ask: Ask, ref: Ref) -> tuple[str, str | None]:
    """Between which moments the message was posted, if it was: later than the one that it replaces."""
    since = (ask.created_at if ref.at is None else ref.at) - _SKEW_SECONDS
    until = None if ref.at is None else f"{ref.at + _SKEW_SECONDS:.6f}"
    oldest = f"{since:.6f}"
    return max(oldest, ref.dead or oldest), until
