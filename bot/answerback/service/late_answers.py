"""Late answers: report to agents how their asks ended, once each, in whatever response comes first.

An outcome is marked as seen once its client acknowledges it. For a client that does not do that, it is marked once the
response was sent, and unmarked if that turns out not to have arrived: after a crash in between, an agent gets it twice
rather than never.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Coroutine,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Final, Protocol

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.ports.clock import Clock
from answerback.ports.late_answers import LateAnswer, LateAnswerQuery, SeenState
from answerback.ports.store import Decision, Store, Write

logger = logging.getLogger(__name__)

_SHARING: Final = 0.1
"""Seconds for which it may wait to be saved that a response has reported outcomes, so that it takes no commit of its
own. Nobody waits for it, and no list includes them meanwhile."""
_NO_OUTCOMES: Final[Mapping[str, SeenState]] = MappingProxyType({})
HoldKey = tuple[str, SeenState]
"""An agent's name, and how the response carries the ask: alone or in a list."""


class LateAnswerTracker:
    """Tracks the outcomes that agents see in this process.

    Args:
        publish: notifies of a stored change; see `ChangeCommitter.publish_result`.
    """

    def __init__(self, store: Store, clock: Clock, publish: Callable[[object], None]) -> None:
        self._asks, self._late_answers = store.asks, store.late_answers
        self._clock = clock
        self._publish = publish
        self._held: dict[HoldKey, Counter[str]] = {}
        """The asks whose outcome a response is reporting, or will report once they end."""
        self._released = asyncio.Event()
        self._released_during: list[set[tuple[HoldKey, str]]] = []
        """For each list that is being read, the asks that were released meanwhile, as they were held."""
        self.unacknowledged: set[ResponseTracker] = set()
        """The responses whose clients have yet to acknowledge what they report: until they do, or the response is
        closed, no list includes it."""
        self._lost: set[asyncio.Future[None]] = set()
        """The responses that turned out not to have arrived, until their outcomes count as unseen again."""

    async def list_unseen(
        self, agent: str | None, conversation: str | None, after: int | None, limit: int
    ) -> Sequence[LateAnswer]:
        """The outcomes that an agent has not seen, except those in another call's response; see `LateAnswerQuery`.

        The caller adds them to a response before it awaits anything.
        """
        await self.wait_for_lost()
        name = agent or ""
        # An agent that says what it has gets the lists again that may have been lost.
        kinds = (SeenState.SEEN,) if after is not None else (SeenState.SEEN, SeenState.LISTED)
        while True:
            query = LateAnswerQuery(name, conversation, after, self._held_for(name, kinds), limit)
            with self._noting_released() as released:
                owed = await self._late_answers.list_owed(query, self._clock.now())
            # What another call has listed in the meantime is, or was, in its response.
            keys = {(name, kind) for kind in kinds}
            elsewhere = self._held_for(name, kinds) | {
                each for key, each in released if key in keys
            }
            unseen = [late for late in owed if late.ask.id not in elsewhere]
            # If other responses have taken this whole page meanwhile, the next one may have something for this caller.
            if unseen or not owed:
                return unseen

    @contextmanager
    def _noting_released(self) -> Iterator[set[tuple[HoldKey, str]]]:
        released: set[tuple[HoldKey, str]] = set()
        self._released_during.append(released)
        try:
            yield released
        finally:
            self._released_during = [each for each in self._released_during if each is not released]

    def _held_for(self, name: str, kinds: Sequence[SeenState]) -> frozenset[str]:
        held = (self._held.get((name, kind), ()) for kind in kinds)
        return frozenset(chain.from_iterable(held))

    async def save_seen(
        self, ask_ids: Sequence[str], state: SeenState, within: float = 0.0
    ) -> Sequence[str]:
        """Mark outcomes as seen; return the ids of the asks for which that is new.

        The asks say so, too. They do before the outcomes are marked, so that none says it wrongly for long.
        If the store fails, the response is not taken back: the agent then gets the outcome again.

        Args:
            within: how many seconds that may wait to be committed together with something else.
        """
        at = self._clock.now()
        try:
            if state is SeenState.UNSEEN:
                # The list comes first: an agent that asks in between gets the outcome twice rather than never.
                changed = await self._late_answers.set_seen_state(ask_ids, state, at)
                await self._save_collected(changed, None)
                return changed
            collected = await self._save_collected(ask_ids, at, state, within)
            # An ask that already said so needs no new revision, but its place in the list may be behind.
            rest = [ask_id for ask_id in ask_ids if ask_id not in collected]
            seen = await self._late_answers.set_seen_state(rest, state, at) if rest else ()
            return [ask_id for ask_id in ask_ids if ask_id in collected or ask_id in seen]
        except StoreError as error:
            extra = {"action": "telling_unnoted"}
            logger.warning("Could not record what an agent has seen: %s", error, extra=extra)
            return ()

    async def acknowledge(self, ask_ids: Collection[str]) -> None:
        """Mark outcomes as seen, because their agent says that it has them, whichever response brought them."""
        await self.save_seen([*ask_ids], SeenState.SEEN)
        self._stop_awaiting(ask_ids)

    def _stop_awaiting(self, ask_ids: Collection[str]) -> None:
        """Let asks be listed again whose responses only wait to be acknowledged."""
        for response in [*self.unacknowledged]:
            if not response.outcomes.isdisjoint(ask_ids):
                response.close()

    async def _save_collected(
        self,
        ask_ids: Sequence[str],
        at: float | None,
        state: SeenState | None = None,
        within: float = 0.0,
    ) -> Collection[str]:
        """Note on asks since when their agents have what was owed to them (None: they do not have it), and with it how
        much they have seen; return the ids of those that did not say so yet."""
        decide = partial(_note_collected, at, state)
        changes = [
            self._asks.change(ask_id, decide, then=self._publish, within=within)
            for ask_id in ask_ids
        ]
        results = await asyncio.gather(*changes)  # which a store commits together
        return {result.ask.id for result, _ in results if result is not None}

    async def wait_for_lost(self) -> None:
        """Return once the outcomes in the responses that are known to be lost count as unseen again."""
        if self._lost:
            await asyncio.wait([*self._lost])

    def note_lost(self) -> asyncio.Future[None]:
        """Note that a response was lost; the caller sets a result once its outcomes count as unseen again."""
        restored = asyncio.get_running_loop().create_future()
        self._lost.add(restored)
        restored.add_done_callback(self._lost.discard)
        return restored

    def is_held(self, ask_id: str) -> bool:
        """Return True if a response is reporting an ask's outcome."""
        return any(ask_id in held for held in self._held.values())

    async def wait_until_reported(self, ask_id: str) -> None:
        """Return once no response is reporting an ask's outcome."""
        while self.is_held(ask_id):
            await self._released.wait()

    async def undo_seen(self, ask: Ask) -> None:
        """Note that no response has brought an ask's outcome to its agent, once none is reporting it any more."""
        self._stop_awaiting([ask.id])
        # A response that is being sent would otherwise mark the outcome as seen after this.
        await self.wait_until_reported(ask.id)
        at = self._clock.now()
        changed = await self._late_answers.set_seen_state([ask.id], SeenState.UNSEEN, at)
        await self._save_collected(changed, None)

    def hold(self, ask_id: str, hold_key: HoldKey) -> None:
        """Keep an ask out of the lists of late answers."""
        self._held.setdefault(hold_key, Counter())[ask_id] += 1

    def release(self, ask_id: str, hold_key: HoldKey) -> None:
        """Let an ask be listed again."""
        held = self._held[hold_key]
        # Counted, because several responses may report the same ask.
        held[ask_id] -= 1
        if not held[ask_id]:
            del held[ask_id]
        if not held:
            del self._held[hold_key]
        for released in self._released_during:
            released.add((hold_key, ask_id))
        # Wakes all that wait now; a new event, as some may have to wait for another release.
        self._released.set()
        self._released = asyncio.Event()


