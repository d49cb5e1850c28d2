"""Format people, groups and times for Telegram's clients. Pure.

A name notifies a person only as a link to their account; so only a first post that is to notify its responders, and
reminders, have such links. Telegram shows no times in the reader's own zone, so times are in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from answerback.core.ask import ANYONE
from answerback.core.walker import Person
from answerback.presentation import attribution, text_fitting, wording
from answerback.presentation.attribution import AttributionFormat, utc_clock, utc_time
from answerback.presentation.message_style import SENTENCE_BUDGET, Markup
from answerback_telegram.html_text import escape, shorten_line
from answerback_telegram.parse import SURFACE

_NAME_BUDGET: Final = 100
MOST_NOTIFIED: Final = 40

Names = Mapping[str, str]
"""The known names of responders, by id."""


def person_name(who: Person) -> str:
    return shorten_line(wording.display_name(who), _NAME_BUDGET)[0]


def mention(user_id: str, name: str) -> str:
    """Return a person's name as a link that notifies them: https://core.telegram.org/bots/api#html-style"""
    shown = shorten_line(name, _NAME_BUDGET)[0].replace("<code>", "").replace("</code>", "")
    return f'<a href="tg://user?id={user_id}">{shown}</a>'


def mentions(responders: Sequence[str], names: Names) -> str:
    """Return the responders as links that notify them, as many as it makes sense to."""
    people = [who for who in responders if who != ANYONE and who.isdigit()][:MOST_NOTIFIED]
    return ", ".join(mention(who, names.get(who, who)) for who in people)


def marks(names: Names, *, notify: bool = False) -> AttributionFormat:
    """Return how lines about people are formatted in a message."""

    def responder(who: str) -> str | None:
        name = attribution.responder_name(SURFACE, who) or names.get(who)
        if name is None:
            return None
        is_mention = notify and who.isdigit()
        return mention(who, name) if is_mention else shorten_line(name, _NAME_BUDGET)[0]

    return AttributionFormat(_escape_line, responder, person_name, utc_time, utc_clock)


def _escape_line(text: str) -> str:
    return escape(text_fitting.shorten(text.replace("\n", " "), SENTENCE_BUDGET))


MARKS: Final = marks({})
"""The format of lines about people where no responder's name is known."""
MARKUP: Final = Markup(
    MARKS,
    escape,
    lambda text: escape(text, "b"),
    shorten_line,
    lambda text, most: shorten_line(text, most, "b"),
    lambda text, most: shorten_line(text, most, "i"),
    lambda line: line,
    lambda line: line,
)
"""Telegram's markup of the texts of a message there."""


def note_marks(names: Names) -> AttributionFormat:
    """Return how people are named in the answer to a click, which has no markup."""
    return AttributionFormat(
        lambda text: text,
        lambda who: attribution.responder_name(SURFACE, who) or names.get(who),
        wording.display_name,
        utc_time,
        utc_clock,
    )
