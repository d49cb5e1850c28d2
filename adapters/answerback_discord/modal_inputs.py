"""Build the modal spec of a question or control: the inputs of one modal, or of several in a row. Pure.

A spec depends only on the stored ask (and the current selection), so its pages stay the same after a restart and
the values entered so far, which are kept by slot name, still fit them. A text that is too long for one input is
divided among several.
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
from answerback.presentation import text_fitting
from answerback.presentation.option_controls import chosen_indexes
from answerback.presentation.sanitize import one_line, unseen
from answerback.presentation.text_fitting import fits_line
from answerback_chat.control_codec import Verb
from answerback_chat.text_entries import text_entry
from answerback_discord import limits
from answerback_discord.markdown_text import fit_line
from answerback_discord.modal_pages import InputKind, ModalInput, ModalSpec

LONG_TEXT: Final = 100
"""A text that may be longer than this many characters gets a multi-line input."""
SPELLED_BUDGET: Final = 1_000
"""Maximum characters of a modal's intro that spell out initial values with invisible characters."""
SELECTION_BUDGET: Final = 1_000
"""Maximum characters of a modal's intro that name the selected options."""


def modal_spec(
    shown: View, verb: Verb, labels: Labels, selected: Sequence[int] = ()
) -> ModalSpec | None:
    """Return the modal spec that a control opens, or None if it currently opens none.

    Args:
        selected: the indexes of the currently selected options.
    """
    spec = _build_spec(shown, verb, labels, selected)
    return spec and replace(spec, intro=_intro_with_warning(spec, labels))


def _intro_with_warning(spec: ModalSpec, labels: Labels) -> str:
    """The intro, preceded by any initial values that contain invisible characters, spelled out."""
    starts = [(s.label, unseen(s.start)) for s in spec.slots if isinstance(s.start, str)]
    spelled = [f"{label}: {text}" for label, text in starts if text is not None]
    warning = text_fitting.shorten("\n".join([labels.unseen, *spelled]), SPELLED_BUDGET)
    return f"{warning}\n\n{spec.intro}".strip() if spelled else spec.intro


def _build_spec(
    shown: View, verb: Verb, labels: Labels, selected: Sequence[int]
) -> ModalSpec | None:
    prompt = shown.prompt
    if verb is Verb.SEARCH and prompt is not None:
        return ModalSpec(
            labels.search, "", _text_slots(0, labels.search, "", True, "", InputKind.LINE)
        )
    if verb is Verb.NOTE and prompt is not None and allows_note(prompt.question):
        return _note_spec(prompt, labels, selected)
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
        return ModalSpec(prompt.other_label(labels), _other_intro(prompt, labels, selected), slots)
    if verb is Verb.FILL:
        return _schema_spec(prompt, slots, labels)
    shown_whole = len(slots) == 1 and fits_line(question.text, limits.MODAL_TITLE)
    return ModalSpec(question.text, "" if shown_whole else question.text, slots)


def _other_intro(prompt: Prompt, labels: Labels, selected: Sequence[int]) -> str:
    """The intro of the "Something else…" modal: what happens to the selection, and the question."""
    question = prompt.question
    text = "\n".join(filter(None, (question.text, prompt.about_other)))
    if not selected:
        return text
    if not question.other_beside:
        return f"{labels.other_replaces}\n{text}"
    names = " · ".join(one_line(question.options[i].label) for i in selected)
    selection = labels.other_with.format(
        count=len(selected), text=text_fitting.shorten(names, SELECTION_BUDGET)
    )
    return f"{selection}\n{text}"


def allows_note(question: Question) -> bool:
    """Whether a choice may carry a note. A multi-select with very many options would not fit the modal."""
    several = question.answer_type is AnswerType.MULTI_SELECT
    return question.notes and bool(question.options) and not (several and is_choice_typed(question))


def needs_full_view(prompt: Prompt) -> bool:
    """Whether a schema question has text that its modals do not show in full."""
    if prompt.question.answer_type is not AnswerType.SCHEMA:
        return False
    fields = fields_from_schema(prompt.question.json_schema)
    return fields is None or any(not _is_shown_in_full(field) for field in fields)


def is_choice_typed(question: Question) -> bool:
    """Whether a choice with a note is typed: a modal's menu has no pages, so it cannot hold this many options."""
    return len(question.options) > limits.SELECT_OPTIONS


# --- from a question to slots --------------------------------------------------------------------


