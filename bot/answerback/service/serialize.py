"""Serialises asks, records and events as JSON for the wire. Every reader gets these shapes."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime
from typing import Final

from pydantic import JsonValue

from answerback.core.asides import Aside
from answerback.core.ask import Ask, Status, asker_label, options_json
from answerback.core.clarification import pending_question
from answerback.core.headline import headline_of
from answerback.core.labels import ENGLISH
from answerback.core.view import View, answer_lines, view_of
from answerback.core.walker import Person
from answerback.dialects import registry
from answerback.dialects.interim_results import render_interim_result
from answerback.ports.store_values import Delivery, StoredDelivery, StoredEntry

EVENT_NAMES: Final = {
    "request": "prompt",
    "answered": "answer",
    "backed": "answer",
    "cancelled": "answer",
    "clarify": "clarify",
    "context": "context",
    "ended": "outcome",
}
"""The names of record entries as Server-Sent Events of an ask; other entries are not sent."""


def iso(at: float) -> str:
    """Format a time as RFC 3339 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ask_json(ask: Ask) -> dict[str, JsonValue]:
    """The ask, as agents and webhooks receive it."""
    result, interim = registry.render_result(ask), render_interim_result(ask)
    outcome = ask.outcome
    return {
        "id": ask.id,
        "status": ask.status.value,
        "revision": ask.revision,
        "headline": headline_of(ask.form),
        "dialect": ask.request.dialect,
        "repaired": [*ask.request.repaired],
        "asked_by": asker_label(ask),
        "origin": _origin(ask),
        "surface": ask.destination.surface,
        "thread": _thread(ask),
        "responders": [*ask.responders],
        "prompt": prompt_json(view_of(ask)),
        "answers": {given.question_id: given.value for given in ask.walk.answers},
        "sources": {given.question_id: given.source.value for given in ask.walk.answers},
        "reply": ask.walk.reply,
        "end_turn": ask.status is Status.TURN_ENDED,
        "tool_result": result.model_dump() if result else None,
        "interim_result": interim.model_dump() if interim else None,
        "waiting": ask.open and not ask.unattended,
        "accepts": [*ask.request.accepts],
        "clarify": _clarify(ask),
        "confirmed_by": [],
        "ended_by": person_json(outcome.ended_by) if outcome else None,
        "source": outcome.source.value if outcome and outcome.source else None,
        "tool_call_id": ask.request.tool_call_id,
        "conversation": ask.request.conversation,
        "turn": ask.request.turn,
        "created_at": iso(ask.created_at),
        "updated_at": iso(ask.updated_at),
        "expires_at": iso(ask.expires_at) if ask.expires_at is not None else None,
        "erased_at": iso(ask.erased_at) if ask.erased_at is not None else None,
        "metadata": ask.request.metadata,
    }


def prompt_json(view: View) -> dict[str, JsonValue] | None:
    """The current prompt, a question or the review; None once ended."""
    if view.outcome is not None:
        return None
    controls: list[JsonValue] = [control.value for control in view.controls]
    if view.prompt is None:
        edits: list[JsonValue] = [line.question.id for line in view.lines if line.editable]
        return {
            "question_id": None,
            "text": "Review",
            "context": None,
            "answer_type": None,
            "options": None,
            "position": len(view.lines),
            "total": len(view.lines),
            "progress": None,
            "prefill": None,
            "controls": ["edit", "submit", *controls],
            "kind": "review",
            "editable": edits,
            "answered": _answers_so_far(view),
            "reviewed": True,
        }
    question = view.prompt.question
    return {
        "question_id": question.id,
        "text": question.text,
        "context": question.context,
        "context_format": view.prompt.context_format,
        "header": question.header,
        "answer_type": question.answer_type.value,
        "options": options_json(view.prompt.every_option),
        "other": question.other,
        "other_beside": question.other_beside,
        "schema": question.json_schema,
        "consent": question.consent,
        "remember": view.prompt.remember,
        "note": question.notes,
        "position": view.prompt.position,
        "total": view.prompt.total,
        "progress": view.prompt.progress,
        "prefill": view.prompt.prefill,
        "prefilled": view.prompt.is_prefilled,
        "prefill_other": view.prompt.words,
        "prefill_note": view.prompt.note,
        "controls": controls,
        "asides": [_aside(aside) for aside in view.prompt.asides],
        "kind": "question",
        "answered": _answers_so_far(view),
        "reviewed": view.reviewed,
    }


