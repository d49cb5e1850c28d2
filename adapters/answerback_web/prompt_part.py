"""Convert an open question to the plain values for its templates: its text, and the inputs of its answer type; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

from markupsafe import Markup
from pydantic import JsonValue

from answerback.core.form import MAX_LABEL, MAX_TEXT, AnswerType, OptionKind, Question
from answerback.core.labels import Labels
from answerback.core.option_labels import ambiguous_positions
from answerback.core.schema_field_values import FieldEntry, entries_from_value
from answerback.core.view import Prompt
from answerback.presentation.form_inputs import NO_LIMITS, field_inputs
from answerback.presentation.form_inputs import Input as FormInput
from answerback.presentation.form_spec import json_shape, json_start, native_fields
from answerback.presentation.header_tag import HeaderTag, header_tag
from answerback.presentation.option_controls import OptionLimits
from answerback.presentation.schema_words import describe_schema
from answerback_base.sanitize import as_json, one_line, unseen, visible
from answerback_web import form_inputs, limits, question_context
from answerback_web.form_inputs import Choice, Input
from answerback_web.pictures import NO_FILES, PageFiles
from answerback_web.post_entries import added_row, parse_entries, row_keys
from answerback_web.posts import OTHER, PageAction, Post, chosen_values

OPTION_LIMITS: Final = OptionLimits(
    button=limits.BUTTON_LABEL, label=MAX_LABEL, description=MAX_TEXT
)


_SHORTCUTS: Final = {OptionKind.ALLOW_ONCE: "a", OptionKind.DENY: "d"}


@dataclass(frozen=True, slots=True)
class Button:
    """A button that answers; ``value`` is what it sends as ``do``."""

    value: str
    text: str
    primary: bool = False
    key: str | None = None


@dataclass(frozen=True, slots=True)
class PromptPart:
    """The open question and its inputs; only the inputs of its answer type are set."""

    at: int
    header: HeaderTag | None
    text: str
    context: Markup | None
    has_pictures: bool = False
    """True if the context has pictures, and is therefore shown whole."""
    buttons: tuple[Button, ...] = ()
    choices: tuple[Choice, ...] = ()
    main: frozenset[str] | None = None
    """The values of the two choices that decide about a permission; the others are other ways. None: no permission."""
    one_click: bool = False
    """True if each choice is a button that answers."""
    many: bool = False
    filtered: bool = False
    other: str | None = None
    """The text in "Something else…"; None if it is not offered."""
    other_label: str = ""
    about_other: str = ""
    """The agent's explanation of "Something else…"."""
    other_chosen: bool = False
    note: str | None = None
    """The text of the note that goes with the choice; None if the question takes no note."""
    note_hint: str = ""
    """Where the note stays; empty where the agent reads it."""
    other_replaces: bool = False
    """True if "Something else…" replaces the selected options."""
    written: str | None = None
    """The text of a text answer; None for other types of question."""
    inputs: tuple[Input, ...] = ()
    json: str | None = None
    """The text in the JSON editor; None if there is none."""
    shape: str = ""
    """A sentence with the shape of the values that fit, where nothing is in the editor."""
    schema: str | None = None
    format: tuple[str, ...] = ()
    """The format that fits the schema, in words."""
    unseen: str | None = None
    """The text of the only input, spelled out, if it has invisible characters."""

    @property
    def main_choices(self) -> tuple[Choice, ...]:
        return tuple(each for each in self.choices if self.main is None or each.value in self.main)

    @property
    def other_ways(self) -> tuple[Choice, ...]:
        """The other choices that decide, except those that allow more than what is asked now."""
        return tuple(each for each in self._others if not each.lasts)

    @property
    def longer_ways(self) -> tuple[Choice, ...]:
        """The host's own ways to allow more than is asked now."""
        return tuple(each for each in self._others if each.lasts)

    @property
    def _others(self) -> tuple[Choice, ...]:
        return tuple(each for each in self.choices if each not in self.main_choices)


def prompt_part(
    prompt: Prompt, labels: Labels, post: Post | None, files: PageFiles = NO_FILES
) -> PromptPart:
    """Return the part of the page with the open question.

    Args:
        post: what the person entered; it is shown again instead of the prefill.
    """
    question = prompt.question
    part = PromptPart(
        at=prompt.position - 1,
        header=header_tag(question.header),
        text=visible(question.text),
        context=question_context.render_context(prompt, labels, files),
        has_pictures=files.places(question.context),
    )
    entered = post if post is not None and post.first("at") == str(part.at) else None
    match question.answer_type:
        case AnswerType.BOOLEAN:
            return replace(part, buttons=_buttons(prompt, labels))
        case AnswerType.SELECT | AnswerType.MULTI_SELECT:
            return _with_choices(part, prompt, entered, labels, files)
        case AnswerType.TEXT:
            start = prompt.prefill if isinstance(prompt.prefill, str) else ""
            text = entered.first("text") if entered else start
            return replace(part, written=text, unseen=unseen(text))
        case AnswerType.SCHEMA:
            return _with_schema(part, prompt, entered, labels)
        case _:
            assert_never(question.answer_type)


