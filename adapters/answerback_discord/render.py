"""Render a view as Discord's live message: the prompt, the review or the record. Pure.

Each ask has one Components V2 message, which is edited in place. All its text has to fit one budget, so short texts are
shown in full and long ones share the rest; if anything was shortened, the message has a "Show in full" button
(`show_in_full`).
"""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Status
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View
from answerback.presentation import answer_summary, wording
from answerback.presentation.header_tag import header_tag
from answerback.presentation.text_blocks import TextBlock
from answerback.presentation.text_fitting import utf16_length
from answerback_chat import message_texts
from answerback_chat.control_buttons import answer_buttons, more_buttons, walk_buttons
from answerback_chat.control_codec import Verb
from answerback_chat.message_texts import ASIDES_BUDGET
from answerback_discord import components as c
from answerback_discord import form_inputs, long_lists, option_controls, question_context
from answerback_discord.components import ButtonStyle, Json
from answerback_discord.markdown_text import FITTER, TEXT_BUDGET, shorten, shorten_line
from answerback_discord.option_controls import ListState, button, buttons
from answerback_discord.people_text import MARKUP

HEADER_BUDGET: Final = 240
"""Units for the twelve characters of a header, which may be emoji of many units each."""
SECTIONS: Final = 8
"""Maximum number of answers that each get their own Edit button; more are edited through a menu."""
NOTE_BUDGET: Final = 1_900

BLURPLE: Final = 0x5865F2
GREEN: Final = 0x3BA55D
GREY: Final = 0x99AAB5
RED: Final = 0xED4245
_COLORS: Final = {
    Status.ANSWERED: GREEN,
    Status.CANCELLED: GREY,
    Status.TURN_ENDED: GREY,
    Status.EXPIRED: RED,
    Status.WITHDRAWN: GREY,
    Status.FAILED: RED,
}


def message(view: View, labels: Labels, list_state: ListState | None = None) -> Json:
    """Render the live message of a view, as the fields of a post or an edit."""
    if view.prompt is not None:
        state = list_state or ListState(option_controls.initial_page(view.prompt))
        return _render_prompt(view, view.prompt, labels, state)
    return (
        _render_record(view, labels)
        if view.outcome
        else _render_summary(view, labels, list_state or ListState())
    )


def plain(view: View, labels: Labels) -> Json:
    """Render a minimal live message, for when Discord refuses `message`, which would be a defect of ours."""
    text = view.prompt.question.text if view.prompt else wording.ending(view, labels)
    heading = message_texts.heading(view, labels, MARKUP)[0]
    body, _ = shorten(text or wording.summary_title(view, labels), NOTE_BUDGET)
    return c.message(
        [c.text(f"{heading}\n{body}"), *c.rows(_controls(view, labels, labels.details))]
    )


