"""The service: submit, act, withdraw, expire. Each is one load → authorise → decide → commit, then wakes who waits.

The one door through which asks change and are read. How they are submitted, acted on and stored
is told in `submit` and `act`; forms are the walker's business.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core import clarification
from answerback.core.ask import Ask, Change, Reason, Status
from answerback.core.errors import UnreadableRowError
from answerback.core.intents import Intent, TypedText
from answerback.core.labels import Labels
from answerback.core.walker import Answer, Person, Refused, Source
from answerback.ports.claims import SOLE_CLAIM, Claim
from answerback.ports.clock import Clock
from answerback.ports.message_state import mark_outdated, replace_channel_id
from answerback.ports.search import Search, answerer_word
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import DeliveryState, Page, StoredDelivery, StoredEntry
from answerback.ports.surface import Acted, Actor, Rejected, RejectReason, Surface
from answerback.service import inbox, question_routing
from answerback.service.act_or_refuse import AskActions, ChangeCommitter
from answerback.service.agent_presence import AgentPresence, change_presence
from answerback.service.expiry import expire_change
from answerback.service.late_answers import LateAnswerTracker
from answerback.service.notify import Follower
from answerback.service.submission_request import Agent, Routes, Submission
from answerback.service.submit import Submitted, Submitter
from answerback.service.waiters import Waiters

logger = logging.getLogger(__name__)

_OPEN_IN_THREAD: Final = 10
_PAGE: Final = 100
_SETTLING_SECONDS: Final = 5.0
"""How long after a change people may still use the copy from before it, although the message was edited."""


class Service(AskActions):
    """The one way in which asks change.

    Args:
        known_surfaces: the names of all surfaces there are; ``surfaces`` holds the configured ones.
        check_callback: None when a callback may be sent to for an agent, else why not, in words.
        claim: what this process claims of the work that others with the same store could also do.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        surfaces: Mapping[str, Surface],
        *,
        known_surfaces: frozenset[str],
        routes: Routes | None = None,
        rules: question_routing.Rules | None = None,
        labels: Labels | None = None,
        has_inquiry: bool = False,
        check_callback: Callable[[str, Agent | None], str | None] = lambda _url, _agent: None,
        claim: Claim = SOLE_CLAIM,
    ) -> None:
        self.store = store
        self.clock = clock
        self.surfaces = surfaces
        self.rules = rules or question_routing.Rules()
        self.claim = claim
        commits = ChangeCommitter(
            store, clock, surfaces, self.rules, has_inquiry=has_inquiry, claim=claim
        )
        super().__init__(commits, labels or Labels())
        self.signals = self._commits.signals
        self.hooks = self._commits.hooks
        self.late_answer_tracker = LateAnswerTracker(store, clock)
        self.presence = AgentPresence(clock, self.set_attended, alone=claim is SOLE_CLAIM)
        self._submitting = Submitter(
            self._commits, known_surfaces | surfaces.keys(), routes or Routes(), check_callback
        )
        self._waiting = Waiters(self._commits, self.presence)

    # --- submitting and acting -------------------------------------------------------------------

    async def submit(
        self,
        body: Submission,
        *,
        agent: Agent | None = None,
        idempotency_key: str | None = None,
        digest: str = "",
    ) -> Submitted:
        """Stores a tool call as an ask and has it shown.

        Args:
            digest: of the whole body; a repeated key with another digest is refused.

        Raises:
            InvalidCallError: with every mistake in the call and around it; the record notes the refusal.
            ProblemError: the idempotency key was used for another body.
        """
        submitted = await self._submitting.submit(
            body, agent=agent, idempotency_key=idempotency_key, digest=digest
        )
        await self.presence.record_poll(submitted.ask)
        return submitted

    async def apply_typed(
        self,
        ask_id: str,
        text: str,
        actor: Actor,
        *,
        at: float | None,
        delivery: str,
        revision: int | None = None,
    ) -> Acted | Rejected:
        """Takes words typed by a responder as the action they stand for (see `answerback.ports.surface.Asks`)."""
        return await self.apply(Intent(ask_id, TypedText(text), revision, delivery, at), actor)

    # --- what ends an ask without a person's answer ------------------------------------------------

    async def withdraw(self, ask_id: str) -> Acted | Rejected:
        """The agent takes its ask back."""
        return await self._commits.change(
            ask_id,
            lambda ask, at: asks.end_ask(ask, Status.WITHDRAWN, at=at, reason=Reason.WITHDRAWN),
        )

    async def erase(self, ask_id: str) -> Ask | None:
        """Erases what was written in an ended ask, and has its message say so; an open one stays as it is.

        Of people their ids stay on platforms where they name nobody: those whose messages are live. The store is still
        to be tidied.
        """
        opaque = {name for name, surface in self.surfaces.items() if surface.live}
        now = self.clock.now()
        ask = await self.store.erase(ask_id, now, opaque)
        if ask is not None and ask.erased_at == now:
            logger.info("An ask was erased", extra={"action": "erased", "ask_id": ask.id})
            self.signals.notify(ask)
            self.hooks.show(ask)
        return ask

    async def fail(self, ask_id: str, reason: Reason, message: str) -> Acted | Rejected:
        """The ask cannot be put to anybody, in words for the model."""
        return await self._commits.change(
            ask_id,
            lambda ask, at: asks.end_ask(ask, Status.FAILED, at=at, reason=reason, message=message),
        )

    async def expire(self, ask_id: str) -> Acted | Rejected:
        """Nobody answered in time: the defaults are taken where that was asked for and all are there."""
        return await self._commits.change(ask_id, partial(expire_change, self._commits))

    async def answer_by_inquiry(self, ask_id: str, value: JsonValue) -> Acted | Rejected:
        """The inquiry backend answered the open question; an answer that does not fit fails the ask."""

        def decide(ask: Ask, at: float) -> Change | None:
            if not ask.inquiring:
                return None
            change = asks.apply_action(
                ask, Answer(value=value), at=at, by=None, source=Source.INQUIRY
            )
            if isinstance(change, Refused):
                words = change.problems[0].message
                message = question_routing.no_retry_message(
                    f"The inquiry backend's answer does not fit: {words}"
                )
                return asks.end_ask(
                    ask, Status.FAILED, at=at, reason=Reason.BACKEND_ERROR, message=message
                )
            return self._commits.apply_routing(change, at)

        return await self._commits.change(ask_id, decide)

    async def update(
        self, ask_id: str, decide: Callable[[Ask, float], Change | None]
    ) -> Acted | Rejected:
        """Changes an open ask for upkeep's purposes; ``decide`` is pure, and None leaves it as it is."""
        return await self._commits.change(ask_id, decide)

    async def set_attended(self, ask_id: str, *, attended: bool | None) -> Acted | Rejected:
        """Notes whether the agent waits for an ask, for a while; its message says so where it does not.

        None: it does not wait here, and perhaps it does elsewhere.
        """
        return await self.update(ask_id, partial(change_presence, attended=attended))

    async def clear_left_message(self, ask_id: str) -> None:
        """The message that the ask left behind has become a note, or cannot become one."""

        def decide(ask: Ask | None) -> Decision[None]:
            write = Write(replace(ask, left=None)) if ask and ask.left else None
            return Decision(write, None)

        await self.store.change(ask_id, decide)

    async def fail_unreachable(self, ask: Ask, why: str) -> None:
        """Nobody can answer where the ask is shown any more (see `answerback.ports.surface.Asks`)."""
        where = ask.destination.surface
        told = f"{ask.request.name} could not be put to anybody on {where}: {why}"
        message = question_routing.no_retry_message(told, question_routing.WITHOUT_PEOPLE)

        def failed(latest: Ask, at: float) -> Change | None:
            if latest.destination != ask.destination:
                return None  # handed on meanwhile: people are asked elsewhere
            reason = Reason.BACKEND_ERROR
            return asks.end_ask(latest, Status.FAILED, at=at, reason=reason, message=message)

        await self.update(ask.id, failed)

    async def show_again(self, ask_id: str, *, deleted: bool = False) -> None:
        """The live message is not as noted (see `answerback.ports.surface.Asks`)."""
        at = self.clock.now()

        def decide(ask: Ask | None) -> Decision[Ask | None]:
            if ask is None or ask.message is None or (deleted and not ask.open):
                return Decision(None, None)
            shown = ask.shown_revision >= ask.revision
            if shown and not deleted and at - ask.updated_at < _SETTLING_SECONDS:
                return Decision(None, None)
            behind = mark_outdated(ask) if shown or deleted else ask
            return Decision(Write(behind) if behind is not ask else None, behind)

        ask, _ = await self.store.change(ask_id, decide)
        if ask is not None:
            self.hooks.show(ask)

    async def change_channel_id(self, ask_id: str, old: str, new: str) -> None:
        """The ask's channel has another id (see `answerback.ports.surface.Asks`)."""

        def decide(ask: Ask | None) -> Decision[None]:
            return Decision(Write(replace_channel_id(ask, old, new)) if ask else None, None)

        await self.store.change(ask_id, decide)

    # --- reading and waiting -------------------------------------------------------------------------

    async def get(self, ask_id: str) -> Ask | None:
        """The ask as it stands, or None."""
        return await self.store.get(ask_id)

    async def list_waiting_for(
        self, person: Person, after: str | None, limit: int, known: frozenset[str] = frozenset()
    ) -> Page[Ask]:
        """What waits for a person (see `answerback.ports.surface.Asks`)."""
        return await inbox.list_waiting_for(self.store, self.surfaces, person, after, limit, known)

    def wait(
        self, ask_id: str, seconds: float, known: Ask | None = None, *, listens: bool = True
    ) -> Coroutine[Any, Any, Ask | None]:
        """The ask once it has ended, or as it stands when ``seconds`` are over or the process stops.

        An agent who waits is told once, at once, of what it is asked back: the ask is then given as it stands.
        ``known`` is waited for although the database cannot be read just now. ``listens``: it is the agent who waits.

        Raises:
            StoreError: the database cannot be read, at the start without ``known`` or at the end.
        """
        return self._waiting.wait(ask_id, seconds, known, listens=listens)

    async def explain(self, ask_id: str, text: str) -> Acted | Rejected:
        """The agent explains what it was asked back, or something else about the open question."""
        refused: list[Refused] = []

        def decide(ask: Ask, at: float) -> Change | None:
            refused.clear()  # it may be decided more than once
            change = clarification.apply_explanation(ask, text, at=at)
            if isinstance(change, Refused):
                refused.append(change)
                return None
            return change

        done = await self._commits.change(ask_id, decide)
        if refused and isinstance(done, Acted):
            return Rejected(RejectReason.INVALID, done.ask, refused[0].problems)
        return done

    def follow(self, ask_id: str) -> Follower:
        """Follows the commits to an ask, from now on."""
        return self.signals.follow(ask_id)

    @property
    def stopping(self) -> bool:
        """Whether the process is about to stop, and nobody should wait any more."""
        return self._waiting.stopping

    def stop_waiting(self) -> None:
        """Releases everybody who waits, each with the ask as it stands: the process is stopping."""
        self._waiting.stop()

    async def list_open_in(self, surface: str, channel: str, thread: str | None) -> Sequence[Ask]:
        """The open asks shown in a thread (see `answerback.ports.surface.Asks`)."""
        return await self.store.find_open(surface, channel, thread, _OPEN_IN_THREAD)

    async def each_open(
        self, surface: str, channel: str | None = None, thread: str | None = None
    ) -> AsyncIterator[Ask]:
        """Every open ask of a surface, a channel or a thread (see `answerback.ports.surface.Asks`)."""
        after: str | None = None
        while True:
            if channel is None:
                page = await self.list_open(surface, after, _PAGE)
                found: Sequence[Ask] = page.rows
                after = page.after
            else:
                found = await self.store.find_open(surface, channel, thread, _PAGE, after)
                after = found[-1].id if len(found) == _PAGE else None
            for ask in found:
                yield ask
            if after is None:
                return

    async def each_outdated(self, surface: str) -> AsyncIterator[Ask]:
        """Asks of a surface whose live message shows an older state (see `answerback.ports.live_messages.LiveMessages`)."""
        for ask_id in await self.store.list_outdated(10 * _PAGE):
            with suppress(UnreadableRowError):  # showing logs it
                ask = await self.store.get(ask_id)
                if ask is not None and ask.destination.surface == surface:
                    yield ask

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        """The open ask whose live message this is (see `answerback.ports.live_messages.LiveMessages`)."""
        return await self.store.find_by_message(surface, message_id)

    async def list_open(self, surface: str, after: str | None, limit: int) -> Page[Ask]:
        """The open asks of a surface, newest first."""
        return await self.store.page(status=Status.OPEN, surface=surface, after=after, limit=limit)

    async def list_answered_by(self, person: Person, limit: int) -> Sequence[Ask]:
        """What a person has answered (see `answerback.ports.surface.Asks`)."""
        return (await self.store.search(Search((answerer_word(person),)), None, limit)).rows

    async def search_for(
        self, person: Person | None, wanted: Search, after: str | None, limit: int
    ) -> Page[Ask]:
        """A search (see `answerback.ports.surface.Asks`)."""
        if person is None:
            return await self.store.search(wanted, after, limit)
        return await inbox.search_for(self.store, self.surfaces, person, wanted, after, limit)

    async def record(self, ask_id: str, after: int = 0) -> Sequence[StoredEntry]:
        """The record of an ask behind a number, oldest first."""
        return await self.store.record(ask_id, after)

    async def draft(self, key: str) -> JsonValue:
        """What a person has entered so far (see `answerback.ports.surface.Asks`)."""
        return await self.store.draft(key)

    async def save_draft(self, key: str, value: JsonValue) -> None:
        """Keeps or drops what a person has entered so far (see `answerback.ports.surface.Asks`)."""
        await self.store.save_draft(key, value, self.clock.now())

    async def redeliver(self, stored: StoredDelivery) -> StoredDelivery:
        """Has a webhook sent again, now."""
        now = self.clock.now()
        again = replace(stored, state=DeliveryState.PENDING, next_at=now, updated_at=now, tries=0)
        await self.store.save_delivery_results([again], [])
        self.hooks.deliver()
        return again
