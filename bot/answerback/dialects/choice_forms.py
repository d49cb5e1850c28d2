"""Reading what the hosts' dialects have in common: forms of ``questions``, each with a header and options to choose."""

from __future__ import annotations

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

_RECOMMENDED: Final = "(Recommended)"


def read_form(
    call: ArgumentNode, read: Callable[[ArgumentNode, str], Question | None]
) -> Form | None:
    """The form of a call that has ``questions``; None when mistakes were noted.

    Args:
        read: makes a question of each; it is handed the id that its position gives it.
    """
    call.is_object()
    nodes = call.items("questions", least=1, most=MAX_QUESTIONS, of="questions")
    found = [read(node, f"q{i}") for i, node in enumerate(nodes, 1) if node.is_object()]
    return None if call.problems.found else Form(questions=tuple(q for q in found if q))


def require_unique(node: ArgumentNode, key: str, value: str | None, seen: set[str]) -> None:
    """Notes a field below that tells questions apart and is there already; else adds it to those that were seen."""
    if value in seen:
        message = f"{node.name}.{key} {format_value(value)} is there already; each question must have its own."
        node.fail("duplicate_id", message, key)
    elif value is not None:
        seen.add(value)


def read_header(node: ArgumentNode) -> str | None:
    """The short title beside a question, cut to what a label may have; None where it says nothing."""
    header = node.at("header").value
    return header[:MAX_LABEL] if isinstance(header, str) and header.strip() else None


def read_multiple(node: ArgumentNode, name: str) -> AnswerType:
    """Whether one or several of the options may be chosen."""
    return AnswerType.MULTI_SELECT if node.flag(name, default=False) else AnswerType.SELECT


def read_label_options(
    node: ArgumentNode,
    *,
    least: int,
    most: int = MAX_OPTIONS,
    described: bool = False,
    required: bool = True,
) -> tuple[Option, ...]:
    """Options that are objects with a ``label`` (which is their value too), a description and perhaps a preview.

    Args:
        described: whether a preview may come with an option.
        required: whether there must be ``options``.
    """
    options: list[Option] = []
    seen: set[str] = set()
    for item in node.items("options", least=least, most=most, of="options", required=required):
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
                f"{item.name}.label {format_value(label)} is there already; labels must differ.",
                "label",
            )
        seen.add(label)
        options.append(
            Option(
                value=label, label=label, description=description or None, preview=preview or None
            )
        )
    return tuple(options)


def read_plain_options(
    node: ArgumentNode, key: str, field: str | None = None, *, required: bool = True
) -> tuple[Option, ...]:
    """Options that are strings.

    Args:
        field: the field of each item that is the string, where the items are objects.
        required: whether there must be such an array, with an item at the least.
    """
    options: list[Option] = []
    seen: set[str] = set()
    for item in node.items(
        key, least=int(required), most=MAX_OPTIONS, of="options", required=required
    ):
        if field is not None and not item.is_object():
            continue
        value = item.string(most=MAX_LABEL) if field is None else item.label(field)
        if value is None:
            continue
        if value in seen:
            where = () if field is None else (field,)
            message = f"{item.name} {format_value(value)} is there already; options must differ."
            item.fail("duplicate_option", message, *where)
        seen.add(value)
        options.append(Option(value=value, label=value))
    return tuple(options)


def with_recommended_default(question: Question) -> Question:
    """The question with its first option that is labelled "… (Recommended)" as its default, if it has one."""
    for option in question.options:
        if option.label.endswith(_RECOMMENDED):
            return question.model_copy(update={"default": option.value, "has_default": True})
    return question
