"""The record of an ask as people read it: what was asked, answered and undone, when and by whom; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from answerback.core.ask import Ask, Reason, RecordEntry
from answerback.core.labels import Labels
from answerback.core.view import answer_lines, view_of
from answerback.core.walker import GivenAnswer, Source
from answerback.ports.store_values import StoredEntry
from answerback.presentation import wording
from answerback_base.sanitize import as_json, visible
from answerback_web import people_text


@dataclass(frozen=True, slots=True)
class RecordLine:
    at: float
    what: str
    said: str | None
    """The text of the ask's message there."""
    raw: str | None
    """The value as it is stored, if that is not what is said."""
    by: str | None


def record_lines(
    entries: Iterable[StoredEntry], ask: Ask, labels: Labels
) -> tuple[RecordLine, ...]:
    """Return the record's lines, oldest first."""
    return tuple(_line(stored.entry, ask, labels) for stored in entries)


def _line(entry: RecordEntry, ask: Ask, labels: Labels) -> RecordLine:
    what, said, raw = _contents(entry, ask, labels)
    raw_text = None if raw is None else as_text(raw)
    return RecordLine(
        entry.at,
        what,
        None if said is None else visible(said),
        None if raw_text in {None, said} else visible(str(raw_text)),
        people_text.byline(entry.by, labels),
    )


def as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else as_json(value)


def _contents(entry: RecordEntry, ask: Ask, labels: Labels) -> tuple[str, str | None, JsonValue]:
    """Return a line's title, what the ask's message says there, and the stored value."""
    if entry.kind == "answered":
        said, raw = (None, None) if ask.erased_at else _answer(entry, ask, labels)
        return _answer_title(entry.body, labels), said, raw
    if entry.kind == "cancelled":
        reason = entry.body.get("reason")  # the last line says why the form ended
        return labels.record_unanswered, None, None if reason == Reason.USER else reason
    title, value = _title_and_value(entry, ask, labels)
    is_said = value is not None and not isinstance(value, dict)
    return title, *((as_text(value), None) if is_said else (None, value))


def _answer(entry: RecordEntry, ask: Ask, labels: Labels) -> tuple[str | None, JsonValue]:
    body, value = entry.body, entry.body.get("value")
    question = next((each for each in ask.form.questions if each.id == entry.question_id), None)
    if question is None:
        return None, value
    note = body.get("note")
    given = GivenAnswer(
        question_id=question.id,
        value=value,
        other=bool(body.get("other")),
        remembered=bool(body.get("remembered")),
        note=None if note is None else str(note),
    )
    lines = answer_lines(question, given, labels)
    match body.get("edited"):
        case {"difference": str() as difference}:
            lines += [labels.edited, difference]
        case _:
            pass
    return "\n".join(lines), value


def _title_and_value(entry: RecordEntry, ask: Ask, labels: Labels) -> tuple[str, JsonValue]:
    body = entry.body
    match entry.kind:
        case "ended":
            ending = wording.ending(view_of(ask), labels)
            reply = body.get("reply")
            return labels.record_ended, ending if reply is None else f"{ending}: {reply}"
        case "delivery":
            return labels.record_delivery, {**body} or None
        case "handed_over":
            name = body.get("name")
            return labels.record_handed_over, body.get("to") if name is None else name
        case "note" if "submitted" in body:
            return labels.submit, None
        case "note":
            is_retry = "try_again" in body
            title = labels.tell_to_try_again if is_retry else labels.record_note
            return title, body["try_again"] if is_retry else {**body} or None
        case _:
            title, field = _titles(labels)[entry.kind]
            return title, body.get(field)


def _titles(labels: Labels) -> Mapping[str, tuple[str, str]]:
    """The titles of the other kinds of entries, and the fields of their texts."""
    return {
        "request": (labels.record_asked, "question"),
        "backed": (labels.back, ""),
        "postponed": (labels.answer_later, ""),
        "confirmed": (labels.record_confirmed, ""),
        "objected": (labels.record_objected, "text"),
        "clarify": (labels.record_asked_back, "text"),
        "context": (labels.record_explained, "text"),
    }


def _answer_title(body: Mapping[str, JsonValue], labels: Labels) -> str:
    """Return the title of an answer, which says if no person gave it."""
    source = Source(str(body.get("source", Source.HUMAN)))
    if source is Source.DEFAULT:
        return labels.record_default
    note = wording.source_note(source, labels)
    return f"{labels.answered} ({note})" if note else labels.answered
