"""The results of `claude`: answers keyed by question text, or Mistral Vibe's list of them."""

from __future__ import annotations

import json
from typing import Any

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Question
from answerback.core.walker import GivenAnswer
from answerback.dialects import results
from answerback.dialects.dialect import present_fields

Json = dict[str, JsonValue]


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    given = [(question, ask.walk.answer(question.id)) for question in ask.form.questions]
    if _is_vibe(ask.request.name, ask.request.arguments):
        return _vibe_result(ask, given)
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


def _is_vibe(name: str, arguments: Json) -> bool:
    """Return whether a call has a field that only Mistral Vibe's have, under a name that is not Claude Code's own."""
    if name == "AskUserQuestion":
        return False
    questions: Any = arguments["questions"]
    fields = present_fields(arguments).union(*map(present_fields, questions))
    return not fields.isdisjoint({"footerNote", "hideOther"})


def _vibe_result(ask: Ask, given: list[tuple[Question, GivenAnswer | None]]) -> ToolResult:
    answers: list[JsonValue] = [
        {"question": question.text, "answer": _join_labels(question, each), "isOther": each.other}
        for question, each in given
        if each is not None
    ]
    cancelled = ask.status is not Status.ANSWERED
    more = results.reply_and_reason_fields(ask) if cancelled else {}
    return results.json_result({"answers": answers, "cancelled": cancelled, **more})


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
    return [str(item) for item in (given.value if isinstance(given.value, list) else [given.value])]


def _join_labels(question: Question, given: GivenAnswer) -> str:
    """Format an answer the way Claude Code parses it.

    A single label or the text of Other is not changed. Among several labels, one that would be split is written as
    JSON: Claude Code treats the whole string as free text if it does not recognise the labels.
    """
    if isinstance(given.value, float) and given.value.is_integer():
        return str(int(given.value))
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
    return _join_labels(question, given)
