"""The dialect `copilot`: GitHub Copilot's ask_user, one question with choices, or a form made of a schema.

Read in the packages @github/copilot 1.0.102 and github-copilot-sdk 1.0.27.
"""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Form, Question
from answerback.dialects import choice_forms, elicitation, results
from answerback.dialects.call_reader import ArgumentNode

QUESTION_ID: Final = "answer"


def parse(call: ArgumentNode) -> Form | None:
    """The form of a call's arguments; None when mistakes were noted."""
    call.is_object()
    if call.has("requestedSchema"):
        return _form(call)
    text = call.text("question")
    options = choice_forms.read_plain_options(call, "choices", required=False)
    freely = call.flag("allowFreeform", default=True)
    if text is None or call.problems.found:
        return None
    question = Question(
        id=QUESTION_ID,
        text=text,
        answer_type=AnswerType.SELECT if options else AnswerType.TEXT,
        options=options,
        other=bool(options) and freely,
    )
    return Form(questions=(question,))


def render(ask: Ask) -> ToolResult:
    """The tool result of an ask that has ended."""
    if ask.status is Status.FAILED:
        return results.failure_result(ask)
    (question,) = ask.form.questions
    given = ask.walk.answer(question.id)
    if question.answer_type is AnswerType.SCHEMA:
        # Never a decline: Copilot would tell its model that nobody is there, and to work autonomously.
        answered = given is not None and ask.status is Status.ANSWERED
        return elicitation.render(ask) if answered else results.json_result({"action": "cancel"})
    chosen = given is not None and question.answer_type is AnswerType.SELECT and not given.other
    answer = ask.walk.reply or results.unanswered_text(ask) if given is None else str(given.value)
    return ToolResult(
        content=f"User {'selected' if chosen else 'responded'}: {answer}",
        structured={"answer": answer, "wasFreeform": not chosen, **results.reason_field(ask)},
    )


def _form(call: ArgumentNode) -> Form | None:
    """The form variant: an elicitation whose schema need not say that it is an object."""
    schema = call.at("requestedSchema").value
    if isinstance(schema, dict) and schema.get("type") is None:
        schema = {**schema, "type": "object"}
    message = call.at("message").value
    return elicitation.parse(
        ArgumentNode({"message": message, "requestedSchema": schema}, call.problems)
    )
