"""Post and edit an ask's live message in Discord, its thread and its reminders: the calls that `LiveMessages` orders.

Owns how a message is found again: Discord's nonce is only valid for minutes, so the messages posted since are read.
For those minutes it prevents a second message, except in a forum, whose posts have none.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Destination, Thread
from answerback.core.errors import (
    DestinationGoneError,
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    UnauthorizedError,
)
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.surface import RetryLater, Shown
from answerback.presentation import wording
from answerback_chat.bot_identity import BotIdentity
from answerback_chat.control_codec import object_of, objects_of
from answerback_chat.live_message import (
    SINCE,
    JsonMessages,
    Save,
    Uneditable,
    known_messages,
    may_have_succeeded,
)
from answerback_discord import limits, parse, people_text, private_notes, render
from answerback_discord.api_client import DiscordApi, Upload
from answerback_discord.channels import ChannelDirectory, ChannelKind, Place
from answerback_discord.components import Json
from answerback_discord.errors import ErrorCode, has_code
from answerback_discord.markdown_text import fit_line
from answerback_discord.option_controls import ListState
from answerback_discord.pending_edits import PendingEdits
from answerback_discord.pictures import STORED, Named, Pictures

logger = logging.getLogger(__name__)

T = TypeVar("T")
GetListState = Callable[[Ask], Awaitable[ListState | None]]

_MAX_CLOCK_SKEW_MS: Final = 120_000
MAX_PAGES: Final = 5
"""Maximum number of pages to read to find one of our messages."""
_QUESTION_BUDGET: Final = 300
"""Units of the question in a reminder."""
_SHOWS: Final = "shows"
"""The key, in the reference of a message that still lacks its thread, of the ask's state that the message shows."""
_EARLIER: Final = "earlier"
"""The key, in a reference, of those of the messages that were deleted; reminders stay in their threads."""
_MAX_EARLIER: Final = 5
"""Maximum number of deleted messages whose threads are searched for reminders."""
_REPEATED: Final = "repeated"
"""The key, in the reference of a post in a forum, of whether an earlier attempt has an unknown result."""


