"""Slack's own view of an agent at work: the status of its session in a thread, and Slack's Stop button.

While a question is open the session is ``suspended``; once it is answered it is ``processing``, and Slack shows its
Stop button; otherwise ``active``. Nobody tells us when an agent has finished, so ``processing`` ends after a while.
Only
an app that is declared an agent has sessions: https://docs.slack.dev/ai/agent-sessions,
https://docs.slack.dev/reference/methods/agents.sessions.setStatus
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Final, NamedTuple

from answerback.core.ask import Ask, Status
from answerback.core.errors import PlatformError
from answerback.core.labels import Labels
from answerback.core.walker import EndTurn, Person
from answerback.ports.surface import Actor, Asks, Rejected, Shown
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.retry import retry
from answerback_slack import private_notes
from answerback_slack.api_client import SlackApi
from answerback_slack.blocks import escape
from answerback_slack.optional_features import OptionalFeature
from answerback_slack.parse import MessageLocation
from answerback_slack.private_notes import PrivateNotes

PROCESSING_SECONDS: Final = 120.0
"""How long a session is ``processing`` after an answer: as long as Slack itself keeps the status of an assistant,
https://docs.slack.dev/reference/methods/assistant.threads.setStatus"""
_STOP_SECONDS: Final = 2.0
_MOST_TASKS: Final = 2_000
_REFUSALS: Final = frozenset(
    {"not_authorized", "missing_scope", "no_permission", "not_allowed_token_type", "unknown_method"}
)
_GOES_ON: Final = frozenset({Status.ANSWERED, Status.CANCELLED, Status.EXPIRED})
"""How asks end after which the agent goes on with its turn."""


class SessionStatus(StrEnum):
    """The status of a session, by Slack's names."""

    ACTIVE = "active"
    PROCESSING = "processing"
    SUSPENDED = "suspended"


class AgentSession(NamedTuple):
    """Where a session is: a thread."""

    channel: str
    thread: str


class AgentSessions:
    """Keeps the sessions' statuses."""

    def __init__(
        self,
        asks: Asks,
        calls: SlackApi,
        told: PrivateNotes,
        labels: Labels,
        now: Callable[[], float],
    ) -> None:
        self._now = now
        self._asks = asks
        self._calls = calls
        self._notes = told
        self._labels = labels
        self._agent = OptionalFeature(
            "the status of agent sessions",
            "paste the manifest of `answerback manifest slack` with a mode that ends in -agent",
            _REFUSALS,
        )
        self._work = BackgroundTasks(_MOST_TASKS)
        self._turns: dict[AgentSession, object] = {}
        """Whose turn it is to set the status of a session: the latest of all that concerns it."""
        self._processing: set[AgentSession] = set()

    async def stop(self) -> None:
        """Gives up what is under way. No session stays ``processing`` that this process would have ended."""
        await self._work.stop(0)
        left, self._processing = self._processing, set()
        ending = (self._set(session, SessionStatus.ACTIVE, None) for session in left)
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await asyncio.gather(*ending, return_exceptions=True)

    def update(self, ask: Ask, shown: Shown) -> None:
        """An ask's message was brought up to date."""
        channel, thread = shown.thread.channel, shown.thread.id
        if not self._agent.is_on or not channel or not thread:
            return
        ended = ask.outcome.at if ask.outcome else self._now()
        if (ask.open and ask.seen) or self._now() - ended > PROCESSING_SECONDS:
            return  # its session is suspended already, or its end is long known
        self._work.spawn("session status", self._follow(ask, AgentSession(channel, thread)))

    async def end_turns(self, session: AgentSession, user: str, delivery: str) -> None:
        """Somebody pressed Slack's Stop button: whatever is open in the thread ends the turn.

        Raises:
            StoreError: nothing is known to be saved; Slack is to send the event again.
        """
        actor = Actor(Person(surface="slack", user_id=user))
        found = await self._asks.list_open_in("slack", session.channel, session.thread)
        for ask in found:
            ended = await self._asks.act(
                ask.id, EndTurn(), actor, delivery=f"slack:{delivery}:{ask.id}"
            )
            if isinstance(ended, Rejected):
                said = private_notes.rejection_mrkdwn(ended, actor.person, self._labels)
                self._tell(said, user, session, ask.destination.thread)
        if not found:
            self._tell(escape(self._labels.nothing_to_stop), user, session)
            self._work.spawn("session status", self._end(session))

    async def _follow(self, ask: Ask, session: AgentSession) -> None:
        with self._turn(session) as turn:
            status = await self._status(ask, session)
            await self._set(session, status, turn)
            if status is SessionStatus.PROCESSING:
                self._processing.add(session)
                await asyncio.sleep(PROCESSING_SECONDS)
                await self._set(session, SessionStatus.ACTIVE, turn)

    async def _end(self, session: AgentSession) -> None:
        with self._turn(session) as turn:
            await self._set(session, SessionStatus.ACTIVE, turn)

    @contextmanager
    def _turn(self, session: AgentSession) -> Iterator[object]:
        """Takes the place of whatever is still to be done about a session."""
        turn = self._turns[session] = object()
        try:
            yield turn
        finally:
            if self._turns.get(session) is turn:
                del self._turns[session]

    async def _status(self, ask: Ask, session: AgentSession) -> SessionStatus:
        if ask.open or await self._asks.list_open_in("slack", session.channel, session.thread):
            return SessionStatus.SUSPENDED
        goes_on = ask.status in _GOES_ON and not ask.unattended
        return SessionStatus.PROCESSING if goes_on else SessionStatus.ACTIVE

    async def _set(self, session: AgentSession, status: SessionStatus, turn: object) -> None:
        """Sets a status, unless something later concerns the session meanwhile."""
        channel, thread = session
        client = self._calls.client

        async def setting() -> None:
            if self._turns.get(session) is turn:
                await self._calls.call(
                    "agents.sessions.setStatus",
                    lambda: client.agents_sessions_setStatus(
                        channel_id=channel, thread_ts=thread, status=status
                    ),
                )

        self._processing.discard(session)
        try:
            await retry(setting)
            self._agent.confirm_supported()
        except PlatformError as error:
            if not self._agent.turn_off_if_unsupported(error):
                raise

    def _tell(self, text: str, user: str, session: AgentSession, thread: str | None = None) -> None:
        """Tells one person privately; in a thread that surely has replies: Slack shows it in no other.

        https://docs.slack.dev/reference/methods/chat.postEphemeral
        """
        where = MessageLocation(session.channel, session.thread, thread)
        self._work.spawn("note", self._notes.send(text, user, where))
