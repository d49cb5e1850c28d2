"""What is asked for in a modal, as slots, each one input; and what was entered, as an action. Pure.

A sheet follows from the stored ask alone, so that its pages stay what they are over a restart and
what was entered (by slot name) fits them again. Texts longer than one input holds are divided over
several.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final, TypeAlias

from pydantic import JsonValue

from answerback.core import schema_entries
from answerback.core.errors import Problem
from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.schema_entries import Entry
from answerback.core.schema_fields import Field, Kind, fields_of
from answerback.core.view import Prompt, View
from answerback.core.walker import Action, Answer
from answerback_chat import texts
from answerback_chat.controls import Verb
from answerback_chat.entries import action_of, text_entry
from answerback_chat.sanitize import one_line, unseen
from answerback_chat.texts import fits
from answerback_discord import limits
from answerback_discord.text import fit

Values: TypeAlias = Mapping[str, JsonValue]
"""What stands in the slots, by slot name: a text, a list of chosen indexes (as text), or null."""
LONG_TEXT: Final = 100
"""From this many characters allowed on, a text gets several lines to be typed in."""
SPELLED_ROOM: Final = 1_000
"""Characters of a modal's text in which starts are spelled out."""
SELECTION_ROOM: Final = 1_000
"""Characters of a modal's text in which the selected options are named."""
_NUMBER: Final = re.compile(r"\s*(\d{1,4})\s*[.)]?(?:\s.*)?", re.DOTALL | re.ASCII)


class Look(Enum):
    """Which input a slot is."""

    LINE = auto()
    LINES = auto()
    RADIO = auto()
    BOXES = auto()
    MENU = auto()


@dataclass(frozen=True, slots=True)
class Slot:
    """One input of a modal."""

    name: str
    """The place of its field, and behind a dot the part of a divided text."""
    look: Look
    label: str
    description: str = ""
    required: bool = False
    start: JsonValue = None
    options: tuple[tuple[str, str], ...] = ()
    """Label and description of each."""
    least: int = 0
    most: int = 1
    placeholder: str = ""
    lengths: tuple[int | None, int | None] = (None, None)
    """The least and the most characters of a text that is not empty; None: unbounded."""

    @property
    def field(self) -> int:
        """The place of the field that this is an input (or a part) of."""
        return int(self.name.partition(".")[0])


@dataclass(frozen=True, slots=True)
class Sheet:
    """All inputs of one modal, or of several in a row."""

    title: str
    intro: str
    """What stands above the inputs, verbatim; empty: nothing."""
    slots: tuple[Slot, ...]
    fields: tuple[Field, ...] = ()
    code: bool = False
    """Whether the intro is code."""

    def pages(self) -> list[tuple[Slot, ...]]:
        """The slots, a modal each."""
        size = limits.MODAL_COMPONENTS - bool(self.intro)
        return [self.slots[i : i + size] for i in range(0, len(self.slots), size)]

    def page_with(self, pointer: str) -> int:
        """The page on which the field of a mistake is; the first where it is of none."""
        name = pointer.removeprefix("/").split("/")[0].replace("~1", "/").replace("~0", "~")
        place = next((i for i, field in enumerate(self.fields) if field.name == name), 0)
        pages = self.pages()
        return next((n for n, page in enumerate(pages) if any(s.field == place for s in page)), 0)


def sheet_of(shown: View, verb: Verb, labels: Labels, selected: Sequence[int] = ()) -> Sheet | None:
    """The sheet that a control opens; None where it opens none now.

    Args:
        selected: the indexes of the options that are selected now.
    """
    sheet = _sheet_of(shown, verb, labels, selected)
    return sheet and replace(sheet, intro=_spelled_out(sheet, labels))


def _spelled_out(sheet: Sheet, labels: Labels) -> str:
    """The intro; before it, what an input starts from that has characters that cannot be seen."""
    starts = [(s.label, unseen(s.start)) for s in sheet.slots if isinstance(s.start, str)]
    spelled = [f"{label}: {text}" for label, text in starts if text is not None]
    warning = texts.shorten("\n".join([labels.unseen, *spelled]), SPELLED_ROOM)
    return f"{warning}\n\n{sheet.intro}".strip() if spelled else sheet.intro


def _sheet_of(shown: View, verb: Verb, labels: Labels, selected: Sequence[int]) -> Sheet | None:
    prompt = shown.prompt
    if verb is Verb.SEARCH and prompt is not None:
        return Sheet(labels.search, "", _text_slots(0, labels.search, "", True, "", Look.LINE))
    entry = text_entry(shown, verb, labels)
    if entry is None:
        return None
    slots = _text_slots(0, entry.label, entry.hint, entry.required, entry.start, Look.LINES)
    if verb is Verb.REPLY or prompt is None:
        return Sheet(labels.reply_title, "", slots)
    question = prompt.question
    if verb is Verb.OTHER:
        return Sheet(labels.other, _beside(question, labels, selected), slots)
    if verb is Verb.FILL:
        return _schema_sheet(prompt, slots, labels)
    shown_whole = len(slots) == 1 and fits(question.text, limits.MODAL_TITLE)
    return Sheet(question.text, "" if shown_whole else question.text, slots)


