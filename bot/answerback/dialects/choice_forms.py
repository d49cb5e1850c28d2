"""Read what the hosts' dialects have in common: ``questions``, each with a header and options."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from answerback.core.form import (
    MAX_LABEL,
    MAX_OPTIONS,
    MAX_QUESTIONS,
    AnswerType,
    Form,
    Option,
    Question,
)
from answerback.dialects.call_reader import ArgumentNode, form_of

_MARKUP: Final = re.compile(r"[!-/:-@\[-`{-~]")


def read_form(
    call: ArgumentNode,
    read: Callable[[ArgumentNode, str], Question | None],
    **more: bool,
) -> Form | None:
    """Read a call that has ``questions`` into a form, or return None if problems were recorded.

    Args:
        read: reads one question; its second argument is an id derived from the question's position.
        more: rules for walking the form.
    """
    call.is_object()
    nodes = call.items("questions", min_items=1, max_items=MAX_QUESTIONS, noun="questions")
    questions = [read(node, f"q{i}") for i, node in enumerate(nodes, 1) if node.is_object()]
    return form_of(call, *questions, **more)


def choice_question(
    id: str,
    text: str,
    options: tuple[Option, ...],
    kind: AnswerType = AnswerType.SELECT,
    *,
    other: bool = True,
    notes: bool = False,
    **more: Any,
) -> Question:
    """Return a choice of these options, and of free text if ``other`` is allowed; without options, a text."""
    return Question(
        id=id,
        text=text,
        answer_type=kind if options else AnswerType.TEXT,
        options=options,
        other=bool(options) and other,
        other_beside=bool(options) and kind is AnswerType.MULTI_SELECT,
        notes=bool(options) and notes,
        **more,
    )


def require_unique(node: ArgumentNode, key: str, value: str | None, seen: set[str]) -> None:
    """Record a problem if a field that identifies its object is not unique; otherwise add its value to ``seen``."""
    if value in seen:
        node.at(key).already_used(value, code="duplicate_id")
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


def read_options(
    node: ArgumentNode,
    key: str = "options",
    fields: Sequence[str] = ("label",),
    *,
    min_items: int,
    max_items: int = MAX_OPTIONS,
    required: bool = True,
    previews: bool = False,
    blank: bool = False,
) -> tuple[Option, ...]:
    """Read the options of a question.

    Args:
        fields: an option's fields with its value and its label, which may be one; none if options are strings.
        required: whether the array is required.
        previews: whether options may have a preview.
        blank: whether a value may be blank.
    """
    options: dict[str, Option] = {}
    for item in node.items(
        key, min_items=min_items, max_items=max_items, noun="options", required=required
    ):
        option = _read_option(item, fields, previews=previews, blank=blank)
        if option is not None and options.setdefault(option.value, option) is not option:
            place = item.at(fields[0]) if fields else item
            place.already_used(option.value, code="duplicate_option")
    return tuple(options.values())


def _read_option(
    item: ArgumentNode, fields: Sequence[str], *, previews: bool, blank: bool
) -> Option | None:
    if not fields and isinstance(item.value, dict) and item.has("value") and item.has("label"):
        fields = ("value", "label")  # where options are strings, these say the same in more words
        if not item.is_object({"value", "label", "description"}):
            return None
    if not fields:
        text = item.string(max_chars=MAX_LABEL)
        return None if text is None else Option(value=text, label=text)
    if not item.is_object():
        return None
    value = item.label(fields[0], blank=blank)
    label = value if len(fields) == 1 else item.label(fields[1])
    description = item.text("description", required=False, blank=True)
    preview = item.text("preview", required=False, blank=True) if previews else None
    if value is None or label is None:
        return None
    return Option(
        value=value, label=label, description=description or None, preview=preview or None
    )


def read_plain_options(
    node: ArgumentNode, key: str, *, required: bool = True
) -> tuple[Option, ...]:
    """Read options that are strings; if they are required, there must be at least one."""
    return read_options(node, key, (), min_items=int(required), required=required)
