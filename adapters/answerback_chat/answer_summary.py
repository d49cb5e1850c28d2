"""What a message says of an ask, in words that no platform has marked up yet: answers, and what is prefilled.

Owns which of the answers so far stand above an open question. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from answerback.core.labels import Labels
from answerback.core.view import Line, Prompt, View, answer_lines
from answerback_chat import wording
from answerback_chat.sanitize import as_json, one_line
from answerback_chat.text_fitting import utf16_length

MAX_RECENT_ANSWERS: Final = 5
"""How many answers an open question is shown below: on a phone, more of them push it off the screen."""
MAX_RECENT_UNITS: Final = 800
"""Units that they may take together."""


class RecentAnswers(NamedTuple):
    """The newest answers, oldest first, each as a line."""

    lines: list[str]
    earlier: int
    """How many more there are."""


def answer_texts(line: Line, labels: Labels) -> list[str]:
    """An answer as people read it, with who gave it: where that was no person, and where several have answered."""
    if line.given is None:
        return [labels.not_answered]
    said = answer_lines(line.question, line.given, labels)
    by = line.by and labels.by.format(name=line.by.name or labels.somebody)
    about = wording.source_note(line.given.source, labels) or by
    return [*said[:-1], f"{said[-1]} ({about})"] if about else said


def recent_answers(view: View, line_of: Callable[[Line], str]) -> RecentAnswers:
    """The answers that stand above an open question: a few of the newest, as many as fit.

    Args:
        line_of: an answer as one line of the platform's.
    """
    kept: list[str] = []
    left = MAX_RECENT_UNITS
    for line in reversed(view.lines[-MAX_RECENT_ANSWERS:]):
        text = line_of(line)
        left -= utf16_length(text)
        if left < 0:
            break
        left -= 1
        kept.insert(0, text)
    return RecentAnswers(kept, len(view.lines) - len(kept))


def prefill_text(prompt: Prompt, labels: Labels) -> str:
    """What an entry will start from, where no control of the message shows it; empty: nothing."""
    value = prompt.prefill if prompt.words is None else prompt.words
    in_controls = prompt.question.options or isinstance(value, bool)
    if value is None or value == "" or (in_controls and prompt.words is None):
        return ""
    text = value if isinstance(value, str) else as_json(value)
    return labels.prefilled.format(text=one_line(text))
