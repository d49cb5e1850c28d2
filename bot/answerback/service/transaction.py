"""What every change of an ask has in common: routing what comes next, one durable write, and telling who waits.

Owns the hooks by which the rest of the process hears of a commit.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core.ask import Ask, Change, Status
from answerback.core.walker import Answer, Refused, Source
from answerback.ports.claims import Claim
from answerback.ports.clock import Clock
from answerback.ports.records import Delivery, Memory
from answerback.ports.store import Decision, Store, Write
from answerback.ports.surface import Acted, Rejected, Surface, Why
from answerback.service import routing, serialize
from answerback.service.notify import Signals

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Hooks:
    """Who is told of a commit beside those who wait for the ask: set by the app when it wires the rest."""

    show: Callable[[Ask], None] = field(default=lambda _ask: None)
    """The live message is behind."""
    deliver: Callable[[], None] = field(default=lambda: None)
    """The outbox has something new."""
    due: Callable[[float], None] = field(default=lambda _at: None)
    """The clock has something to do at this time."""
    acted: Callable[[str, str, str, float], None] = field(default=lambda *_what: None)
    """Somebody acted: on which surface, with what, what came of it, and in how many seconds."""


class Commits:
    """Stores changes of asks and tells of them.

    Args:
        has_inquiry: whether an inquiry backend is configured.
        claim: what this process claims of what follows from a change.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        surfaces: Mapping[str, Surface],
        rules: routing.Rules,
        *,
        has_inquiry: bool,
        claim: Claim,
    ) -> None:
        self.store = store
        self.clock = clock
        self.surfaces = surfaces
        self.rules = rules
        self.signals = Signals()
        self.hooks = Hooks()
        self._has_inquiry = has_inquiry
        self._claim = claim

    async def change(
        self, ask_id: str, decide: Callable[[Ask, float], Change | None]
    ) -> Acted | Rejected:
        """Changes an open ask; ``decide`` is pure, and None leaves the ask as it is."""
        at = self.clock.now()

        def decision(ask: Ask | None) -> Decision[Write | Rejected | Acted]:
            if ask is None:
                return Decision(None, Rejected(Why.NOT_FOUND))
            if not ask.open:
                return Decision(None, Rejected(Why.ENDED, ask))
            change = decide(ask, at)
            if change is None:
                return Decision(None, Acted(ask))
            write = self.write(change, at)
            return Decision(write, write)

        told, _ = await self.store.change(ask_id, decision, then=self.stored)
        return Acted(told.ask) if isinstance(told, Write) else told

    def routed(self, change: Change, at: float) -> Change:
        """Goes on for as long as nobody has to be asked: fixed answers are taken, what nobody can answer fails."""
        ask, entries = change.ask, change.entries
        while (question := ask.question) is not None and not ask.inquiring:
            # Once it is shown, an ask stays on its surface: whoever sees it can still answer it.
            reachable = ask.message is not None or self._reachable(ask)
            routed = routing.route(
                ask, question, self.rules, surface=reachable, inquiry=self._has_inquiry
            )
            if isinstance(routed, routing.Put):
                break
            if isinstance(routed, routing.Inquire):
                ask = replace(ask, inquiring=True)
                break
            if isinstance(routed, routing.Fail):
                following = asks.ended(
                    ask, Status.FAILED, at=at, reason=routed.reason, message=routed.message
                )
            else:
                taken = asks.acted(
                    ask,
                    Answer(value=routed.value),
                    at=at,
                    by=None,
                    source=Source.CONFIG,
                    opened=ask.opened,
                )
                if isinstance(taken, Refused):
                    raise AssertionError(  # noqa: TRY004 a refusal is no wrong type
                        f"A fixed answer was checked and then refused: {taken.problems[0].message}"
                    )
                following = taken
            ask, entries = following.ask, (*entries, *following.entries)
        return Change(ask, entries)

    def write(self, change: Change, at: float, *, memory: Memory | None = None) -> Write:
        """What one transaction stores of a change, its webhook included."""
        ask = change.ask
        surface = self.surfaces.get(ask.destination.surface)
        if surface is None or not surface.live or ask.inquiring:
            ask = replace(ask, shown_revision=ask.revision)
        deliveries: tuple[Delivery, ...] = ()
        if ask.outcome is not None and ask.request.callback is not None:
            deliveries = (_delivery(ask, ask.request.callback, at),)
        owed = ask.outcome is not None and ask.status is not Status.WITHDRAWN
        return Write(ask, change.entries, deliveries, memory, owed=owed, claim=self._claim)

    def stored(self, told: object) -> None:
        """Tells of a change, if that is what a decision came to: whoever made it may have hung up meanwhile."""
        if isinstance(told, Write):
            self.committed(told)

    def committed(self, write: Write) -> None:
        """Tells everybody who has to do with what was just stored."""
        ask = write.ask
        if ask.outcome is not None:
            extra = {"action": ask.status.value, "ask_id": ask.id, "agent": ask.request.agent}
            logger.info("An ask has ended", extra=extra)
        self.signals.notify(ask)
        if ask.shown_revision < ask.revision or ask.left is not None:
            self.hooks.show(ask)
        if write.deliveries:
            self.hooks.deliver()
        if (due := ask.next_due()) is not None:
            self.hooks.due(due)

    def _reachable(self, ask: Ask) -> bool:
        surface = self.surfaces.get(ask.destination.surface)
        return surface is not None and surface.ready() is None


def _delivery(ask: Ask, url: str, at: float) -> Delivery:
    body: JsonValue = {
        "type": f"ask.{ask.status.value}",
        "timestamp": serialize.iso(at),
        "data": serialize.ask_json(ask),
    }
    return Delivery(
        id=f"msg_{secrets.token_hex(12)}",
        ask_id=ask.id,
        type=f"ask.{ask.status.value}",
        url=url,
        agent=ask.request.agent,
        body=json.dumps(body, ensure_ascii=False),
        created_at=at,
    )
