"""The live message of an ask in Discord, and what is said beside it: the calls that `LiveMessages` puts in order.

Owns what a message is found again by: a nonce holds for minutes only, so what was said since is read.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeVar

from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Destination, Thread
from answerback.core.errors import (
    DestinationGoneError,
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
)
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.surface import RetryLater, Shown
from answerback_chat import wording
from answerback_chat.control_codec import decode
from answerback_chat.live_message import LiveMessages, Save, Uneditable
from answerback_discord import components as c
from answerback_discord import limits, mentions, parse, private_notes, render
from answerback_discord.api_client import DiscordApi, query_after
from answerback_discord.channels import ChannelDirectory, ChannelKind, Place
from answerback_discord.components import Json
from answerback_discord.errors import ErrorCode, has_code
from answerback_discord.markdown_text import fit_line
from answerback_discord.option_controls import ListState
from answerback_discord.pending_edits import PendingEdits

logger = logging.getLogger(__name__)

T = TypeVar("T")
GetListState = Callable[[Ask], Awaitable[ListState | None]]

_CLOCKS_APART_MS: Final = 120_000
_PAGES: Final = 5
"""Pages that are read to find a message of ours."""
_QUESTION_ROOM: Final = 300
"""Units of the question in a reminder."""
_SHOWS: Final = "shows"
"""In the reference of a message that still lacks its thread: the state of the ask that it shows."""
_SINCE: Final = "shows_since"
"""In a reference that is not noted yet: since when the message shows the ask, by Discord's clock."""


