"""A view as Slack's message: prompt, review or record. Pure: the same view, the same message.

Owns what stands where and how the room of a message is shared out. What had to be shortened is one
click away ("Show in full"); everything an agent sent stands in plain text, where nothing is live.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.view import Control, Line, Prompt, View
from answerback_chat import answer_summary, text_fitting, wording
from answerback_chat.control_codec import Verb
from answerback_chat.sanitize import as_json, one_line, visible
from answerback_slack import fallback_text, limits, option_controls, record_text
from answerback_slack.blocks import (
    Block,
    collapsed_container,
    mrkdwn,
    plain_text,
    small_text,
    text_length,
)
from answerback_slack.message_layout import MessageBuilder
from answerback_slack.question_context import literal_rich_text

QUESTION_ROOM: Final = 4_500
CONTEXT_ROOM: Final = 2_500
ASIDES_ROOM: Final = 2_500
SO_FAR_ITEM_ROOM: Final = 160
PREFILL_ROOM: Final = 300
REPLY_ROOM: Final = 3_000
TITLE_ROOM: Final = 200
RESERVED_ROOM: Final = 700
"""Characters kept free for the row of Back, Reply and End Turn with its dialog."""
MIN_LIST_ROOM: Final = 500
MAX_EDIT_BUTTONS: Final = 15
"""Past so many answers the review has one menu to edit them, not a button each: a message has 50 blocks."""
LONG_RECORD_ANSWERS: Final = 5
"""Answers from which on a record is folded: fewer are read at a glance."""
MAX_PREFILL_INPUTS: Final = 10
"""How many inputs of `limits.INPUT_TEXT` a modal is made of at the most to start from a long text."""


@dataclass(frozen=True, slots=True)
class Message:
    """What chat.postMessage and chat.update take. ``text`` is for notifications and screen readers."""

    text: str
    blocks: list[Block]

    @property
    def has_collapsed_parts(self) -> bool:
        """Whether something in it is folded, which not every workspace takes."""
        return any(block["type"] == "container" for block in self.blocks)

    def with_rich_text(self) -> Message:
        """The same message with its first words as rich text, where it has none.

        Slack may refuse to put blocks without rich text in the place of rich text (``block_mismatch``).
        """
        match self.blocks:
            case [{"type": "context", "elements": [{"text": str(words)}, *beside]}, *rest] if (
                not any(block["type"] == "rich_text" for block in rest)
            ):
                above: list[Block] = [{"type": "context", "elements": beside}] if beside else []
                return replace(self, blocks=[*literal_rich_text(words), *above, *rest])
            case [{"type": "section", "text": {"type": "plain_text", "text": str(words)}}, *rest]:
                return replace(self, blocks=[*literal_rich_text(words), *rest])
            case _:
                return self


def render(
    view: View,
    labels: Labels,
    names: Mapping[str, str] = record_text.NO_NAMES,
    selected: Sequence[int] | None = None,
    *,
    collapse_long_records: bool = False,
) -> Message:
    """The live message of a view.

    Args:
        names: the responders that are known by name or are to be mentioned, as mrkdwn by id.
        selected: what a multi-select starts from; None: what its question is pre-filled with.
        folding: whether the answers of a long record may be folded.
    """
    sheet = MessageBuilder(view, labels, names, selected)
    if view.prompt is not None:
        _prompt(sheet, view.prompt)
    elif view.is_review:
        _review(sheet)
    else:
        _record(sheet, collapse_long_records=collapse_long_records)
    return Message(fallback_text.fallback_text(view, labels, names), sheet.blocks)


# --- an open question ----------------------------------------------------------------------------


def _prompt(sheet: MessageBuilder, prompt: Prompt) -> None:
    question = prompt.question
    title = wording.asks_line(sheet.view, sheet.labels)
    sheet.add_asker_line(
        f"{title} · {visible(question.header)}" if question.header else title, TITLE_ROOM
    )
    _so_far(sheet)
    sheet.add_context(prompt, CONTEXT_ROOM)
    sheet.add_heading(question.text, QUESTION_ROOM)
    sheet.add_asides(min(ASIDES_ROOM, sheet.remaining_room // 2))
    room = sheet.remaining_room - RESERVED_ROOM - MIN_LIST_ROOM
    answer = _answer(sheet, prompt, room)
    if option_controls.OPTION_LIMITS.needs_text_list(question) and question.options:
        sheet.add_items(
            option_controls.numbered_options(question),
            sheet.remaining_room - text_length(answer) - RESERVED_ROOM,
        )
    sheet.blocks += answer
    sheet.blocks.append(_navigation(sheet))


def _so_far(sheet: MessageBuilder) -> None:
    if not sheet.view.lines:
        return

    def line_of(line: Line) -> str:
        text = (
            f"{one_line(line.question.text)} ➜ {record_text.answer_text(line, sheet.labels, ', ')}"
        )
        return sheet.fit(one_line(text), SO_FAR_ITEM_ROOM)

    kept, earlier = answer_summary.recent_answers(sheet.view, line_of)
    heading = [f"{sheet.labels.answered_so_far}:"]
    if earlier:
        sheet.shortened = True
        heading.append(sheet.labels.answered_earlier.format(count=earlier))
    sheet.add_small_text("\n".join([*heading, *kept]), answer_summary.MAX_RECENT_UNITS * 2)
    sheet.append_to_small_text(sheet.answerer_line())


def _answer(sheet: MessageBuilder, prompt: Prompt, room: int) -> list[Block]:
    question = prompt.question
    match question.answer_type:
        case AnswerType.BOOLEAN:
            return [sheet.controls_row("answer", _yes_no(sheet, prompt))]
        case AnswerType.SELECT | AnswerType.MULTI_SELECT:
            return [
                *_prefilled(sheet, prompt),
                *option_controls.build_controls(sheet, prompt, room),
                *option_controls.preview_buttons(sheet, question),
            ]
        case AnswerType.TEXT:
            pressed = [sheet.control_button(sheet.labels.answer, Verb.WRITE, primary=True)]
            return [
                *_prefilled(sheet, prompt),
                sheet.controls_row("answer", pressed + _as_is(sheet, prompt)),
            ]
        case AnswerType.SCHEMA:
            pressed = [sheet.control_button(sheet.labels.fill_in, Verb.FILL, primary=True)]
            return [
                *_prefilled(sheet, prompt),
                sheet.controls_row("answer", pressed + _as_is(sheet, prompt)),
            ]
        case _:
            assert_never(question.answer_type)


def _yes_no(sheet: MessageBuilder, prompt: Prompt) -> list[Block]:
    labels = sheet.labels
    made = [
        sheet.control_button(labels.yes, Verb.ANSWER, "true", primary=prompt.prefill is True),
        sheet.control_button(labels.no, Verb.ANSWER, "false", primary=prompt.prefill is False),
    ]
    if prompt.remember:
        made.append(sheet.control_button(labels.yes_for_turn, Verb.REMEMBER, "true"))
        made.append(sheet.control_button(labels.no_for_turn, Verb.REMEMBER, "false"))
    return made


def _prefilled(sheet: MessageBuilder, prompt: Prompt) -> list[Block]:
    text = answer_summary.prefill_text(prompt, sheet.labels)
    return [small_text(sheet.fit(text, PREFILL_ROOM))] if text else []


def _as_is(sheet: MessageBuilder, prompt: Prompt) -> list[Block]:
    """Submit, for a prefill that is too long to be edited in a modal: it can still be taken as it is."""
    if prefill_fits_modal(prompt):
        return []
    return [sheet.control_button(sheet.labels.submit, Verb.SUBMIT_SELECTION)]


def prefill_fits_modal(prompt: Prompt) -> bool:
    """Whether the prefill of a text or schema question can be edited in a modal."""
    prefill = prompt.prefill if prompt.words is None else prompt.words
    text = prefill if isinstance(prefill, str) else as_json(prefill)
    return fits_text_inputs(text)


def fits_text_inputs(text: str) -> bool:
    """Whether a text can be edited in the inputs of a modal."""
    return text_fitting.utf16_length(text) <= limits.INPUT_TEXT * MAX_PREFILL_INPUTS


def _navigation(sheet: MessageBuilder) -> Block:
    labels = sheet.labels
    made = []
    for control in sheet.view.controls:
        match control:
            case Control.BACK:
                made.append(sheet.control_button(labels.back, Verb.BACK))
            case Control.ASK_BACK:
                made.append(sheet.control_button(labels.ask_back, Verb.ASK_BACK))
            case Control.REPLY:
                made.append(sheet.control_button(labels.reply, Verb.REPLY))
            case Control.END_TURN:
                made.append(_end_turn(sheet))
    if sheet.shortened:
        made.append(sheet.control_button(sheet.more, Verb.SHOW_IN_FULL))
    return sheet.controls_row("walk", made)


def _end_turn(sheet: MessageBuilder) -> Block:
    labels = sheet.labels
    text = labels.end_turn_text.format(label=sheet.view.label)
    return sheet.control_button(labels.end_turn, Verb.END_TURN) | {
        "confirm": {
            "title": plain_text(labels.end_turn_title, limits.CONFIRM_TITLE),
            "text": plain_text(text, limits.CONFIRM_TEXT),
            "confirm": plain_text(labels.end_turn, limits.CONFIRM_BUTTON),
            "deny": plain_text(labels.cancel, limits.CONFIRM_BUTTON),
            "style": "danger",
        }
    }


# --- review and record ---------------------------------------------------------------------------


def _review(sheet: MessageBuilder) -> None:
    labels, given = sheet.labels, sheet.view.lines
    sheet.add_asker_line(wording.asks_line(sheet.view, labels), TITLE_ROOM)
    sheet.add_heading(labels.review_title, limits.HEADER_TEXT)
    sheet.add_small_text(labels.review_text, TITLE_ROOM)
    sheet.append_to_small_text(sheet.answerer_line())
    room = sheet.remaining_room - RESERVED_ROOM * 2
    entries = [record_text.question_and_answer(line, labels) for line in given]
    if len(given) <= MAX_EDIT_BUTTONS:
        for place, text in enumerate(entries):
            sheet.add_items([text], room // len(given))
            if given[place].editable:
                sheet.blocks[-1]["accessory"] = sheet.control_button(labels.edit, Verb.EDIT, place)
    else:
        menu = _edit_menu(sheet)
        sheet.add_items(entries, room - text_length(menu))
        sheet.blocks.append(menu)
    sheet.blocks.append(
        sheet.controls_row(
            "answer", [sheet.control_button(labels.submit, Verb.SUBMIT, primary=True)]
        )
    )
    sheet.blocks.append(_navigation(sheet))


def _edit_menu(sheet: MessageBuilder) -> Block:
    label = sheet.labels.edit
    options = [
        {
            "text": plain_text(one_line(line.question.text), limits.OPTION_TEXT),
            "value": str(place),
        }
        for place, line in enumerate(sheet.view.lines)
        if line.editable
    ]
    menu: Block = {
        "type": "static_select",
        "action_id": str(Verb.EDIT),
        "placeholder": plain_text(label, limits.PLACEHOLDER),
        "options": options,
    }
    return {"type": "actions", "block_id": sheet.encode_control(Verb.EDIT), "elements": [menu]}


def _record(sheet: MessageBuilder, *, collapse_long_records: bool) -> None:
    view, labels = sheet.view, sheet.labels
    sheet.add_small_text(wording.asks_line(view, labels), TITLE_ROOM)
    if len(view.lines) == 1:
        sheet.add_heading(view.lines[0].question.text, QUESTION_ROOM)
        sheet.add_paragraphs(f"➜ {record_text.answer_text(view.lines[0], labels)}", QUESTION_ROOM)
    else:
        above = len(sheet.blocks)
        room = sheet.remaining_room - REPLY_ROOM - RESERVED_ROOM
        sheet.add_items(
            [record_text.question_and_answer(line, labels) for line in view.lines], room
        )
        answers = sheet.blocks[above:]
        if collapse_long_records and len(view.lines) >= LONG_RECORD_ANSWERS:
            title = labels.questions_answered.format(count=len(view.lines))
            sheet.blocks[above:] = [collapsed_container(title, answers)]
    if view.reply is not None:
        sheet.add_paragraphs(f"“{visible(view.reply)}”", REPLY_ROOM)
    sheet.blocks.append(
        {"type": "context", "elements": [mrkdwn(record_text.ending_mrkdwn(view, labels))]}
    )
    sheet.append_to_small_text(sheet.answerer_line())
    if sheet.shortened:
        sheet.blocks.append(
            sheet.controls_row("full", [sheet.control_button(labels.details, Verb.SHOW_IN_FULL)])
        )