def _beside(question: Question, labels: Labels, selected: Sequence[int]) -> str:
    """What stands above the entry of "Something else…": what becomes of the selection, and the question."""
    if not selected:
        return question.text
    if not question.other_beside:
        return f"{labels.other_replaces}\n{question.text}"
    names = " · ".join(one_line(question.options[i].label) for i in selected)
    kept = labels.other_with.format(count=len(selected), text=texts.shorten(names, SELECTION_ROOM))
    return f"{kept}\n{question.text}"


def read(
    prompt: Prompt | None, sheet: Sheet, verb: Verb, values: Values
) -> Action | tuple[Problem, ...]:
    """The action that the entered values stand for, or every mistake in them."""
    if verb is Verb.FILL and prompt is not None and sheet.fields:
        return _read_fields(sheet, values)
    found = action_of(verb, _joined(sheet, 0, values))
    return (found,) if isinstance(found, Problem) else found


def mistakes_on(sheet: Sheet, page: int, values: Values) -> tuple[Problem, ...]:
    """What is wrong with the fields of one page of several, as far as it can be told before the last is filled in."""
    shown = {slot.field for slot in sheet.pages()[page]}
    later = {slot.field for each in sheet.pages()[page + 1 :] for slot in each}
    places = shown - later
    found = _read_fields(sheet, values) if sheet.fields else ()
    pointers = {sheet.fields[place].pointer for place in places} if sheet.fields else set()
    return (
        tuple(one for one in found if one.pointer in pointers) if isinstance(found, tuple) else ()
    )


def words_of(values: Values) -> str:
    """What a person typed, to be given back where it could not be taken; the parts of a divided text together."""
    typed: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, str):
            field = name.partition(".")[0]
            typed[field] = typed.get(field, "") + value
    return "\n".join(text for text in typed.values() if text.strip())


def needs_full(prompt: Prompt) -> bool:
    """Whether a schema question says more than its modals show."""
    if prompt.question.answer_type is not AnswerType.SCHEMA:
        return False
    fields = fields_of(prompt.question.json_schema)
    return fields is None or any(not _shows_whole(field) for field in fields)


# --- from a question to slots --------------------------------------------------------------------


def _schema_sheet(prompt: Prompt, as_json: tuple[Slot, ...], labels: Labels) -> Sheet:
    question = prompt.question
    fields = fields_of(question.json_schema)
    if fields is None:
        schema = json.dumps(question.json_schema, ensure_ascii=False, indent=1)
        return Sheet(question.text, schema, as_json, code=True)
    starts = schema_entries.entries_of(fields, prompt.prefill)
    slots = tuple(
        slot
        for i, field in enumerate(fields)
        for slot in _slots(i, field, starts[field.name], labels)
    )
    spelled = [
        f"{field.title}\n{field.description}" if field.description else field.title
        for field in fields
        if not (
            fits(field.title, limits.LABEL_TEXT)
            and fits(field.description or "", limits.LABEL_DESCRIPTION)
        )
    ]
    return Sheet(question.text, "\n\n".join(spelled), slots, fields)


def _slots(place: int, field: Field, start: Entry, labels: Labels) -> tuple[Slot, ...]:
    description = field.description or ""
    needed = _is_needed(field)
    if field.kind is Kind.BOOLEAN:
        options = ((labels.yes, ""), (labels.no, ""))
        chosen: JsonValue = [] if start is None else ["0" if start else "1"]
        return (Slot(str(place), Look.RADIO, field.title, description, needed, chosen, options),)
    if field.kind in {Kind.CHOICE, Kind.CHOICES}:
        chosen_indexes = start if isinstance(start, list) else []
        if len(field.choices) > limits.SELECT_OPTIONS:
            lines = "\n".join(
                f"{i + 1}. {one_line(field.choices[i].title)}" for i in chosen_indexes
            )
            look = Look.LINES if field.kind is Kind.CHOICES else Look.LINE
            return _text_slots(place, field.title, description, needed, lines, look)
        return (_choice_slot(place, field, chosen_indexes, needed, labels),)
    long = field.kind is Kind.TEXT and (field.max_length or limits.INPUT_VALUE) > LONG_TEXT
    text = start if isinstance(start, str) else ""
    look = Look.LINES if long or "\n" in text else Look.LINE
    slots = _text_slots(place, field.title, description, needed, text, look)
    if len(slots) > 1 or field.kind is not Kind.TEXT:
        return tuple(replace(slot, placeholder=schema_entries.placeholder(field)) for slot in slots)
    return (replace(slots[0], lengths=(field.min_length, field.max_length)),)


