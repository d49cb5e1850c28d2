"""What a person's Home tab shows: what waits for them, oldest first, and what they answered last. Pure.

https://docs.slack.dev/surfaces/app-home
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback_chat import text_fitting, wording
from answerback_chat.control_codec import Control, Verb
from answerback_chat.sanitize import one_line, visible
from answerback_slack import limits, record_text
from answerback_slack.blocks import (
    Block,
    actions_block,
    button,
    date_mrkdwn,
    escape,
    link_button,
    mrkdwn,
    plain_text,
    section,
)

PAGE_SIZE: Final = 30
"""Asks on a page: with two blocks each, well within the hundred that a view holds."""
RECENT_SIZE: Final = 5
"""How many of the asks that a person answered last are shown."""
NEXT_ACTION: Final = "home.next"
PREVIOUS_ACTION: Final = "home.previous"
NOT_ENABLED_CODE: Final = "not_enabled"
"""The error of an app whose Home tab is off: https://docs.slack.dev/reference/methods/views.publish"""
_OPEN: Final = "home.open"
_QUESTION_ROOM: Final = 300
_WHO_ROOM: Final = 200


def build_home_view(
    waiting: Sequence[Ask],
    recent: Sequence[Ask],
    labels: Labels,
    *,
    first: bool = True,
    following: str | None = None,
) -> Block:
    """The view of a page.

    Args:
        waiting: what stands on this page.
        first: whether it is the first page.
        following: the cursor of the next page; None: this is the last one.
    """
    blocks = [_heading(labels.inbox_title)]
    for ask in waiting:
        blocks += _waiting(ask, labels)
    if not waiting:
        blocks.append(section(labels.inbox_empty))
    turns = [] if first else [button(labels.previous, PREVIOUS_ACTION, PREVIOUS_ACTION)]
    turns += [button(labels.next, NEXT_ACTION, following)] if following else []
    blocks += [actions_block("home.turn", turns)] if turns else []
    if recent:
        blocks += [{"type": "divider"}, _heading(labels.recently_answered)]
    for ask in recent:
        blocks += _answered(ask, labels)
    return {"type": "home", "callback_id": "home", "blocks": blocks}


def _heading(text: str) -> Block:
    return {"type": "header", "text": plain_text(text, limits.HEADER_TEXT)}


def _waiting(ask: Ask, labels: Labels) -> list[Block]:
    view = view_of(ask)
    asked = view.prompt.question.text if view.prompt else labels.review_title
    times = [escape(labels.waits_since).format(time=date_mrkdwn(ask.created_at))]
    if ask.expires_at is not None:
        times.append(escape(labels.closes).format(time=date_mrkdwn(ask.expires_at)))
    who = plain_text(one_line(wording.asks_line(view, labels, briefly=True)), _WHO_ROOM)
    return [_entry(ask, view, asked, labels), _small(who, mrkdwn(" · ".join(times)))]


def _answered(ask: Ask, labels: Labels) -> list[Block]:
    view = view_of(ask)
    asked = view.lines[0].question.text if view.lines else labels.not_answered
    who = plain_text(one_line(wording.who_asks(view, labels)), _WHO_ROOM)
    return [
        _entry(ask, view, asked, labels),
        _small(who, mrkdwn(record_text.ending_mrkdwn(view, labels))),
    ]


def _entry(ask: Ask, view: View, asked: str, labels: Labels) -> Block:
    """What is asked, and the way to its message; where Slack told no address, everything is shown in place."""
    shown = text_fitting.shorten(visible(asked), _QUESTION_ROOM)
    url = ask.thread.url if ask.thread else None
    if url:
        return section(shown, link_button(labels.open_message, f"{_OPEN}.{ask.id}", url, asked))
    control = Control(view.ask_id, view.revision, Verb.SHOW_IN_FULL).encode()
    return section(shown, button(labels.details, str(Verb.SHOW_IN_FULL), control))


def _small(*elements: Block) -> Block:
    return {"type": "context", "elements": [*elements]}
