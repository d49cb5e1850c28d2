"""Answers, people, places and endings, formatted for people on Slack. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Formatter
from types import MappingProxyType
from typing import Final

from answerback.core.ask import Destination, Status
from answerback.core.labels import Labels
from answerback.core.view import Line, View
from answerback.core.walker import Person
from answerback.presentation import answer_summary, attribution, durations, text_fitting, wording
from answerback.presentation.attribution import AttributionFormat, fill
from answerback.presentation.message_style import SENTENCE_BUDGET, Markup
from answerback_base.sanitize import visible
from answerback_chat.control_codec import object_of
from answerback_slack.blocks import Block, clock_mrkdwn, date_mrkdwn, escape, escape_within

NAME_ROOM: Final = 160
_ID: Final = re.compile(r"(?:[UW]|@S)[A-Z0-9]{1,30}")
NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})
"""The names where no responder's name is known."""
_MARKS: Final = {
    Status.ANSWERED: "✓", Status.CANCELLED: "✎", Status.TURN_ENDED: "■", Status.EXPIRED: "⌛",
    Status.WITHDRAWN: "↩", Status.FAILED: "⚠",
}  # fmt: skip


def ending_mrkdwn(view: View, labels: Labels) -> str:
    """Return a line that says how the ask ended and by whom, as mrkdwn that fits a context block."""
    if view.outcome is None:
        raise AssertionError("only an ended ask has an ending")
    how = wording.ending_with_person(view, labels, attribution_format(NO_NAMES))
    waited = escape(durations.waited(view, labels))
    return marked_ending(view, labels, f"{how} · {date_mrkdwn(view.outcome.at)}", waited)


def marked_ending(view: View, labels: Labels, how: str, waited: str) -> str:
    """Return how the ask ended, with a mark for that and whose the answers are.

    Args:
        how: by whom and when, as mrkdwn.
        waited: after how long.
    """
    if view.outcome is None:
        raise AssertionError("only an ended ask has an ending")
    status, source = wording.ending_status(view), view.outcome.source
    note = wording.source_note(source, labels) if source else None
    about = f" ({escape(note)})" if note and status is view.outcome.status else ""
    return f"{_MARKS[status or view.outcome.status]} {how}{about} · {waited}"


def person_mrkdwn(person: Person) -> str:
    """A person as mrkdwn: their recorded name, or a mention if they are on Slack and have none."""
    if person.name is None and person.surface == "slack":
        return f"<@{person.user_id}>"
    return escape(text_fitting.shorten(wording.display_name(person), NAME_ROOM))


def _escape_sentence(text: str) -> str:
    return escape_within(text, SENTENCE_BUDGET)


def shown_name(user: Mapping[str, object]) -> str:
    """Return the name under which Slack shows a user: https://docs.slack.dev/reference/objects/user-object"""
    profile = object_of(user.get("profile"))
    return str(profile.get("display_name") or profile.get("real_name") or user.get("name") or "")


def attribution_format(names: Mapping[str, str]) -> AttributionFormat:
    """The mrkdwn format of lines about people.

    Args:
        names: the names or mentions of responders, by id.
    """

    def responder(who: str) -> str | None:
        name = attribution.responder_name("slack", who)
        return names.get(who) if name is None else escape(text_fitting.shorten(name, NAME_ROOM))

    return AttributionFormat(_escape_sentence, responder, person_mrkdwn, date_mrkdwn, clock_mrkdwn)


def shorten(text: str, most: int, _style: str = "") -> tuple[str, bool]:
    """Make a text visible in at most ``most`` units; return it, and whether anything was left out."""
    shown = visible(text)
    # A character has at most two units.
    kept = shown if 2 * len(shown) <= most else text_fitting.shorten(shown, most)
    return kept, kept is not shown


def _shorten_line(text: str, most: int) -> tuple[str, bool]:
    return shorten(text.replace("\n", " "), most)


MARKUP: Final = Markup(
    attribution_format(NO_NAMES),
    visible,
    visible,
    _shorten_line,
    _shorten_line,
    _shorten_line,
    lambda line: line,
    lambda line: line,
)
"""Slack's markup of the texts of a message: lines about people as mrkdwn, anything else as plain text in blocks."""


def audience(view: View, labels: Labels, names: Mapping[str, str]) -> str:
    """Return who may answer and until when, as mrkdwn; see `attribution_format`."""
    return attribution.audience_line(
        view.responders, view.closes_at, labels, attribution_format(names), view.handed_over
    )


def question_and_answer(line: Line, labels: Labels) -> str:
    """A question with its answer below it; not escaped yet."""
    texts = (line.text, *answer_summary.answer_texts(line, labels))
    return "\n➜ ".join(map(visible, texts))


# --- responders, who are notified by a mention in a new message ----------------------------------


def is_id(responder: str) -> bool:
    """Return True if this can be the id of a person on Slack, or ``@`` followed by the id of a user group."""
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
