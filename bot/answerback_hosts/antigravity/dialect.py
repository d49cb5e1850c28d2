"""The dialect `antigravity`: its ask_question, with several questions or one, whose options are texts.

Cline has a tool of the same name: calls with ``questions`` or ``is_multi_select`` are Antigravity's.
"""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import Form, Question
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode, form_of
from answerback.dialects.choice_rows import ONLY
from answerback.dialects.dialect import CallRule, Dialect, Shape


def _parse(call: ArgumentNode) -> Form | None:
    if call.has("questions"):
        return choice_forms.read_form(call, _question)
    call.is_object()
    return form_of(call, _question(call, ONLY))


def _question(node: ArgumentNode, question_id: str) -> Question:
    text, options = (
        node.text("question"),
        choice_forms.read_plain_options(node, "options", required=False),
    )
    kind = choice_forms.read_multiple(node, "is_multi_select")
    return choice_forms.choice_question(question_id, text or "", options, kind)


@results.unless_failed
def _render(ask: Ask) -> ToolResult:
    """Render the answer itself; of several questions, each with its answer below."""
    answered = [(question, results.joined(row)) for question, row in results.rows(ask) if row]
    if len(ask.form.questions) == 1 and answered:
        text = answered[0][1]
    else:
        parts = [f"{question.text}\n{answer}" for question, answer in answered]
        text = "\n\n".join(parts if ask.status is Status.ANSWERED else [*parts, results.said(ask)])
    return results.text_result(results.remarked(ask, text))


_OPTIONS: Final = {"options": ()}
DIALECT: Final = Dialect(
    name="antigravity",
    calls=(
        CallRule(("ask_question",), Shape(has=frozenset({"questions"})), 10, _OPTIONS),
        CallRule(("ask_question",), Shape(has=frozenset({"is_multi_select"})), 10, _OPTIONS),
    ),
    parse=_parse,
    render=_render,
    order=28,
)
