"""The style of a platform's live messages, and their sizes: all that a chat says to have its messages planned. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from answerback.core.labels import Labels
from answerback.core.view import Prompt, View
from answerback.presentation.attribution import AttributionFormat
from answerback.presentation.context_layout import RenderedContext
from answerback.presentation.text_blocks import BlockFitter, TextBlock

SENTENCE_BUDGET: Final = 300
"""Units of a sentence about people, without their names."""


class Markup(NamedTuple):
    """A platform's markup. Nothing in a text that it is given becomes markup."""

    people: AttributionFormat
    """The format of lines about people."""
    escape: Callable[[str], str]
    bold: Callable[[str], str]
    line: Callable[[str, int], tuple[str, bool]]
    """Shortens a text to one line of so many units; also returns whether anything was left out."""
    bold_line: Callable[[str, int], tuple[str, bool]]
    """Like `line`, in bold."""
    quiet_line: Callable[[str, int], tuple[str, bool]]
    """Like `line`, and less prominent."""
    quiet: Callable[[str], str]
    """Makes a line that is marked up already less prominent."""
    strong: Callable[[str], str]
    """Makes it more prominent."""


class ContextRenderer(Protocol):
    """Renders Markdown from an agent as a platform's markup."""

    def render_context(self, prompt: Prompt, most: int) -> RenderedContext:
        """Render the context of a question in at most ``most`` units."""

    def render_asides(self, view: View, labels: Labels, most: int) -> RenderedContext:
        """Render what was asked back and explained in at most ``most`` units."""


@dataclass(frozen=True)
class MessageStyle:
    """The style of a platform's live messages, and their sizes. Lengths are in units as the platform counts them."""

    markup: Markup
    fitter: BlockFitter
    context: ContextRenderer
    budget: int
    """Units for all texts of a message."""
    header: TextBlock
    """The style of the question's header, in front of its text."""
    question: TextBlock
    selected: TextBlock
    """The style of the names of options that are selected and not submitted yet."""
    prefill: TextBlock
    """The style of a text that is sent unless it is changed."""
    most_context: int | None = None
    """Units of a context; None: as many as there are."""
    most_asides: int = 1_200
    most_reply: int | None = None
    most_marked: int | None = None
    """Questions in a list of answers whose style is kept; None: any number."""
