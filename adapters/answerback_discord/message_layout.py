"""How texts share the space of one message."""

from __future__ import annotations

from typing import Final

from answerback.presentation.text_blocks import BlockFitter, TextBlock
from answerback.presentation.text_fitting import utf16_length
from answerback_discord.limits import MESSAGE_TEXT
from answerback_discord.markdown_text import shorten

TEXT_BUDGET: Final = MESSAGE_TEXT - 100
"""Units for all texts of a message, with some left for the marks around them."""
FITTER: Final = BlockFitter(
    lambda text, most, _: shorten(text, most),
    utf16_length,
    TextBlock("", "**{}**"),
    TextBlock("", "\n➜ {}"),
)
