"""From the values entered in a modal's inputs to an action. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core import schema_field_values
from answerback.core.clarification import AskBack
from answerback.core.errors import Problem
from answerback.core.form import AnswerType
from answerback.core.schema_field_values import FieldEntry
from answerback.core.schema_fields import Field, FieldKind
from answerback.core.view import Prompt
from answerback.core.walker import Action, Answer
from answerback_chat.control_codec import Verb
from answerback_chat.sanitize import one_line
from answerback_chat.text_entries import action_from_text
from answerback_discord.modal_inputs import is_choice_typed
from answerback_discord.modal_pages import InputKind, ModalSpec, Values

_NUMBER: Final = re.compile(r"\s*(\d{1,4})\s*[.)]?(?:\s.*)?", re.DOTALL | re.ASCII)


def parse_values(
    prompt: Prompt | None, sheet: ModalSpec, verb: Verb, values: Values
) -> Action | AskBack | tuple[Problem, ...]:
    """The action that the entered values stand for, or every mistake in them."""
    if verb is Verb.FILL and prompt is not None and sheet.fields:
        return _read_fields(sheet, values)
    if verb is Verb.NOTE and prompt is not None:
        return _read_noted(prompt, sheet, values)
    found = action_from_text(verb, _joined(sheet, 0, values))
    return (found,) if isinstance(found, Problem) else found


def page_problems(sheet: ModalSpec, page: int, values: Values) -> tuple[Problem, ...]:
    """What is wrong with the fields of one page of several, as far as it can be told before the last is filled in."""
    shown = {slot.field for slot in sheet.pages()[page]}
    later = {slot.field for each in sheet.pages()[page + 1 :] for slot in each}
    places = shown - later
    found = _read_fields(sheet, values) if sheet.fields else ()
    pointers = {sheet.fields[place].pointer for place in places} if sheet.fields else set()
    return (
        tuple(one for one in found if one.pointer in pointers) if isinstance(found, tuple) else ()
    )


def typed_text(values: Values) -> str:
    """What a person typed, to be given back where it could not be taken; the parts of a divided text together."""
    typed: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, str):
            field = name.partition(".")[0]
            typed[field] = typed.get(field, "") + value
    return "\n".join(text for text in typed.values() if text.strip())


def _joined(sheet: ModalSpec, place: int, values: Values) -> str:
    parts = [values.get(slot.name) for slot in sheet.slots if slot.field == place]
    return "".join(part for part in parts if isinstance(part, str))


def _read_noted(prompt: Prompt, sheet: ModalSpec, values: Values) -> Action | tuple[Problem, ...]:
    """A choice with the note beside it; a choice that is missing is told of where the answer is checked."""
    options = prompt.question.options
    places: Sequence[int] | Problem = _places(values.get("0"))
    if is_choice_typed(prompt.question):
        titles = [option.label for option in options]
        places = _typed_choices(titles, _joined(sheet, 0, values), "", "/value")
    if isinstance(places, Problem):
        return (places,)
    chosen = [options[i].value for i in places if i < len(options)]
    several = prompt.question.answer_type is AnswerType.MULTI_SELECT
    value: JsonValue = [*chosen] if several else (chosen[0] if chosen else None)
    return Answer(value=value, note=_joined(sheet, 1, values) or None)


def _places(value: JsonValue) -> list[int]:
    """The places that were chosen in an input."""
    listed = value if isinstance(value, list) else []
    return [int(i) for i in listed if isinstance(i, str) and i.isascii() and i.isdigit()]


def _read_fields(sheet: ModalSpec, values: Values) -> Action | tuple[Problem, ...]:
    entered: dict[str, FieldEntry] = {}
    problems: list[Problem] = []
    for place, field in enumerate(sheet.fields):
        slot = next(slot for slot in sheet.slots if slot.field == place)
        if slot.kind in {InputKind.LINE, InputKind.LINES}:
            text = _joined(sheet, place, values)
            if field.kind in {FieldKind.CHOICE, FieldKind.CHOICES}:
                titles = [choice.title for choice in field.choices]
                found = _typed_choices(titles, text, f"{field.title}: ", field.pointer)
                problems += [found] if isinstance(found, Problem) else []
                entered[field.name] = None if isinstance(found, Problem) else found or None
            else:
                entered[field.name] = text
        else:
            entered[field.name] = _indexes(field, values.get(slot.name))
    made = schema_field_values.value_from_entries(sheet.fields, entered)
    if isinstance(made, tuple):
        named = {problem.pointer for problem in problems}
        problems += [problem for problem in made if problem.pointer not in named]
    if problems or isinstance(made, tuple):
        return tuple(problems)
    return Answer(value=made)


def _indexes(field: Field, value: JsonValue) -> FieldEntry:
    indexes = _places(value)
    if field.kind is FieldKind.BOOLEAN:
        return indexes[0] == 0 if indexes else None
    return indexes or None


def _typed_choices(
    titles: Sequence[str], text: str, name: str, pointer: str
) -> list[int] | Problem:
    """Choices typed by title or number, a line each."""
    chosen: list[int] = []
    for line in filter(str.strip, text.split("\n")):
        index = _typed_choice(titles, line)
        if index is None:
            words = f'{name}"{line.strip()}" is not one of the choices; type the number or the words of one.'
            return Problem(pointer=pointer, code="unknown_value", message=words)
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
