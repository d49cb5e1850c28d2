"""The dialect `question`: choices with values and labels; several questions end in a review.

Also `questionnaire`, of an extension in @earendil-works/pi-coding-agent 1.5.2 (examples/extensions/questionnaire.ts).
"""

from __future__ import annotations

from typing import Final

from answerback.core.form import AnswerType, Form, Question
from answerback.dialects import choice_forms, question_results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect
from answerback.dialects.tool_definitions import BY_DIALECT

_OPTION: Final = ("value", "label")
"""An option's fields: what comes back, and what people see."""


def parse(call: ArgumentNode) -> Form | None:
    """Parse a call's arguments into a form, or return None if problems were recorded."""
    ids: set[str] = set()

    def read(node: ArgumentNode, position: str) -> Question:
        question_id = node.label("id")
        choice_forms.require_unique(node, "id", question_id, ids)
        label = node.label("label", required=False, blank=True)
        return Question(
            id=question_id or position,
            text=node.text("prompt") or "?",
            header=label if label and label.strip() else position.upper(),
            answer_type=AnswerType.SELECT,
            options=choice_forms.read_options(node, "options", _OPTION, min_items=1, blank=True),
            other=node.flag("allowOther", default=True),
        )

    return choice_forms.read_form(call, read, review=True)


DIALECT: Final = Dialect(
    name="question",
    calls=(CallRule(("question", question_results.QUESTIONNAIRE), options={"options": _OPTION}),),
    parse=parse,
    render=question_results.render,
    tool=BY_DIALECT["question"],
    order=5,
)
