"""The Discord surface: wires the parts together, and receives interactions over the gateway and by HTTP.

Owns the wiring and the background tasks. `interactions` decides what a click does, `posting` what is sent.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Final

from aiohttp import web
from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.errors import StoreError
from answerback.ports.plugin import Host
from answerback.ports.surface import Asks
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.bot_identity import BotIdentity
from answerback_chat.catch_up import MissedMessageReader
from answerback_chat.chat_surface import ChatSurface
from answerback_chat.control_codec import object_of, text_of
from answerback_chat.delays import DELAYS, Delays
from answerback_chat.interactions import Interactions, no_fence
from answerback_chat.leader_lease import LeaderLease
from answerback_chat.pending_deliveries import PendingDeliveries
from answerback_chat.sent_files import FileTaker
from answerback_discord import slash_commands
from answerback_discord.api_client import DiscordApi, ResponseResult
from answerback_discord.catch_up import Conversation, create_missed_message_reader
from answerback_discord.channels import ChannelDirectory
from answerback_discord.components import Json
from answerback_discord.connection import GatewayClient
from answerback_discord.errors import TOKEN_REFUSED
from answerback_discord.group_membership import RoleMembership
from answerback_discord.http_endpoint import PATH, HttpEndpoint
from answerback_discord.interaction_responses import (
    InteractionResponse,
    ResponseBuilder,
    private_response,
)
from answerback_discord.interactions import InteractionHandler
from answerback_discord.live_message_lookup import DiscordMessages
from answerback_discord.parse import (
    SURFACE,
    InteractionType,
    can_be_answered,
    is_id,
    snowflake_time,
)
from answerback_discord.pending_edits import PendingEdits
from answerback_discord.pictures import Pictures
from answerback_discord.platform_events import HANDLED_EVENTS, EventHandler
from answerback_discord.plugin import DiscordSettings
from answerback_discord.posting import Posting
from answerback_discord.sent_files import ACKNOWLEDGEMENT, ModalsWithFiles
from answerback_discord.typed_messages import TypedMessageListener

logger = logging.getLogger(__name__)

LEASE: Final = "discord gateway"
"""The lease held by the process that is connected to the gateway."""
_EVENTS: Final = ("INTERACTION_CREATE", "MESSAGE_CREATE", "MESSAGE_UPDATE", *HANDLED_EVENTS)
"""The events that the gateway is asked for."""


class DiscordSurface(ChatSurface):
    """Asks in Discord's channels, threads, forums and direct messages.

    Args:
        confirm_after: seconds after which a message that was updated by the response to a signed POST is edited
            all the same. Discord does not report whether it accepted that response; it accepts one for 3 s, and a
            late one would undo an edit made before it.
    """

    name = SURFACE
    platform = "Discord"
    token_refused = TOKEN_REFUSED
    _missed: MissedMessageReader[Conversation]

    def __init__(
        self,
        asks: Asks,
        settings: DiscordSettings,
        host: Host,
        *,
        confirm_after: float = 3.5,
        delays: Delays = DELAYS,
    ) -> None:
        calls = self.calls = DiscordApi(
            host.http, settings.token, settings.api_url, self._on_token_refused
        )
        labels, now, public_key = host.labels, host.now, settings.public_key
        self._labels = labels
        self._pending_edits = PendingEdits(confirm_after)
        identity, background = BotIdentity(), BackgroundTasks()
        channels, groups = ChannelDirectory(calls), RoleMembership(calls, delays.groups)
        leadership = LeaderLease(host.shared, LEASE, self._lead, self._stand_by)
        # A signed POST reaches one process; the gateway's events may reach one that was paused and replaced.
        fence = no_fence if public_key else leadership.fence
        replies = ResponseBuilder(asks, labels, now)
        handler = InteractionHandler(asks, labels, replies, fence)
        self._interactions = Interactions(asks, handler, SURFACE, fence)
        self._events = EventHandler(asks, calls, identity, now)
        taker = FileTaker(asks.people_files, labels, self.platform, delays.files)
        is_alone = host.shared is None or not public_key
        pending = PendingDeliveries(asks, SURFACE, now, delays.pending_files, is_alone=is_alone)
        self._modals_with_files = ModalsWithFiles(
            asks, calls, taker, pending, handler, fence, self._show_again
        )
        self._message_listener = TypedMessageListener(
            asks, labels, background, leadership.fence, calls, channels, identity, taker=taker
        )
        super().__init__(
            asks,
            Posting(
                calls,
                channels,
                labels,
                identity,
                replies.list_state,
                self._pending_edits,
                groups.require_reachable_responders,
                now,
                Pictures(asks.files),
            ),
            groups,
            DiscordMessages(calls),
            identity,
            leadership,
            background,
            settings.responders,
            delays,
            create_missed_message_reader(asks, calls, self._message_listener),
            pending=pending,
        )
        if public_key:
            receive, finish = self._interactions.receive, self._finish_http_response
            endpoint = HttpEndpoint(public_key, receive, finish, self._acknowledge_files, now)
            self.routes = [web.post(PATH, endpoint.handle)]
        self._connected = False
        if settings.gateway:
            self._source = GatewayClient(
                calls,
                settings.token,
                content=settings.message_content,
                shards=settings.shards,
                outage=self._outage,
                handlers={name: partial(self._dispatch, name) for name in _EVENTS},
                on_lost=self._missed.mark_disconnected,
                on_connected=self._gateway_connected,
                first_pause=delays.first_pause,
            )

    def destination_problem(self, destination: Destination) -> str | None:
        named = {
            "user": destination.user,
            "channel": destination.channel,
            "thread": destination.thread,
        }
        for what, value in named.items():
            if value is not None and not is_id(value):
                return (
                    f'"{value[:40]}" is not the id of a Discord {what}: an id is a number of 17 to 20 digits. To copy '
                    "it, switch on Developer Mode, right-click it in Discord and choose Copy ID."
                )
        if not any(named.values()):
            return "Name a Discord channel, thread or user by its id."
        return None

    # --- what comes in ---------------------------------------------------------------------------

    def _finish_http_response(self, body: Json, reply: InteractionResponse) -> Json | None:
        """Return the response to an HTTP interaction, or None if it is sent by its callback route.

        Discord never reports whether it accepted a response in the answer to its request. While a person types in a
        modal, the message that the response updates may be deleted; then another response is needed.
        """
        if reply.instead is not None and body.get("type") == InteractionType.MODAL_SUBMIT:
            self._background.spawn("response", self._respond(body, reply, self._track(body, reply)))
            return None
        if reply.shown is not None:
            self._pending_edits.record_unconfirmed_response(reply.shown, _message_id(body))
        if reply.has_followup and can_be_answered(body):
            self._background.spawn("note", self._follow_up(body, reply))
        return reply.callback

    async def _acknowledge_files(self, body: Json) -> InteractionResponse | None:
        """Begin to handle a modal that comes by HTTP with files; None if it has none."""
        reply = await self._modals_with_files.keep(body)
        if reply is ACKNOWLEDGEMENT:
            self._background.spawn("modal", self._modals_with_files.handle(body))
        return reply

    def _take_pending(self, key: str, payload: JsonValue) -> None:
        self._background.spawn("modal", self._modals_with_files.handle(object_of(payload)))

    async def _answer_gateway(self, body: Json) -> None:
        if not can_be_answered(body):
            return
        if (reply := await self._modals_with_files.keep(body)) is not None:
            name, token = str(body.get("id")), str(body.get("token"))
            done = await self.calls.respond_to_interaction(name, token, reply.callback)
            if reply is ACKNOWLEDGEMENT:
                await self._modals_with_files.handle(body, tell=done.accepted is not False)
            return
        reply = await self._interactions.receive(body)
        await self._respond(body, reply, self._track(body, reply))

    def _track(self, body: Json, reply: InteractionResponse) -> asyncio.Future[ResponseResult]:
        """Register a response before anything is awaited, so that the update triggered by the commit finds it."""
        pending: asyncio.Future[ResponseResult] = asyncio.get_running_loop().create_future()
        if reply.shown is not None:
            self._pending_edits.track_response(reply.shown, _message_id(body), pending)
        return pending

    async def _respond(
        self, body: Json, reply: InteractionResponse, pending: asyncio.Future[ResponseResult]
    ) -> None:
        """Send a response by its callback route, and do what it calls for."""
        result, name, token = ResponseResult(None), str(body.get("id")), str(body.get("token"))
        try:
            result = await self.calls.respond_to_interaction(name, token, reply.callback)
        finally:
            if result.accepted is None and reply.shown is not None:
                # It may still be accepted.
                self._pending_edits.record_unconfirmed_response(reply.shown, _message_id(body))
            pending.set_result(result)
        if (
            not result.accepted
            and (ask := reply.shown)
            and ask.placement.shown_revision >= ask.revision
        ):
            # Selections and pages do not change the ask's revision, so nothing else would update the message.
            await self._show_again(ask, lost=True)
        if result.accepted is False:
            if result.still_awaited and reply.instead is not None:
                instead = private_response(reply.instead).callback
                await self.calls.respond_to_interaction(name, token, instead)
            reply = reply._replace(note=None)
        # If it is unknown whether the response was accepted, the note is: it needs an accepted response.
        await self._follow_up(body, reply)

    async def _follow_up(self, body: Json, reply: InteractionResponse) -> None:
        if reply.outdated is not None:
            await self._show_again(reply.outdated)
        if reply.reselected is not None:
            await self._show_again(reply.reselected, lost=True)
        if reply.note is not None:
            await self.calls.send_followup(body, reply.note)

    async def _show_again(self, ask: Ask, *, lost: bool = False) -> None:
        try:
            await self._asks.show_again(ask.id, deleted=lost)
        except StoreError as error:
            extra = {"action": "show_again_failed", "ask_id": ask.id}
            logger.warning("A message could not be updated yet: %s", error, extra=extra)

    async def _stand_by(self) -> None:
        await super()._stand_by()
        self._connected = False

    def _dispatch(self, name: str, body: Json) -> None:
        """Handle a gateway event, unless this process was paused and another one holds the gateway now."""
        if not self._leadership.is_held:
            return
        if name == "INTERACTION_CREATE":
            self._background.spawn("click", self._answer_gateway(body))
        elif name == "MESSAGE_CREATE":
            self._background.spawn("message", self._handle_message(body))
        elif name == "MESSAGE_UPDATE":
            self._background.spawn("edit", self._message_listener.handle_edit(body))
        else:
            self._background.spawn("event", self._events.handle_event(name, body))

    async def _handle_message(self, body: Json) -> None:
        if self._identity.bot_user is None:
            return
        await self._message_listener.handle_message(body)
        await self._missed.record_handled(snowflake_time(str(body.get("id"))))

    def _gateway_connected(self, new_session: bool) -> None:
        self._connected = True
        if new_session:
            self._reconnected()
        else:
            self._missed.mark_resumed()

    def _hears(self) -> bool:
        return self._connected and self._identity.bot_user is not None

    async def _ask_identity(self) -> None:
        me = await self.calls.get("/users/@me")
        self._identity.bot_user = str(me.get("id")) if isinstance(me, dict) else None
        wanted = slash_commands.definitions(self._labels, self._asks.commands.offered)
        self._background.spawn("command", slash_commands.register_with_retry(self.calls, wanted))


def _message_id(body: Json) -> str:
    """The message that an interaction happened on, which is the one that its response updates."""
    return text_of(object_of(body.get("message")).get("id"))


async def build(settings: DiscordSettings, host: Host, asks: Asks) -> DiscordSurface:
    return DiscordSurface(asks, settings, host)
