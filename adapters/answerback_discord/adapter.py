"""The Discord surface: wires the parts together, and receives interactions over the gateway and by HTTP.

Owns the wiring and the background tasks. `interactions` decides what a click does, `posting` what is sent.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import aiohttp
from aiohttp import web

from answerback.core.ask import Ask, Destination
from answerback.core.errors import PlatformError, StoreError
from answerback.core.labels import Labels
from answerback.ports.claims import SharedLeases
from answerback.ports.outage_log import Outage
from answerback.ports.surface import Asks
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.bot_identity import IdentityResolver
from answerback_chat.catch_up import MissedMessageReader
from answerback_chat.chat_surface import ChatSurface
from answerback_chat.interactions import Interactions
from answerback_chat.leader_lease import LeaderLease, with_fence
from answerback_chat.missed_changes import MissedChangeFinder
from answerback_discord import private_notes, slash_commands
from answerback_discord.api_client import DiscordApi, ResponseResult
from answerback_discord.catch_up import Conversation, create_missed_message_reader
from answerback_discord.channels import ChannelDirectory
from answerback_discord.components import Json
from answerback_discord.errors import TOKEN_REFUSED
from answerback_discord.gateway_client import GatewayClient, Shards
from answerback_discord.group_membership import RoleMembership
from answerback_discord.http_endpoint import PATH, HttpEndpoint
from answerback_discord.interaction_responses import InteractionResponse, private_response
from answerback_discord.interactions import InteractionHandler
from answerback_discord.live_message_lookup import DiscordMessages
from answerback_discord.option_controls import ListState
from answerback_discord.parse import (
    SURFACE,
    Interaction,
    InteractionType,
    can_be_answered,
    snowflake_time,
)
from answerback_discord.pending_edits import PendingEdits
from answerback_discord.platform_events import HANDLED_EVENTS, EventHandler
from answerback_discord.posting import Posting
from answerback_discord.typed_messages import TypedMessageListener

logger = logging.getLogger(__name__)

LEASE: Final = "discord gateway"
"""The lease held by the process that is connected to the gateway."""
_STOP_TIMEOUT: Final = 5.0


class DiscordSurface(ChatSurface):
    """Asks in Discord's channels, threads, forums and direct messages.

    Args:
        public_key: the application's public key, in hex; if set, clicks arrive as signed POSTs to `public_routes`.
        responders: who may act if an ask names nobody: user ids, ``@`` followed by a role's id, or "anyone".
        api_url: the base URL of the API, for a proxy or a test server; the gateway's address comes from there.
        gateway: whether to connect to the gateway, the only source of typed answers.
        content: whether to request the privileged intent that lets the bot read all typed messages.
        shards: how many gateway connections share the servers; "auto" for the number that Discord recommends.
        confirm_after: seconds after which a message that was updated by the response to a signed POST is edited
            all the same. Discord does not report whether it accepted that response; it accepts one for 3 s, and a
            late one would undo an edit made before it.
        now: seconds since the epoch, by a clock that all processes with the same store share.
        shared: the claims shared with other processes: one of them holds the gateway, the others stand by.
    """

    name = SURFACE
    _posting: Posting
    _groups: RoleMembership

    def __init__(
        self,
        *,
        bot_token: str,
        http: aiohttp.ClientSession,
        labels: Labels,
        public_key: str | None = None,
        responders: tuple[str, ...] = (),
        api_url: str | None = None,
        gateway: bool = True,
        content: bool = True,
        shards: Shards = 1,
        confirm_after: float = 3.5,
        now: Callable[[], float] = time.time,
        shared: SharedLeases | None = None,
    ) -> None:
        self._now = now
        self.calls = DiscordApi(http, bot_token, api_url, self._token_refused)
        self._labels = labels
        self._responders = responders
        self._channels = ChannelDirectory(self.calls)
        self._groups = RoleMembership(self.calls)
        self._pending_edits = PendingEdits(confirm_after)
        self._outage = Outage(logger, "Discord")
        self._posting = Posting(
            self.calls,
            self._channels,
            labels,
            self._list_state,
            self._pending_edits,
            self._groups.require_reachable_responders,
            now,
        )
        self._endpoint = (
            HttpEndpoint(public_key, self._not_started, self._finish_http_response, now)
            if public_key
            else None
        )
        self._gateway: GatewayClient | None = None
        if gateway:
            self._gateway = GatewayClient(
                self.calls,
                bot_token,
                content=content,
                shards=shards,
                outage=self._outage,
                handlers={
                    name: partial(self._dispatch, name)
                    for name in ("INTERACTION_CREATE", "MESSAGE_CREATE", *HANDLED_EVENTS)
                },
                on_lost=lambda: self._missed.mark_disconnected() if self._missed else None,
                on_connected=self._gateway_connected,
            )
        self._lease: LeaderLease | None = None
        if shared is not None:
            self._lease = LeaderLease(shared, LEASE, self._lead, self._disconnect)
        self._asks: Asks | None = None
        self._handler: InteractionHandler | None = None
        self._interactions: Interactions[Interaction, InteractionResponse] | None = None
        self._message_listener: TypedMessageListener | None = None
        self._missed: MissedMessageReader[Conversation] | None = None
        self._changes: MissedChangeFinder[Conversation] | None = None
        self._connected = False
        self._events: EventHandler | None = None
        self._background = BackgroundTasks()
        self._identity = IdentityResolver("discord", self._identify, self._should_retry_identify)
        self._token_problem: str | None = None

    async def start(self, asks: Asks) -> None:
        """See `answerback.ports.surface.Surface.start`."""
        self._asks = asks
        self._handler = InteractionHandler(asks, self._labels, self._now)
        fenced = asks if self._lease is None else with_fence(asks, self._lease.fence)
        self._interactions = Interactions(
            asks if self._endpoint else fenced, self._handler, SURFACE
        )
        if self._endpoint is not None:
            self._endpoint.receive = self._interactions.receive
        self._events = EventHandler(asks, self.calls, lambda: self._posting.bot_id, self._now)
        self._message_listener = TypedMessageListener(
            fenced, self.calls, self._channels, self._labels, self._background
        )
        self._missed = create_missed_message_reader(
            asks, self.calls, self._message_listener, lambda: self._posting.bot_id
        )
        self._changes = MissedChangeFinder(
            SURFACE, asks, DiscordMessages(self.calls), self._is_responsible
        )
        await self._identity.start().wait()
        if self._token_problem is not None:
            return
        if self._lease is not None:
            await self._lease.start()
        elif self._gateway is not None:
            await self._gateway.start()

    async def stop(self) -> None:
        """See `answerback.ports.surface.Surface.stop`."""
        await self._identity.stop()
        if self._lease is not None:
            await self._lease.stop()
        elif self._gateway is not None:
            await self._gateway.stop()
        for reader in (self._missed, self._changes):
            if reader is not None:
                await reader.stop()
        await self._background.stop(_STOP_TIMEOUT)
        await self._groups.stop()

    def unready_reason(self) -> str | None:
        """See `answerback.ports.surface.Surface.unready_reason`."""
        if self._token_problem is not None:
            return self._token_problem
        if self._interactions is None:
            return "Discord has not been started."
        if self._endpoint is not None or self._gateway is None:
            return None  # clicks arrive by HTTP; without the gateway only typed messages are missed
        if self._lease is not None and not self._lease.is_held:
            return None  # another process holds the gateway, or is about to
        return self._gateway.outage_reason()

    def is_leader(self) -> bool | None:
        """See `answerback.ports.surface.SupportsLeading.is_leader`."""
        return None if self._lease is None else self._lease.is_held

    def public_routes(self) -> list[web.RouteDef]:
        """Return the routes that the public listener serves for Discord."""
        return [web.post(PATH, self._endpoint.handle)] if self._endpoint else []

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        """See `answerback.ports.surface.Surface.default_responders`."""
        return (destination.user,) if destination.user else self._responders

    def destination_problem(self, destination: Destination) -> str | None:
        """See `answerback.ports.surface.Surface.destination_problem`."""
        named = {
            "user": destination.user,
            "channel": destination.channel,
            "thread": destination.thread,
        }
        for what, value in named.items():
            if value is not None and not (value.isascii() and value.isdigit() and len(value) <= 20):
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
            self._background.spawn("response", self._respond(body, reply, self._track(reply)))
            return None
        if reply.shown is not None:
            self._pending_edits.record_unconfirmed_response(reply.shown)
        if reply.has_followup and can_be_answered(body):
            self._background.spawn("note", self._follow_up(body, reply))
        return reply.callback

    async def _answer_gateway(self, body: Json) -> None:
        if not can_be_answered(body):
            return
        receive = self._interactions.receive if self._interactions else self._not_started
        reply = await receive(body)
        await self._respond(body, reply, self._track(reply))

    def _track(self, reply: InteractionResponse) -> asyncio.Future[ResponseResult]:
        """Register a response before anything is awaited, so that the update triggered by the commit finds it."""
        pending: asyncio.Future[ResponseResult] = asyncio.get_running_loop().create_future()
        if reply.shown is not None:
            self._pending_edits.track_response(reply.shown, pending)
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
                self._pending_edits.record_unconfirmed_response(
                    reply.shown
                )  # it may still be accepted
            pending.set_result(result)
        if not result.accepted and (ask := reply.shown) and ask.shown_revision >= ask.revision:
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
        """Do what an interaction calls for after its response."""
        if reply.outdated is not None:
            await self._show_again(reply.outdated)
        if reply.reselected is not None:
            await self._show_again(reply.reselected, lost=True)
        if reply.note is not None:
            await self.calls.send_followup(body, reply.note)

    async def _show_again(self, ask: Ask, *, lost: bool = False) -> None:
        if self._asks is None:
            raise AssertionError("no message can be used before the surface is started")
        try:
            await self._asks.show_again(ask.id, deleted=lost)
        except StoreError as error:
            extra = {"action": "show_again_failed", "ask_id": ask.id}
            logger.warning("A message could not be updated yet: %s", error, extra=extra)

    async def _not_started(self, _body: Json) -> InteractionResponse:
        return private_response(private_notes.retry_note(self._labels.try_again, "", self._labels))

    async def _lead(self) -> None:
        """Do what one of the processes with the same store does: hold the gateway, and look for missed changes."""
        if self._gateway is not None:
            await self._gateway.start()
        self._look_for_changes()

    async def _disconnect(self) -> None:
        """Leave that to another process."""
        if self._gateway is not None:
            await self._gateway.stop()
        if self._changes is not None:
            await self._changes.stop()
        self._connected = False

    def _dispatch(self, name: str, body: Json) -> None:
        """Handle a gateway event, unless this process was paused and another one holds the gateway now."""
        if self._lease is not None and not self._lease.is_held:
            return
        if name == "INTERACTION_CREATE":
            self._background.spawn("click", self._answer_gateway(body))
        elif name == "MESSAGE_CREATE":
            self._background.spawn("message", self._handle_message(body))
        elif self._events is not None:
            self._background.spawn("event", self._events.handle_event(name, body))

    async def _handle_message(self, body: Json) -> None:
        if self._message_listener is None or self._posting.bot_id is None:
            return
        await self._message_listener.handle_message(body, self._posting.bot_id)
        if self._missed is not None:
            await self._missed.record_heard(snowflake_time(str(body.get("id"))))

    def _gateway_connected(self, new_session: bool) -> None:
        self._connected = True
        if new_session:
            self._reconnected()
        elif self._missed is not None:
            self._missed.mark_resumed()

    def _reconnected(self) -> None:
        self._catch_up()
        self._look_for_changes()
        if self._asks is not None:
            self._background.spawn("show", self._show_outdated(self._asks))

    def _is_responsible(self) -> bool:
        identified = self._posting.bot_id is not None
        return identified and (self._lease is None or self._lease.is_held)

    def _look_for_changes(self) -> None:
        if self._changes is not None:
            self._changes.start_looking()

    def _hears(self) -> bool:
        return self._connected and self._posting.bot_id is not None

    async def _list_state(self, ask: Ask) -> ListState | None:
        return await self._handler.list_state(ask) if self._handler else None

    async def _identify(self) -> None:
        me = await self.calls.get("/users/@me")
        self._posting.bot_id = str(me.get("id")) if isinstance(me, dict) else None
        self._token_problem = None
        self._outage.record_success("api")
        self._reconnected()
        self._background.spawn(
            "command", slash_commands.register_with_retry(self.calls, self._labels)
        )

    def _should_retry_identify(self, error: PlatformError) -> bool:
        """Return whether to try again: a token that was never valid will not become valid."""
        if error.code != TOKEN_REFUSED:
            self._outage.record_failure("api", error)
            return True
        self._outage.record_success("api")
        return self._posting.bot_id is not None

    def _token_refused(self, error: PlatformError) -> None:
        """Record that Discord is out of reach; a token that was valid before is tried until it is valid again."""
        if self._token_problem is None:
            extra = {"action": "token_refused"}
            logger.warning("Discord refuses the token: %s", error, extra=extra)
            if self._posting.bot_id is not None:
                self._identity.start()
        self._token_problem = str(error)
