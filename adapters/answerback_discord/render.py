"""Render a view as Discord's live message. Pure.

Each ask has one Components V2 message, which is edited in place: `answerback.presentation.message_plan` says what is in
it, here it becomes components.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from answerback.core.ask import Status
from answerback.core.files import numbered_pictures
from answerback.core.labels import Labels
from answerback.core.urgency import MarkColor
from answerback.core.view import Prompt, View
from answerback.presentation import wording
from answerback.presentation.control_buttons import Verb, answer_buttons
from answerback.presentation.message_plan import (
    NO_CONTROLS,
    Answering,
    Answers,
    Asides,
    Context,
    Controls,
    Ending,
    MessagePlan,
    Notes,
    Options,
    Part,
    QuestionText,
    ReplyText,
    SoFar,
    Submitting,
    Summary,
    joined,
    plan_message,
    plan_minimal_message,
)
from answerback.presentation.message_style import MessageStyle
from answerback.presentation.text_blocks import TextBlock
from answerback.presentation.text_fitting import shorten
from answerback_discord import components as c
from answerback_discord import form_inputs, limits, long_lists, option_controls, question_context
from answerback_discord.components import ButtonStyle, Json
from answerback_discord.markdown_text import FITTER, TEXT_BUDGET
from answerback_discord.option_controls import ListState, button, buttons
from answerback_discord.people_text import MARKUP

NO_PICTURES: Final[Mapping[str, str]] = {}
SECTIONS: Final = 8
"""Maximum number of answers that each get their own Edit button; more are edited through a menu."""
STYLE: Final = MessageStyle(
    markup=MARKUP,
    fitter=FITTER,
    context=question_context.CONTEXT,
    budget=TEXT_BUDGET,
    header=TextBlock("", "__{}__\n", most=240),  # twelve characters may be emoji of many units each
    question=TextBlock("", "**{}**"),
    selected=TextBlock("", "-# ☑ {}", option_controls.SELECTION_BUDGET),
    prefill=TextBlock("", "-# {}", most=300),
)
"""Discord's style of a message."""

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


_MARKS: Final = {
    MarkColor.GREY: GREY,
    MarkColor.RED: RED,
    MarkColor.ORANGE: 0xE67E22,
    MarkColor.YELLOW: 0xF1C40F,
    MarkColor.GREEN: GREEN,
    MarkColor.BLUE: 0x3498DB,
    MarkColor.PURPLE: 0x9B59B6,
}
"""The edges of open messages whose routes have a color."""


def message(
    view: View,
    labels: Labels,
    list_state: ListState | None = None,
    pictures: Mapping[str, str] = NO_PICTURES,
) -> Json:
    """Render the live message of a view, as the fields of a post or an edit.

    Args:
        pictures: the names of the message's attachments, by the ids of the files. Other files are named in words.
    """
    if not pictures:
        return _message(view, labels, list_state, ())
    named = tuple(each for each in view.files if each.id not in pictures)
    numbers = numbered_pictures(view.files)
    texts = {
        each.id: f"{numbers[each.id]}. {each.label}" if len(numbers) > 1 else each.label
        for each in view.files
        if each.id in pictures
    }
    shown = [
        (pictures[each.id], shorten(texts[each.id], limits.PICTURE_TEXT))
        for each in view.files
        if each.id in pictures
    ]
    return _message(view._replace(files=named), labels, list_state, shown)


def shows_pictures(body: Json) -> bool:
    """Return True if a message has a gallery."""
    kinds = (each.get("type") for each in c.iter_components(body.get("components")))
    return c.MEDIA_GALLERY in kinds


def _message(
    view: View,
    labels: Labels,
    list_state: ListState | None,
    pictures: Sequence[tuple[str, str]],
) -> Json:
    prompt, controls = view.prompt, NO_CONTROLS
    state = list_state or ListState(option_controls.initial_page(prompt) if prompt else 0)
    if prompt is not None:
        controls = Controls(
            option_controls.option_text_blocks(prompt.question, state),
            option_controls.selection_text(prompt, state),
            hides=form_inputs.needs_full_view(view, labels),
        )
    plan = plan_message(view, labels, STYLE, controls)
    return _compose(view, labels, plan, state, pictures)


