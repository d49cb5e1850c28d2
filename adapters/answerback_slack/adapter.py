"""The Slack surface: wires its parts together and reports whether people can be reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web
from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Destination
from answerback.core.errors import PlatformError
from answerback.ports.plugin import Host
from answerback.ports.surface import Asks, RetryLater, Shown
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.catch_up import MissedMessageReader
from answerback_chat.chat_surface import ChatSurface
from answerback_chat.control_codec import object_of, text_of
from answerback_chat.delays import Delays
from answerback_chat.interactions import Interactions
from answerback_chat.leader_lease import LeaderLease
from answerback_chat.live_message import Save
from answerback_chat.pending_deliveries import PendingDeliveries
from answerback_chat.selection_drafts import SelectionDrafts
from answerback_chat.sent_files import FileTaker
from answerback_slack import ids
from answerback_slack.agent_status import AgentSessions
from answerback_slack.api_client import SlackApi, create_web_client, granted_scopes
from answerback_slack.bolt_app import BoltDispatcher
from answerback_slack.catch_up import create_missed_message_reader
from answerback_slack.channel_history import Conversation
from answerback_slack.connection import SocketModeConnections
from answerback_slack.group_membership import GroupMembership
from answerback_slack.http_endpoint import HttpEndpoint
from answerback_slack.inbox import HomeTabs
from answerback_slack.interactions import Ack, InteractionHandler
from answerback_slack.live_message_lookup import SlackMessages
from answerback_slack.manifest import EVENTS_PATH, READ_SCOPE
from answerback_slack.parse import BotIdentity, Click, Submission, parse_interaction
from answerback_slack.pictures import Pictures
from answerback_slack.platform_events import EventHandler
from answerback_slack.plugin import SlackSettings, reveal
from answerback_slack.posting import Posting
from answerback_slack.private_notes import PrivateNotes
from answerback_slack.responder_names import ResponderNames
from answerback_slack.sent_files import SentFiles
from answerback_slack.submitted_files import SubmittedFiles
from answerback_slack.typed_messages import TypedMessageListener, typed_message_from_event

LEASE: Final = "slack changes"
_MAX_TASKS: Final = 2_000
_DELAYS: Final = Delays(groups=1.5)
"""Slack waits 3 s for the acknowledgement of an action."""


class SlackSurface(ChatSurface):
    name = "slack"
    platform = "Slack"
    _identity: BotIdentity
    _missed: MissedMessageReader[Conversation]

    def __init__(
        self, asks: Asks, settings: SlackSettings, host: Host, delays: Delays = _DELAYS
    ) -> None:
        labels, now = host.labels, host.now
        client = create_web_client(settings.token, settings.api_url, host.http)
        calls = self._calls = SlackApi(client, self._on_token_refused, delays.call)
        notes = PrivateNotes(calls, host.http)
        later = BackgroundTasks(_MAX_TASKS)
        identity = BotIdentity()
        groups = GroupMembership(calls, delays.groups)
        self._names = ResponderNames(calls, delays.names)
        selections = SelectionDrafts(asks)
        self._homes = HomeTabs(asks, calls, groups, labels, now)
        self._sessions = AgentSessions(asks, calls, notes, labels, now)
        files = SentFiles(calls, host.http)
        taker = FileTaker(asks.people_files, labels, self.platform, delays.files)
        self._listener = TypedMessageListener(
            asks, calls, notes, later, labels, identity, groups, files, taker
        )
        self._events = EventHandler(
            asks, groups, self._homes, self._sessions, identity, self._report_outage, now
        )
        pending = PendingDeliveries(
            asks, self.name, now, delays.pending_files, is_alone=host.shared is None
        )
        self._submitted = SubmittedFiles(asks, notes, later, labels, files, taker, pending, now)
        super().__init__(
            asks,
            Posting(
                calls,
                labels,
                groups,
                self._names,
                selections,
                now,
                Pictures(calls, asks.files, delays.pictures),
            ),
            groups,
            SlackMessages(calls),
            identity,
            LeaderLease(host.shared, LEASE, self._lead, self._stand_by),
            later,
            settings.responders,
            delays,
            create_missed_message_reader(asks, calls, self._listener),
            pending=pending,
        )
        platform = InteractionHandler(
            asks,
            calls,
            notes,
            later,
            labels,
            identity,
            self._listener,
            self._homes,
            selections,
            self._submitted,
            now,
        )
        self._platform = platform
        interactions = Interactions[Click | Submission, Ack](asks, platform, self.name)
        bolt = BoltDispatcher(settings.token, identity, interactions.receive, self._on_event)
        app_token = reveal(settings.app_token)
        self._receiving = app_token is None
        if app_token is not None:
            self._source = SocketModeConnections(
                app_token,
                client,
                bolt.dispatch,
                outage=self._outage,
                on_lost=self._connection_lost,
                on_restored=self._connection_restored,
            )
        else:
            endpoint = HttpEndpoint(settings.secret, interactions.receive, bolt.dispatch, now)
            self.routes = [web.post(EVENTS_PATH, endpoint.handle)]

    async def start(self) -> None:
        await self._start_identifying().wait()
        if self._source is not None:
            await self._source.start()
        await self._leadership.start()

    async def stop(self) -> None:
        await self._homes.stop()
        await self._sessions.stop()
        await super().stop()
        await self._names.stop()

    def unready_reason(self) -> str | None:
        if self._problem is not None or self._source is None:
            return self._problem
        lost = self._source.outage_reason()
        return None if lost is None else f"Slack's Socket Mode: {lost}. See `answerback doctor`."

    def is_leader(self) -> bool | None:
        return None  # every process receives events

    async def show(self, ask: Ask, save: Save) -> Shown | RetryLater:
        try:
            shown = await super().show(ask, save)
        finally:
            self._homes.refresh_for(ask)
        self._sessions.update(ask, shown)
        return shown

    async def retire_message(
        self, ask: Ask, left: Mapping[str, JsonValue], to: Destination
    ) -> float | None:
        at = await super().retire_message(ask, left, to)
        self._homes.refresh_for(ask)
        return at

    def refresh_list(self, user_id: str) -> None:
        self._homes.refresh_list(user_id)

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        # Only the person it is sent to reads a direct message.
        return (ANYONE,) if (destination.channel or "").startswith("D") else self._responders

    def destination_problem(self, destination: Destination) -> str | None:
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
        await self._missed.record_handled(message.at)

    def _take_pending(self, key: str, payload: JsonValue) -> None:
        used = parse_interaction(object_of(payload), self._identity)
        if isinstance(used, Submission):
            self._submitted.take(key, used, self._platform.respond_to_acted)

    async def _lead(self) -> None:
        self._changes.start_looking()

    async def _stand_by(self) -> None:
        await self._changes.stop()

    def _connection_lost(self) -> None:
        self._receiving = False
        self._missed.mark_disconnected()

    def _connection_restored(self) -> None:
        self._receiving = True
        self._reconnected()

    def _hears(self) -> bool:
        return self._receiving and super()._hears()

    def _is_responsible(self) -> bool:
        return self._hears() and super()._is_responsible()

    async def _ask_identity(self) -> None:
        answer, headers = await self._calls.sign_in()
        self._identity.reads_files = READ_SCOPE in granted_scopes(headers)
        self._identity.team = text_of(answer.get("team_id")) or None
        self._identity.bot_user = text_of(answer.get("user_id")) or None
        self._identity.bot = text_of(answer.get("bot_id")) or None

    def _should_retry_identify(self, error: PlatformError) -> bool:
        """Return True: an administrator may approve or install the app at any time."""
        self._problem = str(error)
        self._outage.record_failure("api", error)
        return True


async def build(settings: SlackSettings, host: Host, asks: Asks) -> SlackSurface:
    return SlackSurface(asks, settings, host)
