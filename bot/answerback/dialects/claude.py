"""The dialect `claude`: Claude's AskUserQuestion, also in its extended form, and other hosts' ask_user_question.

Answers are keyed by question text. Based on Claude Code 2.1.330 (its extended form: CLAUDE_CODE_QUESTION_EXTENDED),
Mistral Vibe 3.0.3, Qwen Code 0.24.4 and pydantic-ai-harness 0.62.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.answers import format_value
from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import (
    MAX_LABEL,
    MAX_OPTIONS,
    MAX_QUESTIONS,
    AnswerType,
    Form,
    Option,
    Question,
)
from answerback.core.json_schema.schemas import violations
from answerback.core.walker import GivenAnswer
from answerback.dialects import choice_forms, qwen, results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect, Shape
from answerback.dialects.tool_definitions import BY_DIALECT

_CLAUDE_TOOL: Final = "AskUserQuestion"
"""The tool whose limits hold; ``ask_user_question`` of other hosts has others, or none."""
_KINDS: Final = ("choice", "text", "number")
_CHOICE, _, _NUMBER = _KINDS
Json = dict[str, JsonValue]


class _Limits(NamedTuple):
    """How many questions a call has at most, and how many options a choice."""

    questions: int
    min_options: int
    options: int


_CLAUDE: Final = _Limits(questions=4, min_options=2, options=4)
_OTHERS: Final = _Limits(questions=MAX_QUESTIONS, min_options=0, options=MAX_OPTIONS)


def parse(call: ArgumentNode) -> Form | None:
    """Parse a call's arguments into a form, or return None if problems were recorded."""
    call.is_object()
    limits = _CLAUDE if call.tool == _CLAUDE_TOOL else _OTHERS
    title = call.text("title", required=False, blank=True)
    texts: set[str] = set()
    place, key = (
        (qwen.meta(call), qwen.QUESTIONS) if call.tool == qwen.NAME else (call, "questions")
    )
    nodes = place.items(key, min_items=1, max_items=limits.questions, noun="questions")
    questions = [
        _question(node, f"q{i}", texts, limits, title)
        for i, node in enumerate(nodes, 1)
        if node.is_object()
    ]
    return None if call.problems.found else Form(questions=tuple(q for q in questions if q))


def _question(
    node: ArgumentNode, question_id: str, texts: set[str], limits: _Limits, title: str | None
) -> Question | None:
    text = node.text("question")
    if text in texts:
        message = (
            f"{node.name}.question {format_value(text)} is already used; "
            "the texts are the keys of the answers."
        )
        node.fail("duplicate_question", message, "question")
    # Claude's choices always have multiSelect and a header; Kimi's may have neither.
    kind = node.choice("kind", _KINDS, _CHOICE)
    needs_header = limits is _CLAUDE and kind == _CHOICE and node.has("multiSelect")
    header = node.text("header", required=needs_header, blank=not needs_header)
    multiple, options = _multiple(node), _options(node, kind, limits)
    schema = _number(node, header) if kind == _NUMBER else None
    hints = [node.text(key, required=False, blank=True) for key in ("description", "placeholder")]
    if text is None:
        return None
    texts.add(text)
    question = Question(
        id=question_id,
        text=text,
        context="\n\n".join(
            filter(None, [title and title.strip() and choice_forms.heading(title), *hints])
        )
        or None,
        header=(header or "")[:MAX_LABEL],
        answer_type=AnswerType.SCHEMA if schema else AnswerType.TEXT,
        json_schema=schema,
    )
    default = node.at("defaultValue").value
    if schema is not None and default is not None and not violations(schema, default):
        question = question.model_copy(update={"default": default, "has_default": True})
    if not options:
        return question
    choices: dict[str, object] = {
        "answer_type": AnswerType.MULTI_SELECT if multiple else AnswerType.SELECT,
        "options": options,
        "other": not node.flag("hideOther", default=False),
        "notes": True,
    }
    return question.model_copy(update=choices)


def _options(node: ArgumentNode, kind: str | None, limits: _Limits) -> tuple[Option, ...]:
    if kind != _CHOICE:
        if node.at("options").value not in (None, []):
            child = node.at("options")
            message = f"{child.name} is for the kind choice only; this is {kind}."
            child.fail("options_forbidden", message)
        return ()
    return choice_forms.read_label_options(
        node,
        min_items=limits.min_options,
        max_items=limits.options,
        described=True,
        required=limits is _CLAUDE,
    )


def _number(node: ArgumentNode, header: str | None) -> Json:
    """Read the bounds of a number as its JSON Schema, with the unit in its title."""
    low, high, step = (node.number(key) for key in ("min", "max", "step"))
    if low is not None and high is not None and low > high:
        message = f"{node.name}.min is more than max: no answer would be possible."
        node.fail("unknown_value", message, "min")
    unit = node.text("unit", required=False, blank=True)
    name = header or "Number"
    schema: Json = {"type": "number", "title": f"{name} ({unit})" if unit else name}
    steps = isinstance(step, int) and step > 0 and isinstance(low or 0, int)
    if steps and step is not None and (low or 0) % step == 0:
        schema["multipleOf"] = step  # else the steps do not start at zero, as a schema's do
    bounds: Json = {"minimum": low, "maximum": high}
    return schema | {key: bound for key, bound in bounds.items() if bound is not None}


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
    if ask.request.name == qwen.NAME:
        return qwen.render(ask)
    given = [(question, ask.walk.answer(question.id)) for question in ask.form.questions]
    if _is_vibe(ask.request.arguments):
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


def _is_vibe(arguments: Json) -> bool:
    """Return whether a call has a field that only Mistral Vibe's have."""
    sent = arguments["questions"]
    questions = sent if isinstance(sent, list) else []
    return "footerNote" in arguments or any(
        isinstance(each, dict) and "hideOther" in each for each in questions
    )


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
    return (
        [str(item) for item in given.value] if isinstance(given.value, list) else [str(given.value)]
    )


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


def _runs_in_background(_name: str, arguments: Mapping[str, JsonValue]) -> bool:
    """Return whether Kimi's agent goes on while people answer."""
    return arguments.get("background") is True


DIALECT: Final = Dialect(
    name="claude",
    calls=(
        CallRule(("AskUserQuestion", "ask_user_question")),
        CallRule((qwen.NAME,), Shape(at=qwen.KIND, says=qwen.USER_QUESTION), 10),
    ),
    parse=parse,
    render=render,
    tool=BY_DIALECT["claude"],
    order=4,
    is_async=_runs_in_background,
)
