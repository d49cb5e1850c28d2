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
from answerback.ports.plugin import Host
from answerback.ports.surface import Asks, RetryLater, Shown
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.bot_identity import IdentityResolver
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
from answerback_slack.catch_up import create_missed_message_reader
from answerback_slack.connection import SocketModeConnections
from answerback_slack.group_membership import GroupMembership
from answerback_slack.http_endpoint import HttpEndpoint
from answerback_slack.inbox import HomeTabs
from answerback_slack.interactions import Ack, InteractionHandler
from answerback_slack.live_message_lookup import SlackMessages
from answerback_slack.manifest import EVENTS_PATH
from answerback_slack.parse import BotIdentity, Click, Submission
from answerback_slack.platform_events import EventHandler
from answerback_slack.plugin import SlackSettings, reveal
from answerback_slack.posting import Posting
from answerback_slack.private_notes import PrivateNotes
from answerback_slack.responder_names import ResponderNames
from answerback_slack.typed_messages import TypedMessageListener, typed_message_from_event

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
    _identity: BotIdentity

    def __init__(
        self,
        asks: Asks,
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
        self._responders = responders
        client = create_web_client(bot_token, api_url, http)
        calls = self._calls = SlackApi(client, self._token_rejected)
        notes = PrivateNotes(calls, http)
        later = BackgroundTasks(_MAX_TASKS)
        identity = BotIdentity()
        groups = GroupMembership(calls)
        self._names = ResponderNames(calls)
        selections = SelectionDrafts(asks)
        self._homes = HomeTabs(asks, calls, groups, labels, now)
        self._sessions = AgentSessions(asks, calls, notes, labels, now)
        parts = (asks, calls, notes, later, labels, identity)
        self._listener = TypedMessageListener(*parts, groups)
        self._events = EventHandler(
            asks, groups, self._homes, self._sessions, identity, self._recheck, now
        )
        changes = MissedChangeFinder(self.name, asks, SlackMessages(calls), self._is_responsible)
        super().__init__(
            asks,
            Posting(calls, labels, groups, self._names, selections, now),
            groups,
            create_missed_message_reader(asks, calls, self._listener),
            changes,
            identity,
            LeaderLease(shared, LEASE, self._lead, changes.stop),
            later,
        )
        platform = InteractionHandler(*parts, self._listener, self._homes, selections, now)
        interactions = Interactions[Click | Submission, Ack](asks, platform, self.name)
        bolt = BoltDispatcher(bot_token, identity, interactions.receive, self._on_event)
        self._outages = Outage(logger, "Slack")
        self._outage: str | None = "Slack is not connected yet."
        self._identity_resolver = IdentityResolver(
            "slack", self._identify, self._identification_failed
        )
        self._routes: list[web.RouteDef] = []
        self._sockets: SocketModeConnections | None = None
        self._receiving = app_token is None
        if app_token is not None:
            self._sockets = SocketModeConnections(
                app_token,
                client,
                bolt.dispatch,
                outage=self._outages,
                on_lost=self._connection_lost,
                on_restored=self._connection_restored,
            )
        elif signing_secret is not None:
            endpoint = HttpEndpoint(signing_secret, interactions.receive, bolt.dispatch, now)
            self._routes = [web.post(EVENTS_PATH, endpoint.handle)]

    async def start(self) -> None:
        """See `answerback.ports.surface.Surface.start`."""
        await self._recheck(self._outage).wait()
        if self._sockets is not None:
            await self._sockets.start()
        await self._leadership.start()

    async def stop(self) -> None:
        """See `answerback.ports.surface.Surface.stop`."""
        await self._identity_resolver.stop()
        await self._leadership.stop()
        await self._changes.stop()
        await self._missed.stop()
        await self._homes.stop()
        await self._sessions.stop()
        await self._background.stop(_FINISH_SECONDS)
        if self._sockets is not None:
            await self._sockets.stop()
        await self._groups.stop()
        await self._names.stop()

    def unready_reason(self) -> str | None:
        """See `answerback.ports.surface.Surface.unready_reason`."""
        if self._outage is not None or self._sockets is None:
            return self._outage
        lost = self._sockets.outage_reason()
        return None if lost is None else f"Slack's Socket Mode: {lost}. See `answerback doctor`."

    def public_routes(self) -> list[web.RouteDef]:
        """The routes of HTTP mode for the public listener; none over Socket Mode."""
        return self._routes

    async def show(self, ask: Ask, save: Save) -> Shown | RetryLater:
        try:
            shown = await super().show(ask, save)
        finally:
            self._homes.refresh_for(ask)
        if isinstance(shown, Shown):
            self._sessions.update(ask, shown)
        return shown

    async def retire_message(
        self, ask: Ask, left: Mapping[str, JsonValue], to: Destination
    ) -> float | None:
        at = await super().retire_message(ask, left, to)
        self._homes.refresh_for(ask)
        return at

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

    async def _on_event(self, event: Mapping[str, Any]) -> None:
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
        self._missed.mark_disconnected()

    def _connection_restored(self) -> None:
        self._receiving = True
        self._reconnected()

    async def _lead(self) -> None:
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


async def build(settings: SlackSettings, host: Host, asks: Asks) -> SlackSurface:
    """Build the surface; see `answerback_chat.chat_plugin`."""
    return SlackSurface(
        asks,
        bot_token=settings.token,
        app_token=reveal(settings.app_token),
        signing_secret=reveal(settings.signing_secret),
        responders=settings.responders,
        api_url=settings.api_url,
        labels=host.labels,
        http=host.http,
        now=host.now,
        shared=host.shared,
    )
