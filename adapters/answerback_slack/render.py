"""Render a view as a Slack message. Pure: the same view gives the same message.

`answerback.presentation.message_plan` says what is in it, here it becomes blocks. Everything that an agent sent is
plain text, in which nothing is live.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from answerback.core.files import AttachedFile, numbered_pictures
from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View
from answerback.presentation import wording
from answerback.presentation.control_buttons import PlannedButton, Verb, answer_buttons
from answerback.presentation.message_plan import (
    Answering,
    Answers,
    Asides,
    Context,
    Controls,
    Ending,
    Heading,
    MessagePlan,
    Notes,
    Options,
    Part,
    QuestionText,
    ReplyText,
    SoFar,
    Submitting,
    Summary,
    plan_message,
)
from answerback.presentation.message_style import MessageStyle
from answerback.presentation.text_blocks import BlockFitter, TextBlock
from answerback.presentation.text_fitting import utf16_length
from answerback_base.sanitize import as_json, one_line
from answerback_slack import blocks as kit
from answerback_slack import fallback_text, limits, option_controls, people_text
from answerback_slack.blocks import Block
from answerback_slack.form_inputs import FORM_LIMITS, shows_schema_in_full
from answerback_slack.message_layout import (
    button,
    buttons,
    controls_row,
    encode_control,
    paragraphs,
)
from answerback_slack.option_controls import NO_OPTIONS, OptionLayout
from answerback_slack.question_context import CONTEXT, literal_rich_text, rich_text

RESERVED: Final = 1_500
"""Units reserved for the texts of buttons, with End Turn's confirmation dialog."""
STYLE: Final = MessageStyle(
    markup=people_text.MARKUP,
    fitter=BlockFitter(
        people_text.shorten, utf16_length, TextBlock("", most=4_500), TextBlock("", "\n➜ {}")
    ),
    context=CONTEXT,
    budget=limits.BLOCKS_TEXT - RESERVED,
    header=TextBlock(""),
    question=TextBlock("", most=4_500),
    selected=TextBlock(""),
    prefill=TextBlock("", most=300),
    most_context=2_500,
    most_asides=2_500,
    most_reply=3_000,
)
"""Slack's style of a message. Its question, context and answers are limited because a longer one is hard to read."""
NO_PICTURES: Final[Mapping[str, str]] = {}
MAX_EDIT_BUTTONS: Final = 15
"""With more answers, a review has one menu to edit them instead of a button each: a message has at most 50 blocks."""
LONG_RECORD_ANSWERS: Final = 5
"""The number of answers from which a record is collapsed; fewer can be read at a glance."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message for chat.postMessage and chat.update. ``text`` is for notifications and screen readers."""

    text: str
    blocks: list[Block]
    pictures: Mapping[str, str] = field(default_factory=dict)
    """The ask's uploads: the ids of the files, and those in Slack."""

    @property
    def shows_pictures(self) -> bool:
        return any(block["type"] == "image" for block in self.blocks)

    @property
    def has_collapsed_parts(self) -> bool:
        """True if it has a collapsed container, which not every workspace accepts."""
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
    pictures: Mapping[str, str] = NO_PICTURES,
) -> Message:
    """Render the live message of a view.

    Args:
        names: the names or mentions of responders, as mrkdwn by id.
        selected: the initial selection of a multi-select; None to start from the question's prefill.
        collapse_long_records: whether the answers of a long record may be collapsed.
        pictures: Slack's ids of the files that it can show, by the ids of the files. The others are named.
    """
    if pictures:
        return _render_pictures(view, labels, names, selected, collapse_long_records, pictures)
    people = people_text.attribution_format(names)
    style = replace(STYLE, markup=STYLE.markup._replace(people=people))
    layout = NO_OPTIONS
    if view.prompt is not None:
        layout = _lay_out(view, view.prompt, labels, style, selected)
    elif view.is_review:
        menus = _edit_menu(view, labels)
        layout = OptionLayout(Controls(units=kit.text_length(menus)), menus=menus)
    plan = plan_message(view, labels, style, layout.controls)
    blocks = _compose(view, labels, plan, layout, collapse=collapse_long_records)
    heading = plan.parts[0] if isinstance(plan.parts[0], Heading) else None
    return Message(fallback_text.fallback_text(view, labels, names, heading), blocks)


