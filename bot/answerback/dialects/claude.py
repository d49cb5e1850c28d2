"""The dialect `claude`: Claude's AskUserQuestion; answers are keyed by the questions' texts."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.answers import show
from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import MAX_LABEL, AnswerType, Form, Question
from answerback.core.walker import Given
from answerback.dialects import choices, results
from answerback.dialects.reading import Node

_MAX_QUESTIONS: Final = 4
_MIN_OPTIONS: Final = 2
_MAX_OPTIONS: Final = 4


def parse(call: Node) -> Form | None:
    """The form of a call's arguments; None when mistakes were noted."""
    call.is_object()
    read: list[Question] = []
    texts: set[str] = set()
    for i, node in enumerate(call.items("questions", least=1, most=_MAX_QUESTIONS, of="questions")):
        if not node.is_object():
            continue
        text = node.text("question")
        if text in texts:
            message = f"{node.name}.question {show(text)} is there already; the texts are the keys of the answers."
            node.fail("duplicate_question", message, "question")
        header = (node.text("header") or "")[:MAX_LABEL]
        multiple = node.flag("multiSelect", default=False)
        options = choices.read_label_options(
            node, least=_MIN_OPTIONS, most=_MAX_OPTIONS, described=True
        )
        if text is None:
            continue
        texts.add(text)
        kind = AnswerType.MULTI_SELECT if multiple else AnswerType.SELECT
        read.append(
            Question(
                id=f"q{i + 1}",
                text=text,
                header=header,
                answer_type=kind,
                options=options,
                other=True,
                notes=True,
            )
        )
    return None if call.problems.found else Form(questions=tuple(read))


def render(ask: Ask) -> ToolResult:
    """The tool result of an ask that has ended."""
    if ask.status is Status.FAILED:
        return results.failed(ask)
    given = [(question, ask.walk.answer(question.id)) for question in ask.form.questions]
    answers: dict[str, JsonValue] = {
        q.text: ", ".join(_labels(g)) for q, g in given if g is not None
    }
    structured: dict[str, JsonValue] = {
        "questions": ask.request.arguments["questions"],
        "answers": answers,
    }
    if ask.status is Status.ANSWERED:
        content = "\n\n".join(f"{q.text}\n{_answer_text(q, g)}" for q, g in given if g is not None)
        return ToolResult(content=content, structured=structured)
    structured = {**structured, "cancelled": True, **results.extras(ask)}
    if (reason := results.reason_of(ask)) is not None:
        return ToolResult(content=f"[no answer: {reason}]", structured=structured)
    words = f"\n{ask.walk.reply}" if ask.walk.reply else ""
    return ToolResult(content=f"[cancelled by user]{words}", structured=structured)


def _labels(given: Given) -> list[str]:
    return (
        [str(item) for item in given.value] if isinstance(given.value, list) else [str(given.value)]
    )


def _answer_text(question: Question, given: Given) -> str:
    if question.answer_type is AnswerType.MULTI_SELECT and not given.other:
        return "\n".join(f"- {label}" for label in _labels(given)) or "(none selected)"
    return str(given.value)
