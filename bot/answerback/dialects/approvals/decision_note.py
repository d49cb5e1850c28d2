"""The note that people send with the decision of an approval."""

from __future__ import annotations

from pydantic import JsonValue

from answerback.core.ask import Ask, Status
from answerback.core.too_late import APPROVAL
from answerback.dialects.approvals.approval_request import Variant


def decision_note(ask: Ask) -> str | None:
    """Return what people said with their decisions; None if they said nothing, or decided nothing."""
    return "\n\n".join(_notes(ask).values()) or None


def _notes(ask: Ask) -> dict[str, str]:
    if ask.request.dialect != APPROVAL or ask.status is not Status.ANSWERED:
        return {}
    return {each.question_id: each.note for each in ask.walk.answers if each.note is not None}


def add_notes(variant: Variant, decided: JsonValue, ask: Ask) -> JsonValue:
    """Add what people said to a result, where the host has a place for it there."""
    notes = _notes(ask)
    if not notes or variant.with_notes is None or not isinstance(decided, dict):
        return decided
    return variant.with_notes(decided, {**notes})
