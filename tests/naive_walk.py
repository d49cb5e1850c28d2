"""A naive walker to compare the real one with: it keeps the answers in a list and looks at everything afresh.

Written from the rules in words, not from the code: one list of answers in the order of the form,
and a function that says what is asked next.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from pydantic import JsonValue

from bot.form import Form, Question


def canonical(value: JsonValue) -> str:
    """A value as text that is equal for equal JSON values and differs for values of another type."""

    def plain(node: JsonValue) -> JsonValue:
        if isinstance(node, bool) or node is None or isinstance(node, str):
            return node
        if isinstance(node, (int, float)):
            return f"number {float(node)!r}"
        if isinstance(node, list):
            return [plain(item) for item in node]
        return {key: plain(item) for key, item in sorted(node.items())}

    return json.dumps([plain(value), isinstance(value, str)])


@dataclass
class NaiveWalk:
    """What a form's walk must look like after some actions."""

    form: Form
    given: dict[str, JsonValue] = field(default_factory=dict)
    prefill: JsonValue = None
    ended: str | None = None
    reply: str | None = None

    def __post_init__(self) -> None:
        self.prefill = self._default()

    def asked(self) -> list[Question]:
        """The questions that are to be asked, as far as the answers tell: the last may be unanswered."""
        asked = []
        known: dict[str, JsonValue] = {}
        for question in self.form.questions:
            when = question.when
            if when is not None and canonical(known.get(when.question_id)) != canonical(
                when.equals
            ):
                continue
            asked.append(question)
            if question.id not in self.given:
                break
            known[question.id] = self.given[question.id]
        return asked

    def current(self) -> Question | None:
        """The question that is open, or None when all are answered."""
        asked = self.asked()
        if self.ended or not asked or asked[-1].id in self.given:
            return None
        return asked[-1]

    def phase(self) -> str:
        """Where the walk is, in the walker's words."""
        if self.ended:
            return self.ended
        if self.current() is not None:
            return "question"
        return "review" if self.form.review and len(self.form.questions) > 1 else "answered"

    def before(self) -> list[str]:
        """Ids of the answered questions that come before what is open."""
        current = self.current()
        order = [q.id for q in self.form.questions]
        place = len(order) if current is None else order.index(current.id)
        return [i for i in order[:place] if i in self.given]

    def answer(self, value: JsonValue) -> None:
        """The open question is answered."""
        current = self.current()
        assert current is not None
        self.given[current.id] = value
        still = {q.id for q in self.asked()} | self._after_open()
        self.given = {i: v for i, v in self.given.items() if i in still}
        self.prefill = self._default()

    def back(self) -> bool:
        """Back to the last answered question; False where there is none."""
        before = self.before()
        if not before:
            return False
        return self._open_again(before[-1], keep=before[:-1])

    def edit(self, question_id: str) -> bool:
        """In review: one answer is opened again, and those that hang on it are dropped."""
        if self.phase() != "review" or question_id not in self.given:
            return False
        dropped = {question_id}
        for question in self.form.questions:
            if question.when and question.when.question_id in dropped:
                dropped.add(question.id)
        return self._open_again(question_id, keep=[i for i in self.given if i not in dropped])

    def end(self, how: str, reply: str | None = None) -> None:
        """The walk is over."""
        self.ended, self.reply, self.prefill = how, reply, None

    def _open_again(self, question_id: str, keep: list[str]) -> bool:
        old = self.given[question_id]
        self.given = {i: v for i, v in self.given.items() if i in keep}
        self.prefill = old
        return True

    def _default(self) -> JsonValue:
        current = self.current()
        return current.default if current else None

    def _after_open(self) -> set[str]:
        """Answers behind the open question: kept while an edit is walked again."""
        current = self.current()
        order = [q.id for q in self.form.questions]
        return set(order[order.index(current.id) :]) if current else set()
