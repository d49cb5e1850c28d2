"""A view as one text: what notifications show and screen readers read, and what stands alone if blocks are refused."""

from __future__ import annotations

from adapters import texts, words
from adapters.plain import visible
from adapters.slack import choices, limits, lines
from adapters.slack.blocks import escape
from bot.labels import Labels
from bot.view import View


def spoken(view: View, labels: Labels) -> str:
    """The view as one text without blocks, with all that is needed to answer by typing; escaped, at most 4,000."""
    said = [words.asks_line(view, labels)]
    prompt = view.prompt
    if prompt is not None:
        question = prompt.question
        said += [question.header or "", question.text, question.context or ""]
        said += choices.listed(question)
    else:
        if view.outcome is not None:
            said[0] += f": {words.ending(view, labels)}"
            by = view.outcome.ended_by
            said[0] += f" {labels.by.format(name=words.name_of(by))}" if by else ""
        else:
            said.append(f"{labels.review_title}. {labels.review_text}")
        said += [lines.answered(line, labels) for line in view.lines]
        said.append(view.reply or "")
    return _escaped("\n".join(each for each in said if each.strip()))


def _escaped(text: str) -> str:
    """Escaped and within the limit; escaping lengthens, so what is kept is found by shortening further."""
    room = limits.MESSAGE_TEXT
    made = escape(texts.shorten(visible(text), room))
    while (over := texts.units(made) - limits.MESSAGE_TEXT) > 0:
        room -= max(over // 5, 1)
        made = escape(texts.shorten(visible(text), room))
    return made
