"""The texts of a live message and of notes about an ask, for chats that show all of it as one marked up text. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from answerback.core.errors import Problem
from answerback.core.labels import Labels
from answerback.core.view import Line, View, view_of
from answerback.ports.surface import Rejected
from answerback.presentation import answer_summary, attribution, durations, wording
from answerback.presentation.attribution import AttributionFormat
from answerback.presentation.sanitize import one_line
from answerback.presentation.text_fitting import fits_line

LABEL_BUDGET: Final = 200
SENTENCE_BUDGET: Final = 300
"""Units of a sentence about people, without their names."""
ASIDES_BUDGET: Final = 1_200
"""Units for what was asked back and explained."""
QUESTION_IN_LINE: Final = 120
ANSWER_IN_LINE: Final = 200
QUESTION_BUDGET: Final = 200
"""Units of the question in a note about it."""
MAX_PROBLEMS: Final = 10


class Markup(NamedTuple):
    """How a platform marks up text. Nothing in a text that it is given becomes markup."""

    people: AttributionFormat
    """How lines about people are formatted."""
    escape: Callable[[str], str]
    bold: Callable[[str], str]
    line: Callable[[str, int], tuple[str, bool]]
    """Shortens a text to one line of so many units; also returns whether anything was left out."""
    bold_line: Callable[[str, int], tuple[str, bool]]
    """Like `line`, in bold."""
    quiet_line: Callable[[str, int], tuple[str, bool]]
    """Like `line`, and less prominent."""
    quiet: Callable[[str], str]
    """Makes a line that is marked up already less prominent."""
    strong: Callable[[str], str]
    """Makes it more prominent."""


def asks_line(view: View, labels: Labels, markup: Markup) -> tuple[str, bool]:
    """Who asks; also returns whether anything was shortened."""
    return markup.quiet_line(wording.asks_line(view, labels), LABEL_BUDGET)


def heading(view: View, labels: Labels, markup: Markup) -> tuple[str, bool]:
    """Who asks, and below it who may answer until when; also returns whether anything was shortened."""
    asks, short = asks_line(view, labels, markup)
    audience = attribution.audience_line(view.responders, view.closes_at, labels, markup.people)
    return _lines(asks, audience and markup.quiet(audience)), short


def summary_heading(view: View, labels: Labels, markup: Markup) -> str:
    """What is summed up, to be submitted or confirmed, and who answered."""
    title, text = wording.summary_title(view, labels), wording.summary_text(view, labels)
    return _lines(markup.bold(title), markup.escape(text), answered_by(view, labels, markup))


def record_heading(view: View, labels: Labels, markup: Markup) -> tuple[str, bool]:
    """Who asked, how it ended, and who answered; also returns whether anything was shortened."""
    if view.outcome is None:
        raise AssertionError("an open ask has no record")
    asks, asks_short = asks_line(view, labels, markup)
    ending = markup.strong(wording.ending_with_person(view, labels, markup.people))
    at, waited = markup.people.time(view.outcome.at), markup.escape(durations.waited(view, labels))
    lines = _lines(asks, f"{ending} · {at} · {waited}", answered_by(view, labels, markup))
    return lines, asks_short or not fits_line(wording.ending(view, labels), SENTENCE_BUDGET)


def answered_by(view: View, labels: Labels, markup: Markup) -> str:
    """Who answered and when; empty if that is obvious."""
    line = attribution.answered_by_line(view, labels, markup.people)
    return line and markup.quiet(line)


def answers_so_far(view: View, labels: Labels, markup: Markup) -> tuple[str, bool]:
    """The newest answers, one per line; also returns whether any was shortened or left out."""
    if not view.lines:
        return "", False
    short = False

    def line_of(line: Line) -> str:
        nonlocal short
        question, cut_question = markup.line(line.text, QUESTION_IN_LINE)
        full_answer = " · ".join(map(one_line, answer_summary.answer_texts(line, labels)))
        answer, cut_answer = markup.bold_line(full_answer, ANSWER_IN_LINE)
        short = short or cut_question or cut_answer
        return markup.quiet(f"{question} → {answer or '—'}")

    lines, earlier = answer_summary.recent_answers(view, line_of)
    counted = labels.answered_earlier.format(count=earlier) if earlier else ""
    above = [markup.quiet_line(text, LABEL_BUDGET)[0] for text in (labels.answered_so_far, counted)]
    return _lines(*above, *lines, answered_by(view, labels, markup)), short or earlier > 0


def about_rejected(why: Rejected, sentence: str, link: str, markup: Markup) -> str:
    """Return why a typed message was not accepted, below the question and with a link to it."""
    view = view_of(why.ask) if why.ask else None
    about = view and (view.prompt or next(reversed(view.lines), None))
    asked = about and about.question
    named = markup.bold_line(asked.text, QUESTION_BUDGET)[0] if asked else ""
    return _lines(named, f"{sentence}{link}")


def problems_text(problems: Sequence[Problem], labels: Labels, markup: Markup) -> str:
    """Return what is wrong with an entry."""
    lines = [markup.escape(f"• {problem.message}") for problem in problems[:MAX_PROBLEMS]]
    return _lines(markup.bold(labels.please_fix), *lines)


def _lines(*lines: str | None) -> str:
    return "\n".join(filter(None, lines))
