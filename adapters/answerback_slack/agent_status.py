"""Slack's own view of an agent at work: the status of its session in a thread, and Slack's Stop button.

A session is ``suspended`` while a question is open. After an answer it is ``processing``, and Slack shows its Stop
button. Otherwise it is ``active``. Nothing reports when an agent has finished, so ``processing`` ends after a fixed
time. Only an app that is declared an agent has sessions: https://docs.slack.dev/ai/agent-sessions,
https://docs.slack.dev/reference/methods/agents.sessions.setStatus
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from answerback.core.actions import EndTurn
from answerback.core.ask import Ask, Status, Thread
from answerback.core.errors import PlatformError
from answerback.core.labels import Labels
from answerback.core.walker import Person
from answerback.ports.surface import Actor, Asks, Rejected, RetryLater, Shown
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.retry import retry
from answerback_slack import private_notes
from answerback_slack.api_client import SlackApi
from answerback_slack.blocks import escape
from answerback_slack.optional_features import OptionalFeature
from answerback_slack.parse import MessageLocation
from answerback_slack.private_notes import PrivateNotes

PROCESSING_SECONDS: Final = 120.0
"""Seconds that a session stays ``processing`` after an answer: as long as Slack itself keeps an assistant's status,
https://docs.slack.dev/reference/methods/assistant.threads.setStatus"""
_STOP_SECONDS: Final = 2.0
_MAX_TASKS: Final = 2_000
_UNSUPPORTED_CODES: Final = frozenset(
    {"not_authorized", "missing_scope", "no_permission", "not_allowed_token_type", "unknown_method"}
)
_AGENT_CONTINUES: Final = frozenset({Status.ANSWERED, Status.CANCELLED, Status.EXPIRED})
"""The final statuses of asks after which the agent continues its turn."""


class SessionStatus(StrEnum):
    """The status of a session, under Slack's names."""

    ACTIVE = "active"
    PROCESSING = "processing"
    SUSPENDED = "suspended"


class AgentSession(NamedTuple):
    """A session, identified by its thread."""

    channel: str
    thread: str


@dataclass(eq=False)
class AgentSessions:
    asks: Asks
    calls: SlackApi
    notes: PrivateNotes
    labels: Labels
    now: Callable[[], float]

    def __post_init__(self) -> None:
        self._agent = OptionalFeature(
            "the status of agent sessions",
            "to enable it, paste the manifest of `answerback manifest slack` with a mode that ends in -agent",
            _UNSUPPORTED_CODES,
        )
        self._work = BackgroundTasks(_MAX_TASKS)
        self._turns: dict[AgentSession, object] = {}
        """The task that may set a session's status, represented by its token: always the latest one."""
        self._processing: set[AgentSession] = set()
        self._locks: WeakValueDictionary[AgentSession, asyncio.Lock] = WeakValueDictionary()

    async def stop(self) -> None:
        """Cancel running work, and end the ``processing`` status of the sessions that this process would have ended."""
        await self._work.stop(0)
        remaining, self._processing = self._processing, set()
        ending = (self._set(session, SessionStatus.ACTIVE, None) for session in remaining)
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await asyncio.gather(*ending, return_exceptions=True)

    def update(self, ask: Ask, shown: Shown | RetryLater) -> None:
        """Update the session of an ask whose message was just updated."""
        place = Thread() if isinstance(shown, RetryLater) else shown.thread
        if not self._agent.is_on or not place.channel or not place.id:
            return
        ended = ask.outcome.at if ask.outcome else self.now()
        if (ask.open and ask.placement.was_visible) or self.now() - ended > PROCESSING_SECONDS:
            return  # the session is suspended already, or the ask ended long ago
        self._work.spawn("session status", self._follow(ask, AgentSession(place.channel, place.id)))

    async def end_turns(self, session: AgentSession, user: str, delivery: str) -> None:
        """Handle Slack's Stop button: end the turn of every ask that is open in the thread.

        Raises:
            StoreError: it is not certain that anything was saved; Slack should send the event again.
        """
        actor = Actor(Person(surface="slack", user_id=user))
        each_open = self.asks.each_open("slack", session.channel, session.thread)
        open_asks = [ask async for ask in each_open]
        for ask in open_asks:
            result = await self.asks.act(
                ask.id, EndTurn(), actor, delivery=f"slack:{delivery}:{ask.id}"
            )
            if isinstance(result, Rejected):
                note = private_notes.rejection_mrkdwn(result, actor.person, self.labels)
                self._notify(note, user, session, ask.placement.destination.thread)
        if not open_asks:
            self._notify(escape(self.labels.nothing_to_stop), user, session)
            self._work.spawn("session status", self._end(session))

    async def _follow(self, ask: Ask, session: AgentSession) -> None:
        with self._turn(session) as turn:
            status = await self._status(ask, session)
            await self._set(session, status, turn)
            if status is SessionStatus.PROCESSING:
                await asyncio.sleep(PROCESSING_SECONDS)
                await self._set(session, SessionStatus.ACTIVE, turn)

    async def _end(self, session: AgentSession) -> None:
        with self._turn(session) as turn:
            await self._set(session, SessionStatus.ACTIVE, turn)

    @contextmanager
    def _turn(self, session: AgentSession) -> Iterator[object]:
        """Supersede any earlier task that would still set this session's status."""
        turn = self._turns[session] = object()
        try:
            yield turn
        finally:
            if self._turns.get(session) is turn:
                del self._turns[session]

    async def _status(self, ask: Ask, session: AgentSession) -> SessionStatus:
        if ask.open or await self.asks.list_open_in("slack", session.channel, session.thread):
            return SessionStatus.SUSPENDED
        continues = ask.status in _AGENT_CONTINUES and not ask.attendance.agent_left
        return SessionStatus.PROCESSING if continues else SessionStatus.ACTIVE

    async def _set(self, session: AgentSession, status: SessionStatus, turn: object) -> None:
        """Set a session's status, unless a later task has superseded this one."""
        channel, thread = session
        method = self.calls.client.agents_sessions_setStatus

        async def set_status() -> None:
            # Of two calls at a time, Slack could carry out the earlier one last.
            async with self._locks.setdefault(session, asyncio.Lock()):
                if self._turns.get(session) is not turn:
                    return
                if status is SessionStatus.PROCESSING:
                    # A call that a stop interrupts may be carried out.
                    self._processing.add(session)
                else:
                    self._processing.discard(session)
                await self.calls.call(method, channel_id=channel, thread_ts=thread, status=status)

        try:
            await retry(set_status)
            self._agent.confirm_supported()
        except PlatformError as error:
            if not self._agent.turn_off_if_unsupported(error):
                raise

    def _notify(
        self, text: str, user: str, session: AgentSession, thread: str | None = None
    ) -> None:
        """Notify one person privately. ``thread`` must have replies, because Slack shows a note in no other thread.

        https://docs.slack.dev/reference/methods/chat.postEphemeral
        """
        where = MessageLocation(session.channel, session.thread, thread)
        self._work.spawn("note", self.notes.send(text, user, where))