def _render_pictures(
    view: View,
    labels: Labels,
    names: Mapping[str, str],
    selected: Sequence[int] | None,
    collapse: bool,
    pictures: Mapping[str, str],
) -> Message:
    """Render a message with pictures below its question; without them, if it has too many blocks for them."""
    named = tuple(each for each in view.files if each.id not in pictures)
    message = render(
        view._replace(files=named), labels, names, selected, collapse_long_records=collapse
    )
    numbers = numbered_pictures(view.files)
    shown = [
        _picture(each, pictures[each.id], numbers) for each in view.files if each.id in pictures
    ]
    if len(message.blocks) + len(shown) > limits.BLOCKS_PER_MESSAGE:
        message = render(view, labels, names, selected, collapse_long_records=collapse)
        return replace(message, pictures=pictures)
    blocks = message.blocks
    controls = (n for n, block in enumerate(blocks) if _has_controls(block))
    at = 1 if view.outcome else next(controls, len(blocks))
    return replace(message, blocks=[*blocks[:at], *shown, *blocks[at:]], pictures=pictures)


def _has_controls(block: Block) -> bool:
    return block["type"] in {"actions", "input"} or "accessory" in block


def _picture(file: AttachedFile, slack_id: str, numbers: Mapping[str, int]) -> Block:
    title = f"{numbers[file.id]}. {file.label}" if len(numbers) > 1 else file.label
    return {
        "type": "image",
        "slack_file": {"id": slack_id},
        "alt_text": people_text.shorten(file.label, limits.ALT_TEXT, "")[0],
        "title": kit.plain_text(title, limits.ALT_TEXT),
    }


def _compose(
    view: View, labels: Labels, plan: MessagePlan, layout: OptionLayout, *, collapse: bool
) -> list[Block]:
    blocks: list[Block] = []
    beside: list[str] = []
    for part in plan.parts:
        match part:
            case Heading(asks, audience):
                tag = next((p.header for p in plan.parts if isinstance(p, QuestionText)), "")
                blocks.append(kit.shown_small_text(f"{asks} · {tag}" if tag else asks, audience))
            case Options(texts) if layout.is_beside:
                beside = texts
            case Answering(prompt):
                blocks += _answer_controls(view, prompt, labels, layout, beside)
            case Answers(pairs):
                blocks += _answers(view, labels, pairs, collapse=collapse)
            case Submitting():
                submit = PlannedButton(labels.submit, Verb.SUBMIT, is_primary=True)
                blocks += [*layout.menus, *controls_row(view, "answer", [button(view, submit)])]
            case _:
                blocks += _texts(view, labels, part)
    return [*blocks, *_ends(view, labels, plan)]


def _texts(view: View, labels: Labels, part: Part) -> list[Block]:
    """Return a part that has no controls."""
    match part:
        case SoFar(above, answers, answered_by):
            return [kit.shown_small_text("\n".join((*above, *answers)), answered_by)]
        case Context(rendered) | Asides(rendered):
            return rich_text(rendered.fitted.blocks)
        case QuestionText(_, text):
            return kit.shown_heading(text)
        case Summary(title, text, answered_by):
            return [*kit.shown_heading(title), kit.shown_small_text(text, answered_by)]
        case Ending(asked, how, at, waited, answered_by):
            ending = people_text.marked_ending(view, labels, f"{how} · {at}", waited)
            return [kit.shown_small_text(asked), kit.small_mrkdwn(ending, answered_by)]
        case Options(texts):
            return paragraphs(texts)
        case Notes(texts):
            return [kit.shown_small_text(text) for text in texts]
        case ReplyText(text):
            return kit.shown_sections(f"“{text}”")
        case _:
            raise AssertionError(f"{part} has controls")


