"""Plan a form: the inputs that a person fills in after using a control of an ask, and what of them is cut. Pure.

A surface states its limits, encodes each input as an element of its platform, and returns what was entered under the
input's id to `answerback.presentation.form_values`. A plan depends only on the stored ask and the selection, so after
a restart it is the same again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core import grants
from answerback.core.form import AnswerType, Question
from answerback.core.granting import describe_offer
from answerback.core.grants import GrantOffer
from answerback.core.json_schema.skeleton import default_of, skeleton
from answerback.core.labels import Labels
from answerback.core.schema_field_values import can_hold, entries_from_value
from answerback.core.schema_fields import Choice, Field, FieldKind, fields_from_schema
from answerback.core.view import Control, Prompt, View
from answerback.presentation import text_fitting
from answerback.presentation.divided_texts import join_texts
from answerback.presentation.durations import duration
from answerback.presentation.form_inputs import (
    FormLimits,
    Input,
    InputChoice,
    InputKind,
    divide_input,
    field_inputs,
    input_of_choices,
)
from answerback.presentation.option_controls import chosen_indexes
from answerback.presentation.text_fitting import utf16_length
from answerback.presentation.wording import sentence
from answerback_base import strict_json
from answerback_base.sanitize import as_json, one_line, quoted

_USES: Final = 10
"""The number of uses that is suggested."""
SELECTION_BUDGET: Final = 1_000
"""Units of the selected options that a form names above its text."""


class Entry(StrEnum):
    """The thing that a person is about to enter; the values are those of the controls that open the form."""

    TEXT = "write"
    CHOICE = "choose"
    OTHER = "other"
    """An answer in the person's own words, alone or beside the selected options."""
    NOTE = "note"
    """A choice with a note."""
    SCHEMA = "fill"
    REPLY = "reply"
    OBJECT = "object"
    ASK_BACK = "ask_back"
    HAND_OVER = "hand_over"
    SEARCH = "search"
    EDIT_CALL = "edit_call"
    """A call that is allowed with changes: never by a typed message."""
    GRANT = "grant"
    """The grant to make along with the answer that allows once."""
    TRY_AGAIN = "again"


WITH_FILES: Final = frozenset({Entry.TEXT, Entry.OTHER, Entry.NOTE, Entry.REPLY, Entry.OBJECT})
"""Entries that may come with files."""
_MESSAGES: Final = frozenset({Entry.REPLY, Entry.OBJECT, Entry.ASK_BACK, Entry.TRY_AGAIN})
"""Entries of a message to the agent."""


@dataclass(frozen=True, slots=True)
class FormSpec:
    """The questions that a person is asked at once, on one page or several."""

    entry: Entry
    title: str
    """The name of the control that opens the form."""
    inputs: tuple[Input, ...]
    question: str = ""
    """The question that stands above the inputs; empty for none."""
    about: str = ""
    """The agent's explanation of the entry."""
    selection: str = ""
    """A sentence that says what happens to the selected options."""
    fields: tuple[Field, ...] = ()
    schema: JsonValue = None
    """The schema to read beside its JSON editor; None without one."""
    is_cut: bool = False
    """True if something to read is cut, so that it has to be offered in full elsewhere."""
    grants: GrantOffer | None = None
    edits: str | None = None
    """The arguments that the inputs start from, as JSON; None: it is not the form of a call."""

    @property
    def takes_files(self) -> bool:
        """True if what is entered may come with files."""
        return self.entry in WITH_FILES

    def pages(self, size: int) -> list[tuple[Input, ...]]:
        return [self.inputs[i : i + size] for i in range(0, len(self.inputs), size)]

    def position_of(self, pointer: str) -> int:
        """Return the position of the field that a pointer into the answer leads to; 0 if it leads to none."""
        return field_index(self.fields, pointer) or 0

    def without_texts(self, labels: Labels) -> FormSpec:
        """Return the form with its texts empty, which keeps them as they are: a platform cannot hold them."""
        starts = {each.id: each.start for each in self.inputs if each.is_typed}
        whole = join_texts(starts)
        inputs = [
            _keep(replace(each, id=str(each.position), part=None), whole[each.position], labels)
            if each.is_typed
            else each
            for each in self.inputs
            if not each.part or each.part[0] == 1
        ]
        return replace(self, inputs=tuple(inputs))


def _keep(whole: Input, text: str, labels: Labels) -> Input:
    """Return an input that is empty because its text is too long for it."""
    return replace(whole, start="", kept=text, hint=labels.keeps_text) if text else whole


