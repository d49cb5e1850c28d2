"""Render a view as Telegram's live message: the prompt, the review or the record. Pure.

Each ask has one message, which is edited in place. All its text has to fit one budget, so short texts are shown in
full and long ones share the rest; if anything was shortened, the message has a "Show in full" button (`show_in_full`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View
from answerback.presentation import answer_summary, wording
from answerback.presentation.header_tag import header_tag
from answerback.presentation.text_blocks import BlockFitter, TextBlock
from answerback_chat import message_texts
from answerback_chat.control_buttons import (
    PlannedButton,
    answer_buttons,
    more_buttons,
    walk_buttons,
)
from answerback_chat.control_codec import Verb
from answerback_chat.message_texts import ASIDES_BUDGET, Markup
from answerback_telegram import keyboards, limits, option_controls, people_text
from answerback_telegram.html_text import is_live, length, preformatted, shorten
from answerback_telegram.html_text import plain as plain_text
from answerback_telegram.keyboards import Json, Row, button
from answerback_telegram.option_controls import CHOSEN, ListState
from answerback_telegram.people_text import MARKUP, Names
from answerback_telegram.question_context import CONTEXT, HtmlContext

_FITTER: Final = BlockFitter(shorten, length, TextBlock("", style="b"), TextBlock("", "\n→ {}"))
_MOST_MARKED: Final = 20
"""Questions that are in bold; the marks in a message are limited."""
EDITS: Final = 30
"""Answers in a review that have an Edit button on one page."""
NOTE_BUDGET: Final = 1_900
NO_NAMES: Final[Names] = {}


def compose(parts: Iterable[str], laid: Iterable[Row]) -> Json:
    """Return the fields of a message or an edit."""
    text = "\n\n".join(filter(None, parts))
    if text.count("</") > limits.ENTITIES or is_live(text):
        # Further marks would be lost, and with them what makes names inert.
        text = preformatted(plain_text(text))
    return {
        "text": text,
        "parse_mode": "HTML",
        "link_preview_options": {"is_disabled": True},
        "reply_markup": keyboards.inline_keyboard(laid),
    }


class MessageFormat(NamedTuple):
    """How a live message is written."""

    budget: int
    """Units for all texts of a message, with some left for what is between them."""
    context: HtmlContext
    compose: Callable[[Iterable[str], Iterable[Row]], Json]


PLAIN: Final = MessageFormat(limits.MESSAGE_TEXT - 150, CONTEXT, compose)


def message(
    view: View,
    labels: Labels,
    state: ListState | None = None,
    names: Names = NO_NAMES,
    *,
    notify: bool = False,
    form: MessageFormat = PLAIN,
) -> Json:
    """Render the live message of a view.

    Args:
        names: the known names of the responders.
        notify: whether the responders' names notify them.
    """
    markup = MARKUP._replace(people=people_text.marks(names, notify=notify))
    if view.prompt is not None:
        return _render_prompt(view, view.prompt, labels, state or ListState(), markup, form)
    if view.outcome is not None:
        return _render_record(view, labels, form)
    return _render_summary(view, labels, state or ListState(), markup, form)


def plain(view: View, labels: Labels) -> Json:
    """Render a minimal live message, for when Telegram refuses `message`, which would be a defect of ours."""
    text = view.prompt.question.text if view.prompt else wording.ending(view, labels)
    body, _ = shorten(text or wording.summary_title(view, labels), NOTE_BUDGET)
    return compose(
        [message_texts.heading(view, labels, MARKUP)[0], body],
        _controls(view, labels, labels.details),
    )


def _render_prompt(
    view: View,
    prompt: Prompt,
    labels: Labels,
    state: ListState,
    markup: Markup,
    form: MessageFormat,
) -> Json:
    question = prompt.question
    heading, short = message_texts.heading(view, labels, markup)
    tag = header_tag(question.header)
    so_far, so_far_short = message_texts.answers_so_far(view, labels, MARKUP)
    budget = form.budget - length(heading) - length(so_far)
    asides = form.context.render_asides(view, labels, min(ASIDES_BUDGET, budget // 3))
    budget -= length(asides.text)
    options = option_controls.option_blocks(prompt, state)
    blocks = [
        TextBlock(tag.short if tag else "", "{}\n", style="u"),
        TextBlock(question.text, style="b"),
        *options,
        TextBlock(
            option_controls.selection_text(prompt, state),
            "☑ {}",
            option_controls.SELECTION_BUDGET,
            "i",
        ),
        *(TextBlock(text, style="i") for text in answer_summary.prefill_texts(prompt, labels)),
    ]
    context = form.context.render_context(prompt, budget // 2)
    fitted, left_out = _FITTER.fit(blocks, budget - length(context.text))
    spare = budget - sum(map(length, fitted)) - len(blocks)
    context = form.context.render_context(prompt, spare)
    header, question_text, *others = fitted
    listed, others = others[: len(options)], others[len(options) :]
    full = short or so_far_short or left_out or _needs_full_view(prompt)
    more = labels.details if full or (tag and tag.is_cut) else None
    more = more or context.more_label(labels) or asides.more_label(labels)
    parts = [heading, so_far, context.text, header + question_text, asides.text]
    parts += ["\n".join(listed), "\n".join(filter(None, others))]
    return form.compose(
        parts, [*_answer_rows(view, prompt, labels, state), *_controls(view, labels, more)]
    )


def _needs_full_view(prompt: Prompt) -> bool:
    """Whether the question has something to read that the message does not show."""
    question = prompt.question
    if question.answer_type is AnswerType.SCHEMA:
        return True
    paged = option_controls.page_count(question) > 1
    return paged or any(each.preview for each in question.options)


def _answer_rows(view: View, prompt: Prompt, labels: Labels, state: ListState) -> list[Row]:
    """The controls that answer a prompt."""
    planned = answer_buttons(prompt, labels)
    if not planned:
        return option_controls.option_rows(view, prompt, labels, state)
    if prompt.question.answer_type is AnswerType.BOOLEAN:
        marked = (
            each._replace(label=f"{CHOSEN}{each.label}") if each.is_primary else each
            for each in planned
        )
        return _planned(view, marked, 2)
    # A chat has no input that could start with the prefill.
    row = [button(view, labels.submit, Verb.ANSWER)] if prompt.is_prefilled else []
    row += keyboards.buttons(view, planned)
    if prompt.question.answer_type is AnswerType.TEXT:
        row.append(button(view, labels.none_chosen, Verb.ANSWER, keyboards.EMPTY))
    return [row]


def _planned(view: View, planned: Iterable[PlannedButton], across: int = 4) -> list[Row]:
    return keyboards.rows(keyboards.buttons(view, planned), across)


def _controls(view: View, labels: Labels, more: str | None) -> list[Row]:
    """What moves through the questions, then what shows what the message does not.

    Args:
        more: the label of the button that shows everything in full; None for no button.
    """
    shown = more_buttons(view, labels, more)
    if view.prompt is not None and any(each.preview for each in view.prompt.question.options):
        shown.append(PlannedButton(labels.preview, Verb.PREVIEW, "0"))
    return [*_planned(view, walk_buttons(view, labels)), *_planned(view, shown)]


def _render_summary(
    view: View, labels: Labels, state: ListState, markup: Markup, form: MessageFormat
) -> Json:
    """Render all answers, to review and submit them or to confirm them."""
    heading, short = message_texts.heading(view, labels, markup)
    about = message_texts.summary_heading(view, labels, MARKUP)
    budget = form.budget - length(heading) - length(about)
    more, before, after = None, "", ""
    if view.confirmation is not None:
        context = form.context.render_context(view.confirmation.about, budget // 2)
        asides = form.context.render_asides(view, labels, min(ASIDES_BUDGET, budget // 4))
        before, after = context.text, asides.text
        budget -= length(before) + length(after)
        more = context.more_label(labels) or asides.more_label(labels)
    lines, left_out = _fitter_of(view).fit_answers(view.lines, labels, budget, numbered=True)
    laid = _review_rows(view, labels, state) if view.is_review else []
    laid += _controls(view, labels, labels.details if short or left_out else more)
    return form.compose([heading, before, about, after, *lines], laid)


def _fitter_of(view: View) -> BlockFitter:
    return _FITTER if len(view.lines) <= _MOST_MARKED else _FITTER._replace(question=TextBlock(""))


def _review_rows(view: View, labels: Labels, state: ListState) -> list[Row]:
    total = -(-len(view.lines) // EDITS)
    page = state.page if state.page is not None and state.page < total else 0
    here = [*enumerate(view.lines)][page * EDITS : (page + 1) * EDITS]
    edits = [
        button(view, f"{labels.edit} {i + 1}", Verb.EDIT, i) for i, line in here if line.editable
    ]
    laid = keyboards.rows(edits, option_controls.ACROSS)
    if total > 1:
        laid.append(option_controls.paging_row(view, Verb.PAGE, page, total, labels))
    return [*laid, [button(view, labels.submit, Verb.SUBMIT, style=keyboards.PRIMARY)]]


def _render_record(view: View, labels: Labels, form: MessageFormat) -> Json:
    above, short = message_texts.record_heading(view, labels, MARKUP)
    budget = form.budget - length(above)
    reply, reply_short = shorten(view.reply or "", budget // 3 if view.lines else budget)
    lines, left_out = _fitter_of(view).fit_answers(view.lines, labels, budget - length(reply))
    full = short or left_out or reply_short
    full = full or any(line.question.context for line in view.lines)
    more = _controls(view, labels, labels.details if full else None)
    return form.compose(
        [above, *lines, "\n".join(f"┃ {line}" for line in reply.split("\n")) if reply else ""], more
    )
