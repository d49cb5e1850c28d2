"""The message that reminds responders of an open ask. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback_chat import text_fitting, wording
from answerback_slack.blocks import Block, escape, escape_within, mrkdwn, section
from answerback_slack.mentions import is_id, mentions
from answerback_slack.render import Message

MAX_REMINDED: Final = 40
"""A reminder is one message however many may answer: Slack makes several of a longer text."""
_WORDS_ROOM: Final = 1_000
"""Units of a reminder's words: names and the link have the rest of `limits.SECTION_TEXT`."""
_QUESTION_ROOM: Final = 300
"""Units of the question in it."""


def build_reminder(
    view: View, responders: Sequence[str], url: str | None, labels: Labels
) -> Message:
    """Who is waited for and by whom, the way to the live message, and the question."""
    said = escape_within(labels.reminder.format(label=view.label), _WORDS_ROOM)
    pinged = [who for who in responders if is_id(who)]
    link = [f"<{url}>"] if url else []
    named = " ".join([*mentions(pinged, MAX_REMINDED), said, *link])
    first: Block = {"type": "section", "text": mrkdwn(named)}
    about = text_fitting.shorten(wording.reminder_subject(view, labels), _QUESTION_ROOM)
    return Message(f"{said}\n{escape(about)}", [first, section(about)])