def form_title(entry: Entry | None, labels: Labels) -> str:
    """Return the name of the control that opens the form of an entry."""
    return {
        Entry.CHOICE: labels.choose,
        Entry.OTHER: labels.other,
        Entry.NOTE: labels.answer_with_note,
        Entry.SCHEMA: labels.fill_in,
        Entry.REPLY: labels.reply_title,
        Entry.OBJECT: labels.object,
        Entry.ASK_BACK: labels.ask_back,
        Entry.HAND_OVER: labels.hand_over,
        Entry.SEARCH: labels.search,
        Entry.TRY_AGAIN: labels.tell_to_try_again,
        Entry.EDIT_CALL: labels.edit_call,
        Entry.GRANT: labels.allow_again,
    }.get(entry or Entry.TEXT, labels.answer)


def field_index(fields: Sequence[Field], pointer: str) -> int | None:
    """Return the index of the field that a pointer leads to or into; None if it leads to none."""
    matches = (i for i, f in enumerate(fields) if f"{pointer}/".startswith(f"{f.pointer}/"))
    return next(matches, None)


def plan_form(
    view: View,
    entry: Entry,
    labels: Labels,
    limits: FormLimits,
    selected: Sequence[int] | None = None,
    *,
    json_editor: bool = False,
) -> FormSpec | None:
    """Plan the form of an entry; None if the current view does not offer it.

    Args:
        selected: the indexes of the selected options; None: those of the prefill.
        json_editor: whether a schema is answered as JSON, even if it has fields.
    """
    planner = _Planner(view, labels, limits, selected)
    if entry is Entry.EDIT_CALL:
        return planner.edit_call(json_editor=json_editor)
    return planner.grant() if entry is Entry.GRANT else planner.plan(entry, json_editor=json_editor)


