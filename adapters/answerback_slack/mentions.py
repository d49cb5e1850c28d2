"""Responders as mentions, which notify where a message is posted. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from answerback_chat import text_fitting
from answerback_slack.blocks import escape
from answerback_slack.record_text import NAME_ROOM

_ID: Final = re.compile(r"(?:[UW]|@S)[A-Z0-9]{1,30}")


def is_id(responder: str) -> bool:
    """Whether it may be the id of somebody on Slack, or ``@`` and that of a user group."""
    return _ID.fullmatch(responder) is not None


def mention(responder: str) -> str:
    """A responder as mrkdwn that notifies them: a person, or a user group (``@S…``).

    An id is what the agent says: one that can be none of Slack's is shown as the text that it is.
    """
    if not is_id(responder):
        return escape(text_fitting.shorten(responder, NAME_ROOM))
    return f"<!subteam^{responder[1:]}>" if responder.startswith("@") else f"<@{responder}>"


def mentions(responders: Sequence[str], most: int) -> list[str]:
    """The first ``most`` responders as `mention` has them, and an ellipsis where there are more."""
    return [*map(mention, responders[:most]), *(["…"] if len(responders) > most else [])]
