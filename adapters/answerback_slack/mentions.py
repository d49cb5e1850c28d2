"""Responders as mentions, which notify people when a message is posted. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from answerback.presentation import text_fitting
from answerback_slack.blocks import escape
from answerback_slack.record_text import NAME_ROOM

_ID: Final = re.compile(r"(?:[UW]|@S)[A-Z0-9]{1,30}")


def is_id(responder: str) -> bool:
    """Whether this can be the id of a person on Slack, or ``@`` followed by the id of a user group."""
    return _ID.fullmatch(responder) is not None


def mention(responder: str) -> str:
    """A responder (a person, or a user group ``@S…``) as mrkdwn that notifies them.

    Ids come from the agent, so one that cannot be Slack's is shown as plain text.
    """
    if not is_id(responder):
        return escape(text_fitting.shorten(responder, NAME_ROOM))
    return f"<!subteam^{responder[1:]}>" if responder.startswith("@") else f"<@{responder}>"


def mentions(responders: Sequence[str], limit: int) -> list[str]:
    """The first ``limit`` responders, each as a `mention`, and an ellipsis if there are more."""
    return [*map(mention, responders[:limit]), *(["…"] if len(responders) > limit else [])]
