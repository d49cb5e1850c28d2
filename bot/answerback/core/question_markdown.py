"""The Markdown that models write into questions and labels, whose dialects have no place for it. Pure.

A question is a heading of its message: what is more than that is drawn above its context.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from answerback.core.form import Form, Question

_CACHED: Final = 128
"""Number of remembered texts: a question is shown again after every click. One of 20,000 characters takes 160 ms."""
MARKS: Final = re.compile(r"[*_`#|>]|^[ \t]*(?:[-+]|\d+[.)])[ \t]", re.MULTILINE)
"""The characters of which all Markdown except plain paragraphs has one. They are looked for first, so most questions
cost nothing."""
_BLANK_LINES: Final = re.compile(r"\n[ \t]*\n")
_EMPHASIS: Final = re.compile(
    r"(?<![\w*`\\])(?P<mark>\*\*|\*|`)(?=[^\s*`])(?P<text>(?:(?!(?P=mark))[^\n])*?(?<=[^\s*`\\]))(?P=mark)(?![\w*`])"
)
"""A phrase between marks that belong to no word, so that ``2*3*4`` and ``src/*.py`` stay as they are.

Underscores are letters of names.
"""
_STARRED: Final = re.compile(r"\w.*\w|\w")
"""The text that is taken for a phrase between single asterisks, which patterns of file names have too."""


class Divided(NamedTuple):
    """A question's text, divided."""

    lead: str
    """The text above the question, as Markdown; may be empty."""
    asked: str
    """The question itself, as plain text."""


def without_marks(text: str) -> str:
    """Return a line without its marks of emphasis and code."""
    return _EMPHASIS.sub(_unmarked, text) if MARKS.search(text) else text


def _unmarked(found: re.Match[str]) -> str:
    if found["mark"] == "*" and not _STARRED.fullmatch(found["text"]):
        return found[0]
    return found["text"] if found["mark"] == "`" else without_marks(found["text"])


def is_markdown(form: Form, question: Question) -> bool:
    """Return True if a question may hold Markdown: permission prompts and plain text stay as they were sent."""
    return form.context_format == "markdown" and question.tool is None and not question.is_approval


def asked_text(form: Form, question: Question) -> str:
    """Return the question itself as plain text."""
    return divide(question.text).asked if is_markdown(form, question) else question.text


@lru_cache(maxsize=_CACHED)
def divide(text: str) -> Divided:
    """Divide a question's text: its last paragraph is the question, or else its first one, which is then repeated."""
    if not MARKS.search(text):
        return Divided("", text)
    # Commands that show nothing need not load the parser, which takes 5 MB and 40 modules.
    from answerback.core import markdown

    blocks = markdown.parse(text)
    if all(isinstance(each, markdown.Paragraph) for each in blocks):
        return Divided("", without_marks(text))
    *before, last = _BLANK_LINES.split(text.strip())
    if before and [*map(type, markdown.parse(last))] == [markdown.Paragraph]:
        return Divided("\n\n".join(before), without_marks(last))
    spans = [
        each.spans for each in blocks if isinstance(each, markdown.Paragraph | markdown.Heading)
    ]
    asked = without_marks(markdown.spans_to_text(spans[0])) if spans else ""
    return Divided(text, asked) if asked.strip() else Divided("", text)