class Posting(LiveMessages[Json, Json]):
    """Posts and edits.

    Args:
        look: how the menu of an ask's multi-select looks now.
        answers: what else changes a live message.
        demand_somebody: refuses responders of whom it is certain that they are nobody in a server.
        now: seconds since the epoch.
    """

    def __init__(
        self,
        calls: DiscordApi,
        channels: ChannelDirectory,
        labels: Labels,
        look: GetListState,
        answers: PendingEdits,
        require_reachable_responders: Callable[[Sequence[str], str], Awaitable[None]],
        now: Callable[[], float],
    ) -> None:
        super().__init__("Discord")
        self._calls = calls
        self._channels = channels
        self._labels = labels
        self._look = look
        self._answers = answers
        self._demand_somebody = require_reachable_responders
        self._now = now
        self.bot_id: str | None = None

    # --- what is kept ----------------------------------------------------------------------------

    def parse_ref(self, stored: Mapping[str, JsonValue] | None) -> Json | None:
        """See `LiveMessages.parse_ref`."""
        return dict(stored) if stored else None

    def is_posted(self, ref: Json) -> bool:
        """See `LiveMessages.is_posted`."""
        return isinstance(ref.get("id"), str)

    def mark_pending(self, ref: Json) -> Json:
        """See `LiveMessages.mark_pending`: a place is marked from the moment that it is looked up."""
        return ref

    def shown(self, ref: Json, revision: int) -> Shown:
        """See `LiveMessages.shown`."""
        at = ref.get(_SINCE)
        kept = {key: value for key, value in ref.items() if key not in {_SHOWS, _SINCE}}
        return Shown(revision, kept, _thread(ref), at if isinstance(at, float) else None)

    # --- the message -----------------------------------------------------------------------------

    async def choose_place(self, ask: Ask) -> Json:
        """See `LiveMessages.choose_place`."""
        place = await self._channels.resolve_destination(ask.destination)
        if place.guild is not None:
            await self._demand_somebody(ask.responders, place.guild)
        return _noted(place, self._now())

    async def find(self, ask: Ask, ref: Json) -> Json:
        """See `LiveMessages.find`."""
        found = await self._find(ask, ref)
        if found is None:
            return ref
        ref = ref | {"id": found}
        if ref["kind"] == ChannelKind.FORUM:
            ref |= {"channel": found, "thread": found}
        # At the first revision it shows what it was posted with.
        return ref | _since({"id": found}) if ask.revision == 1 else ref

    async def is_current(self, ask: Ask, ref: Json) -> bool | RetryLater:
        """See `LiveMessages.is_current`: by the answers to clicks, of which one may come late and undo an edit."""
        if ref.get(_SHOWS) == [*ask.rendered_state]:
            return True
        ref.pop(_SINCE, None)
        brought = await self._answers.brought(ask)
        seconds = self._answers.seconds_unconfirmed(ask)
        return RetryLater(seconds) if seconds > 0 else brought

    def raise_if_limited(self, ref: Json) -> None:
        """See `LiveMessages.raise_if_limited`."""
        self._calls.raise_if_limited(*(_edit_of(ref) if self.is_posted(ref) else _post_of(ref)))

    async def render(self, ask: Ask) -> Json:
        """See `LiveMessages.render`."""
        return render.message(view_of(ask), self._labels, await self._look(ask))

    def minimal_payload(self, ask: Ask) -> Json:
        """See `LiveMessages.minimal_payload`."""
        return render.plain(view_of(ask), self._labels)

    def is_defect(self, error: PayloadRejectedError) -> bool:
        """See `LiveMessages.is_defect`."""
        return has_code(error, ErrorCode.INVALID_FORM)

    async def post(self, ask: Ask, ref: Json, payload: Json) -> Json:
        """See `LiveMessages.post`."""
        method, path = _post_of(ref)
        if ask.request.mention:
            payload = payload | {"allowed_mentions": mentions.allowed_mentions(ask.responders)}
        if ref["kind"] == ChannelKind.FORUM:
            sent = await self._calls.request(method, path, thread_of(ask) | {"message": payload})
            thread = _id_of(sent)
            first: Json = {"id": thread}  # a post's first message has the post's id
            return ref | {"channel": thread, "thread": thread, "id": thread} | _since(first)
        once: Json = {"nonce": _nonce(ask.id, ref), "enforce_nonce": True}
        sent = await self._in_open_thread(ref, method, path, payload | once)
        return ref | {"id": _id_of(sent)} | _since(sent)

    async def edit(self, ask: Ask, ref: Json, payload: Json) -> Json | Uneditable:
        """See `LiveMessages.edit`."""
        try:
            sent = await self._in_open_thread(ref, *_edit_of(ref), payload)
        except PlatformError as error:
            if has_code(error, ErrorCode.UNKNOWN_MESSAGE):
                return Uneditable.DELETED
            raise
        finally:
            self._answers.record_edit(ask)
        return _since(sent) | ref

    async def replacement_ref(self, ask: Ask, ref: Json) -> Json:
        """See `LiveMessages.replacement_ref`."""
        return await self.choose_place(ask)

    async def complete(self, ask: Ask, ref: Json, save: Save) -> Json:
        """See `LiveMessages.complete`: a thread of its own, where it stands in a channel and none is there yet."""
        if ref.get("kind") != ChannelKind.CHANNEL or "thread" in ref or not ask.open:
            return ref
        # The message is there, at this state: whatever becomes of its thread, it is neither posted nor
        # edited again for that.
        ref = ref | {_SHOWS: [*ask.rendered_state]}
        await save(Shown(ask.shown_revision, ref, _thread(ref)))
        path = f"/channels/{ref['channel']}/messages/{ref['id']}/threads"
        thread: JsonValue = ref["id"]  # a thread made from a message has its id
        try:
            await self._calls.request("POST", path, thread_of(ask))
        except (RateLimitedError, PlatformUnavailableError):
            raise
        except PlatformError as error:
            if has_code(error, ErrorCode.UNKNOWN_MESSAGE):
                again = await self.post_recoverably(ask, await self.choose_place(ask), save)
                return await self.complete(ask, again, save)
            if not has_code(error, ErrorCode.THREAD_EXISTS):
                log = {"action": "thread_missing", "ask_id": ask.id, "code": error.code}
                logger.warning(
                    "The ask stays in the channel, without a thread: %s", error, extra=log
                )
                thread = None
        made = ref | {"thread": thread}
        await save(Shown(ask.shown_revision, made, _thread(made)))
        return made

    # --- reminders, and what is left behind ------------------------------------------------------

    async def post_reminder(self, ask: Ask, ref: Json, number: int) -> None:
        """See `LiveMessages.post_reminder`."""
        listed = [who for who in ask.responders if who != ANYONE][: mentions.MOST_NOTIFIED]
        view = view_of(ask)
        about = fit_line(wording.reminder_subject(view, self._labels), _QUESTION_ROOM)
        words = f"{self._labels.reminder.format(label=view.label)}\n{about}"
        body: Json = {
            "content": private_notes.reminder(listed, words, private_notes.message_url(ref)),
            "allowed_mentions": mentions.allowed_mentions(listed),
            "nonce": _nonce(f"{ask.id}:reminder:{number}", ref),
            "enforce_nonce": True,
        }
        await self._in_thread(
            ref, lambda where: self._calls.request("POST", f"/channels/{where}/messages", body)
        )

    async def reminders(self, ask: Ask, ref: Json) -> AsyncIterator[tuple[str, int]]:
        """See `LiveMessages.reminders`: they end in the message's address."""
        found = await self._in_thread(ref, lambda where: self._listed(where, str(ref["id"])))
        of_it = [
            one for one in found if str(one.get("content")).endswith(private_notes.message_url(ref))
        ]
        for number, one in enumerate(of_it):
            yield str(one["id"]), number

    async def close_reminder(self, ask: Ask, ref: Json, reminder: str) -> None:
        """See `LiveMessages.close_reminder`."""
        ending = wording.ending_with_person(view_of(ask), self._labels)
        content = private_notes.reminder((), ending, private_notes.message_url(ref))
        body: Json = {"content": content, "allowed_mentions": {"parse": []}}
        await self._in_thread(
            ref,
            lambda where: self._calls.request(
                "PATCH", f"/channels/{where}/messages/{reminder}", body
            ),
        )

    async def show_moved_note(self, ref: Json, to: Destination) -> None:
        """See `LiveMessages.show_moved_note`."""
        body = private_notes.moved_note(private_notes.destination_text(to), self._labels)
        await self._in_open_thread(ref, *_edit_of(ref), body)

    async def _in_thread(self, ref: Json, work: Callable[[str], Awaitable[T]]) -> T:
        """``work`` in a message's thread; in its channel where somebody deleted the thread."""
        where = _where(ref)
        try:
            return await work(where)
        except DestinationGoneError:
            if where == ref["channel"]:
                raise
            return await work(str(ref["channel"]))

    async def _in_open_thread(self, ref: Json, method: str, path: str, body: Json) -> JsonValue:
        """A request to a channel that may be an archived thread, which is opened again."""
        try:
            return await self._calls.request(method, path, body)
        except PlatformError as error:
            if not has_code(error, ErrorCode.THREAD_ARCHIVED):
                raise
        await self._channels.unarchive(str(ref["channel"]))
        return await self._calls.request(method, path, body)

    # --- finding ---------------------------------------------------------------------------------

    async def _find(self, ask: Ask, noted: Json) -> str | None:
        """The message that an earlier try may have posted; Discord's nonce holds for minutes only."""
        if noted["kind"] != ChannelKind.FORUM:
            channel, since = str(noted["channel"]), str(noted["since"])
            async for message in self._ours(channel, since):
                if self._is_of(ask, message):
                    return str(message["id"])
            return None
        active = await self._calls.get(f"/guilds/{noted['guild']}/threads/active")
        threads = _objects(active.get("threads")) if isinstance(active, dict) else []
        for thread in threads:
            number = str(thread.get("id"))
            if thread.get("parent_id") == noted["parent"] and int(number) > int(
                str(noted["since"])
            ):
                first = await self._calls.get(f"/channels/{number}/messages/{number}")
                if isinstance(first, dict) and self._is_ours(first) and self._is_of(ask, first):
                    return number
        return None

    async def _ours(self, channel: str, after: str) -> AsyncIterator[Json]:
        """Our own messages in a channel behind one of its messages, as far as some pages lead."""
        for _ in range(_PAGES):
            query = query_after(after)
            page = _objects(await self._calls.get(f"/channels/{channel}/messages", query))
            for message in page:
                if self._is_ours(message):
                    yield message
            if len(page) < limits.MESSAGES_PER_PAGE:
                return
            after = max((str(message["id"]) for message in page), key=int)

    def _is_ours(self, message: Json) -> bool:
        author = message.get("author")
        return isinstance(author, dict) and author.get("id") == self.bot_id

    @staticmethod
    def _is_of(ask: Ask, message: Json) -> bool:
        controls = (
            decode(part.get("custom_id")) for part in c.iter_components(message.get("components"))
        )
        return any(control is not None and control.ask_id == ask.id for control in controls)

    async def _listed(self, channel: str, after: str) -> list[Json]:
        return [message async for message in self._ours(channel, after)]


