"""The result of a decision: in the host's format, with what people changed and said."""

from __future__ import annotations

import json

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.editing import edited_calls
from answerback.dialects.approvals.approval_request import Variant
from answerback.dialects.approvals.decision_note import add_notes


def render_decided(variant: Variant, ask: Ask) -> JsonValue:
    """Render the result of an approval that was answered."""
    answers, arguments = ask.walk.values, ask.request.arguments
    edits = {name: json.loads(call.arguments) for name, call in edited_calls(ask).items()}
    if edits and variant.render_edited is not None:
        decided = variant.render_edited(answers, arguments, edits)
    else:
        decided = variant.render_decision(answers, arguments)
    return add_notes(variant, decided, ask)
