"""The dialect `claude`: Claude's AskUserQuestion; answers are keyed by question text."""

from __future__ import annotations

import json
from typing import Final

from pydantic import JsonValue

from answerback.core.answers import format_value
from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import MAX_LABEL, AnswerType, Form, Question
from answerback.core.walker import GivenAnswer
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect
from answerback.dialects.tool_definitions import BY_DIALECT

_MAX_QUESTIONS: Final = 4
_MIN_OPTIONS: Final = 2
_MAX_OPTIONS: Final = 4
Json = dict[str, JsonValue]


def parse(call: ArgumentNode) -> Form | None:
    """Parse a call's arguments into a form, or return None if problems were recorded."""
    call.is_object()
    questions: list[Question] = []
    texts: set[str] = set()
    for i, node in enumerate(
        call.items("questions", min_items=1, max_items=_MAX_QUESTIONS, noun="questions")
    ):
        if not node.is_object():
            continue
        text = node.text("question")
        if text in texts:
            message = (
                f"{node.name}.question {format_value(text)} is already used; "
                "the texts are the keys of the answers."
            )
            node.fail("duplicate_question", message, "question")
        # Claude's calls always have multiSelect and a header; Kimi's may have neither.
        is_claude = node.has("multiSelect")
        header = node.text("header", required=is_claude, blank=not is_claude)
        multiple = _multiple(node)
        options = choice_forms.read_label_options(
            node, min_items=_MIN_OPTIONS, max_items=_MAX_OPTIONS, described=True
        )
        if text is None:
            continue
        texts.add(text)
        questions.append(
            Question(
                id=f"q{i + 1}",
                text=text,
                header=(header or "")[:MAX_LABEL],
                answer_type=AnswerType.MULTI_SELECT if multiple else AnswerType.SELECT,
                options=options,
                other=True,
                notes=True,
            )
        )
    return None if call.problems.found else Form(questions=tuple(questions))


def _multiple(node: ArgumentNode) -> bool:
    """Return whether several options may be chosen, by Claude's field or Kimi's."""
    claude, kimi = (node.flag(key, default=False) for key in ("multiSelect", "multi_select"))
    if node.has("multiSelect") and node.has("multi_select") and claude != kimi:
        message = f"{node.name}.multi_select contradicts multiSelect; give only one of them."
        node.fail("unknown_value", message, "multi_select")
    return claude or kimi


def render(ask: Ask) -> ToolResult:
    """Render the tool result of an ask that has ended."""
    if ask.status is Status.FAILED:
        return results.failure_result(ask)
    given = [(question, ask.walk.answer(question.id)) for question in ask.form.questions]
    structured: Json = {
        "questions": ask.request.arguments["questions"],
        "answers": {q.text: _join_labels(q, g) for q, g in given if g is not None},
    }
    notes: Json = {q.text: note for q, g in given if (note := _annotation(ask, q, g))}
    if notes:
        structured["annotations"] = notes
    if ask.status is Status.ANSWERED:
        content = "\n\n".join(f"{q.text}\n{_answer_text(q, g)}" for q, g in given if g is not None)
        return ToolResult(content=content, structured=structured)
    structured |= {"cancelled": True, **results.reply_and_reason_fields(ask)}
    if ask.status is Status.EXPIRED and ask.outcome is not None:
        structured["afkTimeoutMs"] = round((ask.outcome.at - ask.created_at) * 1000)
    elif ask.status is Status.CANCELLED and ask.walk.reply:
        structured["response"] = ask.walk.reply
    content = results.append_reply(ask, results.unanswered_text(ask))
    return ToolResult(content=content, structured=structured)


def _annotation(ask: Ask, question: Question, given: GivenAnswer | None) -> Json:
    """Return the annotation of an answer, or the reason why there is none."""
    if given is None:
        if ask.status is not Status.CANCELLED:
            return {}
        return {"unanswered": "replied_in_chat" if ask.walk.reply else "dismissed"}
    single = question.answer_type is AnswerType.SELECT and not given.other
    option = question.option(given.value) if single else None
    annotation = {"preview": option.preview if option else None, "notes": given.note}
    return {key: text for key, text in annotation.items() if text}


def _labels(given: GivenAnswer) -> list[str]:
    return (
        [str(item) for item in given.value] if isinstance(given.value, list) else [str(given.value)]
    )


def _join_labels(question: Question, given: GivenAnswer) -> str:
    """Format an answer the way Claude Code parses it.

    A single label or the text of Other is not changed. Among several labels, one that would be split is written as
    JSON: Claude Code treats the whole string as free text if it does not recognise the labels.
    """
    if question.answer_type is not AnswerType.MULTI_SELECT or given.other:
        return str(given.value)
    labels = _labels(given)
    return ", ".join(
        json.dumps(label, ensure_ascii=False) if ", " in label or '"' in label else label
        for label in labels
    )


def _answer_text(question: Question, given: GivenAnswer) -> str:
    if question.answer_type is AnswerType.MULTI_SELECT and not given.other:
        return "\n".join(f"- {label}" for label in _labels(given)) or "(none selected)"
    return str(given.value)


DIALECT: Final = Dialect(
    name="claude",
    calls=(CallRule(("AskUserQuestion", "ask_user_question")),),
    parse=parse,
    render=render,
    tool=BY_DIALECT["claude"],
    order=4,
)
