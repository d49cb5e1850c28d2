"""Asks, decisions and deliveries for the tests of a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core import walker
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Destination, Reason, RecordEntry, Request, Status
from answerback.core.form import AnswerType, Form, Option, Question, When
from answerback.core.walker import Person
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import Delivery, DeliveryState, StoredDelivery

PATIENCE = 60.0
"""Seconds that a test waits at most for something that should happen soon."""

ANN = Person(surface="slack", user_id="U1", name="Ann")

FORM = Form(
    questions=(
        Question(id="apply", text="Apply the migration?", answer_type=AnswerType.BOOLEAN),
        Question(
            id="env",
            text="Which environment?",
            answer_type=AnswerType.SELECT,
            options=(Option(value="staging", label="staging"), Option(value="prod", label="prod")),
            default="staging",
            has_default=True,
            when=When(question_id="apply", equals=True),
        ),
        Question(id="why", text="Why?", answer_type=AnswerType.TEXT),
    )
)


def new_ask(
    number: int | str = 1,
    *,
    to: Destination | None = None,
    at: float = 1_000.0,
    form: Form = FORM,
    request: dict[str, Any] | None = None,
    **fields: Any,
) -> Ask:
    """Return an open ask at its first question, by default in ``#C1`` on Slack."""
    sent: dict[str, Any] = {
        "dialect": "ask_user",
        "arguments": {"questions": []},
        "repaired": ("/questions",),
        **(request or {}),
    }
    asked = Request(name="ask_user", form=form, **sent)
    values: dict[str, Any] = {
        "id": f"ask_{number}",
        "created_at": at,
        "updated_at": at,
        "request": asked,
        "destination": to or Destination(surface="slack", channel="C1"),
        "responders": ("U1", "@S9"),
        "walk": walker.start(form),
    }
    return Ask(**(values | fields))


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
