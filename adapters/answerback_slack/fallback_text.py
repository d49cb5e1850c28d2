"""A view as one text: what notifications show and screen readers read, and what stands alone if blocks are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.markdown import blocks_to_text
from answerback.core.schema_fields import fields_from_schema
from answerback.core.view import Prompt, View
from answerback_chat import answer_summary, text_fitting, wording
from answerback_chat.asides import asides_text
from answerback_chat.option_controls import chosen_indexes
from answerback_chat.question_context import fit_context
from answerback_slack import limits, option_controls, record_text
from answerback_slack.blocks import escape, escape_within

_HOLE: Final = "\0"
"""Where a person's name goes, which is a mention where we do not know it. An edited message notifies nobody."""
_FIRST_ROOM: Final = 1_500
_LEAST: Final = 40
"""Units below which a context is left out."""


def fallback_text(
    view: View, labels: Labels, names: Mapping[str, str] = record_text.NO_NAMES
) -> str:
    """The view as one text without blocks, with all that is needed to answer by typing; escaped, at most 4,000."""
    first = wording.asks_line(view, labels)
    if view.outcome is not None:
        first += f": {wording.ending_with_person(view, labels, _HOLE)}"
    by = view.outcome.ended_by if view.outcome else None
    name = record_text.person_mrkdwn(by) if by else ""
    begun = escape_within(first, _FIRST_ROOM).replace(escape(_HOLE), name, 1)
    for_whom = record_text.audience(view, labels, names)
    room = limits.MESSAGE_TEXT - text_fitting.utf16_length(f"{begun}\n{for_whom}\n")
    rest = (
        _given(view, labels, room)
        if view.prompt is None
        else _asked(view, view.prompt, labels, room)
    )
    return "\n".join(filter(None, (begun, for_whom, rest)))


def _given(view: View, labels: Labels, room: int) -> str:
    """What was answered; in a review, what is to be done with it."""
    review = f"{labels.review_title}. {labels.review_text}" if view.outcome is None else ""
    said = [
        review,
        *(record_text.question_and_answer(line, labels) for line in view.lines),
        view.reply or "",
    ]
    return escape_within("\n".join(filter(str.strip, said)), room)


def _asked(view: View, prompt: Prompt, labels: Labels, room: int) -> str:
    """The question and its choices; the context has the room that they leave, so that neither is cut off for it."""
    question = prompt.question
    asked = "\n".join(filter(str.strip, (question.header or "", question.text)))
    least = min(text_fitting.utf16_length(escape(asked)), room // 3) + 1  # with the end of its line
    choices_said = "\n".join(filter(str.strip, _choices(prompt, labels)))
    choice = escape_within(choices_said, room - least)
    room -= text_fitting.utf16_length(choice) + bool(choice)
    asked = escape_within(asked, room)
    room -= text_fitting.utf16_length(asked) + 1
    context = blocks_to_text(fit_context(prompt, limits.MESSAGE_TEXT).blocks)
    about = "\n".join(filter(str.strip, (asides_text(view, labels), context)))
    about = escape_within(about, room) if room > _LEAST else ""
    return "\n".join(filter(str.strip, (asked, about, choice)))


def _choices(prompt: Prompt, labels: Labels) -> Iterator[str]:
    """How the question can be answered, and what is filled in."""
    question, chosen = prompt.question, answer_summary.prefill_text(prompt, labels)
    match question.answer_type:
        case AnswerType.BOOLEAN:
            yield f"{labels.yes} / {labels.no}"
            if prompt.remember:
                yield f"{labels.yes_for_turn} / {labels.no_for_turn}"
            if isinstance(prompt.prefill, bool):
                chosen = labels.yes if prompt.prefill else labels.no
                chosen = labels.prefilled.format(text=chosen)
        case AnswerType.SELECT | AnswerType.MULTI_SELECT:
            yield from option_controls.numbered_options(question)
            if question.other:
                yield labels.other
            marked = [question.options[i].label for i in chosen_indexes(prompt)]
            if marked and not chosen:
                chosen = labels.prefilled.format(text=", ".join(marked))
        case AnswerType.SCHEMA:
            yield ", ".join(field.title for field in fields_from_schema(question.json_schema) or ())
        case AnswerType.TEXT:
            pass
    yield chosen
