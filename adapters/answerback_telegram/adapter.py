"""The Telegram surface: wires the parts together, and receives updates by long polling or by HTTP.

Owns the wiring and the background tasks. `interactions` decides what a click does, `posting` what is sent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from aiohttp import web
from pydantic import JsonValue

from answerback.core.ask import Destination
from answerback.core.errors import PlatformError, StoreError
from answerback.ports import commands
from answerback.ports.plugin import Host
from answerback.ports.surface import Asks, SupportsPlaceGroups
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.bot_identity import BotIdentity
from answerback_chat.chat_surface import ChatSurface
from answerback_chat.delays import DELAYS, Delays
from answerback_chat.interactions import Interactions, no_fence
from answerback_chat.leader_lease import LeaderLease
from answerback_chat.pending_deliveries import PendingDeliveries
from answerback_chat.retry import min_retry_delay, retry
from answerback_chat.sent_files import FileTaker
from answerback_chat.typed_entries import Effect
from answerback_telegram import inbox_view, parse
from answerback_telegram.api_client import TelegramApi
from answerback_telegram.connection import UpdatePoller
from answerback_telegram.errors import TOKEN_REFUSED
from answerback_telegram.file_messages import FileMessages
from answerback_telegram.form_inputs import TypedRequests
from answerback_telegram.group_membership import ADMINISTRATORS, AdministratorMembership
from answerback_telegram.helper_messages import HelperMessages
from answerback_telegram.http_endpoint import PATH, HttpEndpoint, address
from answerback_telegram.inbox import Inbox
from answerback_telegram.interactions import ClickHandler, ClickResponse
from answerback_telegram.keyboards import Json
from answerback_telegram.live_message_lookup import TelegramMessages
from answerback_telegram.parse import (
    SURFACE,
    TypedMessage,
    is_id,
    message_id,
    public_group,
    query_id,
)
from answerback_telegram.pictures import Pictures
from answerback_telegram.platform_events import EventHandler
from answerback_telegram.plugin import TelegramSettings
from answerback_telegram.posting import Posting, about_key
from answerback_telegram.private_notes import click_note
from answerback_telegram.responder_names import ResponderNames
from answerback_telegram.sent_files import EntriesWithFiles
from answerback_telegram.typed_messages import TypedMessageListener
from answerback_telegram.webhook_registration import WebhookRegistration

logger = logging.getLogger(__name__)

LEASE: Final = "telegram updates"
"""The lease held by the process that polls, and that looks for missed changes."""
_FOLLOW_UP_TRIES: Final = 12
"""Times that the call after a click is tried: for longer than the minute for which a group may be limited."""
_REFUSAL_SECONDS: Final = 1.0
"""Seconds for which the answer to a click waits for whether the bot may write there."""
_NEW_SECONDS: Final = 30.0
"""Seconds after which what a message of ours asks for is certainly stored."""


class TelegramSurface(ChatSurface, SupportsPlaceGroups):
    """Asks in Telegram's groups, topics and chats with one person.

    Args:
        webhook_secret: the secret token of updates that come by HTTP; without it, they are polled.
    """

    name = SURFACE
    platform = "Telegram"
    token_refused = TOKEN_REFUSED

    def __init__(
        self,
        asks: Asks,
        settings: TelegramSettings,
        host: Host,
        webhook_secret: str | None,
        delays: Delays,
    ) -> None:
        labels, background = host.labels, BackgroundTasks()
        self._labels = labels
        calls = self.calls = TelegramApi(
            host.http,
            settings.token,
            settings.api_url,
            self._on_token_refused,
            lambda old, new: background.spawn("migration", self._events.migrate(old, new)),
        )
        identity = BotIdentity()
        leadership = LeaderLease(host.shared, LEASE, self._lead, self._stand_by)
        names, helpers = ResponderNames(calls, labels, delays.names), HelperMessages(calls)
        self._helpers = helpers
        # A POST reaches one process; polled updates may reach one that was paused and replaced.
        fence = no_fence if webhook_secret else leadership.fence
        self._inbox = Inbox(asks, helpers, names, labels, fence)
        self._entries = TypedRequests(asks, helpers, labels)
        handler = ClickHandler(
            asks, helpers, self._entries, names, labels, self._inbox.handle_click, host.now
        )
        self._interactions = Interactions(asks, handler, SURFACE, fence)
        taker = FileTaker(asks.people_files, labels, self.platform, delays.files)
        self._listener = TypedMessageListener(
            asks, labels, background, fence, helpers, names, calls, taker=taker
        )
        self._typed_entries = EntriesWithFiles(
            asks, calls, taker, handler, self._interactions, fence
        )
        is_alone = host.shared is None or not webhook_secret
        pending = PendingDeliveries(
            asks, SURFACE, host.now, delays.pending_files, is_alone=is_alone
        )
        self._file_messages = FileMessages(
            pending,
            background,
            self._parse_typed,
            self._handle_typed,
            lambda part: self._listener.tell(part, labels.file_too_late),
            delays.album,
        )
        rich = settings.rich_messages
        pictures = Pictures(calls, asks.files, delays.pictures)
        posting = Posting(asks, calls, helpers, names, labels, handler.list_state, rich, pictures)
        self._events = EventHandler(asks, calls)
        super().__init__(
            asks,
            posting,
            AdministratorMembership(calls, delays.groups),
            TelegramMessages(calls, identity),
            identity,
            leadership,
            background,
            settings.responders,
            delays,
            pending=pending,
        )
        if webhook_secret:
            endpoint = HttpEndpoint(webhook_secret, self._handle_update)
            self.routes = [web.post(PATH, endpoint.handle)]
            self._source = WebhookRegistration(
                calls,
                address(host.public_url),
                webhook_secret,
                self._outage,
                delays.first_pause,
                delays.webhook,
            )
        else:
            self._source = UpdatePoller(
                calls,
                self._handle_update,
                self._outage,
                self._is_responsible,
                lambda: background.spawn("show", self._show_outdated()),
                delays.first_pause,
            )

    def unready_reason(self) -> str | None:
        """Without the webhook's address nothing comes by HTTP, and Telegram does not say that it was removed."""
        problem = super().unready_reason()
        if problem is not None or self._source is None or not self._leadership.is_held:
            return problem
        return self._source.outage_reason()

    def name_groups(self, who: tuple[str, ...], destination: Destination) -> tuple[str, ...]:
        chat = destination.channel
        there = (each for each in who if chat or each != ADMINISTRATORS)
        return tuple(f"@{chat}" if each == ADMINISTRATORS else each for each in there)

    def destination_problem(self, destination: Destination) -> str | None:
        if destination.user is not None:
            is_person = is_id(destination.user) and not destination.user.startswith("-")
            wrong = None if is_person else destination.user
            return wrong and (
                f'"{wrong[:40]}" is not the id of a person on Telegram, which is a number. They see theirs by writing '
                "to @userinfobot, and have to press Start in a chat with the bot before it can write to them."
            )
        if destination.channel is None or not is_id(destination.channel):
            return (
                f'"{(destination.channel or "")[:40]}" is not the id of a Telegram chat, which is a number, and '
                "negative for a group. Add the bot to the group, and `answerback doctor` names it."
            )
        if destination.thread is not None and not destination.thread.isdigit():
            return f'"{destination.thread[:40]}" is not the id of a topic, which is a number.'
        return None

    # --- what comes in ---------------------------------------------------------------------------

    async def _handle_update(self, update: Mapping[str, Any]) -> None:
        """Handle an update; returns once it is committed, and never waits for what follows."""
        if (group := public_group(update)) is not None:
            await self._events.fail_open_to_anyone(group)
        if (click := query_id(update)) is not None:
            response = await self._interactions.receive(update)
            self._background.spawn("click", self._answer(click, response))
            return
        if self._identity.bot_user is None:
            raise StoreError("Telegram has not said yet who the bot is, so what is typed waits")
        if (typed := self._parse_typed(update)) is None:
            await self._events.handle_event(update)
        elif typed.album or (typed.attachments and typed.is_addressed):
            await self._file_messages.add(update, typed)
        else:
            await self._handle_typed(typed)

    def _parse_typed(self, update: Mapping[str, Any]) -> TypedMessage | None:
        bot = self._identity.bot_user or ""
        return parse.parse_typed_message(update, bot, self._helpers.bot_name)

    async def _handle_typed(self, typed: TypedMessage) -> None:
        """Handle what a person has sent, an album as one message."""
        if typed.is_foreign:
            if typed.is_addressed:
                self._listener.tell(typed, self._labels.forward_not_read)
        elif typed.command:
            await self._handle_command(typed)
        elif not await self._take_entry(typed):
            await self._listener.handle_message(typed)

    async def _handle_command(self, typed: TypedMessage) -> None:
        """Carry out a command. One that is not known may be for another bot, unless it is sent to this one."""
        labels, tell = self._labels, self._listener.tell
        match typed.command:
            case parse.CANCEL if await self._cancel(typed):
                pass
            case _ if typed.is_edit and typed.is_addressed:
                tell(typed, labels.edit_not_read, is_refused=False)
            case _ if typed.is_edit:
                pass
            case parse.START | parse.INBOX:
                self._background.spawn("inbox", self._inbox.send(typed))
            case commands.COMMAND:
                response = await self._interactions.receive({"typed": typed.as_command()})
                self._background.spawn("command", self._follow_up(response))
            case parse.HELP if typed.is_addressed:
                tell(typed, labels.how_to_answer, is_refused=False)
            case parse.CANCEL if typed.is_addressed:
                tell(typed, labels.nothing_to_cancel)
            case name if typed.is_addressed:
                tell(typed, labels.unknown_command.format(command=f"/{name}"))
            case _:
                pass

    async def _cancel(self, typed: TypedMessage) -> bool:
        """Close the request that a person replied to, or the last one that they were sent; False: there is none."""
        awaited = await retry(lambda: self._entries.awaited(*typed.place, typed.actor))
        for request in filter(None, (typed.replied, awaited)):
            if (entry := await retry(partial(self._entries.find, request))) is not None:
                cancel = {"typed": typed.as_cancel(request, entry)}
                response = await self._interactions.receive(cancel)
                self._background.spawn("cancel", self._follow_up(response))
                return True
        return False

    async def _take_entry(self, typed: TypedMessage) -> bool:
        """Take a message as what one of our messages asked for; return whether it was that."""
        replied, sent = typed.replied, typed.quoted_at
        if replied is None and typed.is_addressed and not typed.is_edit:
            replied = await retry(lambda: self._entries.awaited(*typed.place, typed.actor))
            if replied is not None and await self._is_for_newer(typed, replied):
                self._listener.tell(typed, self._labels.which_one_quote)
                return True
        if replied is None:
            return False
        is_new = sent is not None and typed.at is not None and typed.at - sent < _NEW_SECONDS
        if is_new:  # unless it is known to ask for nothing
            is_new = await retry(partial(self._asks.draft, about_key(replied))) is None
        entry = await retry(partial(self._entries.find, replied, is_new=is_new))
        if entry is None:
            return await self._replies_to_lost_request(typed)
        if entry.after == typed.delivery:  # it led to this request, and has come again
            return True
        response = await self._typed_entries.receive(typed.as_entry(replied, entry))
        self._listener.remember(typed)
        self._background.spawn("entry", self._follow_up(response))
        return True

    async def _replies_to_lost_request(self, typed: TypedMessage) -> bool:
        """Tell the author of a reply to a request of which nothing is stored any more."""
        if not typed.replies_to_request:
            return False
        if await retry(partial(self._asks.draft, about_key(str(typed.replied)))) is not None:
            return False  # a reminder
        self._listener.tell(typed, self._labels.request_lost)
        return True

    async def _is_for_newer(self, typed: TypedMessage, request: str) -> bool:
        """Return True if a message may be for an ask that appeared below the request which its author was sent
        before."""
        entry, number = await retry(partial(self._entries.find, request)), message_id(request) or 0
        candidates = await self._listener.find_candidates(typed) if entry else ()
        others = (ask for ask in candidates if entry and ask.id != entry.control.ask_id)
        return any(
            (message_id((ask.placement.message or {}).get("id")) or 0) > number for ask in others
        )

    async def _answer(self, click: str, response: ClickResponse) -> None:
        """Answer a click, and do what follows; neither waits for the other, save a moment for what cannot be sent."""
        first: asyncio.Future[PlatformError | None] = asyncio.get_running_loop().create_future()
        self._background.spawn("follow-up", self._follow_up(response, first))
        note = response.note
        if response.sends and not note:
            await asyncio.wait([first], timeout=_REFUSAL_SECONDS)
            if first.done() and (refused := first.result()) is not None:
                note = click_note(self._labels.cannot_write.format(reason=refused))
        await self.calls.answer_click(click, note, alert=bool(note))

    async def _follow_up(
        self, response: ClickResponse, first: asyncio.Future[PlatformError | None] | None = None
    ) -> None:
        """Do what follows; ``first`` is set to why the first try of the first effect is the last, or None."""

        async def attempt(effect: Effect) -> None:
            refused: PlatformError | None = None
            try:
                await effect()
            except PlatformError as error:
                refused = error if min_retry_delay(error) is None else None
                raise
            finally:
                if first is not None and not first.done():
                    first.set_result(refused)

        for effect in response.after:
            try:
                await retry(partial(attempt, effect), tries=_FOLLOW_UP_TRIES)
            except (PlatformError, StoreError) as error:
                extra = {"action": "follow_up_failed", "code": getattr(error, "code", None)}
                logger.warning("What follows a click failed: %s", error, extra=extra)
                if isinstance(error, StoreError):
                    return

    async def _ask_identity(self) -> None:
        me = await self.calls.call_object("getMe")
        self._identity.bot_user = str(me.get("id"))
        self._helpers.bot_name = str(me.get("username"))
        offered = bool(self._asks.commands.offered)
        commands: Json = {"commands": inbox_view.commands(self._labels, offered=offered)}
        self._background.spawn(
            "commands", retry(lambda: self.calls.call("setMyCommands", commands))
        )

    def _take_pending(self, key: str, payload: JsonValue) -> None:
        self._file_messages.resume(key, payload)


async def build(
    settings: TelegramSettings, host: Host, asks: Asks, delays: Delays = DELAYS
) -> TelegramSurface:
    secret = (await host.secret()).hex() if settings.webhook else None
    return TelegramSurface(asks, settings, host, secret, delays)