def _clarify(ask: Ask) -> JsonValue:
    asked = pending_question(ask)
    return None if asked is None else {"question_id": asked.question_id, **_aside(asked)}


def _aside(aside: Aside) -> dict[str, JsonValue]:
    return {"text": aside.text, "by": person_json(aside.by), "at": iso(aside.at)}


def _answers_so_far(view: View) -> JsonValue:
    """The answers so far as people read them, in English."""
    return [
        {
            "question_id": line.question.id,
            "text": line.text,
            "answer": [*answer_lines(line.question, line.given, ENGLISH)],
            "by": person_json(line.given.by),
            "at": None if line.given.at is None else iso(line.given.at),
        }
        for line in view.lines
        if line.given is not None
    ]


def person_json(person: Person | None) -> JsonValue:
    """A person, or null."""
    return _person(person) if person else None


def _person(person: Person) -> dict[str, JsonValue]:
    return {"surface": person.surface, "user_id": person.user_id, "name": person.name}


def _by(person: Person | None) -> JsonValue:
    """A person in the record, with how they were identified if no platform did."""
    if person is None or person.known is None:
        return person_json(person)
    return {**_person(person), "known": person.known.value}


def entry_json(stored: StoredEntry) -> dict[str, JsonValue]:
    """A line of the record: a ``request``, its ``response``, how the ask ended, or a note about it."""
    entry = stored.entry
    line: dict[str, JsonValue] = {
        "seq": stored.seq,
        "at": iso(entry.at),
        "question_id": entry.question_id,
    }
    match entry.kind:
        case "request":
            return {**line, "type": "request", "request": entry.body}
        case "answered":
            answered: JsonValue = {**entry.body, "by": _by(entry.by)}
            return {**line, "type": "response", "response": {"answered": answered}}
        case "backed":
            return {
                **line,
                "type": "response",
                "response": {"backed": {"by": _by(entry.by)}},
            }
        case "cancelled":
            cancelled: JsonValue = {**entry.body, "by": _by(entry.by)}
            return {**line, "type": "response", "response": {"cancelled": cancelled}}
        case "clarify" | "context" | "ended" | "delivery" | "note":
            return {
                **line,
                "type": entry.kind,
                entry.kind: {**entry.body, "by": _by(entry.by)},
            }


def delivery_json(stored: StoredDelivery) -> dict[str, JsonValue]:
    """A webhook delivery and its state."""
    delivery = stored.delivery
    return {
        "id": delivery.id,
        "ask_id": delivery.ask_id,
        "type": delivery.type,
        "url": delivery.url,
        "state": stored.state.value,
        "tries": stored.tries,
        "next_try_at": iso(stored.next_at) if stored.next_at is not None else None,
        "last_status": stored.last_status,
        "last_error": stored.last_error,
        "created_at": iso(delivery.created_at),
        "updated_at": iso(stored.updated_at),
    }


def _origin(ask: Ask) -> dict[str, JsonValue]:
    request = ask.request
    places = request.origin.model_dump(include={"project", "folder", "session"})
    return {
        "agent": request.agent,
        "label": request.origin.label(request.agent, request.prompt_label),
        **places,
    }


def _thread(ask: Ask) -> dict[str, JsonValue] | None:
    thread, destination = ask.thread, ask.destination
    if thread is None and destination.channel is None:
        return None
    return {
        "channel": (thread.channel if thread else None) or destination.channel,
        "id": (thread.id if thread else None) or destination.thread,
        "url": thread.url if thread else None,
    }


def build_webhook(ask: Ask, url: str, at: float, event: str) -> Delivery:
    """The webhook that reports an event of an ask to a URL."""
    body: JsonValue = {
        "type": f"ask.{event}",
        "timestamp": iso(at),
        "data": ask_json(ask),
    }
    return Delivery(
        id=f"msg_{secrets.token_hex(12)}",
        ask_id=ask.id,
        type=f"ask.{event}",
        url=url,
        agent=ask.request.agent,
        body=json.dumps(body, ensure_ascii=False),
        created_at=at,
    )
