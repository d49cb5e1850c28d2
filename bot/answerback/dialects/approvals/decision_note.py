"""What a person says with the decision of an approval."""

from __future__ import annotations

from pydantic import JsonValue

from answerback.core.ask import Ask, Status
from answerback.core.too_late import APPROVAL
from answerback.dialects.approvals.approval_request import DECISION, Variant


def decision_note(ask: Ask) -> str | None:
    """Return what a person said with the decision; None if the ask is none that was decided."""
    if ask.request.dialect != APPROVAL or ask.status is not Status.ANSWERED:
        return None
    given = ask.walk.answer(DECISION)
    return given.note if given else None


def add_note(variant: Variant, decided: JsonValue, note: str | None) -> JsonValue:
    """Add the note to a result, if the host has a place for it there."""
    if note is None or variant.with_note is None or not isinstance(decided, dict):
        return decided
    return variant.with_note(decided, note)
