"""Dialects whose tools differ from others only in the names of their fields and in their results: a row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from answerback.core.ask import Ask, ToolResult
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.dialects import choice_forms
from answerback.dialects.call_reader import ArgumentNode, form_of
from answerback.dialects.dialect import CallRule, Dialect, Json, Shape, Tool
from answerback.dialects.results import unless_failed

ONLY: Final = "answer"
"""The id of the question in a call that is one question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The names of a host's fields; the one question of a call may be in the call itself."""

    text: str = "question"
    options: str = "options"
    labels: tuple[str, ...] = ()
    """An option's fields: the one that comes back, and the one that people see; none if options are strings."""
    multiple: tuple[str, ...] = ()
    """The flags that allow several options, by any of their names."""
    key: str | None = None
    """The field with a question's id."""
    header: str | None = None
    context: str | None = None
    """The field of the call that all its questions have as context."""
    title: str | None = None
    """The field of the call that is a heading for all its questions."""
    default: str | None = None
    types: tuple[str, ...] = ()
    """The values of ``type``, where a question has one; the first is for free text."""
    free_text: str | None = None
    """The flag that says whether free text may stand in place of an option; None: it always may."""
    lists_options: bool = False
    """True if a question has to have a list of options, which may be empty."""

    def parse(self, call: ArgumentNode) -> Form | None:
        read = partial(self._question, ids=set(), context=self._context(call))
        if call.has("questions") or not call.has(self.text):
            return choice_forms.read_form(call, read)
        call.is_object()
        return form_of(call, read(call, ONLY))

    def _context(self, call: ArgumentNode) -> str | None:
        if self.title is not None:
            title = call.text(self.title, required=False, blank=True)
            return choice_forms.heading(title) if title and title.strip() else None
        if self.context is not None:
            return call.text(self.context, required=False, blank=True) or None
        return None

    def _question(
        self, node: ArgumentNode, fallback: str, *, ids: set[str], context: str | None
    ) -> Question | None:
        text = node.text(self.text)
        question_id = node.label(self.key) if self.key and node.has(self.key) else fallback
        choice_forms.require_unique(node, self.key or "", question_id, ids)
        options, multiple = self._options(node)
        other = self.free_text is None or node.flag(self.free_text, default=True)
        if not other and node.at(self.options).value == []:
            message = f"{node.name}.{self.options} is empty and {self.free_text} is false: no answer would be possible."
            node.fail("options_required", message, self.options)
        if text is None or question_id is None:
            return None
        header = choice_forms.read_header(node, self.header) if self.header else None
        question = choice_forms.choice_question(
            question_id, text, options, multiple, other=other, header=header, context=context
        )
        return self._with_default(node, question)

    def _options(self, node: ArgumentNode) -> tuple[tuple[Option, ...], AnswerType]:
        flags = [node.flag(name, default=False) for name in self.multiple]
        several, is_choice = any(flags), bool(self.types)
        if self.types:
            kind = node.choice("type", self.types)
            if kind is None or kind == self.types[0]:
                return (), AnswerType.TEXT
            several = kind == self.types[-1]
        options = choice_forms.read_options(
            node,
            self.options,
            self.labels,
            min_items=int(is_choice),
            required=is_choice or self.lists_options,
        )
        return options, AnswerType.MULTI_SELECT if several else AnswerType.SELECT

    def _with_default(self, node: ArgumentNode, question: Question) -> Question:
        sent = node.at(self.default).value if self.default is not None else None
        fits = isinstance(sent, str) and (not question.options or question.option(sent) is not None)
        return question.with_default(sent) if fits else question


def row_dialect(
    name: str,
    row: Row,
    render: Callable[[Ask], ToolResult],
    call: str,
    shape: Shape | None = None,
    priority: int = 100,
    *,
    order: int,
    is_async: Callable[[str, Json], bool] | None = None,
    accepted: Json | None = None,
    tool: Tool | None = None,
) -> Dialect:
    return Dialect(
        name=name,
        calls=(CallRule((call,), shape, priority, {row.options: row.labels}),),
        parse=row.parse,
        render=unless_failed(render),
        tool=tool,
        order=order,
        is_async=is_async,
        accepted=accepted,
    )
