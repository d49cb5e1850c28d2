"""Lay out the form of a question or control as one modal or several in a row, and decode what was entered. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pydantic import JsonValue

from answerback.core.form import Question
from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.presentation import text_fitting
from answerback.presentation.divided_texts import join_texts
from answerback.presentation.form_inputs import FormLimits, Input, InputKind
from answerback.presentation.form_spec import Entry, FormSpec, form_title, offers_note, plan_form
from answerback.presentation.form_values import FormValues
from answerback.presentation.text_fitting import fits_line
from answerback_chat.control_codec import Control, Verb
from answerback_discord import limits

Values: TypeAlias = Mapping[str, JsonValue]
"""The values that were entered, by the id of their input: a text, or the list of chosen indexes as strings."""
FORM_LIMITS: Final = FormLimits(
    label=limits.LABEL_TEXT,
    hint=limits.LABEL_DESCRIPTION,
    option=limits.OPTION_LABEL,
    description=limits.OPTION_DESCRIPTION,
    text=limits.INPUT_VALUE,
    menu=limits.SELECT_OPTIONS,
    one_line=True,
)
SPELLED_BUDGET: Final = 1_000
"""Maximum characters of a modal's intro that spell out initial values with invisible characters."""
_TITLED_BY_QUESTION: Final = frozenset({Entry.TEXT, Entry.NOTE, Entry.SCHEMA})


@dataclass(frozen=True, slots=True)
class ModalSpec:
    """A form as one modal, or as several in a row."""

    form: FormSpec
    title: str
    intro: str = ""
    """The text above the inputs, verbatim; empty for none."""

    @property
    def page_size(self) -> int:
        return limits.MODAL_COMPONENTS - bool(self.intro) - self.form.takes_files

    def pages(self) -> list[tuple[Input, ...]]:
        return self.form.pages(self.page_size)

    def page_with(self, pointer: str) -> int:
        """Return the index of the page with the field that a problem points to, or 0 if it points to no field."""
        position = self.form.position_of(pointer)
        pages = enumerate(self.pages())
        return next((n for n, page in pages if any(i.position == position for i in page)), 0)


def modal_spec(
    shown: View, verb: Verb, labels: Labels, selected: Sequence[int] | None = None
) -> ModalSpec | None:
    """Lay out the form that a control opens; None if it currently opens none.

    Args:
        selected: the indexes of the currently selected options; None: those of the prefill.
    """
    form = _form(shown, verb, labels, selected)
    if form is None:
        return None
    title = form.question if form.entry in _TITLED_BY_QUESTION else form.title
    return ModalSpec(form, title, _intro(form, labels))


def needs_full_view(view: View, labels: Labels) -> bool:
    """Return True if a schema question has text that its modals do not show in full."""
    form = _form(view, Verb.FILL, labels, None)
    return form is not None and form.is_cut


def allows_note(question: Question) -> bool:
    """Return True if a choice may carry a note: one that the modal can hold."""
    return offers_note(question, FORM_LIMITS)


def decode_values(values: Values) -> FormValues:
    """Decode what was entered: chosen indexes are numbers."""
    return {name: _decode(value) for name, value in values.items()}


def typed_text(values: Values) -> str:
    """Return what a person typed, to give it back to them if it was not accepted."""
    return "\n".join(text for text in join_texts(values).values() if text.strip())


def part_label(each: Input) -> str:
    """Return the label of an input, with its number if it is part of a divided text."""
    return f"{each.part[0]}/{each.part[1]} {each.label}" if each.part else each.label


def _decode(value: JsonValue) -> str | list[int] | None:
    if isinstance(value, list):
        return [int(i) for i in value if isinstance(i, str) and i.isascii() and i.isdigit()]
    return value if isinstance(value, str) else None


def _form(
    shown: View, verb: Verb, labels: Labels, selected: Sequence[int] | None
) -> FormSpec | None:
    if verb is Verb.SEARCH and shown.prompt is not None:
        search = Input("0", InputKind.LINE, labels.search, required=True)
        return FormSpec(Entry.SEARCH, form_title(Entry.SEARCH, labels), (search,))
    entry = Control(shown.ask_id, shown.revision, verb).entry
    return plan_form(shown, entry, labels, FORM_LIMITS, selected) if entry else None


def _intro(form: FormSpec, labels: Labels) -> str:
    """The text above the inputs, preceded by any initial values with invisible characters, spelled out."""
    text = "\n".join(filter(None, (form.selection, _own_intro(form), form.about)))
    spelled = [f"{part_label(i)}: {i.unseen}" for i in form.inputs if i.unseen is not None]
    warning = text_fitting.shorten("\n".join([labels.unseen, *spelled]), SPELLED_BUDGET)
    return f"{warning}\n\n{text}".strip() if spelled else text


def _own_intro(form: FormSpec) -> str:
    if form.schema is not None:
        return json.dumps(form.schema, ensure_ascii=False, indent=1)
    if form.entry is Entry.SCHEMA:
        return "\n\n".join(_cut_labels(form))
    is_title = form.entry is Entry.TEXT and len(form.inputs) == 1
    return "" if is_title and fits_line(form.question, limits.MODAL_TITLE) else form.question


def _cut_labels(form: FormSpec) -> list[str]:
    """The titles and descriptions of fields that their inputs cut."""
    return [
        f"{field.title}\n{field.description}" if field.description else field.title
        for field in form.fields
        if not (
            fits_line(field.title, limits.LABEL_TEXT)
            and fits_line(field.description or "", limits.LABEL_DESCRIPTION)
        )
    ]