def _buttons(prompt: Prompt, labels: Labels) -> tuple[Button, ...]:
    # Without a default neither button is primary, so as not to nudge the person.
    yes, no = labels.yes_no(consent=prompt.question.consent)
    plain = (
        Button(PageAction.YES, yes, prompt.prefill is True, "y"),
        Button(PageAction.NO, no, prompt.prefill is False, "n"),
    )
    if not prompt.remember:
        return plain
    return (
        *plain,
        Button(PageAction.YES_FOR_TURN, labels.yes_for_turn),
        Button(PageAction.NO_FOR_TURN, labels.no_for_turn),
    )


def _with_choices(
    part: PromptPart, prompt: Prompt, entered: Post | None, labels: Labels, files: PageFiles
) -> PromptPart:
    question = prompt.question
    many = question.answer_type is AnswerType.MULTI_SELECT
    shortcuts, is_one_click = _shortcuts(question), OPTION_LIMITS.is_one_click(question)
    if entered is not None:
        chosen = set(chosen_values(entered))
        other, other_chosen = entered.first("other"), OTHER in chosen
    else:
        # A button that answers is marked as chosen only if it was: the recommended one is marked as such.
        start = None if prompt.again is None and is_one_click else prompt.chosen
        chosen = _option_indexes(question, start if isinstance(start, list) else [start])
        other, other_chosen = prompt.other_text or "", prompt.other_text is not None
    ambiguous = ambiguous_positions([option.label for option in question.options])
    return replace(
        part,
        choices=tuple(
            Choice(
                value=str(i),
                label=visible(option.label),
                chosen=str(i) in chosen,
                description=visible(option.description) if option.description else None,
                preview=question_context.render_source(
                    option.preview, "markdown", labels, files=files
                )
                if option.preview
                else None,
                is_seen=files.places(option.preview),
                key=str(i + 1) if i < limits.NUMBER_KEYS and i + 1 not in ambiguous else None,
                recommended=question.has_default
                and not many
                and option.value == question.default
                and labels.recommended.casefold() not in option.label.casefold(),
                is_default=question.has_default and not many and option.value == question.default,
                denies=option.kind is OptionKind.DENY,
                lasts=option.kind is OptionKind.ALLOW_ALWAYS and not question.plan,
                shortcut=shortcuts.get(str(i)),
            )
            for i, option in enumerate(question.options)
        ),
        main=frozenset(shortcuts) if len(shortcuts) == len(_SHORTCUTS) else None,
        one_click=is_one_click,
        many=many,
        filtered=len(question.options) >= limits.FILTER_FROM,
        other=other if question.other else None,
        other_label=one_line(prompt.other_label(labels)),
        about_other=visible(prompt.about_other),
        other_chosen=other_chosen,
        note=_note(prompt, entered) if question.notes else None,
        note_hint=labels.hint_of_note(question.note_reach) if question.notes else "",
        unseen=unseen(other),
        other_replaces=question.other and many and not question.other_beside,
    )


def _shortcuts(question: Question) -> dict[str, str]:
    """Return the keys of the two choices that decide about a permission, by their values."""
    if not question.is_approval:
        return {}
    sole = {kind: question.sole_option(kind) for kind in _SHORTCUTS}
    return {
        str(question.options.index(option)): _SHORTCUTS[kind]
        for kind, option in sole.items()
        if option is not None
    }


def _option_indexes(question: Question, values: Sequence[JsonValue]) -> set[str]:
    return {str(i) for i, option in enumerate(question.options) if option.value in values}


def _note(prompt: Prompt, entered: Post | None) -> str:
    return entered.first("note") if entered else prompt.note or ""


def _with_schema(part: PromptPart, prompt: Prompt, post: Post | None, labels: Labels) -> PromptPart:
    fields = native_fields(prompt, rows=limits.MAX_ROW_INPUTS)
    if fields is None:
        start = json_start(prompt)
        shape = "" if start else json_shape(prompt, labels)
        text = post.first("json") if post else start
        schema = visible(as_json(prompt.question.json_schema))
        described = tuple(map(visible, describe_schema(prompt.question.json_schema, labels)))
        return replace(
            part,
            json=text,
            shape=visible(shape),
            schema=schema,
            format=described,
            unseen=unseen(text),
        )
    entries = entries_from_value(fields, prompt.prefill, is_set=prompt.is_prefilled)
    inputs = field_inputs(fields, entries, labels, NO_LIMITS)
    if post:
        entered = parse_entries(post, fields)
        added = added_row(post)
        inputs = tuple(
            replace(
                each, start=_with_added(each, entered[each.id], is_added=f"f{each.id}" == added)
            )
            for each in inputs
        )
        keys = {f"f{i}": row_keys(post, f"f{i}") for i in range(len(fields))}
        return replace(part, inputs=form_inputs.inputs_of(inputs, labels, row_keys=keys))
    return replace(part, inputs=form_inputs.inputs_of(inputs, labels))


def _with_added(each: FormInput, entry: FieldEntry, *, is_added: bool) -> FieldEntry:
    """Return what was entered, with the defaults of the row that was added last."""
    if not is_added or each.field is None or not isinstance(entry, tuple):
        return entry
    return (*entry[:-1], entries_from_value(each.field.columns, None))