def _answers(
    view: View, labels: Labels, pairs: list[tuple[str, str]], *, collapse: bool
) -> list[Block]:
    """Return all answers: in a review a few have a button each, and in a record many are collapsed."""
    if view.outcome and len(pairs) == 1:
        [(question, answer)] = pairs
        return [*kit.shown_heading(question), *kit.shown_sections(answer.lstrip("\n"))]
    texts = [*map("".join, pairs)]
    if view.outcome and collapse and len(pairs) >= LONG_RECORD_ANSWERS:
        title = labels.questions_answered.format(count=len(pairs))
        return [kit.collapsed_container(title, paragraphs(texts))]
    if not view.is_review or len(pairs) > MAX_EDIT_BUTTONS:
        return paragraphs(texts)
    blocks = []
    for index, (text, line) in enumerate(zip(texts, view.lines, strict=True)):
        blocks += kit.shown_sections(text)
        if line.editable:
            edit = PlannedButton(labels.edit, Verb.EDIT, str(index))
            blocks[-1]["accessory"] = button(view, edit)
    return blocks


def _ends(view: View, labels: Labels, plan: MessagePlan) -> list[Block]:
    """Return the buttons below the message."""
    walk = [
        button(view, each)
        | (_confirmation(view, labels, each.label) if each.verb is Verb.END_TURN else {})
        for each in plan.walk
    ]
    more = buttons(view, (each._replace(argument="") for each in plan.more))
    return controls_row(view, "walk" if walk else "full", [*walk, *more])


def _confirmation(view: View, labels: Labels, label: str) -> Block:
    text = wording.end_turn_text(view.label, labels, deny=view.approval)
    return {
        "confirm": {
            "title": kit.plain_text(labels.end_turn_title, limits.CONFIRM_TITLE),
            "text": kit.plain_text(text, limits.CONFIRM_TEXT),
            "confirm": kit.plain_text(label, limits.CONFIRM_BUTTON),
            "deny": kit.plain_text(labels.cancel, limits.CONFIRM_BUTTON),
            "style": "danger",
        }
    }


def _lay_out(
    view: View, prompt: Prompt, labels: Labels, style: MessageStyle, selected: Sequence[int] | None
) -> OptionLayout:
    if prompt.question.answer_type is AnswerType.SCHEMA:
        return OptionLayout(Controls(hides=not shows_schema_in_full(view, labels)))
    if not prompt.question.options:
        return NO_OPTIONS
    return option_controls.lay_out(view, prompt, labels, style, selected)


def _answer_controls(
    view: View, prompt: Prompt, labels: Labels, layout: OptionLayout, texts: Sequence[str]
) -> list[Block]:
    """Return the controls that answer the open question.

    Args:
        texts: of the options, if each has its button next to it.
    """
    planned = answer_buttons(prompt, labels)
    if not planned:
        return option_controls.option_blocks(view, prompt, labels, layout, texts)
    if prompt.prefill is not None and prompt.question.answer_type is not AnswerType.BOOLEAN:
        text = prompt.prefill if isinstance(prompt.prefill, str) else as_json(prompt.prefill)
        if utf16_length(text) > FORM_LIMITS.editable:
            # It is too long to be edited in a modal, and can still be accepted unchanged.
            planned.append(PlannedButton(labels.submit, Verb.SUBMIT_SELECTION))
    return controls_row(view, "answer", buttons(view, planned))


def _edit_menu(view: View, labels: Labels) -> list[Block]:
    """Return the menu that edits one of many answers; nothing if each has a button, or none was given by a person."""
    if len(view.lines) <= MAX_EDIT_BUTTONS:
        return []
    options = [
        kit.option_object(one_line(line.text), str(index))
        for index, line in enumerate(view.lines)
        if line.editable
    ]
    if not options:
        return []
    menu = kit.choice("static_select", str(Verb.EDIT), options, (), labels.edit)
    row: Block = {
        "type": "actions",
        "block_id": encode_control(view, Verb.EDIT),
        "elements": [menu],
    }
    return [row]