@dataclass(eq=False)
class Posting(JsonMessages):
    """Posts and edits live messages on Discord.

    Args:
        get_list_state: returns the current state of the menu of an ask's multi-select.
        pending_edits: the interaction responses that may also change a live message.
        require_reachable_responders: refuses responders who certainly do not exist in a server.
        now: seconds since the epoch.
        pictures: what is posted with them.
    """

    platform = "Discord"
    unstored = frozenset({SINCE, _SHOWS})

    calls: DiscordApi
    channels: ChannelDirectory
    labels: Labels
    identity: BotIdentity
    get_list_state: GetListState
    pending_edits: PendingEdits
    require_reachable_responders: Callable[[Sequence[str], str], Awaitable[None]]
    now: Callable[[], float]
    pictures: Pictures

    def thread(self, ref: Json) -> Thread:
        channel, thread = ref.get("parent") or ref["channel"], ref.get("thread")
        return Thread(
            channel=str(channel),
            id=str(thread) if thread else None,
            url=private_notes.message_url(ref) if "id" in ref else None,
        )

    def mark_pending(self, ref: Json, *, again: bool) -> Json:
        return ref | {_REPEATED: True} if again and ref["kind"] == ChannelKind.FORUM else ref

    def clear_pending(self, ref: Json) -> Json:
        return ref if _EARLIER in ref else {}

    # --- the message -----------------------------------------------------------------------------

    async def choose_place(self, ask: Ask) -> Json:
        place = await self.channels.resolve_destination(ask.placement.destination)
        if place.guild is not None:
            await self.require_reachable_responders(ask.placement.responders, place.guild)
        return _pending_ref(place, self.now())

    async def find(self, ask: Ask, ref: Json) -> Json:
        message_id = await anext(self._posted(ask, ref), None)
        if message_id is None:
            return ref
        ref = ref | {"id": message_id}
        if ref["kind"] == ChannelKind.FORUM:
            ref |= {"channel": message_id, "thread": message_id}
        # At the first revision, the message still shows its first content.
        return ref | _since({"id": message_id}) if ask.revision == 1 else ref

    async def is_current(self, ask: Ask, ref: Json) -> bool | RetryLater:
        # The responses to clicks count too: a late one may undo an edit.
        if ref.get(_SHOWS) == [*ask.rendered_state]:
            return True
        ref.pop(SINCE, None)
        updated_at = await self.pending_edits.updated_at(ask)
        seconds = self.pending_edits.seconds_unconfirmed(ask)
        if seconds > 0:
            return RetryLater(seconds)
        if updated_at is None:
            return False
        ref[SINCE] = updated_at
        return True

    def raise_if_limited(self, ref: Json) -> None:
        self.calls.raise_if_limited(
            *(_edit_request(ref) if self.is_posted(ref) else _post_request(ref))
        )

    async def render(self, ask: Ask) -> Json:
        return await self._render(ask, self.pictures.to_show(ask))

    async def _render(self, ask: Ask, pictures: Named) -> Json:
        view, state = view_of(ask, self.labels), await self.get_list_state(ask)
        return render.message(view, self.labels, state, pictures)

    def minimal_payload(self, ask: Ask) -> Json:
        return render.plain(view_of(ask, self.labels), self.labels)

    def is_defect(self, error: PayloadRejectedError) -> bool:
        return has_code(error, ErrorCode.INVALID_FORM)

    async def post(self, ask: Ask, ref: Json, payload: Json) -> Json:
        if not render.shows_pictures(payload):
            return await self._post(ask, ref, payload, ())
        named = self.pictures.to_show(ask)
        try:
            sent = await self._post(ask, ref, payload, await self.pictures.read(ask, named))
        except RateLimitedError:
            raise
        except PlatformError as error:
            self.pictures.note_failure(ask)
            extra = {"action": "picture_failed", "ask_id": ask.id, "code": error.code}
            logger.warning("Pictures are not shown, only named: %s", error, extra=extra)
            if may_have_succeeded(error):
                raise
            return await self._post(ask, ref, await self._render(ask, {}), ())
        return sent | {STORED: [*named]}

    async def _post(self, ask: Ask, ref: Json, payload: Json, uploads: Sequence[Upload]) -> Json:
        method, path = _post_request(ref)
        if ask.request.mention:
            payload = payload | {
                "allowed_mentions": people_text.allowed_mentions(ask.placement.responders)
            }
        if ref["kind"] == ChannelKind.FORUM:
            body = thread_of(ask) | {"message": payload}
            sent = await self.calls.request(method, path, body, uploads=uploads)
            thread = _id_of(sent)
            first: Json = {"id": thread}  # the first message of a post has the post's id
            return ref | {"channel": thread, "thread": thread, "id": thread} | _since(first)
        once: Json = {"nonce": _nonce(ask.id, ref), "enforce_nonce": True}
        sent = await self._in_open_thread(
            str(ref["channel"]), method, path, payload | once, uploads
        )
        return ref | {"id": _id_of(sent)} | _since(sent)

    async def edit(self, ask: Ask, ref: Json, payload: Json) -> Json | Uneditable:
        if ask.erased_at is not None and STORED in ref:
            payload = payload | {"attachments": []}
        try:
            sent = await self._in_open_thread(str(ref["channel"]), *_edit_request(ref), payload)
        except PlatformError as error:
            if has_code(error, ErrorCode.UNKNOWN_MESSAGE):
                return Uneditable.DELETED
            raise
        finally:
            self.pending_edits.record_edit(ask)
        return _since(sent) | ref

    async def replacement_ref(self, ask: Ask, ref: Json) -> Json:
        gone: Json = {key: value for key, value in ref.items() if key != _EARLIER}
        earlier: list[JsonValue] = [*objects_of(ref.get(_EARLIER)), gone]
        return await super().replacement_ref(ask, ref) | {_EARLIER: earlier[-_MAX_EARLIER:]}

    async def complete(self, ask: Ask, ref: Json, save: Save) -> Json:
        """Create the message's thread, if it is in a channel and has none yet."""
        if ref.get("kind") != ChannelKind.CHANNEL or "thread" in ref or not ask.open:
            return ref
        # The message exists and shows this state, so it is neither posted nor edited again, whatever happens
        # to its thread.
        ref = ref | {_SHOWS: [*ask.rendered_state]}
        await save(Shown(ask.placement.shown_revision, ref, self.thread(ref)))
        path = f"/channels/{ref['channel']}/messages/{ref['id']}/threads"
        thread: JsonValue = ref["id"]  # a thread created from a message has the message's id
        try:
            await self.calls.request("POST", path, thread_of(ask))
        except (RateLimitedError, PlatformUnavailableError):
            raise
        except PlatformError as error:
            if has_code(error, ErrorCode.UNKNOWN_MESSAGE):
                again = await self.post_recoverably(ask, await self.replacement_ref(ask, ref), save)
                return await self.complete(ask, again, save)
            if not has_code(error, ErrorCode.THREAD_EXISTS):
                log = {"action": "thread_missing", "ask_id": ask.id, "code": error.code}
                logger.warning(
                    "The ask stays in the channel without a thread: %s", error, extra=log
                )
                thread = None
        ref = ref | {"thread": thread}
        await save(Shown(ask.placement.shown_revision, ref, self.thread(ref)))
        return ref

    async def remove_doubles(self, ask: Ask, ref: Json) -> Json:
        if _REPEATED not in ref:
            return ref
        known = {each.get("id") for each in known_messages(ask)}
        for thread in [each async for each in self._posted(ask, ref)]:
            if thread == ref["id"] or thread in known:
                continue
            try:
                # Without a permission to delete the post itself, its message can be deleted, and it can be closed.
                await self.calls.request("DELETE", f"/channels/{thread}/messages/{thread}")
                await self.calls.request("PATCH", f"/channels/{thread}", {"archived": True})
            except (DestinationGoneError, PayloadRejectedError, UnauthorizedError) as error:
                extra = {"action": "old_message_stays", "ask_id": ask.id, "code": error.code}
                logger.warning("Cannot remove a second post: %s", error, extra=extra)
        return ref

    # --- reminders and moved messages ------------------------------------------------------------

    async def post_reminder(self, ask: Ask, ref: Json, number: int) -> None:
        recipients, text = wording.reminder(ask, number, self.labels)
        listed = [who for who in recipients if who != ANYONE][: people_text.MOST_NOTIFIED]
        view = view_of(ask, self.labels)
        about = fit_line(wording.subject(view, self.labels), _QUESTION_BUDGET)
        message = f"{text}\n{about}"
        body: Json = {
            "content": private_notes.reminder(listed, message, private_notes.message_url(ref)),
            "allowed_mentions": people_text.allowed_mentions(listed),
            "nonce": _nonce(f"{ask.id}:reminder:{number}", ref),
            "enforce_nonce": True,
        }
        await self._in_thread(
            ref, lambda where: self.calls.request("POST", f"/channels/{where}/messages", body)
        )

    async def reminders(self, ask: Ask, ref: Json) -> AsyncIterator[tuple[str, int]]:
        """Yield the bot's messages in the threads that end with the URL of one of the ask's messages."""
        earlier = objects_of(ref.get(_EARLIER))
        urls = tuple(private_notes.message_url(each) for each in (*earlier, ref))
        found = [each for gone in earlier for each in await self._ours_below(gone, is_gone=True)]
        found += await self._ours_below(ref)
        reminders = (each for each in found if str(each.get("content")).endswith(urls))
        # Several messages of an ask may be in one thread.
        paths = dict.fromkeys(f"{each['channel_id']}/messages/{each['id']}" for each in reminders)
        for number, path in enumerate(paths):
            yield path, number

    async def _ours_below(self, ref: Json, *, is_gone: bool = False) -> list[Json]:
        """Return the bot's messages in a message's thread.

        Args:
            is_gone: whether the message was deleted: the place of its thread may be gone, too.
        """
        try:
            return await self._in_thread(ref, lambda where: self._list_ours(where, str(ref["id"])))
        except DestinationGoneError:
            if is_gone:
                return []
            raise

    async def close_reminder(self, ask: Ask, ref: Json, reminder: str) -> None:
        ending = wording.ending_with_person(view_of(ask), self.labels, people_text.MARKS)
        content = f"{ending} {private_notes.message_url(ref)}"
        body: Json = {"content": content, "allowed_mentions": {"parse": []}}
        channel, _, _ = reminder.partition("/")
        await self._in_open_thread(channel, "PATCH", f"/channels/{reminder}", body)

    async def show_moved_note(self, ref: Json, to: Destination) -> float | None:
        body = private_notes.moved_message(to, self.labels)
        edited = await self._in_open_thread(str(ref["channel"]), *_edit_request(ref), body)
        return parse.changed_at(edited) if isinstance(edited, dict) else None

    async def _in_thread(self, ref: Json, work: Callable[[str], Awaitable[T]]) -> T:
        """Run ``work`` with a message's thread, or with its channel if the thread was deleted."""
        where = str(ref.get("thread") or ref["channel"])
        try:
            return await work(where)
        except DestinationGoneError:
            if where == ref["channel"]:
                raise
            return await work(str(ref["channel"]))

    async def _in_open_thread(
        self, channel: str, method: str, path: str, body: Json, uploads: Sequence[Upload] = ()
    ) -> JsonValue:
        """Send a request to a channel; if it is an archived thread, reopen it and try again."""
        try:
            return await self.calls.request(method, path, body, uploads=uploads)
        except PlatformError as error:
            if not has_code(error, ErrorCode.THREAD_ARCHIVED):
                raise
        await self.channels.unarchive(channel)
        return await self.calls.request(method, path, body, uploads=uploads)

    # --- finding ---------------------------------------------------------------------------------

    async def _posted(self, ask: Ask, ref: Json) -> AsyncGenerator[str]:
        """Yield the messages that earlier attempts may have posted; Discord's nonce is only valid for minutes."""
        if ref["kind"] != ChannelKind.FORUM:
            channel, since = str(ref["channel"]), str(ref["since"])
            async for message in self._ours(channel, since):
                if self._is_of(ask, message):
                    yield str(message["id"])
            return
        active = await self.calls.get(f"/guilds/{ref['guild']}/threads/active")
        for thread in objects_of(object_of(active).get("threads")):
            thread_id = str(thread.get("id"))
            is_recent = int(thread_id) > int(str(ref["since"]))
            if thread.get("parent_id") == ref["parent"] and is_recent:
                try:
                    first = await self.calls.get(f"/channels/{thread_id}/messages/{thread_id}")
                except DestinationGoneError:  # a post stays without its first message
                    continue
                if self._is_ours(object_of(first)) and self._is_of(ask, object_of(first)):
                    yield thread_id

    async def _ours(self, channel: str, after: str) -> AsyncIterator[Json]:
        """Iterate over our own messages in a channel after one of its messages, up to `MAX_PAGES` pages."""
        for _ in range(MAX_PAGES):
            page = await self.calls.messages_after(channel, after)
            for message in page:
                if self._is_ours(message):
                    yield message
            if len(page) < limits.MESSAGES_PER_PAGE:
                return
            after = max((str(message["id"]) for message in page), key=int)

    def _is_ours(self, message: Json) -> bool:
        return object_of(message.get("author")).get("id") == self.identity.bot_user

    @staticmethod
    def _is_of(ask: Ask, message: Json) -> bool:
        control = parse.live_message_control(message)
        return control is not None and control.ask_id == ask.id

    async def _list_ours(self, channel: str, after: str) -> list[Json]:
        return [message async for message in self._ours(channel, after)]


