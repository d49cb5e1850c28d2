"""The dialect `cline`: Cline's ask_question, and the older ask_followup_question, which Roo Code also has.

Based on the package @cline/core 0.0.86, https://github.com/cline/cline and https://github.com/RooCodeInc/Roo-Code.
"""

from __future__ import annotations

import json
from typing import Final

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode

QUESTION_ID: Final = "answer"


def parse(call: ArgumentNode) -> Form | None:
    """Parse a call's arguments into a form, or return None if problems were recorded."""
    call.is_object()
    text = call.text("question")
    options = _options(call)
    if text is None or call.problems.found:
        return None
    question = Question(
        id=QUESTION_ID,
        text=text,
        answer_type=AnswerType.SELECT if options else AnswerType.TEXT,
        options=options,
        other=bool(options),
    )
    return Form(questions=(question,))


def render(ask: Ask) -> ToolResult:
    """Render the tool result of an ask that has ended: the answer itself."""
    if ask.status is Status.FAILED:
        return results.failure_result(ask)
    given = ask.walk.answer(QUESTION_ID)
    answer = str(given.value) if given else ask.walk.reply or results.unanswered_text(ask)
    return ToolResult(content=answer, structured=answer)


def _options(call: ArgumentNode) -> tuple[Option, ...]:
    """Read the options: an array, a string with a JSON array, or the suggestions in ``follow_up``."""
    sent = call.at("options").value
    if isinstance(sent, str):
        try:
            sent = json.loads(sent) if sent.strip() else None
        except (ValueError, RecursionError):
            call.at("options").wrong_type("an array of strings, or a string with a JSON array")
            return ()
    if sent is None or sent == []:
        return choice_forms.read_plain_options(call, "follow_up", "text", required=False)
    return choice_forms.read_plain_options(
        ArgumentNode({"options": sent}, call.problems), "options"
    )
