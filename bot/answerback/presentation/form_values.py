"""Read what was entered in a form as an action, or as every problem with it. Pure.

A problem's pointer leads into the answer; `form_spec.FormSpec.position_of` finds its input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from pydantic import JsonValue

from answerback.core.actions import Action, Answer, Object, Other, Reply
from answerback.core.clarification import AskBack
from answerback.core.editing import AllowEdited
from answerback.core.errors import Problem
from answerback.core.form import AnswerType, OptionKind, Question
from answerback.core.grants import GrantOffer, GrantTerms
from answerback.core.handing_over import HandOver
from answerback.core.intents import ResolvedAction
from answerback.core.schema_field_values import FieldEntry, parse_json_answer, value_from_entries
from answerback.core.schema_fields import Field, FieldKind
from answerback.core.too_late import TryAgain
from answerback.core.typed_text import is_blank, parse_position
from answerback.core.view import Prompt
from answerback.presentation.divided_texts import join_texts
from answerback.presentation.form_inputs import Input, InputKind
from answerback.presentation.form_spec import Entry, FormSpec, edit_texts, may_remove_text
from answerback_base import strict_json
from answerback_base.sanitize import one_line

FormValues: TypeAlias = Mapping[str, FieldEntry]
"""The values that were entered, by the id of their input: a text, the indexes of the chosen choices, or rows."""
_NUMBER: Final = re.compile(r"\s*(\d{1,4})\s*[.)]?(?:\s.*)?", re.DOTALL | re.ASCII)


def read_form(
    spec: FormSpec, values: FormValues, prompt: Prompt | None
) -> ResolvedAction | tuple[Problem, ...]:
    """Return the action that the entered values stand for, or all problems with them."""
    if prompt is not None and spec.grants is not None:
        return read_grant(spec.grants, spec.fields, spec.inputs, values, prompt.question)
    if prompt is not None and spec.edits is not None:
        return read_edited_call(spec, spec.edits, values, prompt.question)
    if spec.fields:
        return read_fields(spec.fields, spec.inputs, values)
    if prompt is not None and spec.entry is Entry.NOTE:
        return _read_choice_with_note(spec, values, prompt.question)
    first, text = spec.inputs[0], _last_text(spec, values)
    if first.kind is InputKind.PERSON:
        found = _typed_choices([choice.label for choice in first.choices], text)
        text = first.choices[found[0]].label if len(found) == 1 else text
    action = action_from_text(spec.entry, text)
    if isinstance(action, Problem):
        return (action,)
    if isinstance(action, Other) and prompt is not None and not first.is_typed:
        selected = option_values(prompt.question, _indexes(values.get(first.id)))
        return with_selection(action, prompt, selected)
    return action


def read_grant(
    offer: GrantOffer,
    fields: Sequence[Field],
    inputs: Sequence[Input],
    values: FormValues,
    question: Question,
) -> Answer | tuple[Problem, ...]:
    """Return the answer that allows once, with what is allowed again along with it, or all problems."""
    entered = read_fields(fields, inputs, values)
    if isinstance(entered, tuple) or not isinstance(entered.value, dict):
        return entered
    chosen = {name: value for name, value in entered.value.items() if isinstance(value, int)}
    match = offer.matches[chosen.get("match", 0)].match
    terms = GrantTerms(match, chosen["minutes"], chosen["uses"])
    once = next(each for each in question.options if each.kind is OptionKind.ALLOW_ONCE)
    return Answer(value=once.value, grant=terms)


def read_edited_call(
    spec: FormSpec, before: str, values: FormValues, question: Question
) -> AllowEdited | tuple[Problem, ...]:
    """Return the answer that allows a call as it was entered, or all problems with it.

    Args:
        before: the arguments that the form started from, as JSON.
    """
    entered, kept = join_texts(values), {each.position: each.kept for each in spec.inputs}
    texts = {
        position: entered.get(position, "") or kept_text for position, kept_text in kept.items()
    }
    once = question.sole_option(OptionKind.ALLOW_ONCE)
    value = None if once is None else once.value
    if not spec.fields:
        return AllowEdited(value=value, edited=texts[0])
    members: list[str] = []
    problems: list[Problem] = []
    written = strict_json.written_members(before)
    for position, (name, (start, is_json)) in enumerate(edit_texts(before).items()):
        text = texts[position].replace("\r\n", "\n")
        key, now = written[name]
        if text.strip() != start.strip():
            now = text if is_json else json.dumps(text, ensure_ascii=False)
        if is_json and not text.strip():
            continue  # it is left out
        try:
            strict_json.parse(now)
        except strict_json.NotJsonError as error:
            message = f"{one_line(name)} is not valid JSON: {error}."
            pointer = spec.fields[position].pointer
            problems.append(Problem(pointer=pointer, code="wrong_type", message=message))
        members.append(f"{key}: {now}")
    if problems:
        return tuple(problems)
    return AllowEdited(value=value, edited=f"{{{', '.join(members)}}}")


def action_from_text(entry: Entry, text: str) -> ResolvedAction | Problem:
    """Return the action for the text entered in a form of one text, or the problem with it."""
    match entry:
        case Entry.REPLY:
            return Reply(text=text or None)
        case Entry.OBJECT:
            return Object(text=text or None)
        case Entry.ASK_BACK:
            return AskBack(text=text)
        case Entry.TRY_AGAIN:
            return TryAgain(text=text or None)
        case Entry.HAND_OVER:
            return HandOver(to=text.strip())
        case Entry.OTHER:
            return Other(text=text)
        case Entry.SCHEMA:
            value = parse_json_answer(text)
            return value if isinstance(value, Problem) else Answer(value=value)
        case _:
            return Answer(value=text)


def with_selection(other: Other, prompt: Prompt, selected: list[JsonValue]) -> Action:
    """Return the answer of the entered text and the selected options; without text, that of the options alone."""
    if is_blank(other.text) and may_remove_text(prompt):
        return Answer(value=selected)
    return Other(text=other.text, value=selected)


def option_values(question: Question, indexes: Sequence[int]) -> list[JsonValue]:
    """Return the values of the options at these indexes; an index without an option is left out."""
    return [question.options[i].value for i in indexes if i < len(question.options)]


def page_problems(spec: FormSpec, size: int, page: int, values: FormValues) -> tuple[Problem, ...]:
    """Return the problems with the fields of one page of several, as far as they show before all pages are filled in.

    A field that continues on a later page is not checked yet.
    """
    result = read_fields(spec.fields, spec.inputs, values) if spec.fields else None
    if not isinstance(result, tuple):
        return ()
    pages = spec.pages(size)
    shown = {each.position for each in pages[page]}
    later = {each.position for rest in pages[page + 1 :] for each in rest}
    pointers = {spec.fields[position].pointer for position in shown - later}
    return tuple(problem for problem in result if problem.pointer in pointers)


def _last_text(spec: FormSpec, values: FormValues) -> str:
    last = spec.inputs[-1]
    return join_texts(values).get(last.position, "") or last.kept


def _read_choice_with_note(
    spec: FormSpec, values: FormValues, question: Question
) -> Action | tuple[Problem, ...]:
    """Read a choice and its note. A missing choice is reported later, when the answer is validated."""
    indexes = _chosen(spec.inputs[0], values, "", "/value")
    if isinstance(indexes, Problem):
        return (indexes,)
    chosen = option_values(question, indexes)
    several = question.answer_type is AnswerType.MULTI_SELECT
    value: JsonValue = [*chosen] if several else (chosen[0] if chosen else None)
    return Answer(value=value, note=_last_text(spec, values) or None)


def read_fields(
    fields: Sequence[Field], inputs: Sequence[Input], values: FormValues
) -> Answer | tuple[Problem, ...]:
    """Return the answer that was entered in the inputs of a schema's fields, or all problems with it."""
    firsts = {each.position: each for each in reversed(inputs)}
    entries: dict[str, FieldEntry] = {}
    problems: list[Problem] = []
    for position, field in enumerate(fields):
        entry = _field_entry(firsts[position], field, values)
        if isinstance(entry, Problem):
            problems.append(entry)
            entry = None
        entries[field.name] = entry
    result = value_from_entries(fields, entries)
    if isinstance(result, tuple):
        reported = {problem.pointer for problem in problems}
        problems += [problem for problem in result if problem.pointer not in reported]
    return tuple(problems) if problems or isinstance(result, tuple) else Answer(value=result)


