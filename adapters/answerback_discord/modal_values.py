"""Read the values entered in a modal's inputs as an action. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core import schema_field_values
from answerback.core.actions import Action, Answer
from answerback.core.clarification import AskBack
from answerback.core.errors import Problem
from answerback.core.form import AnswerType
from answerback.core.schema_field_values import FieldEntry
from answerback.core.schema_fields import Field, FieldKind
from answerback.core.view import Prompt
from answerback.presentation.sanitize import one_line
from answerback_chat.control_codec import Verb
from answerback_chat.text_entries import action_from_text
from answerback_discord.modal_inputs import is_choice_typed
from answerback_discord.modal_pages import InputKind, ModalSpec, Values

_NUMBER: Final = re.compile(r"\s*(\d{1,4})\s*[.)]?(?:\s.*)?", re.DOTALL | re.ASCII)


def parse_values(
    prompt: Prompt | None, spec: ModalSpec, verb: Verb, values: Values
) -> Action | AskBack | tuple[Problem, ...]:
    """Return the action that the entered values stand for, or all problems with them."""
    if verb is Verb.FILL and prompt is not None and spec.fields:
        return _read_fields(spec, values)
    if verb is Verb.NOTE and prompt is not None:
        return _read_choice_with_note(prompt, spec, values)
    action = action_from_text(verb, _joined_text(spec, 0, values))
    return (action,) if isinstance(action, Problem) else action


def page_problems(spec: ModalSpec, page: int, values: Values) -> tuple[Problem, ...]:
    """Return the problems with the fields of one page of several, as far as they show before all pages are filled in.

    A field that continues on a later page is not checked yet.
    """
    shown = {slot.field for slot in spec.pages()[page]}
    later = {slot.field for each in spec.pages()[page + 1 :] for slot in each}
    complete = shown - later
    result = _read_fields(spec, values) if spec.fields else ()
    if not isinstance(result, tuple):
        return ()
    pointers = {spec.fields[index].pointer for index in complete} if spec.fields else set()
    return tuple(problem for problem in result if problem.pointer in pointers)


def typed_text(values: Values) -> str:
    """Return what a person typed, to give it back to them if it was not accepted; divided texts are joined again."""
    typed: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, str):
            field = name.partition(".")[0]
            typed[field] = typed.get(field, "") + value
    return "\n".join(text for text in typed.values() if text.strip())


def _joined_text(spec: ModalSpec, index: int, values: Values) -> str:
    parts = [values.get(slot.name) for slot in spec.slots if slot.field == index]
    return "".join(part for part in parts if isinstance(part, str))


def _read_choice_with_note(
    prompt: Prompt, spec: ModalSpec, values: Values
) -> Action | tuple[Problem, ...]:
    """Read a choice and its note. A missing choice is reported later, when the answer is validated."""
    options = prompt.question.options
    indexes: Sequence[int] | Problem = _chosen_indexes(values.get("0"))
    if is_choice_typed(prompt.question):
        titles = [option.label for option in options]
        indexes = _typed_choices(titles, _joined_text(spec, 0, values), "", "/value")
    if isinstance(indexes, Problem):
        return (indexes,)
    chosen = [options[i].value for i in indexes if i < len(options)]
    several = prompt.question.answer_type is AnswerType.MULTI_SELECT
    value: JsonValue = [*chosen] if several else (chosen[0] if chosen else None)
    return Answer(value=value, note=_joined_text(spec, 1, values) or None)


def _chosen_indexes(value: JsonValue) -> list[int]:
    """The indexes that were chosen in an input."""
    listed = value if isinstance(value, list) else []
    return [int(i) for i in listed if isinstance(i, str) and i.isascii() and i.isdigit()]


def _read_fields(spec: ModalSpec, values: Values) -> Action | tuple[Problem, ...]:
    entered: dict[str, FieldEntry] = {}
    problems: list[Problem] = []
    for index, field in enumerate(spec.fields):
        slot = next(slot for slot in spec.slots if slot.field == index)
        if slot.kind in {InputKind.LINE, InputKind.LINES}:
            text = _joined_text(spec, index, values)
            if field.kind in {FieldKind.CHOICE, FieldKind.CHOICES}:
                titles = [choice.title for choice in field.choices]
                choices = _typed_choices(titles, text, f"{field.title}: ", field.pointer)
                problems += [choices] if isinstance(choices, Problem) else []
                entered[field.name] = None if isinstance(choices, Problem) else choices or None
            else:
                entered[field.name] = text
        else:
            entered[field.name] = _picked_entry(field, values.get(slot.name))
    result = schema_field_values.value_from_entries(spec.fields, entered)
    if isinstance(result, tuple):
        reported = {problem.pointer for problem in problems}
        problems += [problem for problem in result if problem.pointer not in reported]
    if problems or isinstance(result, tuple):
        return tuple(problems)
    return Answer(value=result)


def _picked_entry(field: Field, value: JsonValue) -> FieldEntry:
    indexes = _chosen_indexes(value)
    if field.kind is FieldKind.BOOLEAN:
        return indexes[0] == 0 if indexes else None
    return indexes or None


def _typed_choices(
    titles: Sequence[str], text: str, prefix: str, pointer: str
) -> list[int] | Problem:
    """Read choices that were typed by title or number, one per line."""
    chosen: list[int] = []
    for line in filter(str.strip, text.split("\n")):
        index = _typed_choice(titles, line)
        if index is None:
            message = f'{prefix}"{line.strip()}" is not one of the choices; type the number or the text of one.'
            return Problem(pointer=pointer, code="unknown_value", message=message)
        chosen.append(index)
    return chosen


def _typed_choice(titles: Sequence[str], line: str) -> int | None:
    wanted = one_line(line).casefold()
    for i, title in enumerate(titles):
        if one_line(title).casefold() == wanted:
            return i
    number = _NUMBER.fullmatch(line)
    if number and 1 <= int(number[1]) <= len(titles):
        return int(number[1]) - 1
    return None
