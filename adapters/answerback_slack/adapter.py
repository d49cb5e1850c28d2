"""Slack as a surface: wires the parts together, and tells whether people can be reached."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import aiohttp
from aiohttp import web
from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Destination
from answerback.core.errors import PlatformError, UnauthorizedError
from answerback.core.labels import Labels
from answerback.ports.surface import Asks, RetryLater, Shown
from answerback_chat import responders
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.bot_identity import IdentityResolver
from answerback_chat.catch_up import MissedMessageReader
from answerback_chat.chat_surface import ChatSurface
from answerback_chat.interactions import Interactions
from answerback_chat.live_message import Save
from answerback_chat.selection_drafts import SelectionDrafts
from answerback_slack.agent_status import AgentSessions
from answerback_slack.api_client import SlackApi, create_web_client
from answerback_slack.bolt_app import BoltDispatcher
from answerback_slack.catch_up import Conversation, create_missed_message_reader
from answerback_slack.group_membership import GroupMembership
from answerback_slack.home_tab import HomeTabs
from answerback_slack.http_endpoint import HttpEndpoint
from answerback_slack.interactions import Ack, InteractionHandler
from answerback_slack.parse import BotIdentity, Click, Submission, typed_message_from_event
from answerback_slack.platform_events import EventHandler
from answerback_slack.posting import Posting
from answerback_slack.private_notes import PrivateNotes
from answerback_slack.responder_names import ResponderNames
from answerback_slack.socket_mode_client import SocketModeConnections
from answerback_slack.typed_messages import TypedMessageListener

logger = logging.getLogger(__name__)

EVENTS_PATH: Final = "/slack/events"
_FINISH_SECONDS: Final = 5.0
_MOST_TASKS: Final = 2_000
_CHANNEL: Final = re.compile(r"[CGD][A-Z0-9]{1,30}")
_THREAD: Final = re.compile(r"[0-9]{1,16}\.[0-9]{1,9}")
_USER: Final = re.compile(r"[UW][A-Z0-9]{1,30}")


class SlackSurface(ChatSurface):
    """Shows asks in Slack and hands in what people do there.

    Args:
        bot_token: ``xoxb-…``: posts, edits, looks up.
        app_token: ``xapp-…``: payloads come over Socket Mode; None: over HTTP, on `public_routes`.
        signing_secret: proves HTTP requests to be Slack's.
        responders: who may act where neither the ask nor its route says so.
        api_url: another base than Slack's for the Web API, for tests and proxies.
        http: the session that every call shares.
        now: seconds since the epoch, as all processes with the same store count them.
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
    ) -> None:
        self._now = now
        self._responders = responders
        self._app_token = app_token
        self._signing_secret = signing_secret
        self._labels = labels
        self._calls = SlackApi(create_web_client(bot_token, api_url, http), self._refused)
        self._groups = GroupMembership(self._calls)
        self._names = ResponderNames(self._calls)
        self._posting = Posting(self._calls, labels, self._groups, self._names, now)
        self._notes = PrivateNotes(self._calls, http)
        self._later = BackgroundTasks(_MOST_TASKS)
        self._identity = BotIdentity()
        self._interactions: Interactions[Click | Submission, Ack] | None = None
        self._listener: TypedMessageListener | None = None
        self._events: EventHandler | None = None
        self._homes: HomeTabs | None = None
        self._sessions: AgentSessions | None = None
        self._sockets: SocketModeConnections | None = None
        self._missed: MissedMessageReader[Conversation] | None = None
        self._hearing = app_token is None
        self._identifying = IdentityResolver("slack", self._identify, self._unknown)
        self._trouble: str | None = "Slack is not connected yet."
        self._listeners = BoltDispatcher(bot_token, self._identity, self._clicked, self._happened)
        self._front = (
            None
            if signing_secret is None
            else HttpEndpoint(signing_secret, self._listeners.dispatch, now)
        )

    async def start(self, asks: Asks) -> None:
        """See `answerback.ports.surface.Surface.start`."""
        parts = (asks, self._calls, self._notes, self._later, self._labels, self._identity)
        self._listener = TypedMessageListener(*parts, self)
        self._missed = create_missed_message_reader(asks, self._calls, self._listener)
        self._homes = HomeTabs(asks, self._calls, self._groups, self._labels, self._now)
        self._posting.selections = SelectionDrafts(asks)
        platform = InteractionHandler(
            *parts, self._listener, self._homes, self._posting.selections, self._now
        )
        self._interactions = Interactions(asks, platform, self.name)
        if self._front is not None:
            self._front.on_click = self._interactions.receive
        self._sessions = AgentSessions(asks, self._calls, self._notes, self._labels, self._now)
        self._events = EventHandler(asks, self._groups, self._identity, self._recheck, self._now)
        self._events.on_home_opened = self._homes.open_first_page
        self._events.on_session_stopped = self._sessions.end_turns
        await self._recheck(self._trouble).wait()
        if self._app_token is not None:
            web_client = self._calls.client
            self._sockets = SocketModeConnections(
                self._app_token,
                web_client,
                self._listeners.dispatch,
                lost=self._lost,
                back=self._back,
            )
            await self._sockets.start()

    async def stop(self) -> None:
        """See `answerback.ports.surface.Surface.stop`."""
        await self._identifying.stop()
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
        if self._trouble is None and self._sockets is not None:
            lost = self._sockets.outage_reason()
            return (
                None if lost is None else f"Slack's Socket Mode: {lost}. See `answerback doctor`."
            )
        return self._trouble

    def public_routes(self) -> list[web.RouteDef]:
        """The routes of HTTP mode for the public listener; none over Socket Mode."""
        if self._front is None or self._app_token is not None:
            return []
        return [web.post(EVENTS_PATH, self._front.handle)]

    async def show(self, ask: Ask, save: Save) -> Shown | RetryLater:
        """See `answerback.ports.surface.Surface.show`."""
        for group in responders.responder_groups(ask):
            self._groups.refresh(group)  # known by the time somebody clicks
        try:
            shown = await super().show(ask, save)
        finally:
            self._touched(ask)
        if self._sessions is not None and isinstance(shown, Shown):
            self._sessions.update(ask, shown)
        return shown

    async def retire_message(
        self, ask: Ask, left: Mapping[str, JsonValue], to: Destination
    ) -> None:
        """See `answerback.ports.surface.SupportsMoves.retire_message`."""
        await super().retire_message(ask, left, to)
        self._touched(ask)

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        """See `answerback.ports.surface.Surface.default_responders`: a direct message is its person's."""
        if destination.user is not None:
            return (destination.user,)
        if (destination.channel or "").startswith("D"):
            return (ANYONE,)
        return self._responders

    def destination_problem(self, destination: Destination) -> str | None:
        """See `answerback.ports.surface.Surface.destination_problem`."""
        if destination.user is not None:
            if _USER.fullmatch(destination.user):
                return None
            return f"{destination.user!r} is no Slack member id: it begins with U or W, as in slack:@U012ABC."
        if not _CHANNEL.fullmatch(destination.channel or ""):
            return (
                f"{destination.channel!r} is no Slack channel id: give the id that begins with C, G or D "
                "(at the end of the channel's details), not its name, as in slack:C012ABC."
            )
        if destination.thread is not None and not _THREAD.fullmatch(destination.thread):
            return (
                f"{destination.thread!r} is no Slack thread: give the ts of its first message, "
                "as in slack:C012ABC/1716400000.000100."
            )
        return None

    def _touched(self, ask: Ask) -> None:
        if self._homes is not None:
            self._homes.refresh_for(ask)

    async def _clicked(self, payload: Mapping[str, Any]) -> Ack:
        if self._interactions is None:
            raise AssertionError("nothing is received before the surface is started")
        return await self._interactions.receive(payload)

    async def _happened(self, payload: dict[str, Any]) -> None:
        if self._events is None or self._listener is None or self._missed is None:
            raise AssertionError("nothing is received before the surface is started")
        if (
            await self._events.handle_event(payload)
            or (said := typed_message_from_event(payload)) is None
        ):
            return
        await self._listener.handle_message(said)
        await self._missed.record_heard(said.at)

    def _refused(self, error: UnauthorizedError) -> None:
        self._recheck(str(error))

    def _recheck(self, trouble: str | None) -> asyncio.Event:
        """Nobody can be reached, for this reason, until Slack says who we are; set after the first attempt."""
        self._trouble = trouble
        return self._identifying.start()

    def _lost(self) -> None:
        self._hearing = False
        if self._missed is not None:
            self._missed.mark_disconnected()

    def _back(self) -> None:
        self._hearing = True
        self._catch_up()

    def _hears(self) -> bool:
        return self._hearing and self._identity.bot_user is not None

    async def _identify(self) -> None:
        told = await self._calls.call("auth.test", self._calls.client.auth_test)
        self._identity.team = str(told.get("team_id") or "") or None
        self._identity.bot_user = str(told.get("user_id") or "") or None
        self._identity.bot = str(told.get("bot_id") or "") or None
        self._trouble = None
        self._catch_up()

    def _unknown(self, error: PlatformError) -> bool:
        self._trouble = str(error)
        extra = {"action": "not_identified", "code": error.code}
        logger.warning("Slack does not know us: %s", error, extra=extra)
        return True
