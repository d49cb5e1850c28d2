"""From a question to the sheet of its modals, and from what was entered to an action. Pure.

A sheet follows from the stored ask alone, so that its pages stay what they are over a restart and
what was entered (by slot name) fits them again. Texts longer than one input holds are divided over
several.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from answerback.core import schema_field_values
from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.schema_field_values import FieldEntry
from answerback.core.schema_fields import Field, FieldKind, fields_from_schema
from answerback.core.view import Prompt, View
from answerback_chat import text_fitting
from answerback_chat.control_codec import Verb
from answerback_chat.option_controls import chosen_indexes
from answerback_chat.sanitize import one_line, unseen
from answerback_chat.text_entries import text_entry
from answerback_chat.text_fitting import fits_line
from answerback_discord import limits
from answerback_discord.markdown_text import fit_line
from answerback_discord.modal_pages import InputKind, ModalInput, ModalSpec

LONG_TEXT: Final = 100
"""From this many characters allowed on, a text gets several lines to be typed in."""
SPELLED_ROOM: Final = 1_000
"""Characters of a modal's text in which starts are spelled out."""
SELECTION_ROOM: Final = 1_000
"""Characters of a modal's text in which the selected options are named."""


def modal_spec(
    shown: View, verb: Verb, labels: Labels, selected: Sequence[int] = ()
) -> ModalSpec | None:
    """The sheet that a control opens; None where it opens none now.

    Args:
        selected: the indexes of the options that are selected now.
    """
    sheet = _sheet_of(shown, verb, labels, selected)
    return sheet and replace(sheet, intro=_spelled_out(sheet, labels))


def _spelled_out(sheet: ModalSpec, labels: Labels) -> str:
    """The intro; before it, what an input starts from that has characters that cannot be seen."""
    starts = [(s.label, unseen(s.start)) for s in sheet.slots if isinstance(s.start, str)]
    spelled = [f"{label}: {text}" for label, text in starts if text is not None]
    warning = text_fitting.shorten("\n".join([labels.unseen, *spelled]), SPELLED_ROOM)
    return f"{warning}\n\n{sheet.intro}".strip() if spelled else sheet.intro


def _sheet_of(shown: View, verb: Verb, labels: Labels, selected: Sequence[int]) -> ModalSpec | None:
    prompt = shown.prompt
    if verb is Verb.SEARCH and prompt is not None:
        return ModalSpec(
            labels.search, "", _text_slots(0, labels.search, "", True, "", InputKind.LINE)
        )
    if verb is Verb.NOTE and prompt is not None and allows_note(prompt.question):
        return _noted_sheet(prompt, labels, selected)
    entry = text_entry(shown, verb, labels)
    if entry is None:
        return None
    slots = _text_slots(0, entry.label, entry.hint, entry.required, entry.start, InputKind.LINES)
    if verb is Verb.REPLY or prompt is None:
        return ModalSpec(labels.reply_title, "", slots)
    if verb is Verb.ASK_BACK:
        return ModalSpec(labels.ask_back, "", slots)
    question = prompt.question
    if verb is Verb.OTHER:
        return ModalSpec(labels.other, _beside(question, labels, selected), slots)
    if verb is Verb.FILL:
        return _schema_sheet(prompt, slots, labels)
    shown_whole = len(slots) == 1 and fits_line(question.text, limits.MODAL_TITLE)
    return ModalSpec(question.text, "" if shown_whole else question.text, slots)


def _beside(question: Question, labels: Labels, selected: Sequence[int]) -> str:
    """What stands above the entry of "Something else…": what becomes of the selection, and the question."""
    if not selected:
        return question.text
    if not question.other_beside:
        return f"{labels.other_replaces}\n{question.text}"
    names = " · ".join(one_line(question.options[i].label) for i in selected)
    kept = labels.other_with.format(
        count=len(selected), text=text_fitting.shorten(names, SELECTION_ROOM)
    )
    return f"{kept}\n{question.text}"


