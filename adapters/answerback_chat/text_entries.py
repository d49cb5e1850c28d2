"""Text inputs: their label and initial value, and the action that the entered text stands for. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from pydantic import JsonValue

from answerback.core.actions import Action, Answer, Other, Reply
from answerback.core.clarification import AskBack
from answerback.core.errors import Problem
from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.schema_field_values import parse_json_answer
from answerback.core.view import Control as Offered
from answerback.core.view import Prompt, View
from answerback.presentation.sanitize import as_json
from answerback.presentation.wording import sentence
from answerback_chat.control_codec import Verb


class TextEntry(NamedTuple):
    """One text input; a platform may divide it into several fields."""

    label: str
    start: str = ""
    required: bool = False
    hint: str = ""


def text_entry(view: View, verb: Verb, labels: Labels) -> TextEntry | None:
    """Return the text input that a control opens (a schema as JSON); None if it opens none on the current view."""
    if verb is Verb.REPLY:
        label, hint = labels.reply_label, labels.reply_hint
        needed = view.reply_needs_text
        return TextEntry(
            sentence(label, view.label, labels), "", needed, sentence(hint, view.label, labels)
        )
    if view.prompt is None:
        return None
    if verb is Verb.ASK_BACK:
        if Offered.ASK_BACK not in view.controls:
            return None
        label, hint = labels.ask_back_label, labels.ask_back_hint
        return TextEntry(
            sentence(label, view.label, labels), "", True, sentence(hint, view.label, labels)
        )
    question, prefill = view.prompt.question, view.prompt.prefill
    match verb:
        case Verb.WRITE if question.answer_type is AnswerType.TEXT:
            return TextEntry(labels.other_label, prefill if isinstance(prefill, str) else "")
        case Verb.OTHER if question.other:
            needed = not _may_remove_text(view.prompt)
            return TextEntry(labels.other_label, view.prompt.words or "", required=needed)
        case Verb.NOTE if question.notes:
            return TextEntry(labels.note_label, view.prompt.note or "")
        case Verb.FILL if question.answer_type is AnswerType.SCHEMA:
            start = as_json(prefill) if view.prompt.is_prefilled else ""
            return TextEntry(labels.json_label, start, required=True)
        case _:
            return None


def with_selection(other: Other, prompt: Prompt, selected: JsonValue) -> Action:
    """Return the answer of the entered text and the selected options; without text, that of the options alone."""
    if not other.text.strip() and _may_remove_text(prompt):
        return Answer(value=selected)
    return replace(other, value=selected)


def _may_remove_text(prompt: Prompt) -> bool:
    """Whether the earlier answer has text beside its options, so that a blank text removes it."""
    return prompt.question.other_beside and prompt.words is not None


def action_from_text(verb: Verb, text: str) -> Action | AskBack | Problem:
    """Return the action for the text entered in a control's input, or the problem with it."""
    match verb:
        case Verb.REPLY:
            return Reply(text=text or None)
        case Verb.ASK_BACK:
            return AskBack(text=text)
        case Verb.OTHER:
            return Other(text=text)
        case Verb.FILL:
            value = parse_json_answer(text)
            return value if isinstance(value, Problem) else Answer(value=value)
        case _:
            return Answer(value=text)