def _render_prompt(view: View, prompt: Prompt, labels: Labels, list_state: ListState) -> Json:
    question = prompt.question
    heading, short = message_texts.heading(view, labels, MARKUP)
    tag = header_tag(question.header)
    header, header_short = shorten_line(tag.short, HEADER_BUDGET) if tag else ("", False)
    header_short = header_short or (tag is not None and tag.is_cut)
    so_far, so_far_short = message_texts.answers_so_far(view, labels, MARKUP)
    options = option_controls.option_text_blocks(question, list_state)
    blocks = [TextBlock(question.text, "**{}**"), *options]
    if selected := option_controls.selection_text(prompt, list_state):
        blocks.append(TextBlock(selected, "-# ☑ {}", option_controls.SELECTION_BUDGET))
    blocks += [
        TextBlock(text, "-# {}", 300) for text in answer_summary.prefill_texts(prompt, labels)
    ]
    budget = TEXT_BUDGET - sum(map(utf16_length, (heading, header, so_far)))
    asides = question_context.render_asides(view, labels, min(ASIDES_BUDGET, budget // 3))
    budget -= utf16_length(asides.text)
    context = question_context.render_context(prompt, budget)
    (question_text, *others), left_out = FITTER.fit(
        blocks, budget - min(utf16_length(context.text), budget // 2)
    )
    context = question_context.render_context(
        prompt, budget - sum(map(utf16_length, (question_text, *others))) - len(blocks)
    )
    parts = [c.text(heading)]
    if so_far:
        parts += (c.text(so_far), c.separator())
    if context.text:
        parts += (c.text(context.text), c.separator())
    parts.append(c.text(f"__{header}__\n{question_text}" if header else question_text))
    if asides.text:
        parts.append(c.text(asides.text))
    option_texts, others = others[: len(options)], others[len(options) :]
    in_sections = option_controls.OPTIONS.fits_sections(question)
    if option_texts and not in_sections:
        parts.append(c.text("\n".join(option_texts)))
    parts += [c.text(text) for text in others]
    if in_sections:
        parts += option_controls.sections(view, prompt, labels, option_texts)
    else:
        parts += _answer_controls(view, prompt, labels, list_state)
    if any(option.preview for option in question.options):
        parts += c.rows([button(view, labels.preview, Verb.PREVIEW, 0)])
    full = short or header_short or so_far_short or left_out
    full = full or form_inputs.needs_full_view(view, labels)
    more = labels.details if full else context.more_label(labels) or asides.more_label(labels)
    parts += c.rows(_controls(view, labels, more))
    return c.message([c.container(parts, BLURPLE)])


def _answer_controls(
    view: View, prompt: Prompt, labels: Labels, list_state: ListState
) -> list[Json]:
    if planned := answer_buttons(prompt, labels):
        return c.rows(buttons(view, planned))
    return option_controls.render_option_controls(view, prompt, labels, list_state)


def _controls(view: View, labels: Labels, more: str | None) -> list[Json]:
    """Back, Reply and End Turn, then the buttons that show what the message does not, or tell the agent to try again.

    Args:
        more: the label of the button that shows everything in full; None for no button.
    """
    return buttons(view, [*walk_buttons(view, labels), *more_buttons(view, labels, more)])


def _render_summary(view: View, labels: Labels, list_state: ListState) -> Json:
    """Render all answers, to review and submit them or to confirm them."""
    asks, short = message_texts.heading(view, labels, MARKUP)
    title = message_texts.summary_heading(view, labels, MARKUP)
    top = [c.text(f"{asks}\n{title}")]
    budget = TEXT_BUDGET - utf16_length(f"{asks}\n{title}")
    more = None
    if view.confirmation is not None:
        context = question_context.render_context(view.confirmation.about, budget // 2)
        asides = question_context.render_asides(view, labels, min(ASIDES_BUDGET, budget // 4))
        if context.text:
            top = [c.text(asks), c.text(context.text), c.separator(), c.text(title)]
        top += [c.text(asides.text)] if asides.text else []
        budget -= utf16_length(context.text) + utf16_length(asides.text)
        more = context.more_label(labels) or asides.more_label(labels)
    lines, left_out = FITTER.fit_answers(view.lines, labels, budget, numbered=True)
    parts: list[Json] = []
    if view.confirmation is not None:
        parts = [c.text("\n".join(lines))] if lines else []
    elif len(view.lines) <= SECTIONS:
        for i, (text, line) in enumerate(zip(lines, view.lines, strict=True)):
            edit = button(view, f"{labels.edit} {i + 1}", Verb.EDIT, i)
            parts.append(c.section(text, edit) if line.editable else c.text(text))
    else:
        parts = [c.text("\n".join(lines)), *long_lists.render_edit_menu(view, labels, list_state)]
    submit = button(view, labels.submit, Verb.SUBMIT, style=ButtonStyle.PRIMARY)
    controls = _controls(view, labels, labels.details if short or left_out else more)
    ends = c.rows([submit, *controls] if view.is_review else controls)
    return c.message([c.container([*top, *parts, *ends], BLURPLE)])


def _render_record(view: View, labels: Labels) -> Json:
    above, short = message_texts.record_heading(view, labels, MARKUP)
    budget = TEXT_BUDGET - utf16_length(above)
    reply_budget = budget // 3 if view.reply and view.lines else budget
    reply, reply_short = shorten(view.reply or "", reply_budget)
    lines, left_out = FITTER.fit_answers(view.lines, labels, budget - utf16_length(reply))
    parts = [c.text(above)]
    parts += [c.separator(), c.text("\n".join(lines))] if lines else []
    parts += [c.text(f">>> {reply}")] if reply else []
    is_cut = short or left_out or reply_short
    is_cut = is_cut or any(line.question.context for line in view.lines)
    parts += c.rows(_controls(view, labels, labels.details if is_cut else None))
    status = wording.ending_status(view)
    return c.message([c.container(parts, _COLORS[status] if status else GREY)])