def plain(view: View, labels: Labels) -> Json:
    """Render a minimal live message, for when Discord refuses `message`, which would be a defect of ours."""
    plan = plan_minimal_message(view, labels, STYLE)
    parts = [each for part in plan.parts for each in _texts(part)]
    return c.message([*parts, *c.rows(buttons(view, [*plan.walk, *plan.more]))])


def _compose(
    view: View,
    labels: Labels,
    plan: MessagePlan,
    state: ListState,
    pictures: Sequence[tuple[str, str]],
) -> Json:
    in_sections = view.prompt and option_controls.OPTIONS.fits_sections(view.prompt.question)
    parts: list[Json] = []
    beside: list[str] = []
    for part in plan.parts:
        match part:
            case Options(texts) if in_sections:
                beside = texts
            case Answering(prompt):
                parts += _answer_controls(view, prompt, labels, state, beside)
            case Answers(pairs) if view.is_review:
                parts += _answers_to_edit(view, labels, state, pairs)
            case Submitting():
                pass  # its button is beside those below
            case _:
                parts += _texts(part)
        if pictures and isinstance(part, QuestionText | Summary | Ending):
            parts.append(c.gallery(pictures))
    ends = buttons(view, [*plan.walk, *plan.more])
    if view.is_review:
        ends.insert(0, button(view, labels.submit, Verb.SUBMIT, style=ButtonStyle.PRIMARY))
    return c.message([c.container([*parts, *c.rows(ends)], _color(view))])


def _color(view: View) -> int:
    """Return the color of the message's edge. It repeats what the message says in words."""
    if status := wording.ending_status(view):
        return _COLORS[status]
    return _MARKS[view.mark.color] if view.mark else BLURPLE


def _texts(part: Part) -> list[Json]:
    """Return a part that has no controls, as text with lines around it."""
    match part:
        case SoFar():
            return [c.text(joined(part.lines)), c.separator()]
        case Context(rendered):
            return [c.text(rendered.text), c.separator()]
        case Asides(rendered):
            return [c.text(rendered.text)]
        case Notes(texts):
            return [c.text(text) for text in texts]
        case Answers(pairs):
            return [c.separator(), c.text("\n".join(map("".join, pairs)))]
        case ReplyText(text):
            return [c.text(f">>> {text}")]
        case Answering() | Submitting():
            raise AssertionError(f"{part} has controls")
        case _:
            return [c.text(joined(part.lines))]


def _answer_controls(
    view: View, prompt: Prompt, labels: Labels, state: ListState, texts: list[str]
) -> list[Json]:
    """Return the controls that answer a prompt, and what shows its options' previews.

    Args:
        texts: of the options, if each has its button next to it.
    """
    if planned := answer_buttons(prompt, labels):
        return c.rows(buttons(view, planned))
    made = (
        option_controls.sections(view, prompt, labels, texts)
        if option_controls.OPTIONS.fits_sections(prompt.question)
        else option_controls.render_option_controls(view, prompt, labels, state)
    )
    if any(option.preview for option in prompt.question.options):
        made += c.rows([button(view, labels.preview, Verb.PREVIEW, 0)])
    return made


def _answers_to_edit(
    view: View, labels: Labels, state: ListState, pairs: list[tuple[str, str]]
) -> list[Json]:
    """Return the answers of a review, each with its button, or many with one menu."""
    texts = [*map("".join, pairs)]
    if len(texts) > SECTIONS:
        menu = long_lists.render_edit_menu(view, labels, state)
        return [c.text("\n".join(texts)), *menu]
    parts = []
    for i, (text, line) in enumerate(zip(texts, view.lines, strict=True)):
        edit = button(view, f"{labels.edit} {i + 1}", Verb.EDIT, i)
        parts.append(c.section(text, edit) if line.editable else c.text(text))
    return parts
