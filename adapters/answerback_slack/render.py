"""Render a view as a Slack message: prompt, review or record. Pure: the same view gives the same message.

Owns the layout of a message and how its space is divided. Shortened texts are one click away ("Show in full").
Everything that an agent sent is plain text, in which nothing is live.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.view import Line, Prompt, View
from answerback.presentation import answer_summary, text_fitting, wording
from answerback.presentation.context_layout import fit_asides, fit_context
from answerback.presentation.control_buttons import answer_buttons, more_buttons, walk_buttons
from answerback.presentation.header_tag import header_tag
from answerback_base.sanitize import as_json, one_line, visible
from answerback_chat.control_codec import Verb
from answerback_slack import blocks as kit
from answerback_slack import fallback_text, limits, option_controls, people_text
from answerback_slack.blocks import Block
from answerback_slack.form_inputs import FORM_LIMITS, shows_schema_in_full
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
"""Characters reserved for the row of Back, Reply and End Turn, with End Turn's confirmation dialog."""
MIN_LIST_ROOM: Final = 500
MAX_EDIT_BUTTONS: Final = 15
"""With more answers, a review has one menu to edit them instead of a button each: a message has at most 50 blocks."""
LONG_RECORD_ANSWERS: Final = 5
"""The number of answers from which a record is collapsed; fewer can be read at a glance."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message for chat.postMessage and chat.update. ``text`` is for notifications and screen readers."""

    text: str
    blocks: list[Block]

    @property
    def has_collapsed_parts(self) -> bool:
        """Whether it has a collapsed container, which not every workspace accepts."""
        return any(block["type"] == "container" for block in self.blocks)

    def with_rich_text(self) -> Message:
        """The same message, with its first text as rich text if it has no rich text yet.

        Slack may refuse to replace rich text with blocks that have none (``block_mismatch``).
        """
        match self.blocks:
            case [{"type": "context", "elements": [{"text": str(text)}, *others]}, *rest] if (
                not any(block["type"] == "rich_text" for block in rest)
            ):
                above: list[Block] = [{"type": "context", "elements": others}] if others else []
                return replace(self, blocks=[*literal_rich_text(text), *above, *rest])
            case _:
                return self


def render(
    view: View,
    labels: Labels,
    names: Mapping[str, str] = people_text.NO_NAMES,
    selected: Sequence[int] | None = None,
    *,
    collapse_long_records: bool = False,
) -> Message:
    """Render the live message of a view.

    Args:
        names: the names or mentions of responders, as mrkdwn by id.
        selected: the initial selection of a multi-select; None to start from the question's prefill.
        collapse_long_records: whether the answers of a long record may be collapsed.
    """
    builder = MessageBuilder(view, labels, names, selected)
    if view.prompt is not None:
        _add_prompt(builder, view.prompt)
    elif view.outcome is None:
        _add_summary(builder)
    else:
        _add_record(builder, collapse_long_records=collapse_long_records)
    return Message(fallback_text.fallback_text(view, labels, names), builder.blocks)


# --- an open question ----------------------------------------------------------------------------


def _add_prompt(builder: MessageBuilder, prompt: Prompt) -> None:
    question = prompt.question
    title = wording.asks_line(builder.view, builder.labels)
    if tag := header_tag(question.header):
        title = f"{title} · {tag.short}"
        builder.shortened |= tag.is_cut
    builder.add_asker_line(title, TITLE_ROOM)
    _add_answers_so_far(builder)
    builder.add_rich_text(fit_context(prompt, CONTEXT_ROOM))
    builder.add_heading(question.text, QUESTION_ROOM)
    _add_asides(builder)
    room = builder.remaining_room - RESERVED_ROOM - MIN_LIST_ROOM
    controls = _answer_controls(builder, prompt, room)
    if option_controls.lists_options(question):
        builder.add_items(
            option_controls.numbered_options(question),
            builder.remaining_room - kit.text_length(controls) - RESERVED_ROOM,
        )
    builder.blocks += controls
    builder.blocks.append(_navigation(builder))


