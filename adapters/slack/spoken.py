"""A view as one text: what notifications show and screen readers read, and what stands alone if blocks are refused."""

from __future__ import annotations

from typing import Final

from adapters import texts, words
from adapters.plain import visible
from adapters.slack import choices, limits, lines
from adapters.slack.blocks import escape
from bot.labels import Labels
from bot.view import View

_HOLE: Final = "\0"
"""Where a person's name goes, which is a mention where we do not know it. An edited message notifies nobody."""


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
            if view.outcome.ended_by is not None:
                said[0] += f" {labels.by.format(name=_HOLE)}"
        else:
            said.append(f"{labels.review_title}. {labels.review_text}")
        said += [lines.answered(line, labels) for line in view.lines]
        said.append(view.reply or "")
    by = view.outcome.ended_by if view.outcome else None
    name = lines.who(by) if by else ""
    most = limits.MESSAGE_TEXT - texts.units(name)
    return _escaped("\n".join(filter(str.strip, said)), most).replace(escape(_HOLE), name, 1)


def _escaped(text: str, most: int) -> str:
    """Escaped and within the limit; escaping lengthens, so what is kept is found by shortening further."""
    room = most
    made = escape(texts.shorten(visible(text), room))
    while (over := texts.units(made) - most) > 0:
        room -= max(over // 5, 1)
        made = escape(texts.shorten(visible(text), room))
    return made
