"""The answers and the prefill that a message shows, as text without a platform's markup.

Owns which of the answers so far are shown above an open question. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from answerback.core.answer_lines import schema_lines
from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.schema_fields import fields_from_schema
from answerback.core.view import Line, Prompt, View, answer_lines
from answerback.presentation import wording
from answerback.presentation.text_fitting import utf16_length
from answerback_base.sanitize import as_json, one_line

MAX_RECENT_ANSWERS: Final = 5
"""The number of answers shown above an open question; on a phone, more would push it off the screen."""
MAX_RECENT_UNITS: Final = 800
"""Units that they may take in total."""


def answer_texts(line: Line, labels: Labels) -> list[str]:
    """Return an answer as people read it, with its source if it was not a person or if several people answered."""
    if line.given is None:
        return [labels.not_answered]
    lines = answer_lines(line.question, line.given, labels)
    by = line.by and labels.by.format(name=line.by.name or labels.somebody)
    about = wording.source_note(line.given.source, labels) or by
    return [*lines[:-1], f"{lines[-1]} ({about})"] if about else lines


def answer_text(line: Line, labels: Labels) -> str:
    return "\n".join(answer_texts(line, labels))


def brief_answer(view: View, labels: Labels) -> str:
    """Return what was answered, in a few words: the only answer, or how many there are; empty if nothing was."""
    given = [line for line in view.lines if line.given is not None]
    if len(given) > 1:
        return labels.answers_count.format(count=len(given))
    has_fields = any(line.question.answer_type is AnswerType.SCHEMA for line in given)
    mark = " · " if has_fields else ", "  # the values of one row are a list themselves
    return mark.join(text for line in given for text in _brief_texts(line, labels))


def _brief_texts(line: Line, labels: Labels) -> list[str]:
    """Return an answer, where a changed call stands for its changes, and without the files that came with it."""
    if line.given is not None and line.given.files:
        line = line._replace(given=replace(line.given, files=()))
    if line.given is None or line.given.edited is None:
        return answer_texts(line, labels)
    texts = answer_texts(line._replace(given=replace(line.given, edited=None)), labels)
    return [labels.edited_briefly.format(choice=texts[0]), *texts[1:]]


def recent_answers(view: View, line_of: Callable[[Line], str]) -> tuple[list[str], int]:
    """Return the answers to show above an open question, the newest few that fit, and how many more there are.

    Args:
        line_of: formats an answer as one line for the platform.
    """
    fitted: list[str] = []
    remaining = MAX_RECENT_UNITS
    for line in reversed(view.lines[-MAX_RECENT_ANSWERS:]):
        text = line_of(line)
        remaining -= utf16_length(text)
        if remaining < 0:
            break
        remaining -= 1
        fitted.insert(0, text)
    return fitted, len(view.lines) - len(fitted)


def prefill_texts(prompt: Prompt, labels: Labels) -> list[str]:
    """Return what is sent with the answer unless it is changed, as far as no control of the message shows it.

    That is the initial value of the text input, and the note of the earlier answer.
    """
    lines = [] if prompt.note is None else [labels.noted.format(text=one_line(prompt.note))]
    notes = [labels.prefilled.format(text=text) for text in lines]
    value = prompt.prefill if prompt.other_text is None else prompt.other_text
    in_controls = prompt.question.options or isinstance(value, bool)
    if value is None or value == "" or (in_controls and prompt.other_text is None):
        return notes
    question = prompt.question
    if isinstance(value, str):
        text = value
    elif question.answer_type is AnswerType.SCHEMA and fields_from_schema(
        question.json_schema, rows=True
    ):
        text = " · ".join(schema_lines(question, value, labels))
    else:
        text = as_json(value)
    replaceable = question.answer_type is AnswerType.MULTI_SELECT and not question.other_beside
    label = labels.prefilled_replaceable if replaceable else labels.prefilled
    return [label.format(text=one_line(text)), *notes]
