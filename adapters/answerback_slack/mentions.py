"""Responders as mentions, which notify people when a message is posted. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import Formatter
from typing import Final

from answerback.core.ask import Destination
from answerback.core.labels import Labels
from answerback.presentation import text_fitting, wording
from answerback.presentation.attribution import fill
from answerback_slack.blocks import Block, escape
from answerback_slack.people_text import NAME_ROOM

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


def moved_note(to: Destination, labels: Labels) -> tuple[str, Block]:
    """Say where an ask is now, as mrkdwn and as a block, with a link to its channel or person.

    The block is rich text, because nothing else may replace rich text.
    """
    where: Block = {"type": "text", "text": wording.surface_name(to.surface, labels)}
    link = escape(str(where["text"]))
    if to.surface == "slack" and to.user:
        link, where = mention(to.user), {"type": "user", "user_id": to.user}
    elif to.surface == "slack":
        link, where = place_mrkdwn(to), {"type": "channel", "channel_id": to.channel}
    parts: list[Block] = []
    for text, name, _, _ in Formatter().parse(labels.escalated):
        parts += [{"type": "text", "text": text}] if text else []
        parts += [] if name is None else [where]
    section: Block = {"type": "rich_text_section", "elements": parts}
    return fill(labels.escalated, escape, where=link), {"type": "rich_text", "elements": [section]}


def place_mrkdwn(place: Destination) -> str:
    """A channel as a link, as mrkdwn. People who are not in it see no more than that it is private."""
    return f"<#{escape(place.channel or '')}>"


def mentions(responders: Sequence[str], limit: int) -> list[str]:
    """The first ``limit`` responders, each as a `mention`, and an ellipsis if there are more."""
    return [*map(mention, responders[:limit]), *(["…"] if len(responders) > limit else [])]
