"""A view as a single text, for notifications and screen readers, and as the whole message if Slack rejects blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.markdown import blocks_to_text
from answerback.core.schema_fields import fields_from_schema
from answerback.core.view import Prompt, View
from answerback.presentation import answer_summary, text_fitting, wording
from answerback.presentation.asides import asides_text
from answerback.presentation.context_layout import fit_context
from answerback.presentation.message_plan import Heading
from answerback.presentation.option_controls import chosen_indexes
from answerback_base.headline_text import fit
from answerback_slack import limits, option_controls, people_text
from answerback_slack.blocks import escape, escape_within

_ASKER_ROOM: Final = 1_100
"""Units of the line that says who asks."""
_MIN_CONTEXT_ROOM: Final = 40
"""If fewer units than this are free, the context is left out."""


def fallback_text(
    view: View,
    labels: Labels,
    names: Mapping[str, str] = people_text.NO_NAMES,
    heading: Heading | None = None,
) -> str:
    """Render the view as one text that can be answered by typing; escaped, at most 4,000 units.

    Args:
        heading: that of the message, if it has one.
    """
    asks = heading.asks if heading else wording.asks_line(view, labels)
    audience = heading.audience if heading else people_text.audience(view, labels, names)
    first_line = escape_within(asks, _ASKER_ROOM)
    if view.outcome is not None:
        marks = people_text.attribution_format(names)
        first_line += f": {wording.ending_with_person(view, labels, marks)}"
    if _needs_headline(view):
        audience = "\n".join(filter(None, (escape(view.headline), audience)))
    room = limits.MESSAGE_TEXT - text_fitting.utf16_length(f"{first_line}\n{audience}\n")
    rest = (
        _answers_text(view, labels, room)
        if view.prompt is None
        else _question_text(view, view.prompt, labels, room)
    )
    return "\n".join(filter(None, (first_line, audience, rest)))


def _needs_headline(view: View) -> bool:
    """Return True if the text does not begin with the first question anyway."""
    if view.prompt is not None:
        return view.prompt.position > 1
    begins = view.lines[0].question.text if view.lines and view.outcome else ""
    return fit(begins) != view.headline


def _answers_text(view: View, labels: Labels, room: int) -> str:
    """The answers; in a review, with the instructions above them."""
    title, text = wording.summary_title(view, labels), wording.summary_text(view, labels)
    parts = [
        *([title, text] if view.outcome is None else []),
        *(people_text.question_and_answer(line, labels) for line in view.lines),
        view.reply or "",
    ]
    return escape_within("\n".join(filter(str.strip, parts)), room)


def _question_text(view: View, prompt: Prompt, labels: Labels, room: int) -> str:
    """The question and its choices. The context gets the remaining space, so that it never displaces either."""
    question = prompt.question
    text = "\n".join(filter(str.strip, (question.header or "", question.text)))
    reserved = min(text_fitting.utf16_length(escape(text)), room // 3) + 1  # with its line end
    choices = escape_within("\n".join(filter(str.strip, _choices(prompt, labels))), room - reserved)
    room -= text_fitting.utf16_length(choices) + bool(choices)
    text = escape_within(text, room)
    room -= text_fitting.utf16_length(text) + 1
    about = _about(view, prompt, labels, room) if question.context or prompt.asides else ""
    return "\n".join(filter(str.strip, (text, about, choices)))


def _about(view: View, prompt: Prompt, labels: Labels, room: int) -> str:
    """Return the questions that people asked back, with the explanations, and the context; nothing if there is too
    little room."""
    if room <= _MIN_CONTEXT_ROOM:
        return ""
    context = blocks_to_text(fit_context(prompt, limits.MESSAGE_TEXT).blocks)
    said = (asides_text(view, labels), context)
    return escape_within("\n".join(filter(str.strip, said)), room)


def _choices(prompt: Prompt, labels: Labels) -> Iterator[str]:
    """Yield the possible answers, and the prefill."""
    question, chosen = prompt.question, answer_summary.prefill_texts(prompt, labels)
    match question.answer_type:
        case AnswerType.BOOLEAN:
            yes, no = labels.yes_no(consent=question.consent)
            yield f"{yes} / {no}"
            if prompt.remember:
                yield f"{labels.yes_for_turn} / {labels.no_for_turn}"
            if isinstance(prompt.prefill, bool):
                text = yes if prompt.prefill else no
                chosen = [labels.prefilled.format(text=text)]
        case AnswerType.SELECT | AnswerType.MULTI_SELECT:
            yield from option_controls.numbered_options(question)
            if question.other:
                yield prompt.other_label(labels)
            marked = [question.options[i].label for i in chosen_indexes(prompt)]
            if marked:
                chosen = [labels.prefilled.format(text=", ".join(marked)), *chosen]
        case AnswerType.SCHEMA:
            yield ", ".join(field.title for field in fields_from_schema(question.json_schema) or ())
        case AnswerType.TEXT:
            pass
    yield from chosen
