"""The record of an ask and its deliveries as JSON: each shape, and the function that builds it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Final, Literal, NotRequired, cast

from pydantic import JsonValue
from typing_extensions import TypedDict

from answerback.core.ask import Ask
from answerback.core.secrecy import has_telling_failure, is_telling, keeps_secret
from answerback.core.walker import Person
from answerback.ports.store_values import DeliveryState, StoredDelivery, StoredEntry
from answerback.service.ask_wire import JsonObject
from answerback.service.people_wire import NULL_BY_DEFAULT, Timestamp, iso, strict

EVENT_NAMES: Final = {
    "request": "prompt",
    "answered": "answer",
    "backed": "answer",
    "postponed": "answer",
    "confirmed": "confirmation",
    "objected": "confirmation",
    "cancelled": "answer",
    "clarify": "clarify",
    "context": "context",
    "ended": "outcome",
}
"""The names of record entries as Server-Sent Events of an ask; other entries are not sent."""
_OPEN_KINDS: Final = frozenset(
    {
        *("request", "confirmed", "handed_over", "clarify", "context", "ended", "delivery", "note"),
    }
)
"""The kinds of record entries that contain no answer, or say that the ask has ended."""
_END_KINDS: Final = frozenset({"objected", "cancelled"})
"""The kinds that say how it ended."""


@strict
class EntryBody(TypedDict):
    """One line of the record; its content is under the key that ``type`` names."""

    seq: int
    at: Timestamp
    question_id: str | None
    type: Literal[
        "request", "response", "confirmed", "objected", "handed_over", "clarify", "context", "ended", "delivery",
        "note",
    ]  # fmt: skip
    request: NotRequired[Annotated[dict[str, JsonValue] | None, NULL_BY_DEFAULT]]
    response: NotRequired[Annotated[dict[str, JsonValue] | None, NULL_BY_DEFAULT]]
    confirmed: NotRequired[Annotated[dict[str, JsonValue] | None, NULL_BY_DEFAULT]]
    objected: NotRequired[Annotated[dict[str, JsonValue] | None, NULL_BY_DEFAULT]]
    handed_over: NotRequired[Annotated[dict[str, JsonValue] | None, NULL_BY_DEFAULT]]
    clarify: NotRequired[Annotated[dict[str, JsonValue] | None, NULL_BY_DEFAULT]]
    context: NotRequired[Annotated[dict[str, JsonValue] | None, NULL_BY_DEFAULT]]
    ended: NotRequired[Annotated[dict[str, JsonValue] | None, NULL_BY_DEFAULT]]
    delivery: NotRequired[Annotated[dict[str, JsonValue] | None, NULL_BY_DEFAULT]]
    note: NotRequired[Annotated[dict[str, JsonValue] | None, NULL_BY_DEFAULT]]


@strict
class DeliveryBody(TypedDict):
    """A webhook delivery and its state."""

    id: str
    ask_id: str
    type: str
    url: str
    state: DeliveryState
    tries: int
    next_try_at: Timestamp | None
    last_status: int | None
    last_error: str | None
    created_at: Timestamp
    updated_at: Timestamp


def entries_for_agent(ask: Ask, entries: Iterable[StoredEntry]) -> list[StoredEntry]:
    """Return the lines of an ask's record that its agent may read now."""
    if not keeps_secret(ask):
        return [*entries]
    kinds = _OPEN_KINDS if ask.open else _OPEN_KINDS | _END_KINDS
    readable = [
        stored
        for stored in entries
        if stored.entry.kind in kinds and not is_telling(ask, stored.entry.question_id)
    ]
    return [*map(_without_reason, readable)] if has_telling_failure(ask) else readable


def _without_reason(stored: StoredEntry) -> StoredEntry:
    body = {name: value for name, value in stored.entry.body.items() if name != "reason"}
    return replace(stored, entry=replace(stored.entry, body=body))


def entry_json(stored: StoredEntry) -> JsonObject:
    """A line of the record: a ``request``, its ``response``, how the ask ended, or a note about it."""
    return cast("JsonObject", _entry(stored))


def _entry(stored: StoredEntry) -> EntryBody:
    entry = stored.entry
    body: EntryBody = {
        "seq": stored.seq,
        "at": iso(entry.at),
        "question_id": entry.question_id,
        "type": "response",
    }
    match entry.kind:
        case "request":
            body["type"], body["request"] = "request", entry.body
        case "answered" | "cancelled":
            body["response"] = {entry.kind: {**entry.body, "by": _by(entry.by)}}
        case "backed" | "postponed":
            body["response"] = {entry.kind: {"by": _by(entry.by)}}
        case kind:
            body["type"] = kind
            body[kind] = {**entry.body, "by": _by(entry.by)}
    return body


def _by(person: Person | None) -> JsonValue:
    """A person in the record, with how they were identified if no platform did."""
    if person is None:
        return None
    known: JsonObject = {} if person.known is None else {"known": person.known.value}
    return {"surface": person.surface, "user_id": person.user_id, "name": person.name, **known}


def delivery_json(stored: StoredDelivery) -> JsonObject:
    delivery = stored.delivery
    body: DeliveryBody = {
        "id": delivery.id,
        "ask_id": delivery.ask_id,
        "type": delivery.type,
        "url": delivery.url,
        "state": stored.state,
        "tries": stored.tries,
        "next_try_at": iso(stored.next_at) if stored.next_at is not None else None,
        "last_status": stored.last_status,
        "last_error": stored.last_error,
        "created_at": iso(delivery.created_at),
        "updated_at": iso(stored.updated_at),
    }
    return cast("JsonObject", body)
