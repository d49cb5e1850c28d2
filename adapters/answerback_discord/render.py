"""A view as Discord's live message: the prompt, the review or the record. Pure.

One Components V2 message an ask, edited in place. All its text together has to fit one budget, so
the short texts stand in full and the long ones share what is left; whatever was shortened gets
"Show in full" beside it (`reading`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, assert_never

from answerback.core.ask import Status
from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.view import Control, Line, Prompt, View
from answerback_chat import answer_summary, attribution, wording
from answerback_chat.control_codec import Verb
from answerback_chat.sanitize import one_line
from answerback_chat.text_fitting import utf16_length
from answerback_discord import components as c
from answerback_discord import (
    limits,
    long_lists,
    mentions,
    modal_inputs,
    option_controls,
    question_context,
)
from answerback_discord.components import ButtonStyle, Json
from answerback_discord.markdown_text import escape, shorten, shorten_line
from answerback_discord.message_fitting import TEXT_BUDGET, TextBlock, fit_answer_lines, fit_blocks
from answerback_discord.option_controls import (
    ButtonPlan,
    ListState,
    button,
    plan_button,
    render_buttons,
)

LABEL_ROOM: Final = 200
HEADER_ROOM: Final = 60
ASIDES_ROOM: Final = 1_200
"""Units of what was asked back and explained."""
QUESTION_IN_LINE: Final = 120
ANSWER_IN_LINE: Final = 200
SECTIONS: Final = 8
"""Answers that get an Edit button of their own beside them; more of them are edited through a menu."""
NOTE_ROOM: Final = 1_900

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


def message(view: View, labels: Labels, look: ListState | None = None) -> Json:
    """The live message of a view, as the fields of a post or an edit."""
    if view.prompt is not None:
        return _prompt(
            view, view.prompt, labels, look or option_controls.initial_list_state(view.prompt)
        )
    return _record(view, labels) if view.outcome else _review(view, labels, look or ListState())


def plain(view: View, labels: Labels) -> Json:
    """The least that can be shown, for when Discord refuses `message`, which would be our defect."""
    said = view.prompt.question.text if view.prompt else wording.ending(view, labels)
    heading = _heading(view, labels)[0]
    body, _ = shorten(said or labels.review_title, NOTE_ROOM)
    return c.message(
        [c.text(f"{heading}\n{body}"), *c.rows(_controls(view, labels, labels.details))]
    )


def _heading(view: View, labels: Labels) -> tuple[str, bool]:
    """Who asks, and below it who may answer and until when; and whether anything was shortened."""
    asks, short = shorten_line(wording.asks_line(view, labels), LABEL_ROOM)
    for_whom = attribution.audience_line(view.responders, view.closes_at, labels, mentions.MARKS)
    return f"-# {asks}\n-# {for_whom}" if for_whom else f"-# {asks}", short


def _credits(view: View, labels: Labels) -> str:
    """Who answered and when, as a line of its own; empty where that goes without saying."""
    said = attribution.answered_by_line(view, labels, mentions.MARKS)
    return f"\n-# {said}" if said else ""


def _prompt(view: View, prompt: Prompt, labels: Labels, look: ListState) -> Json:
    question = prompt.question
    heading, short = _heading(view, labels)
    header, header_short = (
        shorten_line(question.header, HEADER_ROOM) if question.header else ("", False)
    )
    so_far, so_far_short = _so_far(view, labels) if view.lines else ("", False)
    options = option_controls.option_text_blocks(question, look)
    blocks = [TextBlock(question.text, limits.MESSAGE_TEXT, "**{}**"), *options]
    if selected := option_controls.selection_text(prompt, look):
        blocks.append(TextBlock(selected, option_controls.SELECTION_ROOM, "-# ☑ {}"))
    blocks += [TextBlock(text, 300, "-# {}") for text in _filled_in(prompt, labels)]
    room = TEXT_BUDGET - sum(map(utf16_length, (heading, header, so_far)))
    asides = question_context.render_asides(view, labels, min(ASIDES_ROOM, room // 3))
    room -= utf16_length(asides.text)
    about = question_context.render_context(prompt, room)
    (asked, *others), left_out = fit_blocks(blocks, room - min(utf16_length(about.text), room // 2))
    about = question_context.render_context(
        prompt, room - sum(map(utf16_length, (asked, *others))) - len(blocks)
    )
    parts = [c.text(heading)]
    if so_far:
        parts += (c.text(so_far), c.separator())
    if about.text:
        parts += (c.text(about.text), c.separator())
    parts.append(c.text(f"__{header}__\n{asked}" if header else asked))
    if asides.text:
        parts.append(c.text(asides.text))
    told, others = others[: len(options)], others[len(options) :]
    in_sections = option_controls.OPTIONS.fits_sections(question)
    if told and not in_sections:
        parts.append(c.text("\n".join(told)))
    parts += [c.text(text) for text in others]
    if in_sections:
        parts += option_controls.sections(view, prompt, labels, told)
    else:
        parts += _answering(view, prompt, labels, look)
    full = short or header_short or so_far_short or left_out or modal_inputs.needs_full_view(prompt)
    more = labels.details if full else about.more_label(labels) or asides.more_label(labels)
    parts += c.rows(_controls(view, labels, more))
    return c.message([c.container(parts, BLURPLE)])


def _filled_in(prompt: Prompt, labels: Labels) -> list[str]:
    """What the entries start from that no control shows."""
    note = labels.prefilled.format(text=labels.noted.format(text=prompt.note))
    return [
        *([one_line(note)] if prompt.note else []),
        *filter(None, (answer_summary.prefill_text(prompt, labels),)),
    ]


def _answering(view: View, prompt: Prompt, labels: Labels, look: ListState) -> list[Json]:
    """The controls that answer a prompt."""
    match prompt.question.answer_type:
        case AnswerType.BOOLEAN:
            chosen = prompt.prefill if isinstance(prompt.prefill, bool) else None
            plan = _yes_no(labels.yes, labels.no, chosen)
            if prompt.remember:
                plan += _for_turn(labels.yes_for_turn, labels.no_for_turn)
            return c.rows(render_buttons(view, plan))
        case AnswerType.SELECT | AnswerType.MULTI_SELECT:
            return option_controls.render_option_controls(view, prompt, labels, look)
        case AnswerType.TEXT:
            return c.rows([_opening(view, Verb.WRITE, labels.answer)])
        case AnswerType.SCHEMA:
            return c.rows([_opening(view, Verb.FILL, labels.fill_in)])
        case _:
            assert_never(prompt.question.answer_type)


def _opening(view: View, verb: Verb, label: str) -> Json:
    return button(view, label, verb, style=ButtonStyle.PRIMARY)


@lru_cache(maxsize=64)
def _yes_no(yes: str, no: str, chosen: bool | None) -> ButtonPlan:
    """The buttons of a boolean question, of which one may be chosen from the start."""
    styles = [
        ButtonStyle.PRIMARY if chosen is value else ButtonStyle.SECONDARY for value in (True, False)
    ]
    return plan_button(yes, Verb.ANSWER, "true", styles[0]) + plan_button(
        no, Verb.ANSWER, "false", styles[1]
    )


@lru_cache(maxsize=64)
def _for_turn(yes: str, no: str) -> ButtonPlan:
    return plan_button(yes, Verb.REMEMBER, "true") + plan_button(no, Verb.REMEMBER, "false")


def _controls(view: View, labels: Labels, more: str | None) -> list[Json]:
    """Back, Reply, End Turn; then what lets a person read what is not shown here.

    Args:
        more: what the button says that shows everything in full; None: there is none.
    """
    options = view.prompt.question.options if view.prompt else ()
    preview = bool(options) and any(o.preview for o in options)
    plan = _beside(view.controls, labels.back, labels.ask_back, labels.reply, labels.end_turn)
    if more:
        plan += plan_button(more, Verb.SHOW_IN_FULL, "0")
    if preview:
        plan += plan_button(labels.preview, Verb.PREVIEW, "0")
    return render_buttons(view, plan)


@lru_cache(maxsize=64)
def _beside(
    controls: tuple[Control, ...], back: str, ask_back: str, reply: str, end_turn: str
) -> ButtonPlan:
    offered = {
        Control.BACK: plan_button(back, Verb.BACK),
        Control.ASK_BACK: plan_button(ask_back, Verb.ASK_BACK),
        Control.REPLY: plan_button(reply, Verb.REPLY),
        Control.END_TURN: plan_button(end_turn, Verb.END_TURN),  # its second step is the loud one
    }
    return tuple(button for each in controls for button in offered[each])


def _review(view: View, labels: Labels, look: ListState) -> Json:
    heading = escape(f"{labels.review_title}")
    asks, short = _heading(view, labels)
    above = f"{asks}\n**{heading}**\n{escape(labels.review_text)}{_credits(view, labels)}"
    top = [c.text(above)]
    room = TEXT_BUDGET - utf16_length(above)
    lines, left_out = fit_answer_lines(view.lines, labels, room, numbered=True)
    parts: list[Json] = []
    if len(view.lines) <= SECTIONS:
        for i, (text, line) in enumerate(zip(lines, view.lines, strict=True)):
            edit = button(view, f"{labels.edit} {i + 1}", Verb.EDIT, i)
            parts.append(c.section(text, edit) if line.editable else c.text(text))
    else:
        parts = [c.text("\n".join(lines)), *long_lists.render_edit_menu(view, labels, look)]
    submit = button(view, labels.submit, Verb.SUBMIT, style=ButtonStyle.PRIMARY)
    ends = c.rows([submit, *_controls(view, labels, labels.details if short or left_out else None)])
    return c.message([c.container([*top, *parts, *ends], BLURPLE)])


def _record(view: View, labels: Labels) -> Json:
    if view.outcome is None:
        raise AssertionError("an open ask has no record")
    heading, short = shorten_line(wording.ending_with_person(view, labels), LABEL_ROOM)
    asks, asks_short = shorten_line(wording.asks_line(view, labels), LABEL_ROOM)
    at = mentions.timestamp(view.outcome.at)
    above = f"-# {asks}\n**{heading}** · {at}{_credits(view, labels)}"
    room = TEXT_BUDGET - utf16_length(above)
    reply_room = room // 3 if view.reply and view.lines else room
    reply, reply_short = shorten(view.reply or "", reply_room)
    lines, left_out = fit_answer_lines(view.lines, labels, room - utf16_length(reply))
    parts = [c.text(above)]
    parts += [c.separator(), c.text("\n".join(lines))] if lines else []
    parts += [c.text(f">>> {reply}")] if reply else []
    if short or asks_short or left_out or reply_short:
        parts += c.rows(_controls(view, labels, labels.details))
    return c.message([c.container(parts, _COLORS.get(view.outcome.status, GREY))])


# --- what a message says beside its question ----------------------------------------------------------


def _so_far(view: View, labels: Labels) -> tuple[str, bool]:
    """The newest answers, a line each, and whether any was shortened or left out."""
    short = False

    def line_of(line: Line) -> str:
        nonlocal short
        question, cut_question = shorten_line(line.question.text, QUESTION_IN_LINE)
        said = " · ".join(map(one_line, answer_summary.answer_texts(line, labels)))
        answer, cut_answer = shorten_line(said, ANSWER_IN_LINE)
        short = short or cut_question or cut_answer
        return f"-# {question} → **{answer}**" if answer else f"-# {question} → —"

    lines, earlier = answer_summary.recent_answers(view, line_of)
    heading = [f"-# {escape(labels.answered_so_far)}"]
    if earlier:
        heading.append(f"-# {escape(labels.answered_earlier.format(count=earlier))}")
    return "\n".join([*heading, *lines]) + _credits(view, labels), short or earlier > 0
