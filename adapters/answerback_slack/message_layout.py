"""Build a message's blocks in order, tracking the remaining space and whether anything was shortened.

Encodes controls into buttons and menus (`answerback_chat.control_codec`) and counts lengths. Does not decide what is
shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.presentation import attribution, text_fitting
from answerback.presentation.context_layout import FittedBlocks
from answerback.presentation.control_buttons import PlannedButton
from answerback_base.sanitize import visible
from answerback_chat.control_codec import Control, Verb
from answerback_slack import blocks as kit
from answerback_slack import limits, people_text
from answerback_slack.blocks import Block, ButtonStyle
from answerback_slack.question_context import rich_text

_MIN_ITEM_ROOM: Final = 12
"""Units for one of many texts and the blank line after it; any less would be too short to be useful."""


class MessageBuilder:
    """Builder for the blocks of one view's message, in order.

    Args:
        names: the names or mentions of responders, as mrkdwn by id.
        selected: the initial selection of a multi-select; None to start from the question's prefill.
    """

    def __init__(
        self,
        view: View,
        labels: Labels,
        names: Mapping[str, str] = people_text.NO_NAMES,
        selected: Sequence[int] | None = None,
    ) -> None:
        self.view = view
        self.selected = selected
        self.names = names
        self.labels = labels
        self.blocks: list[Block] = []
        self.shortened = False
        """Whether something is not shown in full, so that "Show in full" is needed."""
        self.more = labels.details
        """The label of the button that opens the full text."""

    def encode_control(self, verb: Verb, argument: str | int = "") -> str:
        return Control(self.view.ask_id, self.view.revision, verb, str(argument)).encode()

    def control_button(
        self,
        label: str,
        verb: Verb,
        argument: str | int = "",
        *,
        primary: bool = False,
    ) -> Block:
        return self.button(PlannedButton(label, verb, str(argument), primary))

    def button(self, planned: PlannedButton) -> Block:
        label, verb, argument, is_primary, is_danger = planned
        name = f"{verb}.{argument}" if argument else str(verb)
        style: ButtonStyle = "danger" if is_danger else "primary" if is_primary else None
        return kit.button(label, name, self.encode_control(verb, argument), style)

    def buttons(self, planned: Iterable[PlannedButton]) -> list[Block]:
        return [self.button(each) for each in planned]

    def controls_row(self, name: str, elements: Sequence[Block]) -> Block:
        """A row of controls. Its block_id is new for every revision, as Slack requires."""
        return kit.actions_block(f"{self.view.ask_id}:{self.view.revision}:{name}", elements)

    def fit(self, text: str, room: int) -> str:
        """Shorten the text to ``room`` characters if it has more, and record that in ``shortened``."""
        shown = visible(text)
        if text_fitting.utf16_length(shown) <= room:
            return shown
        self.shortened = True
        return text_fitting.shorten(shown, room)

    def add_heading(self, text: str, room: int) -> None:
        """Add a text as a heading, or as paragraphs if it is long."""
        self.blocks += kit.heading_blocks(self.fit(text, room))

    def add_paragraphs(self, text: str, room: int) -> None:
        self.blocks += kit.sections(self.fit(text, room))

    def add_rich_text(self, fitted: FittedBlocks) -> None:
        self.blocks += rich_text(fitted.blocks)
        if more := fitted.more_label(self.labels):
            self.shortened, self.more = True, more

    def add_small_text(self, text: str, room: int) -> None:
        self.blocks.append(kit.small_text(self.fit(text, min(room, limits.CONTEXT_TEXT))))

    def add_asker_line(self, title: str, room: int) -> None:
        """Add a small line with who asks, who may answer, and until when."""
        self.add_small_text(title, room)
        self.append_to_small_text(people_text.audience(self.view, self.labels, self.names))

    def answerer_line(self) -> str:
        """Who answered and when, as mrkdwn; empty if that is obvious."""
        return attribution.answered_by_line(
            self.view, self.labels, people_text.attribution_format(self.names)
        )

    def append_to_small_text(self, text: str) -> None:
        """Append our own mrkdwn to the small text that was added last."""
        elements = self.blocks[-1]["elements"]
        if text and isinstance(elements, list):
            elements.append(kit.mrkdwn(text))

    def add_items(self, entries: Sequence[str], room: int) -> None:
        """Add texts below each other, separated by blank lines, in as few paragraphs as possible.

        Each text gets an equal share of the space; space that a short text does not need goes to the following ones.
        If there is not enough space for a few characters of each, the last ones are left out.
        """
        max_items = max(room // _MIN_ITEM_ROOM, 0)
        if len(entries) > max_items:
            self.shortened, entries = True, entries[:max_items]
        remaining, page = room, ""
        for index, text in enumerate(entries):
            share = max(remaining // (len(entries) - index) - 2, 1)
            item = self.fit(text, min(share, limits.SECTION_TEXT))
            remaining -= text_fitting.utf16_length(item) + 2
            joined = f"{page}\n\n{item}" if page else item
            if text_fitting.utf16_length(joined) > limits.SECTION_TEXT:
                self.blocks.append(kit.section(page))
                joined = item
            page = joined
        if page.strip():
            self.blocks.append(kit.section(page))

    @property
    def remaining_room(self) -> int:
        """The number of characters of text that may still be added."""
        return limits.BLOCKS_TEXT - kit.text_length(self.blocks)