class _Planner(NamedTuple):
    view: View
    labels: Labels
    limits: FormLimits
    selected: Sequence[int] | None

    def plan(self, entry: Entry, *, json_editor: bool) -> FormSpec | None:
        labels, prompt, title = self.labels, self.view.prompt, form_title(entry, self.labels)
        if entry in _MESSAGES:
            return self._message_form(entry, title)
        if entry is Entry.HAND_OVER and self.view.recipients is not None:
            return FormSpec(entry, title, self._person(self.view.recipients))
        if prompt is None:
            return None
        question = prompt.question
        match entry:
            case Entry.CHOICE if question.options:
                return FormSpec(entry, title, self._choice(prompt), question.text)
            case Entry.TEXT if question.answer_type is AnswerType.TEXT:
                start = prompt.prefill if isinstance(prompt.prefill, str) else ""
                inputs = self._text(0, labels.other_label, start)
                return FormSpec(entry, title, inputs, question.text)
            case Entry.OTHER if question.other:
                return self._other(prompt)
            case Entry.NOTE if offers_note(question, self.limits):
                hint = labels.hint_of_note(question.note_reach)
                note = self._text(1, labels.note_label, prompt.note or "", hint)
                inputs = (*self._choice(prompt), *note)
                return FormSpec(entry, title, inputs, question.text)
            case Entry.SCHEMA if question.answer_type is AnswerType.SCHEMA:
                return self._schema(prompt, title, json_editor=json_editor)
            case _:
                return None

    def _message_form(self, entry: Entry, title: str) -> FormSpec | None:
        """The form of a message to the agent."""
        labels, view = self.labels, self.view
        match entry:
            case Entry.TRY_AGAIN if view.can_try_again:
                texts, required = (labels.reply_label, labels.try_again_hint), False
            case Entry.REPLY if view.outcome is None:
                hint = labels.hint_of_reply(deny=view.approval, plan=view.plan)
                texts, required = (labels.reply_label, hint), view.reply_needs_text
                title = labels.reply_and_end(deny=view.approval, plan=view.plan)[0]
            case Entry.OBJECT if view.confirmation:
                texts, required = (labels.object_label, labels.object_hint), False
            case Entry.ASK_BACK if Control.ASK_BACK in view.controls:
                texts, required = (labels.ask_back_label, labels.ask_back_hint), True
            case _:
                return None
        label, hint = (sentence(each, view.label, labels) for each in texts)
        return FormSpec(entry, title, (Input("0", InputKind.TEXT, label, hint, required),))

    def _person(self, recipients: Sequence[str]) -> tuple[Input, ...]:
        choices = tuple(InputChoice(each, "") for each in recipients)
        label, hint = self.labels.hand_over_label, self.labels.hand_over_hint
        return (Input("0", InputKind.PERSON, label, hint, required=True, choices=choices),)

    def _text(
        self,
        position: int,
        label: str,
        start: str,
        hint: str = "",
        *,
        required: bool = False,
        is_json: bool = False,
    ) -> tuple[Input, ...]:
        whole = Input(str(position), InputKind.TEXT, label, hint, required=required, start=start)
        if utf16_length(start) > self.limits.editable:
            return (_keep(whole, start, self.labels),)
        return divide_input(whole, self.limits, is_json=is_json)

    def _choice(self, prompt: Prompt) -> tuple[Input, ...]:
        question, labels = prompt.question, self.labels
        several = question.answer_type is AnswerType.MULTI_SELECT
        chosen = list(chosen_indexes(prompt) if self.selected is None else self.selected)
        named = [(option.label, option.description or "") for option in question.options]
        kind = InputKind.SEVERAL if several else InputKind.ONE
        choice = Input("0", kind, labels.choose, required=not several, start=chosen)
        made = input_of_choices(choice, named, self.limits)
        if not made[0].is_typed:
            return made
        return tuple(replace(each, hint=labels.choose_hint, required=True) for each in made)

    def _other(self, prompt: Prompt) -> FormSpec:
        question, labels = prompt.question, self.labels
        required = not may_remove_text(prompt)
        inputs = self._text(0, labels.other_label, prompt.other_text or "", required=required)
        selection = ""
        if question.answer_type is AnswerType.MULTI_SELECT:
            if question.other_beside and self.limits.has_selection:
                text = self._text(1, labels.other_label, prompt.other_text or "", required=required)
                inputs = (*self._choice(prompt), *text)
            elif question.other_beside:
                selection = selected_options(question, self.selected or (), labels)
            elif self.selected or self.limits.has_selection:
                selection = labels.other_replaces
        title = prompt.other_label(labels)
        return FormSpec(
            Entry.OTHER, title, inputs, question.text, prompt.about_other, selection=selection
        )

    def grant(self) -> FormSpec | None:
        """Plan the form of what is allowed again."""
        offer, prompt, labels = self.view.grants, self.view.prompt, self.labels
        if offer is None or prompt is None:
            return None
        fields = grant_fields(offer, labels)
        inputs = field_inputs(fields, entries_from_value(fields, None), labels, self.limits)
        about = "\n".join([labels.grant_about, *describe_offer(offer, labels)])
        title, question = labels.allow_again, prompt.question.text
        return FormSpec(Entry.GRANT, title, inputs, question, about, fields=fields, grants=offer)

    def edit_call(self, *, json_editor: bool) -> FormSpec | None:
        """Plan the form of a call: an input for each argument, or one for all of them."""
        call, prompt, labels = self.view.editable, self.view.prompt, self.labels
        if call is None or prompt is None:
            return None
        start = prompt.edited or call.arguments
        texts = edit_texts(start)
        fields: tuple[Field, ...] = ()
        if json_editor or not texts or len(texts) > self.limits.fields:
            inputs = self._text(0, labels.edit_json, start, required=True, is_json=True)
        else:
            fields = tuple(
                Field(name, one_line(name), None, required=False, kind=FieldKind.TEXT)
                for name in texts
            )
            entries = {name: text for name, (text, _) in texts.items()}
            inputs = field_inputs(fields, entries, labels, self.limits)
        question, about = prompt.question.text, labels.edit_about
        title = labels.edit_call
        return FormSpec(Entry.EDIT_CALL, title, inputs, question, about, fields=fields, edits=start)

    def _schema(self, prompt: Prompt, title: str, *, json_editor: bool) -> FormSpec:
        question, labels = prompt.question, self.labels
        fields = None if json_editor else native_fields(prompt)
        if fields is None or len(fields) > self.limits.fields:
            schema, start = question.json_schema, json_start(prompt)
            shape = "" if start else json_shape(prompt, labels)
            text = self._text(0, labels.json_label, start, shape, required=True, is_json=True)
            is_cut = utf16_length(as_json(schema)) > self.limits.schema
            return FormSpec(Entry.SCHEMA, title, text, question.text, schema=schema, is_cut=is_cut)
        entries = entries_from_value(fields, prompt.prefill, is_set=prompt.is_prefilled)
        inputs = field_inputs(fields, entries, labels, self.limits)
        is_cut = any(each.is_cut for each in inputs)
        return FormSpec(Entry.SCHEMA, title, inputs, question.text, fields=fields, is_cut=is_cut)