def _choice_slot(
    place: int, field: Field, chosen: Sequence[int], needed: bool, labels: Labels
) -> Slot:
    count, several = len(field.choices), field.kind is Kind.CHOICES
    look = Look.MENU
    most = min(field.max_items or count, count) if several else 1
    if several and count <= limits.CHECKBOX_OPTIONS:
        look = Look.BOXES
    elif not several and limits.RADIO_OPTIONS_LEAST <= count <= limits.RADIO_OPTIONS:
        look = Look.RADIO
    titles = [fit(choice.title, limits.OPTION_LABEL) for choice in field.choices]
    if len(set(titles)) < count:
        titles = [fit(f"{i + 1}. {t}", limits.OPTION_LABEL) for i, t in enumerate(titles)]
    options = tuple(
        (title, fit(choice.description or "", limits.OPTION_DESCRIPTION))
        for title, choice in zip(titles, field.choices, strict=True)
    )
    return Slot(
        str(place),
        look,
        field.title,
        field.description or "",
        needed,
        [str(i) for i in chosen],
        options,
        min(field.min_items, most) if needed and several else 0,
        most,
        labels.choose if look is Look.MENU else "",
    )


def _text_slots(
    place: int, label: str, description: str, required: bool, start: str, look: Look
) -> tuple[Slot, ...]:
    parts = _parts(start) or [""]
    if len(parts) == 1:
        return (Slot(str(place), look, label, description, required, start),)
    return tuple(
        Slot(f"{place}.{n}", Look.LINES, f"{n + 1}/{len(parts)} {label}", description, False, part)
        for n, part in enumerate(parts)
    )


def _parts(text: str) -> list[str]:
    """A text in as many parts as inputs hold it, divided between two characters that are no blanks.

    Inputs may lose blanks at their ends, and nothing of the text is to be lost.
    """
    parts = []
    while texts.units(text) > limits.INPUT_VALUE:
        head = text[: limits.INPUT_VALUE]
        at = most = 2 * len(head) - texts.units(head)
        while at > 1 and (text[at - 1].isspace() or text[at].isspace()):
            at -= 1
        at = at if at > 1 else most
        parts.append(text[:at])
        text = text[at:]
    return [*parts, text] if text else parts


def _is_needed(field: Field) -> bool:
    """Whether leaving the field empty is certainly no answer."""
    empty_is_one = field.nullable or field.default == ""
    if field.kind is Kind.CHOICES:
        return field.required and field.min_items > 0
    return field.required and not empty_is_one


def _shows_whole(field: Field) -> bool:
    fitting = fits(field.title, limits.LABEL_TEXT) and fits(
        field.description or "", limits.LABEL_DESCRIPTION
    )
    return (
        fitting
        and len(field.choices) <= limits.SELECT_OPTIONS
        and all(
            fits(choice.title, limits.OPTION_LABEL - len("99. "))
            and fits(choice.description or "", limits.OPTION_DESCRIPTION)
            for choice in field.choices
        )
    )


# --- from slots to an action ---------------------------------------------------------------------


def _joined(sheet: Sheet, place: int, values: Values) -> str:
    parts = [values.get(slot.name) for slot in sheet.slots if slot.field == place]
    return "".join(part for part in parts if isinstance(part, str))


def _read_fields(sheet: Sheet, values: Values) -> Action | tuple[Problem, ...]:
    entered: dict[str, Entry] = {}
    problems: list[Problem] = []
    for place, field in enumerate(sheet.fields):
        slot = next(slot for slot in sheet.slots if slot.field == place)
        if slot.look in {Look.LINE, Look.LINES}:
            text = _joined(sheet, place, values)
            if field.kind in {Kind.CHOICE, Kind.CHOICES}:
                found = _typed_choices(field, text)
                problems += [found] if isinstance(found, Problem) else []
                entered[field.name] = None if isinstance(found, Problem) else found
            else:
                entered[field.name] = text
        else:
            entered[field.name] = _indexes(field, values.get(slot.name))
    made = schema_entries.value_of(sheet.fields, entered)
    if isinstance(made, tuple):
        named = {problem.pointer for problem in problems}
        problems += [problem for problem in made if problem.pointer not in named]
    if problems or isinstance(made, tuple):
        return tuple(problems)
    return Answer(value=made)


def _indexes(field: Field, value: JsonValue) -> Entry:
    listed = value if isinstance(value, list) else []
    indexes = [int(i) for i in listed if isinstance(i, str) and i.isascii() and i.isdigit()]
    if field.kind is Kind.BOOLEAN:
        return indexes[0] == 0 if indexes else None
    return indexes or None


def _typed_choices(field: Field, text: str) -> list[int] | Problem | None:
    """Choices typed by title or number, a line each."""
    chosen: list[int] = []
    for line in filter(str.strip, text.split("\n")):
        index = _typed_choice(field, line)
        if index is None:
            words = f'{field.title}: "{line.strip()}" is not one of its choices; type the number or the words of one.'
            return Problem(pointer=field.pointer, code="unknown_value", message=words)
        chosen.append(index)
    return chosen or None


def _typed_choice(field: Field, line: str) -> int | None:
    wanted = one_line(line).casefold()
    for i, choice in enumerate(field.choices):
        if one_line(choice.title).casefold() == wanted:
            return i
    number = _NUMBER.fullmatch(line)
    if number and 1 <= int(number[1]) <= len(field.choices):
        return int(number[1]) - 1
    return None
