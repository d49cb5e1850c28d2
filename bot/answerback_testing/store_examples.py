"""Asks, decisions and deliveries for the tests of a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Reason, RecordEntry, Status
from answerback.core.walker import Person
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import Delivery, DeliveryState, StoredDelivery

PATIENCE = 60.0
"""Seconds that a test waits at most for something that should happen soon."""

ANN = Person(surface="slack", user_id="U1", name="Ann")


def new_delivery(number: int = 1, *, ask: str = "ask_1", at: float = 1_000.0) -> Delivery:
    """Return a webhook that reports the end of an ask."""
    return Delivery(
        id=f"msg_{number}",
        ask_id=ask,
        type="ask.answered",
        url="https://agent.example/hooks",
        agent="coder",
        body='{"type":"ask.answered"}',
        created_at=at,
    )


async def release_all(store: Store, holder: str) -> None:
    """Release everything that the holder has claimed."""
    await store.claims.release_messages(holder)
    await store.claims.release_timers(holder)
    await store.outbox.release(holder)


def answer_decision(
    value: JsonValue = True, *, at: float = 2_000.0, deliveries: tuple[Delivery, ...] = ()
) -> Callable[[Ask | None], Decision[Ask]]:
    """Return a decision that answers the open question; its result is the ask afterwards."""

    def decide(ask: Ask | None) -> Decision[Ask]:
        assert ask is not None
        change = asks.apply_action(ask, Answer(value=value), at=at, by=ANN)
        assert isinstance(change, asks.Change)
        return Decision(Write(change.ask, change.entries, deliveries), change.ask)

    return decide


def end_decision(
    status: Status = Status.WITHDRAWN, *, at: float = 2_000.0
) -> Callable[[Ask | None], Decision[Ask]]:
    """Return a decision that ends the ask; its result is the ask afterwards."""

    def decide(ask: Ask | None) -> Decision[Ask]:
        assert ask is not None
        change = asks.end_ask(ask, status, at=at, reason=Reason.WITHDRAWN)
        return Decision(Write(change.ask, change.entries), change.ask)

    return decide


def answer_if_at_revision(revision: int) -> Callable[[Ask | None], Decision[bool]]:
    """Return a decision that changes the ask only at this revision, as in a race between two people."""

    def decide(ask: Ask | None) -> Decision[bool]:
        assert ask is not None
        if ask.revision != revision:
            return Decision(None, False)
        moved = replace(ask, revision=revision + 1)
        return Decision(Write(moved, (RecordEntry(at=2_000.0, kind="note"),)), True)

    return decide


def read_only_decision(ask: Ask | None) -> Decision[Ask | None]:
    """Change nothing; the result is the stored ask."""
    return Decision(None, ask)


def delivery_result(
    delivery: Delivery, state: DeliveryState, *, next_at: float | None = None, tries: int = 1
) -> StoredDelivery:
    """Return the result of a delivery attempt."""
    return replace(
        StoredDelivery(delivery, state, tries, next_at, 503, "Service Unavailable", 3_000.0)
    )
