"""The texts of notes about an ask, for chats that mark up all of a message as one text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.errors import Problem
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.surface import Rejected
from answerback.presentation.message_plan import joined
from answerback.presentation.message_style import Markup

QUESTION_BUDGET: Final = 200
"""Units of the question in a note about it."""
MAX_PROBLEMS: Final = 10


def about_rejected(why: Rejected, sentence: str, link: str, markup: Markup) -> str:
    """Return why a typed message was not accepted, below the question and with a link to it."""
    view = view_of(why.ask) if why.ask else None
    about = view and (view.prompt or next(reversed(view.lines), None))
    asked = about and about.question
    named = markup.bold_line(asked.text, QUESTION_BUDGET)[0] if asked else ""
    return joined((named, f"{sentence}{link}"))


def problems_text(problems: Sequence[Problem], labels: Labels, markup: Markup) -> str:
    """Return what is wrong with an entry."""
    lines = [markup.escape(f"• {problem.message}") for problem in problems[:MAX_PROBLEMS]]
    return joined((markup.bold(labels.please_fix), *lines))
