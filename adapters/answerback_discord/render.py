"""A view as Discord's live message: the prompt, the review or the record. Pure.

One Components V2 message an ask, edited in place. All its text together has to fit one budget, so
the short texts stand in full and the long ones share what is left; whatever was shortened gets
"Show in full" beside it (`reading`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple, assert_never

from answerback.core.ask import Status
from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.view import Control, Line, Prompt, View
from answerback_chat import messages, outline
from answerback_chat.controls import Verb
from answerback_chat.sanitize import one_line
from answerback_chat.texts import units
from answerback_discord import blocks as c
from answerback_discord import choices, context, forms, limits
from answerback_discord.blocks import Json, Style
from answerback_discord.choices import Look, Plan, button, control, laid_out, planned
from answerback_discord.text import escape, fit, in_a_line, share, shorten, whole

TEXT_BUDGET: Final = limits.MESSAGE_TEXT - 100
"""What all texts of a message may take, with some room for marks around them."""
LABEL_ROOM: Final = 200
HEADER_ROOM: Final = 60
QUESTION_IN_LINE: Final = 120
ANSWER_IN_LINE: Final = 200
SECTIONS: Final = 8
"""Answers that get an Edit button of their own beside them; more of them are edited through a menu."""
NOTE_ROOM: Final = 1_900
_EASY: Final = 150
"""Characters, of two units at the most, that texts of one message may always have together."""

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


class _Block(NamedTuple):
    """A text that may be shortened, and how it is set."""

    raw: str
    most: int
    frame: str = "{}"


def message(view: View, labels: Labels, look: Look | None = None) -> Json:
    """The live message of a view, as the fields of a post or an edit."""
    if view.prompt is not None:
        return _prompt(view, view.prompt, labels, look or choices.opened(view.prompt))
    return _record(view, labels) if view.outcome else _review(view, labels, look or Look())


def plain(view: View, labels: Labels) -> Json:
    """The least that can be shown, for when Discord refuses `message`, which would be our defect."""
    said = view.prompt.question.text if view.prompt else messages.ending(view, labels)
    heading, _ = in_a_line(messages.asks_line(view, labels), LABEL_ROOM)
    body, _ = shorten(said or labels.review_title, NOTE_ROOM)
    return c.message(
        [c.text(f"{heading}\n{body}"), *c.rows(_controls(view, labels, labels.details))]
    )


def _prompt(view: View, prompt: Prompt, labels: Labels, look: Look) -> Json:
    question = prompt.question
    heading, short = in_a_line(messages.asks_line(view, labels), LABEL_ROOM)
    header, header_short = (
        in_a_line(question.header, HEADER_ROOM) if question.header else ("", False)
    )
    so_far, so_far_short = _so_far(view, labels) if view.lines else ("", False)
    blocks = [_Block(question.text, limits.MESSAGE_TEXT, "**{}**")]
    spelled: tuple[int, ...] = ()
    if question.options and choices.OPTIONS.spelled_out(question):
        spelled = choices.listed(question, look)
        blocks += [
            _Block(_option_text(question, i), limits.MESSAGE_TEXT, f"**{i + 1}.** {{}}")
            for i in spelled
        ]
    if selected := selection(prompt, look):
        blocks.append(_Block(selected, 400, "-# ☑ {}"))
    if found := _found(look, labels):
        blocks.append(_Block(found, 300, "-# {}"))
    if filled := outline.prefilled(prompt, labels):
        blocks.append(_Block(filled, 300, "-# {}"))
    room = TEXT_BUDGET - sum(map(units, (heading, header, so_far)))
    about = context.within(prompt, room)
    (asked, *others), left_out = _fitted(blocks, room - min(units(about.text), room // 2))
    about = context.within(prompt, room - sum(map(units, (asked, *others))) - len(blocks))
    parts = [c.text(f"-# {heading}")]
    if so_far:
        parts += (c.text(so_far), c.separator())
    if about.text:
        parts.append(c.text(about.text))
    parts.append(c.text(f"__{header}__\n{asked}" if header else asked))
    if spelled:
        parts.append(c.text("\n".join(others[: len(spelled)])))
    parts += [c.text(text) for text in others[len(spelled) :]]
    parts += _answering(view, prompt, labels, look)
    full = short or header_short or so_far_short or left_out or forms.needs_full(prompt)
    more = labels.details if full else about.more(labels)
    parts += c.rows(_controls(view, labels, more))
    return c.message([c.container(parts, BLURPLE)])


def _answering(view: View, prompt: Prompt, labels: Labels, look: Look) -> list[Json]:
    """The controls that answer a prompt."""
    match prompt.question.answer_type:
        case AnswerType.BOOLEAN:
            chosen = prompt.prefill if isinstance(prompt.prefill, bool) else None
            plan = _yes_no(labels.yes, labels.no, chosen)
            if prompt.remember:
                plan += _for_turn(labels.yes_for_turn, labels.no_for_turn)
            return c.rows(laid_out(view, plan))
        case AnswerType.SELECT | AnswerType.MULTI_SELECT:
            return choices.widgets(view, prompt, labels, look)
        case AnswerType.TEXT:
            return c.rows([_opening(view, Verb.WRITE, labels.answer)])
        case AnswerType.SCHEMA:
            return c.rows([_opening(view, Verb.FILL, labels.fill_in)])
        case _:
            assert_never(prompt.question.answer_type)


def _opening(view: View, verb: Verb, label: str) -> Json:
    return button(view, label, verb, style=Style.PRIMARY)


@lru_cache(maxsize=64)
def _yes_no(yes: str, no: str, chosen: bool | None) -> Plan:
    """The buttons of a boolean question, of which one may be chosen from the start."""
    styles = [Style.PRIMARY if chosen is value else Style.SECONDARY for value in (True, False)]
    return planned(yes, Verb.ANSWER, "true", styles[0]) + planned(
        no, Verb.ANSWER, "false", styles[1]
    )


@lru_cache(maxsize=64)
def _for_turn(yes: str, no: str) -> Plan:
    return planned(yes, Verb.REMEMBER, "true") + planned(no, Verb.REMEMBER, "false")


def _controls(view: View, labels: Labels, more: str | None) -> list[Json]:
    """Back, Reply, End Turn; then what lets a person read what is not shown here.

    Args:
        more: what the button says that shows everything in full; None: there is none.
    """
    options = view.prompt.question.options if view.prompt else ()
    preview = bool(options) and any(o.preview for o in options)
    plan = _beside(view.controls, labels.back, labels.reply, labels.end_turn)
    if more:
        plan += planned(more, Verb.FULL, "0")
    if preview:
        plan += planned(labels.preview, Verb.PREVIEW, "0")
    return laid_out(view, plan)


@lru_cache(maxsize=64)
def _beside(controls: tuple[Control, ...], back: str, reply: str, end_turn: str) -> Plan:
    offered = {
        Control.BACK: planned(back, Verb.BACK),
        Control.REPLY: planned(reply, Verb.REPLY),
        Control.END_TURN: planned(end_turn, Verb.END_TURN, style=Style.DANGER),
    }
    return tuple(button for each in controls for button in offered[each])


def _review(view: View, labels: Labels, look: Look) -> Json:
    heading = escape(f"{labels.review_title}")
    asks, short = in_a_line(messages.asks_line(view, labels), LABEL_ROOM)
    top = [c.text(f"-# {asks}\n**{heading}**\n{escape(labels.review_text)}")]
    room = TEXT_BUDGET - units(asks) - units(heading) - units(escape(labels.review_text))
    lines, left_out = _fitted_lines(view.lines, labels, room)
    parts: list[Json] = []
    edits = [(i, line) for i, line in enumerate(view.lines) if line.editable]
    if len(view.lines) <= SECTIONS:
        for i, (text, line) in enumerate(zip(lines, view.lines, strict=True)):
            edit = button(view, labels.edit, Verb.EDIT, i)
            parts.append(c.section(text, edit) if line.editable else c.text(text))
    else:
        parts = [c.text("\n".join(lines)), *_edit_menu(view, edits, labels, look)]
    submit = button(view, labels.submit, Verb.SUBMIT, style=Style.PRIMARY)
    ends = c.rows([submit, *_controls(view, labels, labels.details if short or left_out else None)])
    return c.message([c.container([*top, *parts, *ends], BLURPLE)])


def _edit_menu(view: View, edits: list[tuple[int, Line]], labels: Labels, look: Look) -> list[Json]:
    size = limits.SELECT_OPTIONS
    total = max(1, -(-len(edits) // size))
    page = look.page if look.page < total else 0
    shown = edits[page * size : (page + 1) * size]
    if not shown:
        return []
    place = (
        labels.edit
        if total == 1
        else f"{labels.edit} · {labels.page_of.format(page=page + 1, pages=total)}"
    )
    menu = c.select(
        control(view, Verb.EDIT, f"p{page}"),
        [
            c.option(fit(f"{i + 1}. {line.question.text}", limits.OPTION_LABEL), str(i))
            for i, line in shown
        ],
        placeholder=fit(place, limits.PLACEHOLDER),
    )
    row: Json = {"type": c.ACTION_ROW, "components": [menu]}
    return [row, *c.rows(choices.turning(view, Verb.PAGE, page, total, labels))]


def _record(view: View, labels: Labels) -> Json:
    if view.outcome is None:
        raise AssertionError("an open ask has no record")
    heading, short = in_a_line(messages.ended_by(view, labels), LABEL_ROOM)
    asks, asks_short = in_a_line(messages.asks_line(view, labels), LABEL_ROOM)
    room = TEXT_BUDGET - units(heading) - units(asks)
    reply_room = room // 3 if view.reply and view.lines else room
    reply, reply_short = shorten(view.reply or "", reply_room)
    lines, left_out = _fitted_lines(view.lines, labels, room - units(reply))
    parts = [c.text(f"-# {asks}\n**{heading}**")]
    parts += [c.separator(), c.text("\n".join(lines))] if lines else []
    parts += [c.text(f">>> {reply}")] if reply else []
    if short or asks_short or left_out or reply_short:
        parts += c.rows(_controls(view, labels, labels.details))
    return c.message([c.container(parts, _COLORS.get(view.outcome.status, GREY))])


# --- texts within their room ------------------------------------------------------------------------


def _fitted(blocks: list[_Block], total: int) -> tuple[list[str], bool]:
    """Texts in their frames within ``total`` units together, and whether something was left out."""
    full = [whole(raw) if raw else "" for raw, _, _ in blocks]
    if sum(map(len, full)) <= _EASY:  # as nearly always
        framed = zip(full, blocks, strict=True)
        return [block.frame.format(text) if text else "" for text, block in framed], False
    texts, wanted = [], []
    room, left_out = total - len(blocks), False
    for text, (_, most, frame) in zip(full, blocks, strict=True):
        size = units(text)
        room -= units(frame) if text else 0
        left_out = left_out or size > most
        wanted.append(min(size, most))
        texts.append(frame.format(text) if text else "")
    if not left_out and sum(wanted) <= room:
        return texts, False
    for i, (block, given) in enumerate(zip(blocks, share(wanted, room), strict=True)):
        text, short = shorten(block.raw, given) if texts[i] else ("", False)
        texts[i] = block.frame.format(text) if text else ""
        left_out = left_out or short
    return texts, left_out


def _fitted_lines(lines: tuple[Line, ...], labels: Labels, total: int) -> tuple[list[str], bool]:
    """Questions with their answers, all of them, in ``total`` units."""
    blocks = [
        block
        for line in lines
        for block in (
            _Block(line.question.text, limits.MESSAGE_TEXT, "**{}**"),
            _Block(answer_text(line, labels), limits.MESSAGE_TEXT),
        )
    ]
    texts, left_out = _fitted(blocks, total)
    pairs = zip(texts[::2], texts[1::2], strict=True)
    return [f"{question}\n➜ {answer}" for question, answer in pairs], left_out


def answer_text(line: Line, labels: Labels) -> str:
    """An answer as people read it, with a mark where no person gave it."""
    return "\n".join(outline.answer_texts(line, labels))


def _so_far(view: View, labels: Labels) -> tuple[str, bool]:
    """The newest answers, a line each, and whether any was shortened or left out."""
    short = False

    def line_of(line: Line) -> str:
        nonlocal short
        question, cut_question = in_a_line(line.question.text, QUESTION_IN_LINE)
        said = " · ".join(map(one_line, outline.answer_texts(line, labels)))
        answer, cut_answer = in_a_line(said, ANSWER_IN_LINE)
        short = short or cut_question or cut_answer
        return f"-# {question} → **{answer}**" if answer else f"-# {question} → —"

    lines, earlier = outline.so_far(view, line_of)
    heading = [f"-# {escape(labels.answered_so_far)}"]
    if earlier:
        heading.append(f"-# {escape(labels.answered_earlier.format(count=earlier))}")
    return "\n".join([*heading, *lines]), short or earlier > 0


def _option_text(question: Question, index: int) -> str:
    option = question.options[index]
    label = one_line(option.label)
    return f"{label} — {option.description}" if option.description else label


def _found(look: Look, labels: Labels) -> str:
    """How much a search found, where the menu shows only some of it."""
    if look.found is None or len(look.found) <= limits.SELECT_OPTIONS:
        return ""
    words = one_line(look.words[:100])
    return labels.found.format(count=len(look.found), words=words, shown=limits.SELECT_OPTIONS)


def selection(prompt: Prompt, look: Look) -> str:
    """The selected options, where the menu shows only some of them."""
    question = prompt.question
    if question.answer_type is not AnswerType.MULTI_SELECT or choices.pages(question) == 1:
        return ""
    return " · ".join(choices.OPTIONS.names(question, choices.selected(prompt, look)))
