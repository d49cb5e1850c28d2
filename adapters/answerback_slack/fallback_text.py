"""A view as one text: what notifications show and screen readers read, and what stands alone if blocks are refused."""

from __future__ import annotations

from typing import Final

from answerback.core.labels import Labels
from answerback.core.markdown import text_of
from answerback.core.view import View
from answerback_chat import messages, texts
from answerback_chat.context import drawn
from answerback_slack import choices, limits, lines
from answerback_slack.blocks import escape, escape_within

_HOLE: Final = "\0"
"""Where a person's name goes, which is a mention where we do not know it. An edited message notifies nobody."""


def fallback_text(view: View, labels: Labels) -> str:
    """The view as one text without blocks, with all that is needed to answer by typing; escaped, at most 4,000."""
    said = [messages.asks_line(view, labels)]
    prompt = view.prompt
    if prompt is not None:
        question = prompt.question
        about = text_of(drawn(prompt, limits.MESSAGE_TEXT).blocks)
        said += [question.header or "", question.text, about]
        said += choices.listed(question)
    else:
        if view.outcome is not None:
            said[0] += f": {messages.ended_by(view, labels, _HOLE)}"
        else:
            said.append(f"{labels.review_title}. {labels.review_text}")
        said += [lines.answered(line, labels) for line in view.lines]
        said.append(view.reply or "")
    by = view.outcome.ended_by if view.outcome else None
    name = lines.who(by) if by else ""
    most = limits.MESSAGE_TEXT - texts.units(name)
    shown = escape_within("\n".join(filter(str.strip, said)), most)
    return shown.replace(escape(_HOLE), name, 1)
