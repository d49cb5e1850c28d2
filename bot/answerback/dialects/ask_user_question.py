"""Reads the questions of AskUserQuestion, which several hosts have copied from Claude Code.

In its extended form a question may have an explanation, and ask for a text or a number.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.answers import format_value
from answerback.core.form import (
    MAX_LABEL,
    MAX_OPTIONS,
    MAX_QUESTIONS,
    MAX_TEXT,
    AnswerType,
    Form,
    Option,
    Question,
)
from answerback.core.json_schema.schemas import violations
from answerback.dialects import choice_forms
from answerback.dialects.call_reader import ArgumentNode, form_of

_KINDS: Final = ("choice", "text", "number")
"""The kinds of answer that a question may ask for."""
_CHOICE, _, _NUMBER = _KINDS
Json = dict[str, JsonValue]


class Limits(NamedTuple):
    """The most questions that a call may have, and the most options of a choice."""

    questions: int
    min_options: int
    options: int
    header: bool | None = False
    """True if a question needs a header; None: a choice that says if several may be chosen needs one."""


PUBLISHED: Final = Limits(questions=4, min_options=2, options=4, header=True)
"""The limits that our own definition states."""
OTHERS: Final = Limits(questions=MAX_QUESTIONS, min_options=0, options=MAX_OPTIONS)


def read_form(
    call: ArgumentNode, limits: Limits, place: ArgumentNode | None = None, key: str = "questions"
) -> Form | None:
    """Read a call's questions within the limits of its tool, or return None if problems were recorded.

    Args:
        place: the object that holds the questions; by default the call itself.
        key: the field that lists them.
    """
    call.is_object()
    title, context = (call.text(each, required=False, blank=True) for each in ("title", "context"))
    texts: set[str] = set()
    nodes = (place or call).items(key, min_items=1, max_items=limits.questions, noun="questions")
    questions = [
        _question(node, f"q{i}", texts, limits, title, context)
        for i, node in enumerate(nodes, 1)
        if node.is_object()
    ]
    return form_of(call, *questions)


def _question(
    node: ArgumentNode,
    question_id: str,
    texts: set[str],
    limits: Limits,
    title: str | None,
    context: str | None,
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
    is_claudes = limits.header is None and kind == _CHOICE and node.has("multiSelect")
    needs_header = is_claudes or limits.header is True
    header = node.text("header", required=needs_header, blank=not needs_header)
    multiple = _read_multiple(node)
    options = _read_options(node, kind, limits)
    schema = _read_number(node, kind, header)
    about = _read_context(node, title, context)
    if text is None:
        return None
    texts.add(text)
    question = Question(
        id=question_id,
        text=text,
        context=about,
        header=(header or "")[:MAX_LABEL],
        answer_type=AnswerType.TEXT,
    )
    if schema is not None:
        return _with_number(question, node, schema)
    if not options:
        return question
    choices: dict[str, object] = {
        "answer_type": AnswerType.MULTI_SELECT if multiple else AnswerType.SELECT,
        "options": options,
        "other": not node.flag("hideOther", default=False),
        "notes": True,
    }
    return question.model_copy(update=choices)


def _read_options(node: ArgumentNode, kind: str | None, limits: Limits) -> tuple[Option, ...]:
    """Read the options of a question; only a choice has any."""
    if kind != _CHOICE:
        child = node.at("options")
        if child.value not in (None, []):
            message = f"{child.name} is for the kind choice only; this is {kind}."
            child.fail("options_forbidden", message)
        return ()
    return choice_forms.read_options(
        node,
        min_items=limits.min_options,
        max_items=limits.options,
        previews=True,
        required=limits.min_options > 0,
    )


def _read_multiple(node: ArgumentNode) -> bool:
    """Read whether several options may be chosen, by Claude's field or Kimi's."""
    claude, kimi = (node.flag(key, default=False) for key in ("multiSelect", "multi_select"))
    if node.has("multiSelect") and node.has("multi_select") and claude != kimi:
        message = f"{node.name}.multi_select contradicts multiSelect; give only one of them."
        node.fail("unknown_value", message, "multi_select")
    return claude or kimi


def _read_context(node: ArgumentNode, title: str | None, context: str | None) -> str | None:
    """Read what stands above a question: the form's title and context, and what explains the question."""
    keys = ("context", "description", "placeholder")
    hints = [node.text(key, required=False, blank=True) for key in keys]
    heading = title and title.strip() and choice_forms.heading(title)
    return "\n\n".join(filter(None, [heading, context, *hints]))[:MAX_TEXT] or None


def _read_number(node: ArgumentNode, kind: str | None, header: str | None) -> Json | None:
    """Read the bounds of a number as its JSON Schema, with the unit in its title; None for another kind."""
    if kind != _NUMBER:
        return None
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


def _with_number(question: Question, node: ArgumentNode, schema: Json) -> Question:
    """Return the question for a number of this schema, with its default if that is valid."""
    question = question.model_copy(update={"answer_type": AnswerType.SCHEMA, "json_schema": schema})
    default = node.at("defaultValue").value
    is_valid = default is not None and not violations(schema, default)
    return question.with_default(default) if is_valid else question