def allows_note(question: Question) -> bool:
    """Whether a note may stand beside a choice. Many choices of very many would not fit their modal."""
    several = question.answer_type is AnswerType.MULTI_SELECT
    return question.notes and bool(question.options) and not (several and is_choice_typed(question))


def needs_full_view(prompt: Prompt) -> bool:
    """Whether a schema question says more than its modals show."""
    if prompt.question.answer_type is not AnswerType.SCHEMA:
        return False
    fields = fields_from_schema(prompt.question.json_schema)
    return fields is None or any(not _shows_whole(field) for field in fields)


def is_choice_typed(question: Question) -> bool:
    """Whether the choice beside a note is typed, as a modal's menu has no pages."""
    return len(question.options) > limits.SELECT_OPTIONS


# --- from a question to slots --------------------------------------------------------------------


def _schema_sheet(prompt: Prompt, as_json: tuple[ModalInput, ...], labels: Labels) -> ModalSpec:
    question = prompt.question
    fields = fields_from_schema(question.json_schema)
    if fields is None:
        schema = json.dumps(question.json_schema, ensure_ascii=False, indent=1)
        return ModalSpec(question.text, schema, as_json, code=True)
    starts = schema_field_values.entries_from_value(fields, prompt.prefill)
    slots = tuple(
        slot
        for i, field in enumerate(fields)
        for slot in _slots(i, field, starts[field.name], labels)
    )
    spelled = [
        f"{field.title}\n{field.description}" if field.description else field.title
        for field in fields
        if not (
            fits_line(field.title, limits.LABEL_TEXT)
            and fits_line(field.description or "", limits.LABEL_DESCRIPTION)
        )
    ]
    return ModalSpec(question.text, "\n\n".join(spelled), slots, fields)


def _noted_sheet(prompt: Prompt, labels: Labels, selected: Sequence[int]) -> ModalSpec:
    """The choice, and the note beside it."""
    question = prompt.question
    several = question.answer_type is AnswerType.MULTI_SELECT
    count = len(question.options)
    note = _text_slots(1, labels.note_label, "", False, prompt.note or "", InputKind.LINES)
    if is_choice_typed(question):
        names = [one_line(option.label) for option in question.options]
        line = "".join(f"{i + 1}. {names[i]}" for i in chosen_indexes(prompt)[:1])
        typed = _text_slots(0, labels.choose, labels.choose_hint, True, line, InputKind.LINE)
        return ModalSpec(question.text, question.text, (*typed, *note))
    start: list[JsonValue] = [str(i) for i in (selected if several else chosen_indexes(prompt))]
    most = count if several else 1
    choice = ModalInput(
        "0", InputKind.MENU, labels.choose, "", not several, start, most=most, several=several
    )
    made = [(option.label, option.description or "") for option in question.options]
    return ModalSpec(question.text, question.text, (_choosing(choice, made, labels), *note))


def _slots(place: int, field: Field, start: FieldEntry, labels: Labels) -> tuple[ModalInput, ...]:
    description = field.description or ""
    needed = _is_needed(field)
    if field.kind is FieldKind.BOOLEAN:
        options = ((labels.yes, ""), (labels.no, ""))
        chosen: JsonValue = [] if start is None else ["0" if start else "1"]
        return (
            ModalInput(
                str(place), InputKind.RADIO, field.title, description, needed, chosen, options
            ),
        )
    if field.kind in {FieldKind.CHOICE, FieldKind.CHOICES}:
        chosen_indexes = start if isinstance(start, list) else []
        if len(field.choices) > limits.SELECT_OPTIONS:
            lines = "\n".join(
                f"{i + 1}. {one_line(field.choices[i].title)}" for i in chosen_indexes
            )
            look = InputKind.LINES if field.kind is FieldKind.CHOICES else InputKind.LINE
            return _text_slots(place, field.title, description, needed, lines, look)
        return (_choice_slot(place, field, chosen_indexes, needed, labels),)
    long = field.kind is FieldKind.TEXT and (field.max_length or limits.INPUT_VALUE) > LONG_TEXT
    text = start if isinstance(start, str) else ""
    look = InputKind.LINES if long or "\n" in text else InputKind.LINE
    slots = _text_slots(place, field.title, description, needed, text, look)
    if len(slots) > 1 or field.kind is not FieldKind.TEXT:
        return tuple(
            replace(slot, placeholder=schema_field_values.placeholder(field)) for slot in slots
        )
    lengths = (field.min_length, field.max_length)
    return (replace(slots[0], lengths=lengths, placeholder=field.example or ""),)


