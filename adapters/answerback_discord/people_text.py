"""Format people, roles and times for Discord's clients. Pure.

A mention notifies only those whom `allowed_mentions` permits:
https://docs.discord.com/developers/resources/message#allowed-mentions-object
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import ANYONE
from answerback.core.walker import Person
from answerback.presentation import attribution, text_fitting, wording
from answerback.presentation.attribution import AttributionFormat
from answerback.presentation.message_style import SENTENCE_BUDGET, Markup
from answerback_base.sanitize import visible
from answerback_discord.components import Json
from answerback_discord.markdown_text import escape, shorten_line
from answerback_discord.parse import SURFACE, is_id

_NAME_BUDGET: Final = 160
MOST_NOTIFIED: Final = 40


def mention(who: str) -> str:
    """Format a responder as markdown: a user's id, or ``@`` followed by a role's id."""
    return responder_mention(who) or escape(who)


def responder_mention(who: str) -> str | None:
    """Format a user's id, or ``@`` followed by a role's id, as a mention; None if it cannot be a Discord id."""
    number = who.removeprefix("@")
    if not is_id(number):
        return None
    return f"<@&{number}>" if who.startswith("@") else f"<@{number}>"


def person_name(who: Person) -> str:
    """Return the name of the person who acted, or a mention if it is not known."""
    if who.name is None and who.surface == SURFACE:
        return mention(who.user_id)
    return shorten_line(wording.display_name(who), _NAME_BUDGET)[0]


def timestamp(at: float) -> str:
    """Format a time that each reader sees in their own time zone: https://docs.discord.com/developers/reference#message-formatting"""
    return f"<t:{int(at)}:f>"


def clock(at: float) -> str:
    """Format a time of day that each reader sees in their own time zone."""
    return f"<t:{int(at)}:t>"


def allowed_mentions(responders: Sequence[str]) -> Json:
    """Return `allowed_mentions` that notify the responders, as many as Discord allows."""
    listed = [who for who in responders if who != ANYONE][:MOST_NOTIFIED]
    users: list[JsonValue] = [who for who in listed if is_id(who)]
    roles: list[JsonValue] = [who[1:] for who in listed if who.startswith("@") and is_id(who[1:])]
    return {"parse": [], "users": users, "roles": roles}


def _responder_name(who: str) -> str | None:
    name = attribution.responder_name(SURFACE, who)
    return responder_mention(who) if name is None else shorten_line(name, _NAME_BUDGET)[0]


def _person_mention(who: Person) -> str:
    return mention(who.user_id) if who.surface == SURFACE else person_name(who)


def _escape_line(text: str) -> str:
    return escape(text_fitting.shorten(visible(text).replace("\n", " "), SENTENCE_BUDGET))


MARKS: Final = AttributionFormat(_escape_line, _responder_name, person_name, timestamp, clock)
"""Discord's format of lines about people in a message that everyone sees."""
NOTE_MARKS: Final = AttributionFormat(escape, mention, _person_mention, timestamp, clock)
"""Its format of lines about people in a private note, where a mention notifies nobody else."""


def _bold_line(text: str, most: int) -> tuple[str, bool]:
    line, short = shorten_line(text, most)
    return f"**{line}**" if line else "", short


def _quiet_line(text: str, most: int) -> tuple[str, bool]:
    line, short = shorten_line(text, most)
    return f"-# {line}" if line else "", short


MARKUP: Final = Markup(
    MARKS,
    escape,
    lambda text: f"**{escape(text)}**",
    shorten_line,
    _bold_line,
    _quiet_line,
    lambda line: f"-# {line}",
    lambda line: f"**{line}**",
)
"""Discord's markup of the texts of a message."""