def _add_asides(builder: MessageBuilder) -> None:
    room = min(ASIDES_ROOM, builder.remaining_room // 2)
    builder.add_rich_text(fit_asides(builder.view, builder.labels, room))


def _add_answers_so_far(builder: MessageBuilder) -> None:
    if not builder.view.lines:
        return

    def line_of(line: Line) -> str:
        text = f"{one_line(line.text)} ➜ {people_text.answer_text(line, builder.labels, ', ')}"
        return builder.fit(one_line(text), SO_FAR_ITEM_ROOM)

    recent, earlier = answer_summary.recent_answers(builder.view, line_of)
    heading = [f"{builder.labels.answered_so_far}:"]
    if earlier:
        builder.shortened = True
        heading.append(builder.labels.answered_earlier.format(count=earlier))
    builder.add_small_text("\n".join([*heading, *recent]), answer_summary.MAX_RECENT_UNITS * 2)
    builder.append_to_small_text(builder.answerer_line())


def _answer_controls(builder: MessageBuilder, prompt: Prompt, room: int) -> list[Block]:
    question = prompt.question
    buttons = builder.buttons(answer_buttons(prompt, builder.labels))
    if not buttons:
        return [
            *_prefill_note(builder, prompt),
            *option_controls.build_controls(builder, prompt, room),
            *option_controls.preview_buttons(builder, question),
        ]
    if question.answer_type is AnswerType.BOOLEAN:
        return [builder.controls_row("answer", buttons)]
    if question.answer_type is AnswerType.SCHEMA:
        builder.shortened |= not shows_schema_in_full(builder.view, builder.labels)
    return [
        *_prefill_note(builder, prompt),
        builder.controls_row("answer", buttons + _submit_unedited(builder, prompt)),
    ]


def _prefill_note(builder: MessageBuilder, prompt: Prompt) -> list[Block]:
    texts = answer_summary.prefill_texts(prompt, builder.labels)
    return [kit.small_text(builder.fit(text, PREFILL_ROOM)) for text in texts]


def _submit_unedited(builder: MessageBuilder, prompt: Prompt) -> list[Block]:
    """A Submit button for a prefill that is too long to edit in a modal, so that it can be accepted unchanged."""
    prefill = prompt.prefill if prompt.other_text is None else prompt.other_text
    text = prefill if isinstance(prefill, str) else as_json(prefill)
    if text_fitting.utf16_length(text) <= FORM_LIMITS.editable:
        return []
    return [builder.control_button(builder.labels.submit, Verb.SUBMIT_SELECTION)]


def _navigation(builder: MessageBuilder) -> Block:
    made = [
        builder.button(each)
        | (_confirmation(builder, each.label) if each.verb is Verb.END_TURN else {})
        for each in walk_buttons(builder.view, builder.labels)
    ]
    if builder.shortened or builder.view.approval:
        made.append(builder.control_button(builder.more, Verb.SHOW_IN_FULL))
    return builder.controls_row("walk", made)


def _confirmation(builder: MessageBuilder, label: str) -> Block:
    labels = builder.labels
    text = wording.end_turn_text(builder.view.label, labels, deny=builder.view.approval)
    return {
        "confirm": {
            "title": kit.plain_text(labels.end_turn_title, limits.CONFIRM_TITLE),
            "text": kit.plain_text(text, limits.CONFIRM_TEXT),
            "confirm": kit.plain_text(label, limits.CONFIRM_BUTTON),
            "deny": kit.plain_text(labels.cancel, limits.CONFIRM_BUTTON),
            "style": "danger",
        }
    }


# --- review and record ---------------------------------------------------------------------------


def _add_summary(builder: MessageBuilder) -> None:
    """Add all answers, to review and submit them or to confirm them."""
    view, labels, lines = builder.view, builder.labels, builder.view.lines
    builder.add_asker_line(wording.asks_line(view, labels), TITLE_ROOM)
    if view.confirmation:
        builder.add_rich_text(fit_context(view.confirmation.about, CONTEXT_ROOM))
    builder.add_heading(wording.summary_title(view, labels), limits.HEADER_TEXT)
    builder.add_small_text(wording.summary_text(view, labels), TITLE_ROOM)
    builder.append_to_small_text(builder.answerer_line())
    _add_asides(builder)
    room = builder.remaining_room - RESERVED_ROOM * 2
    entries = [people_text.question_and_answer(line, labels) for line in lines]
    if len(lines) <= MAX_EDIT_BUTTONS and view.is_review:
        for index, text in enumerate(entries):
            builder.add_items([text], room // len(lines))
            if lines[index].editable:
                builder.blocks[-1]["accessory"] = builder.control_button(
                    labels.edit, Verb.EDIT, index
                )
    elif view.confirmation:
        builder.add_items(entries, room)
    else:
        menu = _edit_menu(builder)
        builder.add_items(entries, room - kit.text_length(menu))
        builder.blocks.append(menu)
    if view.is_review:
        submit = builder.control_button(labels.submit, Verb.SUBMIT, primary=True)
        builder.blocks.append(builder.controls_row("answer", [submit]))
    builder.blocks.append(_navigation(builder))


def _edit_menu(builder: MessageBuilder) -> Block:
    label = builder.labels.edit
    options = [
        kit.option_object(one_line(line.text), str(index))
        for index, line in enumerate(builder.view.lines)
        if line.editable
    ]
    menu = kit.choice("static_select", str(Verb.EDIT), options, (), label)
    return {"type": "actions", "block_id": builder.encode_control(Verb.EDIT), "elements": [menu]}


def _add_record(builder: MessageBuilder, *, collapse_long_records: bool) -> None:
    view, labels = builder.view, builder.labels
    builder.add_small_text(wording.asks_line(view, labels), TITLE_ROOM)
    builder.shortened |= any(line.question.context for line in view.lines)
    if len(view.lines) == 1:
        builder.add_heading(view.lines[0].question.text, QUESTION_ROOM)
        builder.add_paragraphs(f"➜ {people_text.answer_text(view.lines[0], labels)}", QUESTION_ROOM)
    else:
        start = len(builder.blocks)
        room = builder.remaining_room - REPLY_ROOM - RESERVED_ROOM
        builder.add_items(
            [people_text.question_and_answer(line, labels) for line in view.lines], room
        )
        answers = builder.blocks[start:]
        if collapse_long_records and len(view.lines) >= LONG_RECORD_ANSWERS:
            title = labels.questions_answered.format(count=len(view.lines))
            builder.blocks[start:] = [kit.collapsed_container(title, answers)]
    if view.reply is not None:
        builder.add_paragraphs(f"“{visible(view.reply)}”", REPLY_ROOM)
    builder.blocks.append(
        {"type": "context", "elements": [kit.mrkdwn(people_text.ending_mrkdwn(view, labels))]}
    )
    builder.append_to_small_text(builder.answerer_line())
    planned = more_buttons(view, labels, labels.details if builder.shortened else None)
    if made := builder.buttons(each._replace(argument="") for each in planned):
        builder.blocks.append(builder.controls_row("full", made))
