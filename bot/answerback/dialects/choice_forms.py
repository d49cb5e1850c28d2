"""Read what the hosts' dialects have in common: ``questions``, each with a header and options."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from answerback.core.answers import format_value
from answerback.core.form import (
    MAX_LABEL,
    MAX_OPTIONS,
    MAX_QUESTIONS,
    AnswerType,
    Form,
    Option,
    Question,
)
from answerback.dialects.call_reader import ArgumentNode

_MARKUP: Final = re.compile(r"[!-/:-@\[-`{-~]")
_RECOMMENDED: Final = "(Recommended)"


def read_form(
    call: ArgumentNode, read: Callable[[ArgumentNode, str], Question | None]
) -> Form | None:
    """Read a call that has ``questions`` into a form, or return None if problems were recorded.

    Args:
        read: reads one question; its second argument is an id derived from the question's position.
    """
    call.is_object()
    nodes = call.items("questions", min_items=1, max_items=MAX_QUESTIONS, noun="questions")
    questions = [read(node, f"q{i}") for i, node in enumerate(nodes, 1) if node.is_object()]
    return None if call.problems.found else Form(questions=tuple(q for q in questions if q))


def require_unique(node: ArgumentNode, key: str, value: str | None, seen: set[str]) -> None:
    """Record a problem if a field that identifies a question is not unique; otherwise add its value to ``seen``."""
    if value in seen:
        message = f"{node.name}.{key} {format_value(value)} is already used; each question must have its own."
        node.fail("duplicate_id", message, key)
    elif value is not None:
        seen.add(value)


def read_header(node: ArgumentNode, key: str = "header") -> str | None:
    """Read a question's short title, cut to the length of a label; None if it is blank."""
    header = node.at(key).value
    return header[:MAX_LABEL] if isinstance(header, str) and header.strip() else None


def heading(text: str) -> str:
    """Return a plain text as a Markdown heading, for the context of a question."""
    escaped = _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))
    return f"### {escaped}"


def read_multiple(node: ArgumentNode, name: str) -> AnswerType:
    """Read the flag that says whether several options may be chosen."""
    return AnswerType.MULTI_SELECT if node.flag(name, default=False) else AnswerType.SELECT


def read_label_options(
    node: ArgumentNode,
    *,
    min_items: int,
    max_items: int = MAX_OPTIONS,
    described: bool = False,
    required: bool = True,
) -> tuple[Option, ...]:
    """Read options that are objects with a ``label`` (also used as the value), a description and perhaps a preview.

    Args:
        described: whether options may have a preview.
        required: whether ``options`` is required.
    """
    options: list[Option] = []
    seen: set[str] = set()
    for item in node.items(
        "options", min_items=min_items, max_items=max_items, noun="options", required=required
    ):
        if not item.is_object():
            continue
        label = item.label("label")
        description = item.text("description", required=False, blank=True)
        preview = item.text("preview", required=False, blank=True) if described else None
        if label is None:
            continue
        if label in seen:
            item.fail(
                "duplicate_option",
                f"{item.name}.label {format_value(label)} is already used; labels must be unique.",
                "label",
            )
        seen.add(label)
        options.append(
            Option(
                value=label, label=label, description=description or None, preview=preview or None
            )
        )
    return tuple(options)


def read_valued_options(
    node: ArgumentNode, key: str, value_key: str, label_key: str, *, required: bool
) -> tuple[Option, ...]:
    """Read options that are objects with a value and a label, which may be the same field.

    Args:
        required: whether the array is required and must have at least one item.
    """
    options: list[Option] = []
    seen: set[str] = set()
    for item in node.items(
        key, min_items=int(required), max_items=MAX_OPTIONS, noun="options", required=required
    ):
        if not item.is_object():
            continue
        value = item.label(value_key)
        label = value if label_key == value_key else item.label(label_key)
        description = item.text("description", required=False, blank=True)
        if value is None or label is None:
            continue
        if value in seen:
            message = f"{item.name}.{value_key} {format_value(value)} is already used; options must be unique."
            item.fail("duplicate_option", message, value_key)
        seen.add(value)
        options.append(Option(value=value, label=label, description=description or None))
    return tuple(options)


def read_plain_options(
    node: ArgumentNode, key: str, field: str | None = None, *, required: bool = True
) -> tuple[Option, ...]:
    """Read options that are strings.

    Args:
        field: the field that holds the string, if the items are objects.
        required: whether the array is required and must have at least one item.
    """
    options: list[Option] = []
    seen: set[str] = set()
    for item in node.items(
        key, min_items=int(required), max_items=MAX_OPTIONS, noun="options", required=required
    ):
        if field is not None and not item.is_object():
            continue
        value = item.string(max_chars=MAX_LABEL) if field is None else item.label(field)
        if value is None:
            continue
        if value in seen:
            path = () if field is None else (field,)
            message = f"{item.name} {format_value(value)} is already used; options must be unique."
            item.fail("duplicate_option", message, *path)
        seen.add(value)
        options.append(Option(value=value, label=value))
    return tuple(options)


def with_recommended_default(question: Question) -> Question:
    """Return the question with its first option labelled "… (Recommended)", if any, as the default."""
    for option in question.options:
        if option.label.endswith(_RECOMMENDED):
            return question.model_copy(update={"default": option.value, "has_default": True})
    return question
