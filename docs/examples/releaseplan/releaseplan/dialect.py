"""A release plan: steps to decide, some only after an earlier decision, all reviewed before they are submitted."""

from __future__ import annotations

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Form, Question, When
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect, Tool

TOOL = Tool(
    dialect="releaseplan",
    name="release_plan",
    title="Plan a release",
    description="Have people decide the steps of a release. Ask when it is theirs to decide, never for secrets. "
    "Returns the decision of each step, null if it does not apply. To recommend a choice, put it first.",
    parameters={
        "type": "object",
        "properties": {
            "steps": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "string"},
                        "question": {"type": "string"},
                        "choices": {"type": "array", "items": {"type": "string"}},
                        "only_if": {
                            "type": "string",
                            "description": "key=choice of an earlier step",
                        },
                    },
                    "required": ["key", "question", "choices"],
                },
            }
        },
        "required": ["steps"],
    },
)


def parse(call: ArgumentNode) -> Form | None:
    """Parse a call's arguments into a form, or return None if problems were recorded."""
    call.is_object()
    earlier: dict[str, Question] = {}
    for node in call.items("steps", min_items=1, max_items=100, noun="steps"):
        if not node.is_object():
            continue
        key, text = node.label("key"), node.text("question")
        options = choice_forms.read_plain_options(node, "choices")
        when = _condition(node, earlier)
        choice_forms.require_unique(node, "key", key, {*earlier})
        if key is not None and text is not None:
            earlier[key] = Question(
                id=key, text=text, answer_type=AnswerType.SELECT, options=options, when=when
            )
    return None if call.problems.found else Form(questions=tuple(earlier.values()), review=True)


def _condition(node: ArgumentNode, earlier: dict[str, Question]) -> When | None:
    condition = node.label("only_if", required=False)
    if condition is None:
        return None
    key, _, choice = condition.partition("=")
    if key not in earlier or earlier[key].option(choice) is None:
        message = f"{node.name}.only_if must be key=choice of an earlier step."
        node.fail("unsatisfiable_when", message, "only_if")
    return When(question_id=key, equals=choice)


def render(ask: Ask) -> ToolResult:
    """Render the tool result of an ask that has ended."""
    if ask.status is Status.FAILED:
        return results.failure_result(ask)
    answers = ask.walk.values
    decided: dict[str, JsonValue] = {q.id: answers.get(q.id) for q in ask.form.questions}
    if ask.status is Status.ANSWERED:
        return results.json_result({"plan": decided})
    return results.json_result({"plan": None, **results.reply_and_reason_fields(ask)})


DIALECT = Dialect(
    name="releaseplan",
    calls=(CallRule(("release_plan",), options={"choices": ()}),),
    parse=parse,
    render=render,
    tool=TOOL,
)
