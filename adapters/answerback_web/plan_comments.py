"""The comments of a person beside the lines of a plan, as one message that quotes the lines; pure."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from answerback.core.typed_text import is_blank

FIELD: Final = "comments"
"""The form's field that has all comments: a JSON list of `[position of the line, line, comment]`."""


class Comment(NamedTuple):
    line: str
    """The line that it is about, as the page shows it; empty if that is not known."""
    text: str


def comments_of(sent: str) -> tuple[Comment, ...]:
    """Return the comments in the form's field, in the plan's order. What cannot be read is itself kept as a comment."""
    if is_blank(sent):
        return ()
    try:
        read = [Comment(str(line), str(text)) for _, line, text in json.loads(sent)]
    except (TypeError, ValueError):
        return (Comment("", sent),)
    return tuple(each for each in read if not is_blank(each.text))


def with_comments(comments: tuple[Comment, ...], message: str) -> str:
    """Return one message: each comment below the line that it quotes, then what else was written."""
    parts = [part for each in comments for part in (_quote(each.line), each.text.strip()) if part]
    return "\n\n".join([*parts, *([] if is_blank(message) else [message])])


def _quote(line: str) -> str:
    lines = line.strip("\n").split("\n")
    return "\n".join(f"> {each}".rstrip() for each in lines) if line.strip() else ""
