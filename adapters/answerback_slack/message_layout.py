"""The buttons of an ask's message, their rows, and texts below each other, as Slack's blocks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from answerback.core.view import View
from answerback.presentation.control_buttons import PlannedButton, Verb
from answerback.presentation.text_fitting import utf16_length
from answerback_chat.control_codec import control_prefix, control_suffix
from answerback_slack import blocks as kit
from answerback_slack import limits
from answerback_slack.blocks import Block, ButtonStyle


def encode_control(view: View, verb: Verb, argument: str | int = "") -> str:
    """Return the value of a control of an ask."""
    return control_prefix(view.ask_id, view.revision) + control_suffix(verb, str(argument))


def button(view: View, planned: PlannedButton) -> Block:
    """Render a button. Its action_id tells it from those beside it."""
    label, verb, argument, is_primary, is_danger = planned
    name = f"{verb}.{argument}" if argument else str(verb)
    style: ButtonStyle = "danger" if is_danger else "primary" if is_primary else None
    value = control_prefix(view.ask_id, view.revision) + control_suffix(verb, argument)
    return kit.shown_button(label, name, value, style)


def buttons(view: View, planned: Iterable[PlannedButton]) -> list[Block]:
    return [button(view, each) for each in planned]


def controls_row(view: View, name: str, elements: Sequence[Block]) -> list[Block]:
    """Return a row of controls, or nothing without any. Its block_id is new for every revision, as Slack requires."""
    if not elements:
        return []
    return [kit.actions_block(f"{view.ask_id}:{view.revision}:{name}", elements)]


def paragraphs(texts: Iterable[str]) -> list[Block]:
    """Render visible texts below each other, separated by blank lines, in as few sections as possible."""
    pages: list[str] = []
    for text in filter(str.strip, texts):
        longer = f"{pages[-1]}\n\n{text}" if pages else ""
        if longer and utf16_length(longer) <= limits.SECTION_TEXT:
            pages[-1] = longer
        else:
            pages.append(text)
    return [block for page in pages for block in kit.shown_sections(page)]
