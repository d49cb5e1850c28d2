"""The sheet that a message is written on: blocks in order, what room is left, and whether anything was shortened.

Puts controls into buttons and menus (`answerback_chat.control_codec`) and counts; does not decide what is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from answerback.core.labels import Labels
from answerback.core.view import Prompt, View
from answerback_chat import attribution, text_fitting
from answerback_chat.control_codec import Control, Verb
from answerback_chat.question_context import fit_asides, fit_context
from answerback_chat.sanitize import visible
from answerback_slack import limits, record_text
from answerback_slack.blocks import (
    Block,
    actions_block,
    button,
    heading_blocks,
    mrkdwn,
    section,
    sections,
    small_text,
    text_length,
)
from answerback_slack.question_context import rich_text

_LEAST_ITEM: Final = 12
"""Units for one of many texts, with the blank line behind it: less of it tells nobody anything."""


class MessageBuilder:
    """Blocks of one message of one view, made in order.

    Args:
        names: the responders that are known by name or are to be mentioned, as mrkdwn by id.
        selected: what a multi-select starts from; None: what its question is pre-filled with.
    """

    def __init__(
        self,
        view: View,
        labels: Labels,
        names: Mapping[str, str] = record_text.NO_NAMES,
        selected: Sequence[int] | None = None,
    ) -> None:
        self.view = view
        self.selected = selected
        self.names = names
        self.labels = labels
        self.blocks: list[Block] = []
        self.shortened = False
        """Whether something does not stand there in full, so that "Show in full" is needed."""
        self.more = labels.details
        """What the button says that leads there."""

    def encode_control(self, verb: Verb, argument: str | int = "") -> str:
        """What a control of this view carries."""
        return Control(self.view.ask_id, self.view.revision, verb, str(argument)).encode()

    def control_button(
        self, label: str, verb: Verb, argument: str | int = "", *, primary: bool = False
    ) -> Block:
        """A button that does ``verb``."""
        name = f"{verb}.{argument}" if argument != "" else str(verb)
        return button(label, name, self.encode_control(verb, argument), primary=primary)

    def controls_row(self, name: str, elements: Sequence[Block]) -> Block:
        """A row of controls; its block_id is new on every revision, as Slack asks for."""
        return actions_block(f"{self.view.ask_id}:{self.view.revision}:{name}", elements)

    def fit(self, text: str, room: int) -> str:
        """The text, shortened to ``room`` characters if it has more; that is remembered."""
        shown = visible(text)
        if text_fitting.utf16_length(shown) <= room:
            return shown
        self.shortened = True
        return text_fitting.shorten(shown, room)

    def add_heading(self, text: str, room: int) -> None:
        """Adds a text as a heading, or as paragraphs where it is long."""
        self.blocks += heading_blocks(self.fit(text, room))

    def add_paragraphs(self, text: str, room: int) -> None:
        """Adds a text as paragraphs."""
        self.blocks += sections(self.fit(text, room))

    def add_context(self, prompt: Prompt, room: int) -> None:
        """Adds the context of a question."""
        found = fit_context(prompt, room)
        self.blocks += rich_text(found.blocks)
        if more := found.more_label(self.labels):
            self.shortened, self.more = True, more

    def add_asides(self, room: int) -> None:
        """Adds what was asked back about the question, and explained."""
        found = fit_asides(self.view, self.labels, room)
        self.blocks += rich_text(found.blocks)
        if more := found.more_label(self.labels):
            self.shortened, self.more = True, more

    def add_small_text(self, text: str, room: int) -> None:
        """Adds a small grey text."""
        self.blocks.append(small_text(self.fit(text, min(room, limits.CONTEXT_TEXT))))

    def add_asker_line(self, title: str, room: int) -> None:
        """Adds who asks and, in the same small line, who may answer and until when."""
        self.add_small_text(title, room)
        self.append_to_small_text(record_text.audience(self.view, self.labels, self.names))

    def answerer_line(self) -> str:
        """Who answered and when, as mrkdwn; empty where that goes without saying."""
        return attribution.answered_by_line(
            self.view, self.labels, record_text.attribution_format(self.names)
        )

    def append_to_small_text(self, said: str) -> None:
        """Adds mrkdwn of ours to the small text before it."""
        elements = self.blocks[-1]["elements"]
        if said and isinstance(elements, list):
            elements.append(mrkdwn(said))

    def add_items(self, entries: Sequence[str], room: int) -> None:
        """Adds texts one below the other, a blank line between them, in as few paragraphs as they take.

        Each gets its share of the room; what a short one leaves is the others'. The last ones are left out where there
        is no room for a few characters of each.
        """
        most = max(room // _LEAST_ITEM, 0)
        if len(entries) > most:
            self.shortened, entries = True, entries[:most]
        left, page = room, ""
        for place, text in enumerate(entries):
            share = max(left // (len(entries) - place) - 2, 1)
            item = self.fit(text, min(share, limits.SECTION_TEXT))
            left -= text_fitting.utf16_length(item) + 2
            joined = f"{page}\n\n{item}" if page else item
            if text_fitting.utf16_length(joined) > limits.SECTION_TEXT:
                self.blocks.append(section(page))
                joined = item
            page = joined
        if page.strip():
            self.blocks.append(section(page))

    @property
    def remaining_room(self) -> int:
        """How many characters of text may still be added."""
        return limits.BLOCKS_TEXT - text_length(self.blocks)