def _note_collected(
    at: float | None, state: SeenState | None, ask: Ask | None
) -> Decision[Write | None]:
    """Decide to note since when an ask's agent has what was owed to it, and to show its message again at the same
    revision."""
    if ask is None or ask.erased_at is not None or ask.collection.unread_by_agent is (at is None):
        return Decision(None, None)
    # The message says whether its agent has the outcome, so one that was posted is out of date now.
    shown = ask.placement.shown_revision if ask.placement.message is None else ask.revision - 1
    recorded = replace(
        ask,
        collection=replace(ask.collection, unread_by_agent=at is None, read_by_agent_at=at),
        placement=replace(ask.placement, shown_revision=shown),
    )
    write = Write(recorded, seen_state=state)
    return Decision(write, write)


class SentResponse(Protocol):
    async def wait_until_gone(self) -> None:
        """Return once the client has disconnected, or after a moment."""


class ResponseTracker:
    """One response to an agent, and the outcomes that it reports.

    It is small, because every waiting call has one: it holds no ask, and creates its lock only when it saves something.

    Args:
        sent: called once the response was sent; it arranges for `save_seen`, `undo_seen` and `close`, or for
            `await_acknowledgement`.
    """

    __slots__ = (
        "_held",
        "_is_lost",
        "_lock",
        "_newly_seen",
        "_outcomes",
        "_sent",
        "_tracker",
        "is_sent",
    )

    def __init__(
        self, tracker: LateAnswerTracker, sent: Callable[[ResponseTracker], SentResponse]
    ) -> None:
        self._tracker = tracker
        self._sent = sent
        self._held: tuple[tuple[str, HoldKey], ...] = ()
        self._outcomes = _NO_OUTCOMES
        self._newly_seen: Sequence[str] = ()
        self._lock: asyncio.Lock | None = None
        self._is_lost = False
        self.is_sent = False
        """True once everything was sent: the tracker is closed as soon as that is saved."""

    @property
    def outcomes(self) -> KeysView[str]:
        """The ids of the asks whose outcomes it reports."""
        return self._outcomes.keys()

    def hold_back(self, ask: Ask, state: SeenState = SeenState.SEEN) -> None:
        """Reserve this ask's outcome for this response: no list includes it meanwhile."""
        if ask.id not in dict(self._held):
            hold_key = (ask.request.agent or "", state)
            self._held += ((ask.id, hold_key),)
            self._tracker.hold(ask.id, hold_key)

    def add_outcome(self, ask: Ask, state: SeenState = SeenState.SEEN) -> None:
        """Note that the response includes this ask; if the ask has ended, its outcome is new to the agent."""
        if not ask.open and not self._is_lost:
            self.hold_back(ask, state)
            self._outcomes = {**self._outcomes, ask.id: state}

    def mark_sent(self) -> SentResponse:
        """Note that everything was sent; the asks stay out of the lists until that is saved."""
        self.is_sent = True
        return self._sent(self)

    async def finish_stream(self) -> None:
        """Give the client a moment to disconnect after the last event of a stream."""
        if self._outcomes and not self.is_sent:
            await self.mark_sent().wait_until_gone()

    def await_acknowledgement(self) -> None:
        """Let the agent say that it has the outcomes. Until then, or until `close`, no list includes them."""
        self._tracker.unacknowledged.add(self)

    async def save_seen(self) -> None:
        """Mark the outcomes as seen by the agent."""
        async with self._saving():
            for state in set(self._outcomes.values()):
                ids = [ask_id for ask_id, other in self._outcomes.items() if other is state]
                seen = await self._tracker.save_seen(ids, state, _SHARING)
                self._newly_seen = (*self._newly_seen, *seen)

    def undo_seen(self) -> Coroutine[object, object, None]:
        """Undo `save_seen`, or prevent it: the response did not arrive, or its client has cancelled the call.

        From this call on, even before the coroutine runs, lists of late answers wait until that is done.
        """
        # Before anything is awaited: a save that runs now finds nothing more to mark.
        self._is_lost = True
        self._outcomes = _NO_OUTCOMES
        return self._undo_seen(self._tracker.note_lost())

    async def _undo_seen(self, restored: asyncio.Future[None]) -> None:
        try:
            async with self._saving():
                if self._newly_seen:
                    await self._tracker.save_seen(self._newly_seen, SeenState.UNSEEN)
        finally:
            self.close()
            restored.set_result(None)

    def close(self) -> None:
        """End the tracking, whatever became of the response."""
        # Callers close a response in several places, so a second time must do nothing.
        self._tracker.unacknowledged.discard(self)
        for ask_id, hold_key in self._held:
            self._tracker.release(ask_id, hold_key)
        self._held = ()

    def _saving(self) -> asyncio.Lock:
        self._lock = self._lock or asyncio.Lock()
        return self._lock
