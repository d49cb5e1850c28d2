"""A person's note with the decision of an approval, where the result has no place for it."""

from __future__ import annotations

from answerback.core.ask import Ask
from answerback.dialects.approval import VARIANTS
from answerback.dialects.approvals.decision_note import add_notes, decision_note


def owed_note(ask: Ask) -> str | None:
    """Return the note if it is delivered apart from the result; None if the result has it, or there is none."""
    if (note := decision_note(ask)) is None:
        return None
    variant = VARIANTS[ask.request.name]
    decided = variant.render_decision(ask.walk.values, ask.request.arguments)
    return note if add_notes(variant, decided, ask) == decided else None