def _field_entry(first: Input, field: Field, values: FormValues) -> FieldEntry | Problem:
    if field.kind is FieldKind.ROWS:
        return values.get(first.id)
    if first.choices:
        indexes = _chosen(first, values, f"{field.title}: ", field.pointer)
        if field.kind is FieldKind.BOOLEAN and not isinstance(indexes, Problem):
            return indexes[0] == 0 if indexes else None
        return indexes or None
    return join_texts(values).get(first.position)


def _chosen(first: Input, values: FormValues, prefix: str, pointer: str) -> list[int] | Problem:
    """The indexes that were chosen in an input, or typed by label or number, one per line."""
    if not first.is_typed:
        return _indexes(values.get(first.id))
    chosen: list[int] = []
    for line in filter(str.strip, join_texts(values).get(first.position, "").split("\n")):
        found = _typed_choices([choice.label for choice in first.choices], line)
        if len(found) != 1:
            why = "is ambiguous: it is the text of one choice and the number of another"
            what = why if found else "is not one of the choices; type the number or the text of one"
            message = f'{prefix}"{line.strip()}" {what}.'
            return Problem(pointer=pointer, code="unknown_value", message=message)
        chosen += found
    return chosen


def _indexes(entry: FieldEntry) -> list[int]:
    return entry if isinstance(entry, list) else []


def _typed_choices(labels: Sequence[str], line: str) -> list[int]:
    """Return the indexes of the choices that a line names: by label and by number, each once."""
    wanted = one_line(line).casefold()
    named = [i for i, label in enumerate(labels) if label.casefold() == wanted][:1]
    number = _NUMBER.fullmatch(line)
    if named and parse_position(line) is None:  # the number is part of the label
        return named
    numbered = [int(number[1]) - 1] if number and 1 <= int(number[1]) <= len(labels) else []
    return list(dict.fromkeys([*named, *numbered]))