def earlier_ids(message: Mapping[str, JsonValue] | None) -> Sequence[str]:
    """Return the ids of the deleted messages that an ask's live message replaces."""
    return [str(each["id"]) for each in objects_of((message or {}).get(_EARLIER))]


def thread_of(ask: Ask) -> Json:
    """Return the fields of the request that creates an ask's thread."""
    first = ask.form.questions[0]
    name = fit_line(first.header or first.text, limits.THREAD_NAME)
    return {"name": name, "auto_archive_duration": limits.THREAD_MINUTES}


def _pending_ref(place: Place, now: float) -> Json:
    """The reference before the post: the place, and the id from which on to look for the message."""
    since = (int(now * 1000) - _MAX_CLOCK_SKEW_MS - limits.EPOCH_MS) << 22
    ref: Json = {
        "kind": str(place.kind),
        "channel": place.id,
        "parent": place.id if place.kind is ChannelKind.FORUM else place.parent,
        "guild": place.guild,
        "since": str(since),
    }
    return ref | {"thread": place.id} if place.kind is ChannelKind.THREAD else ref


def _since(sent: JsonValue) -> Json:
    """Return when Discord last changed the message, from its response, as a field of a reference."""
    return {SINCE: parse.changed_at(sent)} if isinstance(sent, dict) else {}


def _nonce(what: str, message: Mapping[str, JsonValue]) -> str:
    """The nonce of one post of one ask, the same for every attempt."""
    text = f"{what}:{message.get('channel')}:{message.get('since')}"
    return hashlib.blake2b(text.encode()).hexdigest()[: limits.NONCE]


def _post_request(ref: Json) -> tuple[str, str]:
    """The method and path of the request that posts a message."""
    if ref["kind"] == ChannelKind.FORUM:
        return "POST", f"/channels/{ref['parent']}/threads"
    return "POST", f"/channels/{ref['channel']}/messages"


def _edit_request(ref: Json) -> tuple[str, str]:
    """The method and path of the request that edits a message."""
    return "PATCH", f"/channels/{ref['channel']}/messages/{ref['id']}"


def _id_of(sent: JsonValue) -> str:
    if not isinstance(sent, dict) or not isinstance(sent.get("id"), str):
        raise PlatformUnavailableError("Discord's response to a post had no message id.")
    return str(sent["id"])