def _schema_spec(prompt: Prompt, as_json: tuple[ModalInput, ...], labels: Labels) -> ModalSpec:
    question = prompt.question
    fields = fields_from_schema(question.json_schema)
    if fields is None:
        schema = json.dumps(question.json_schema, ensure_ascii=False, indent=1)
        return ModalSpec(question.text, schema, as_json, code=True)
    starts = schema_field_values.entries_from_value(
        fields, prompt.prefill, is_set=prompt.is_prefilled
    )
    slots = tuple(
        slot
        for i, field in enumerate(fields)
        for slot in _field_slots(i, field, starts[field.name], labels)
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


def _note_spec(prompt: Prompt, labels: Labels, selected: Sequence[int]) -> ModalSpec:
    """The modal with a choice and a note."""
    question = prompt.question
    several = question.answer_type is AnswerType.MULTI_SELECT
    count = len(question.options)
    note = _text_slots(1, labels.note_label, "", False, prompt.note or "", InputKind.LINES)
    if is_choice_typed(question):
        names = [one_line(option.label) for option in question.options]
        line = "".join(f"{i + 1}. {names[i]}" for i in chosen_indexes(prompt)[:1])
        choice_slots = _text_slots(0, labels.choose, labels.choose_hint, True, line, InputKind.LINE)
        return ModalSpec(question.text, question.text, (*choice_slots, *note))
    start: list[JsonValue] = [str(i) for i in (selected if several else chosen_indexes(prompt))]
    most = count if several else 1
    choice = ModalInput(
        "0", InputKind.MENU, labels.choose, "", not several, start, most=most, several=several
    )
    options = [(option.label, option.description or "") for option in question.options]
    return ModalSpec(question.text, question.text, (_with_options(choice, options, labels), *note))


def _field_slots(
    index: int, field: Field, start: FieldEntry, labels: Labels
) -> tuple[ModalInput, ...]:
    description = field.description or ""
    required = _is_required(field)
    if field.kind is FieldKind.BOOLEAN:
        options = ((labels.yes, ""), (labels.no, ""))
        chosen: JsonValue = [] if start is None else ["0" if start else "1"]
        return (
            ModalInput(
                str(index), InputKind.RADIO, field.title, description, required, chosen, options
            ),
        )
    if field.kind in {FieldKind.CHOICE, FieldKind.CHOICES}:
        chosen_indexes = start if isinstance(start, list) else []
        if len(field.choices) > limits.SELECT_OPTIONS:
            lines = "\n".join(
                f"{i + 1}. {one_line(field.choices[i].title)}" for i in chosen_indexes
            )
            kind = InputKind.LINES if field.kind is FieldKind.CHOICES else InputKind.LINE
            return _text_slots(index, field.title, description, required, lines, kind)
        return (_choice_slot(index, field, chosen_indexes, required, labels),)
    long = field.kind is FieldKind.TEXT and (field.max_length or limits.INPUT_VALUE) > LONG_TEXT
    text = start if isinstance(start, str) else ""
    kind = InputKind.LINES if long or "\n" in text else InputKind.LINE
    slots = _text_slots(index, field.title, description, required, text, kind)
    if len(slots) > 1 or field.kind is not FieldKind.TEXT:
        return tuple(
            replace(slot, placeholder=schema_field_values.placeholder(field)) for slot in slots
        )
    lengths = (field.min_length, field.max_length)
    return (replace(slots[0], lengths=lengths, placeholder=field.example or ""),)


def _choice_slot(
    index: int, field: Field, chosen: Sequence[int], required: bool, labels: Labels
) -> ModalInput:
    count, several = len(field.choices), field.kind is FieldKind.CHOICES
    most = min(field.max_items or count, count) if several else 1
    slot = ModalInput(
        str(index),
        InputKind.MENU,
        field.title,
        field.description or "",
        required,
        [str(i) for i in chosen],
        least=min(field.min_items, most) if required and several else 0,
        most=most,
        several=several,
    )
    options = [(choice.title, choice.description or "") for choice in field.choices]
    return _with_options(slot, options, labels)


def _with_options(
    slot: ModalInput, choices: Sequence[tuple[str, str]], labels: Labels
) -> ModalInput:
    """The slot with these choices (label and description each), as the kind of input that suits them."""
    count, kind = len(choices), InputKind.MENU
    if slot.several and count <= limits.CHECKBOX_OPTIONS:
        kind = InputKind.BOXES
    elif not slot.several and limits.RADIO_OPTIONS_LEAST <= count <= limits.RADIO_OPTIONS:
        kind = InputKind.RADIO
    titles = [fit_line(title, limits.OPTION_LABEL) for title, _ in choices]
    if len(set(titles)) < count:
        titles = [fit_line(f"{i + 1}. {t}", limits.OPTION_LABEL) for i, t in enumerate(titles)]
    options = tuple(
        (title, fit_line(description, limits.OPTION_DESCRIPTION))
        for title, (_, description) in zip(titles, choices, strict=True)
    )
    placeholder = labels.choose if kind is InputKind.MENU else ""
    return replace(slot, kind=kind, options=options, placeholder=placeholder)


def _text_slots(
    index: int, label: str, description: str, required: bool, start: str, kind: InputKind
) -> tuple[ModalInput, ...]:
    parts = _split_value(start) or [""]
    if len(parts) == 1:
        return (ModalInput(str(index), kind, label, description, required, start),)
    return tuple(
        ModalInput(
            f"{index}.{n}",
            InputKind.LINES,
            f"{n + 1}/{len(parts)} {label}",
            description,
            False,
            part,
        )
        for n, part in enumerate(parts)
    )


def _split_value(text: str) -> list[str]:
    """Divide a text into parts that each fit one input, cutting only between two non-blank characters.

    Inputs may lose blanks at their ends, and none of the text may be lost.
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


def _is_required(field: Field) -> bool:
    """Whether an empty field is certainly not a valid answer."""
    empty_is_valid = field.nullable or field.default == ""
    if field.kind is FieldKind.CHOICES:
        return field.required and field.min_items > 0
    return field.required and not empty_is_valid


def _is_shown_in_full(field: Field) -> bool:
    title_fits = fits_line(field.title, limits.LABEL_TEXT) and fits_line(
        field.description or "", limits.LABEL_DESCRIPTION
    )
    return (
        title_fits
        and len(field.choices) <= limits.SELECT_OPTIONS
        and all(
            fits_line(choice.title, limits.OPTION_LABEL - len("99. "))
            and fits_line(choice.description or "", limits.OPTION_DESCRIPTION)
            for choice in field.choices
        )
    )
