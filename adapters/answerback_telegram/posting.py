"""Post and edit an ask's live message on Telegram, and its reminders: the calls that `LiveMessages` orders.

A bot cannot read a chat's history. So what was posted is stored, an edit that changes nothing is what proves that a
message is there, and after a post of unknown outcome the first click on a message shows that it is there. It is then
used, or removed.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from answerback.core.ask import ANYONE, Ask, Destination, Thread
from answerback.core.errors import (
    DestinationGoneError,
    PayloadRejectedError,
    PlatformError,
    RateLimitedError,
)
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.surface import Asks, Shown
from answerback.presentation import wording
from answerback_chat.live_message import (
    SINCE,
    JsonMessages,
    Save,
    Uneditable,
    may_have_succeeded,
)
from answerback_telegram import errors, people_text, pictures, private_notes, render
from answerback_telegram.api_client import EDIT, POST, TelegramApi
from answerback_telegram.errors import GroupMigratedError
from answerback_telegram.helper_messages import HelperMessages, address, place_params
from answerback_telegram.keyboards import Json
from answerback_telegram.limits import GENERAL_TOPIC
from answerback_telegram.option_controls import ListState
from answerback_telegram.parse import SURFACE, Place, changed_at, chat_id, id_of_sent
from answerback_telegram.pictures import Pictures
from answerback_telegram.render import PLAIN, MessageFormat
from answerback_telegram.responder_names import ResponderNames
from answerback_telegram.rich_messages import RICH

logger = logging.getLogger(__name__)

_AGAIN: Final = "again"
"""The key, in a reference, of whether an earlier post of the message had an unknown outcome."""
PUBLIC: Final = (
    "anyone who finds a public group could answer: name responders, or make the group private"
)


@dataclass(eq=False)
class Posting(JsonMessages):
    """Posts and edits live messages on Telegram.

    Args:
        list_state: returns what people have done to an ask's list.
        rich: whether messages are rich messages, as far as the Bot API server knows them.
        pictures: what is sent above them.
    """

    platform = "Telegram"

    asks: Asks
    calls: TelegramApi
    helpers: HelperMessages
    names: ResponderNames
    labels: Labels
    list_state: Callable[[Ask], Awaitable[ListState]]
    rich: bool
    pictures: Pictures

    def __post_init__(self) -> None:
        self._format = RICH if self.rich else PLAIN

    def thread(self, ref: Json) -> Thread:
        place = _place(ref)
        return Thread(channel=place.chat, id=place.thread, url=private_notes.message_url(ref))

    # --- the message -----------------------------------------------------------------------------

    async def choose_place(self, ask: Ask) -> Json:
        to = ask.placement.destination
        if to.user is not None:
            return {"channel": to.user, "thread": to.thread}
        named = to.channel or ""
        chat = self.calls.migrated.get(named, named)
        about = await self.calls.call_object("getChat", {"chat_id": chat})
        if about.get("type") == "channel":
            raise DestinationGoneError("a channel cannot be asked in: name a group", code="channel")
        if ANYONE in ask.placement.responders and about.get("username"):
            raise DestinationGoneError(PUBLIC, code="public_group")
        return {"channel": chat, "thread": None if to.thread == GENERAL_TOPIC else to.thread}

    async def find(self, ask: Ask, ref: Json) -> Json:
        # A bot cannot read a chat's history: only a click says which message it was.
        found = await self._found(ask, ref)
        return ref if found is None else ref | {"id": found}

    def mark_pending(self, ref: Json, *, again: bool) -> Json:
        return ref | {_AGAIN: True} if again else ref

    async def remove_doubles(self, ask: Ask, ref: Json) -> Json:
        found = await self._found(ask, ref) if _AGAIN in ref else None
        if found is None:
            return ref
        if found != ref["id"]:
            try:
                await self.helpers.delete(found)
            except PayloadRejectedError as error:
                extra = {"action": "old_message_stays", "ask_id": ask.id, "code": error.code}
                logger.warning("Cannot remove a second message: %s", error, extra=extra)
        return {key: value for key, value in ref.items() if key != _AGAIN}

    async def _found(self, ask: Ask, ref: Json) -> str | None:
        found = await self.asks.draft(found_key(ask.id, str(ref["channel"])))
        return found if isinstance(found, str) else None

    def raise_if_limited(self, ref: Json) -> None:
        self.calls.raise_if_limited(str(ref["channel"]), EDIT if "id" in ref else POST)

    async def render(self, ask: Ask) -> Json:
        return await self._render(ask, self._format)

    async def _render(self, ask: Ask, form: MessageFormat) -> Json:
        view = view_of(ask, self.labels)
        if view.files:
            above = pictures.shown(ask.placement.message)
            named = tuple(each for each in view.files if each.id not in above)
            view = view._replace(files=named)
        notify = ask.request.mention and ask.placement.shown_revision == 0
        to = ask.placement.destination
        place = Place(
            str((ask.placement.message or {}).get("channel") or to.user or to.channel or "")
        )
        names = await self.names.look_up(view.responders, place)
        state = await self.list_state(ask)
        return render.message(view, self.labels, state, names, notify=notify, form=form)

    def minimal_payload(self, ask: Ask) -> Json:
        return render.plain(view_of(ask, self.labels), self.labels)

    def is_defect(self, error: PayloadRejectedError) -> bool:
        return error.code in errors.DEFECTS

    async def post_recoverably(self, ask: Ask, ref: Json, save: Save) -> Json:
        """Post the message, and above it its pictures, which are sent once: that is stored before."""
        if ask.request.files and pictures.STORED not in ref:
            self.raise_if_limited(ref)
            if self.pictures.can_send(ask, str(ref["channel"])):
                ref = await self._send_pictures(ask, ref, save)
                ask = replace(ask, placement=replace(ask.placement, message=ref))
        return await super().post_recoverably(ask, ref, save)

    async def _send_pictures(self, ask: Ask, ref: Json, save: Save) -> Json:
        revision = ask.placement.shown_revision
        await save(self.shown(ref | {pictures.STORED: {}}, revision))
        try:
            sent = await self.pictures.send(ask, _place(ref))
        except GroupMigratedError:
            return await self._send_pictures(ask, ref | await self.choose_place(ask), save)
        except RateLimitedError:
            await save(
                Shown(revision, ask.placement.message or {}, ask.placement.thread or Thread())
            )
            raise
        for full in sent.values():  # so that replies to them are for the ask
            await self.asks.save_draft(about_key(str(full)), ask.id, ask.id)
        return ref | {pictures.STORED: sent}

    async def post(self, ask: Ask, ref: Json, payload: Json) -> Json:
        params = place_params(_place(ref)) | payload
        method = errors.SEND_RICH if "rich_message" in payload else POST
        try:
            sent = await self.calls.call_object(method, params)
        except GroupMigratedError:
            return await self.post(ask, ref | await self.choose_place(ask), payload)
        except PayloadRejectedError as error:
            if error.code == errors.NO_SUCH_METHOD:
                logger.warning("Asks are plain messages from now on: %s", error)
                self._format = PLAIN
            elif method != errors.SEND_RICH or not self.is_defect(error):
                raise
            return await self.post(ask, ref, await self._render(ask, PLAIN))
        return ref | {"id": id_of_sent(sent, str(ref["channel"])), SINCE: changed_at(sent)}

    async def edit(self, ask: Ask, ref: Json, payload: Json) -> Json | Uneditable:
        try:
            at = await self._edit(ref, payload)
        except PayloadRejectedError as error:
            if error.code in errors.MESSAGE_GONE:
                return Uneditable.DELETED
            if "rich_message" not in payload or not self.is_defect(error):
                raise
            return await self.edit(ask, ref, await self._render(ask, PLAIN))
        if ask.erased_at is not None and pictures.STORED in ref:
            await self.pictures.delete(ref)
            ref = {key: value for key, value in ref.items() if key != pictures.STORED}
        return ref | {SINCE: at}

    async def replacement_ref(self, ask: Ask, ref: Json) -> Json:
        # Its pictures come again with it: they may have been deleted together.
        await self.pictures.delete(ref)
        return await super().replacement_ref(ask, ref)

    async def _edit(self, ref: Json, payload: Json) -> float | None:
        """Edit a message; return since when it shows this, by Telegram's clock."""
        try:
            sent = await self.calls.call(EDIT, address(str(ref["id"])) | payload)
        except PayloadRejectedError as error:
            if error.code != errors.NOT_MODIFIED:
                raise
            return self.calls.date
        return changed_at(sent) if isinstance(sent, dict) else None

    # --- reminders and moved messages ------------------------------------------------------------

    async def post_reminder(self, ask: Ask, ref: Json, number: int) -> None:
        """Post it after its number is stored as taken, so that none is posted twice."""
        view, place = view_of(ask, self.labels), _place(ref)
        recipients, text = wording.reminder(ask, number, self.labels)
        names = await self.names.look_up(recipients, place)
        payload = private_notes.reminder(
            view, people_text.mentions(recipients, names), text, self.labels
        )
        key = _reminder_key(ask, number)
        await self.asks.save_draft(key, "", ask.id)
        try:
            full = await self.helpers.send(place, payload, str(ref["id"])) or ""
        except PlatformError as error:
            if not may_have_succeeded(error):
                await self.asks.save_draft(key, None)
            raise
        await self.asks.save_draft(key, full, ask.id)
        await self.asks.save_draft(about_key(full), ask.id, ask.id)

    async def reminders(self, ask: Ask, ref: Json) -> AsyncIterator[tuple[str, int]]:
        # As they were stored: a bot cannot list its messages.
        number, full = 0, await self.asks.draft(_reminder_key(ask, 0))
        while (
            isinstance(full, str) or number < ask.schedule.reminders_done
        ):  # numbers may be left out
            if isinstance(full, str):
                yield full, number
            number += 1
            full = await self.asks.draft(_reminder_key(ask, number))

    async def close_reminder(self, ask: Ask, ref: Json, reminder: str) -> None:
        if chat_id(reminder) is None:
            return  # whether it was posted is unknown
        payload = private_notes.closed_reminder(ask, self.labels)
        try:
            await self._edit({"id": reminder}, payload)
        except PayloadRejectedError as error:
            if error.code not in errors.MESSAGE_GONE:
                raise

    async def show_moved_note(self, ref: Json, to: Destination) -> float | None:
        await self.pictures.delete(ref)
        chats = [private_notes.chat_of(to)] if to.surface == SURFACE else []
        names = await self.names.look_up(chats, _place(ref))
        note = private_notes.moved_message(to, self.labels, names)
        return await self._edit(ref, note)


def about_key(full: str) -> str:
    """The draft key of the ask that a reminder is about, or of False for a note: neither asks for an entry."""
    return f"{SURFACE}:about:{full}"


def found_key(ask_id: str, chat: str) -> str:
    """The draft key of an ask's message in a chat whose post had an unknown outcome, once somebody clicks on it."""
    return f"{SURFACE}:found:{ask_id}:{chat}"


def _reminder_key(ask: Ask, number: int) -> str:
    """The draft key of a reminder's id. An erasure of the ask leaves it, as the reminder has yet to say so."""
    where = f":{ask.placement.destination.user}" if ask.is_copy else ""
    return f"{SURFACE}:reminder_of_{ask.id}:{number}{where}"


def _place(ref: Json) -> Place:
    topic = ref.get("thread")
    return Place(str(ref["channel"]), str(topic) if topic else None)
