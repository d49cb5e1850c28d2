"""The message that reminds responders of an open ask. Pure."""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.presentation import text_fitting, wording
from answerback_slack.blocks import Block, escape, escape_within, mrkdwn, section
from answerback_slack.mentions import is_id, mentions
from answerback_slack.render import Message

MAX_REMINDED: Final = 40
"""The most responders that a reminder mentions, so that it stays one message: Slack splits longer texts."""
_TEXT_ROOM: Final = 1_000
"""Units of a reminder's own text; names and the link have the rest of `limits.SECTION_TEXT`."""
_QUESTION_ROOM: Final = 300
"""Units of the question in a reminder."""


def build_reminder(ask: Ask, number: int, url: str | None, labels: Labels) -> Message:
    """Build a reminder: mentions, who is waiting, a link to the live message, and the question."""
    recipients, message = wording.reminder(ask, number, labels)
    view, text = view_of(ask), escape_within(message, _TEXT_ROOM)
    ids = [each for each in recipients if is_id(each)]
    link = [f"<{url}>"] if url else []
    with_mentions = " ".join([*mentions(ids, MAX_REMINDED), text, *link])
    first: Block = {"type": "section", "text": mrkdwn(with_mentions)}
    about = text_fitting.shorten(wording.subject(view, labels), _QUESTION_ROOM)
    return Message(f"{text}\n{escape(about)}", [first, section(about)])