def thread_of(ask: Ask) -> Json:
    """The thread of an ask, as the fields of its request."""
    first = ask.form.questions[0]
    name = fit_line(first.header or first.text, limits.THREAD_NAME)
    return {"name": name, "auto_archive_duration": limits.THREAD_MINUTES}


def _noted(place: Place, now: float) -> Json:
    """The reference before the post: where, and since when to look for it."""
    since = (int(now * 1000) - _CLOCKS_APART_MS - limits.EPOCH_MS) << 22
    noted: Json = {
        "kind": str(place.kind),
        "channel": place.id,
        "parent": place.id if place.kind is ChannelKind.FORUM else place.parent,
        "guild": place.guild,
        "since": str(since),
    }
    return noted | {"thread": place.id} if place.kind is ChannelKind.THREAD else noted


def _thread(message: Mapping[str, JsonValue]) -> Thread:
    """What an ask tells of where it is shown."""
    channel, thread = message.get("parent") or message["channel"], message.get("thread")
    return Thread(
        channel=str(channel),
        id=str(thread) if thread else None,
        url=private_notes.message_url(message) if "id" in message else None,
    )


def _since(sent: JsonValue) -> Json:
    """What an answer of Discord's says of when it made the message as it is."""
    return {_SINCE: parse.changed_at(sent)} if isinstance(sent, dict) else {}


def _nonce(what: str, message: Mapping[str, JsonValue]) -> str:
    """One post of one ask, the same for every try of it."""
    text = f"{what}:{message.get('channel')}:{message.get('since')}"
    return hashlib.blake2b(text.encode()).hexdigest()[: limits.NONCE]


def _post_of(ref: Json) -> tuple[str, str]:
    """The method and path of the request that posts a message at a place."""
    if ref["kind"] == ChannelKind.FORUM:
        return "POST", f"/channels/{ref['parent']}/threads"
    return "POST", f"/channels/{ref['channel']}/messages"


def _edit_of(ref: Json) -> tuple[str, str]:
    """The method and path of the request that edits a message."""
    return "PATCH", f"/channels/{ref['channel']}/messages/{ref['id']}"


def _where(ref: Json) -> str:
    """Where a message is talked about: in its thread, if it has one."""
    return str(ref.get("thread") or ref["channel"])


def _id_of(sent: JsonValue) -> str:
    if not isinstance(sent, dict) or not isinstance(sent.get("id"), str):
        raise PlatformUnavailableError("Discord answered a post without the message's id.")
    return str(sent["id"])


def _objects(value: JsonValue) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