def edit_texts(arguments: str) -> dict[str, tuple[str, bool]]:
    """Return each argument of a call as people edit it, by name: a text as it is, anything else as JSON (true)."""
    members = strict_json.members(arguments)
    values = {name: json.loads(written) for name, written in members.items()}
    return {
        name: (value, False) if isinstance(value, str) else (members[name].strip(), True)
        for name, value in values.items()
    }


def grant_fields(offer: GrantOffer, labels: Labels) -> tuple[Field, ...]:
    """Return the fields of what a person may allow again: what, if there is a choice, for how long and how often."""
    texts = describe_offer(offer, labels)
    matches = [Choice(i, text) for i, text in enumerate(texts)]
    offered = [each for each in grants.MINUTES if each <= offer.minutes]
    minutes = [Choice(each, duration(60 * each, labels)) for each in offered]
    uses = min(_USES, offer.uses)
    fields = (
        _choice_field("match", labels.grant_match, matches),
        _choice_field("minutes", labels.grant_minutes, minutes),
        Field(
            "uses",
            labels.grant_uses,
            None,
            required=True,
            kind=FieldKind.INTEGER,
            minimum=1,
            maximum=offer.uses,
            default=uses,
        ),
    )
    return fields[len(matches) == 1 :]


def _choice_field(name: str, title: str, choices: Sequence[Choice]) -> Field:
    first = choices[0].value
    kind = FieldKind.CHOICE
    return Field(name, title, None, True, kind, choices=tuple(choices), default=first)


def selected_options(question: Question, selected: Sequence[int], labels: Labels) -> str:
    """Say which options a text is sent with; empty for none."""
    names = " · ".join(one_line(question.options[i].label) for i in selected)
    text = text_fitting.shorten(names, SELECTION_BUDGET)
    return labels.other_with.format(count=len(selected), text=text) if selected else ""


def offers_note(question: Question, limits: FormLimits) -> bool:
    """Return True if a choice may carry a note. Several of more options than a menu holds cannot be typed in one
    form."""
    several = question.answer_type is AnswerType.MULTI_SELECT
    fits = not several or len(question.options) <= limits.menu
    return question.notes and bool(question.options) and fits


def may_remove_text(prompt: Prompt) -> bool:
    """Return True if the earlier answer has text beside its options, so that a blank text removes it."""
    return prompt.question.other_beside and prompt.other_text is not None


def native_fields(prompt: Prompt, *, rows: int = 0) -> tuple[Field, ...] | None:
    """Return the fields of a schema question; None if it is answered as JSON, since fields would lose some of it.

    Args:
        rows: how many inputs the rows of a field may have; 0: the surface shows no rows.
    """
    fields, start = fields_from_schema(prompt.question.json_schema, rows=rows > 0), prompt.prefill
    if fields is None:
        return None
    is_object = isinstance(start, dict) and not fields[0].is_whole
    if isinstance(start, dict) and is_object and start.keys() - {field.name for field in fields}:
        return None
    in_rows = [field for field in fields if field.kind is FieldKind.ROWS]
    return fields if all(_shows_rows(field, prompt, rows) for field in in_rows) else None


def _shows_rows(field: Field, prompt: Prompt, inputs: int) -> bool:
    """Return True if a field of rows shows what the answer starts from whole, and as many rows as are needed."""
    start = prompt.prefill
    value = field.default
    if field.is_whole and (start is not None or prompt.is_prefilled):
        value = start
    elif isinstance(start, dict):
        value = start.get(field.name)
    count = max(field.min_items, len(value) if isinstance(value, list) else 0)
    fits = count <= most_rows(field, inputs)
    return fits and (value is None or can_hold(field, value))


def most_rows(field: Field, inputs: int) -> int:
    """Return how many rows a field may have, if all of them may have so many inputs."""
    fitting = inputs // (len(field.columns) + 1)
    return fitting if field.max_items is None else min(fitting, field.max_items)


def json_start(prompt: Prompt) -> str:
    """Return what a JSON editor starts from: the prefill or the schema's own default; empty if nobody has said any."""
    said = (prompt.prefill,) if prompt.is_prefilled else default_of(prompt.question.json_schema)
    return "" if said is None else as_json(said[0])


def json_shape(prompt: Prompt, labels: Labels) -> str:
    """Return a sentence with the shape of the values that fit a schema; empty if the schema does not say."""
    shape = skeleton(prompt.question.json_schema)
    return "" if shape is None else labels.json_shape.format(shape=quoted(shape))
