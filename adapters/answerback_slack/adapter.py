"""The Slack surface: wires its parts together and reports whether people can be reached."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import aiohttp
from aiohttp import web
from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Destination
from answerback.core.errors import PlatformError, UnauthorizedError
from answerback.core.labels import Labels
from answerback.ports.claims import SharedLeases
from answerback.ports.outage_log import Outage
from answerback.ports.surface import Asks, RetryLater, Shown
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.bot_identity import IdentityResolver
from answerback_chat.catch_up import MissedMessageReader
from answerback_chat.chat_surface import ChatSurface
from answerback_chat.interactions import Interactions
from answerback_chat.leader_lease import LeaderLease
from answerback_chat.live_message import Save
from answerback_chat.missed_changes import MissedChangeFinder
from answerback_chat.selection_drafts import SelectionDrafts
from answerback_slack import ids
from answerback_slack.agent_status import AgentSessions
from answerback_slack.api_client import SlackApi, create_web_client
from answerback_slack.bolt_app import BoltDispatcher
from answerback_slack.catch_up import Conversation, create_missed_message_reader
from answerback_slack.group_membership import GroupMembership
from answerback_slack.home_tab import HomeTabs
from answerback_slack.http_endpoint import HttpEndpoint
from answerback_slack.interactions import Ack, InteractionHandler
from answerback_slack.live_message_lookup import SlackMessages
from answerback_slack.manifest import EVENTS_PATH
from answerback_slack.parse import BotIdentity, Click, Submission, typed_message_from_event
from answerback_slack.platform_events import EventHandler
from answerback_slack.posting import Posting
from answerback_slack.private_notes import PrivateNotes
from answerback_slack.responder_names import ResponderNames
from answerback_slack.socket_mode_client import SocketModeConnections
from answerback_slack.typed_messages import TypedMessageListener

logger = logging.getLogger(__name__)

LEASE: Final = "slack changes"
_FINISH_SECONDS: Final = 5.0
_MAX_TASKS: Final = 2_000


class SlackSurface(ChatSurface):
    """Show asks in Slack and pass on what people do there.

    Args:
        bot_token: ``xoxb-…``, for all calls of the Web API.
        app_token: ``xapp-…``, to receive payloads over Socket Mode; None to receive them over HTTP, on
            `public_routes`.
        signing_secret: verifies that HTTP requests are Slack's.
        responders: who may act if neither the ask nor its route names responders.
        api_url: a base URL for the Web API other than Slack's, for tests and proxies.
        http: the HTTP session that all calls share.
        now: returns seconds since the epoch, by the clock that all processes with the same store use.
        shared: the leases shared with other processes: one of them looks for what happened during gaps.
    """

    name = "slack"
    _posting: Posting
    _groups: GroupMembership

    def __init__(
        self,
        *,
        bot_token: str,
        app_token: str | None,
        signing_secret: str | None,
        responders: tuple[str, ...],
        api_url: str | None,
        labels: Labels,
        http: aiohttp.ClientSession,
        now: Callable[[], float] = time.time,
        shared: SharedLeases | None = None,
    ) -> None:
        self._now = now
        self._responders = responders
        self._app_token = app_token
        self._signing_secret = signing_secret
        self._labels = labels
        self._calls = SlackApi(create_web_client(bot_token, api_url, http), self._token_rejected)
        self._groups = GroupMembership(self._calls)
        self._names = ResponderNames(self._calls)
        self._posting = Posting(self._calls, labels, self._groups, self._names, now)
        self._notes = PrivateNotes(self._calls, http)
        self._later = BackgroundTasks(_MAX_TASKS)
        self._identity = BotIdentity()
        self._interactions: Interactions[Click | Submission, Ack] | None = None
        self._listener: TypedMessageListener | None = None
        self._events: EventHandler | None = None
        self._homes: HomeTabs | None = None
        self._sessions: AgentSessions | None = None
        self._sockets: SocketModeConnections | None = None
        self._missed: MissedMessageReader[Conversation] | None = None
        self._changes: MissedChangeFinder[Conversation] | None = None
        self._lease: LeaderLease | None = None
        if shared is not None:
            self._lease = LeaderLease(shared, LEASE, self._lead, self._stand_by)
        self._receiving = app_token is None
        self._identity_resolver = IdentityResolver(
            "slack", self._identify, self._identification_failed
        )
        self._asks: Asks | None = None
        self._outages = Outage(logger, "Slack")
        self._outage: str | None = "Slack is not connected yet."
        self._dispatcher = BoltDispatcher(bot_token, self._identity, self._on_click, self._on_event)
        self._endpoint = (
            None
            if signing_secret is None
            else HttpEndpoint(signing_secret, self._dispatcher.dispatch, now)
        )

    async def start(self, asks: Asks) -> None:
        """See `answerback.ports.surface.Surface.start`."""
        self._asks = asks
        parts = (asks, self._calls, self._notes, self._later, self._labels, self._identity)
        self._listener = TypedMessageListener(*parts, self._groups)
        self._missed = create_missed_message_reader(asks, self._calls, self._listener)
        self._changes = MissedChangeFinder(
            self.name, asks, SlackMessages(self._calls), self._is_responsible
        )
        self._homes = HomeTabs(asks, self._calls, self._groups, self._labels, self._now)
        self._posting.selections = SelectionDrafts(asks)
        platform = InteractionHandler(
            *parts, self._listener, self._homes, self._posting.selections, self._now
        )
        self._interactions = Interactions(asks, platform, self.name)
        if self._endpoint is not None:
            self._endpoint.on_click = self._interactions.receive
        self._sessions = AgentSessions(asks, self._calls, self._notes, self._labels, self._now)
        self._events = EventHandler(asks, self._groups, self._identity, self._recheck, self._now)
        self._events.on_home_opened = self._homes.open_first_page
        self._events.on_session_stopped = self._sessions.end_turns
        await self._recheck(self._outage).wait()
        if self._app_token is not None:
            web_client = self._calls.client
            self._sockets = SocketModeConnections(
                self._app_token,
                web_client,
                self._dispatcher.dispatch,
                outage=self._outages,
                on_lost=self._connection_lost,
                on_restored=self._connection_restored,
            )
            await self._sockets.start()
        if self._lease is not None:
            await self._lease.start()

    async def stop(self) -> None:
        """See `answerback.ports.surface.Surface.stop`."""
        await self._identity_resolver.stop()
        if self._lease is not None:
            await self._lease.stop()
        if self._changes is not None:
            await self._changes.stop()
        if self._missed is not None:
            await self._missed.stop()
        if self._homes is not None:
            await self._homes.stop()
        if self._sessions is not None:
            await self._sessions.stop()
        await self._later.stop(_FINISH_SECONDS)
        if self._sockets is not None:
            await self._sockets.stop()
        await self._groups.stop()
        await self._names.stop()

    def unready_reason(self) -> str | None:
        """See `answerback.ports.surface.Surface.unready_reason`."""
        if self._outage is None and self._sockets is not None:
            lost = self._sockets.outage_reason()
            return (
                None if lost is None else f"Slack's Socket Mode: {lost}. See `answerback doctor`."
            )
        return self._outage

    def public_routes(self) -> list[web.RouteDef]:
        """The routes of HTTP mode for the public listener; none over Socket Mode."""
        if self._endpoint is None or self._app_token is not None:
            return []
        return [web.post(EVENTS_PATH, self._endpoint.handle)]

    async def show(self, ask: Ask, save: Save) -> Shown | RetryLater:
        """See `answerback.ports.surface.Surface.show`."""
        try:
            shown = await super().show(ask, save)
        finally:
            self._refresh_homes(ask)
        if self._sessions is not None and isinstance(shown, Shown):
            self._sessions.update(ask, shown)
        return shown

    async def retire_message(
        self, ask: Ask, left: Mapping[str, JsonValue], to: Destination
    ) -> None:
        """See `answerback.ports.surface.SupportsMoves.retire_message`."""
        await super().retire_message(ask, left, to)
        self._refresh_homes(ask)

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        """See `answerback.ports.surface.Surface.default_responders`: a direct message is for its recipient."""
        if destination.user is not None:
            return (destination.user,)
        if (destination.channel or "").startswith("D"):
            return (ANYONE,)
        return self._responders

    def destination_problem(self, destination: Destination) -> str | None:
        """See `answerback.ports.surface.Surface.destination_problem`."""
        if destination.user is not None:
            if ids.USER.fullmatch(destination.user):
                return None
            return (
                f"{destination.user!r} is not a Slack member id, "
                "which begins with U or W, as in slack:@U012ABC."
            )
        if not ids.CHANNEL.fullmatch(destination.channel or ""):
            return (
                f"{destination.channel!r} is not a Slack channel id: give the id that begins with C, G or D "
                "(at the end of the channel's details), as in slack:C012ABC, not the channel's name."
            )
        if destination.thread is not None and not ids.TS.fullmatch(destination.thread):
            return (
                f"{destination.thread!r} is not a Slack thread: give the ts of its first message, "
                "as in slack:C012ABC/1716400000.000100."
            )
        return None

    def _refresh_homes(self, ask: Ask) -> None:
        if self._homes is not None:
            self._homes.refresh_for(ask)

    async def _on_click(self, payload: Mapping[str, Any]) -> Ack:
        if self._interactions is None:
            raise AssertionError("nothing is received before the surface is started")
        return await self._interactions.receive(payload)

    async def _on_event(self, event: Mapping[str, Any]) -> None:
        if self._events is None or self._listener is None or self._missed is None:
            raise AssertionError("nothing is received before the surface is started")
        if (
            await self._events.handle_event(event)
            or (message := typed_message_from_event(event)) is None
        ):
            return
        await self._listener.handle_message(message)
        await self._missed.record_heard(message.at)

    def _token_rejected(self, error: UnauthorizedError) -> None:
        self._recheck(str(error))

    def _recheck(self, reason: str | None) -> asyncio.Event:
        """Report an outage, with this reason, until Slack identifies the app.

        The returned event is set after the first attempt.
        """
        self._outage = reason
        return self._identity_resolver.start()

    def _connection_lost(self) -> None:
        self._receiving = False
        if self._missed is not None:
            self._missed.mark_disconnected()

    def _connection_restored(self) -> None:
        self._receiving = True
        self._reconnected()

    def _reconnected(self) -> None:
        self._catch_up()
        self._look_for_changes()
        if self._asks is not None:
            self._later.spawn("show", self._show_outdated(self._asks))

    async def _lead(self) -> None:
        self._look_for_changes()

    async def _stand_by(self) -> None:
        if self._changes is not None:
            await self._changes.stop()

    def _is_responsible(self) -> bool:
        return self._hears() and (self._lease is None or self._lease.is_held)

    def _look_for_changes(self) -> None:
        if self._changes is not None:
            self._changes.start_looking()

    def _hears(self) -> bool:
        return self._receiving and self._identity.bot_user is not None

    async def _identify(self) -> None:
        answer = await self._calls.call("auth.test", self._calls.client.auth_test)
        self._identity.team = str(answer.get("team_id") or "") or None
        self._identity.bot_user = str(answer.get("user_id") or "") or None
        self._identity.bot = str(answer.get("bot_id") or "") or None
        self._outage = None
        self._outages.record_success("api")
        self._reconnected()

    def _identification_failed(self, error: PlatformError) -> bool:
        self._outage = str(error)
        self._outages.record_failure("api", error)
        return True
