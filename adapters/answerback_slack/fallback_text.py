"""A view as one text: what notifications show and screen readers read, and what stands alone if blocks are refused."""

from __future__ import annotations

from collections.abc import Mapping
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
_FIRST_ROOM: Final = 1_500


def fallback_text(view: View, labels: Labels, names: Mapping[str, str] = lines.UNKNOWN) -> str:
    """The view as one text without blocks, with all that is needed to answer by typing; escaped, at most 4,000."""
    first = messages.asks_line(view, labels)
    said: list[str] = []
    prompt = view.prompt
    if prompt is not None:
        question = prompt.question
        about = text_of(drawn(prompt, limits.MESSAGE_TEXT).blocks)
        said += [question.header or "", question.text, about]
        said += choices.listed(question)
    else:
        if view.outcome is not None:
            first += f": {messages.ended_by(view, labels, _HOLE)}"
        else:
            said.append(f"{labels.review_title}. {labels.review_text}")
        said += [lines.answered(line, labels) for line in view.lines]
        said.append(view.reply or "")
    by = view.outcome.ended_by if view.outcome else None
    name = lines.who(by) if by else ""
    begun = escape_within(first, _FIRST_ROOM).replace(escape(_HOLE), name, 1)
    for_whom = lines.audience(view, labels, names)
    most = limits.MESSAGE_TEXT - texts.units(f"{begun}\n{for_whom}\n")
    rest = escape_within("\n".join(filter(str.strip, said)), most)
    return "\n".join(filter(None, (begun, for_whom, rest)))
