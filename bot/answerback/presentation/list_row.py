"""The line below an ask's headline in a list: what else tells this ask from others. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Question
from answerback.core.markdown import Code, blocks_to_text
from answerback.core.schema_fields import fields_from_schema
from answerback.core.view import Prompt, View
from answerback.presentation.context_blocks import first_context_blocks
from answerback_base.sanitize import one_line, visible

_BETWEEN: Final = " · "
_LONE_NUMBER: Final = re.compile(r"^(\d+\.)\n", re.MULTILINE)
"""The number of a list's item, which stands on a line of its own."""


def row_detail(ask: Ask, view: View) -> str:
    """Return what the open question is about, beside its text; empty if there is nothing more to say.

    That is the context of an approval, without what its headline says; of another question what can be answered.
    """
    if view.prompt is None:
        return ""
    question = view.prompt.question
    choices = [] if ask.form.decided_by_hand else list(_choices(question))
    return _BETWEEN.join(choices or _context_lines(view.prompt))


def _choices(question: Question) -> Iterator[str]:
    yield from (one_line(option.label) for option in question.options)
    if question.answer_type is AnswerType.SCHEMA:
        fields = fields_from_schema(question.json_schema) or ()
        yield from (one_line(field.title) for field in fields)


def _context_lines(prompt: Prompt) -> list[str]:
    source = prompt.question.context or ""
    text = visible(source)
    if prompt.context_format == "markdown":
        blocks, _ = first_context_blocks(source)
        # The language of a block says nothing about what is in it.
        text = blocks_to_text(b._replace(info="") if isinstance(b, Code) else b for b in blocks)
    headline = one_line(prompt.question.text)
    lines = (one_line(line) for line in _LONE_NUMBER.sub(r"\1 ", text).splitlines())
    details = (line for line in lines if any(map(str.isalnum, line)) and not line.endswith(":"))
    return list(dict.fromkeys(line for line in details if line not in headline))