def _choice_slot(
    place: int, field: Field, chosen: Sequence[int], needed: bool, labels: Labels
) -> ModalInput:
    count, several = len(field.choices), field.kind is FieldKind.CHOICES
    most = min(field.max_items or count, count) if several else 1
    slot = ModalInput(
        str(place),
        InputKind.MENU,
        field.title,
        field.description or "",
        needed,
        [str(i) for i in chosen],
        least=min(field.min_items, most) if needed and several else 0,
        most=most,
        several=several,
    )
    made = [(choice.title, choice.description or "") for choice in field.choices]
    return _choosing(slot, made, labels)


def _choosing(slot: ModalInput, made: Sequence[tuple[str, str]], labels: Labels) -> ModalInput:
    """A slot with the input that shows these choices: their labels and descriptions."""
    count, look = len(made), InputKind.MENU
    if slot.several and count <= limits.CHECKBOX_OPTIONS:
        look = InputKind.BOXES
    elif not slot.several and limits.RADIO_OPTIONS_LEAST <= count <= limits.RADIO_OPTIONS:
        look = InputKind.RADIO
    titles = [fit_line(title, limits.OPTION_LABEL) for title, _ in made]
    if len(set(titles)) < count:
        titles = [fit_line(f"{i + 1}. {t}", limits.OPTION_LABEL) for i, t in enumerate(titles)]
    options = tuple(
        (title, fit_line(description, limits.OPTION_DESCRIPTION))
        for title, (_, description) in zip(titles, made, strict=True)
    )
    placeholder = labels.choose if look is InputKind.MENU else ""
    return replace(slot, kind=look, options=options, placeholder=placeholder)


def _text_slots(
    place: int, label: str, description: str, required: bool, start: str, look: InputKind
) -> tuple[ModalInput, ...]:
    parts = _parts(start) or [""]
    if len(parts) == 1:
        return (ModalInput(str(place), look, label, description, required, start),)
    return tuple(
        ModalInput(
            f"{place}.{n}",
            InputKind.LINES,
            f"{n + 1}/{len(parts)} {label}",
            description,
            False,
            part,
        )
        for n, part in enumerate(parts)
    )


def _parts(text: str) -> list[str]:
    """A text in as many parts as inputs hold it, divided between two characters that are no blanks.

    Inputs may lose blanks at their ends, and nothing of the text is to be lost.
    """
    parts = []
    while text_fitting.utf16_length(text) > limits.INPUT_VALUE:
        head = text[: limits.INPUT_VALUE]
        at = most = 2 * len(head) - text_fitting.utf16_length(head)
        while at > 1 and (text[at - 1].isspace() or text[at].isspace()):
            at -= 1
        at = at if at > 1 else most
        parts.append(text[:at])
        text = text[at:]
    return [*parts, text] if text else parts


def _is_needed(field: Field) -> bool:
    """Whether leaving the field empty is certainly no answer."""
    empty_is_one = field.nullable or field.default == ""
    if field.kind is FieldKind.CHOICES:
        return field.required and field.min_items > 0
    return field.required and not empty_is_one


def _shows_whole(field: Field) -> bool:
    fitting = fits_line(field.title, limits.LABEL_TEXT) and fits_line(
        field.description or "", limits.LABEL_DESCRIPTION
    )
    return (
        fitting
        and len(field.choices) <= limits.SELECT_OPTIONS
        and all(
            fits_line(choice.title, limits.OPTION_LABEL - len("99. "))
            and fits_line(choice.description or "", limits.OPTION_DESCRIPTION)
            for choice in field.choices
        )
    )
