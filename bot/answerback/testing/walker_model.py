"""A naive walker to compare the real one with: it keeps the answers in a dict and recomputes everything.

Written from the specification, not from the code: whether a question is asked is computed
recursively, and in a form with a review every answer ever given is remembered.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from pydantic import JsonValue

from answerback.core.form import Form, Question


def canonical(value: JsonValue) -> str:
    """Return a text that is equal for equal JSON values and differs between types."""

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
    """The expected state of a form's walk after some actions."""

    form: Form
    given: dict[str, JsonValue] = field(default_factory=dict)
    ever: dict[str, JsonValue] = field(default_factory=dict)
    """With a review: the last answer to each question, including those that are skipped now."""
    looking_at: str | None = None
    """The question that Back or Edit moved to, or the next one after it that is shown again."""
    review: tuple[dict[str, JsonValue], dict[str, JsonValue]] | None = None
    """During an Edit: the answers and remembered answers at the review in which it began."""
    prefill: JsonValue = None
    ended: str | None = None
    reply: str | None = None

    def __post_init__(self) -> None:
        self.prefill = self._initial_value()

    @property
    def reviewed(self) -> bool:
        """Whether the form ends in a review."""
        return self.form.review and len(self.form.questions) > 1

    def is_asked(self, question: Question) -> bool | None:
        """Whether a question is to be asked; None if the answers do not determine it yet."""
        if question.when is None:
            return True
        parent = next(q for q in self.form.questions if q.id == question.when.question_id)
        asked = self.is_asked(parent)
        if asked is None or (asked and parent.id not in self.given):
            return None
        value = self.given[parent.id] if asked else None
        return canonical(value) == canonical(question.when.equals)

    def current(self) -> Question | None:
        """Return the open question, or None if all are answered."""
        if self.ended:
            return None
        for question in self.form.questions:
            if question.id == self.looking_at:
                return question
            if self.is_asked(question) and question.id not in self.given:
                return question
        return None

    def phase(self) -> str:
        """Return the walk's phase, as the walker names it."""
        if self.ended:
            return self.ended
        if self.current() is not None:
            return "question"
        return "review" if self.reviewed else "answered"

    def before(self) -> list[str]:
        """Return the ids of the answered questions before the open one."""
        current = self.current()
        order = [q.id for q in self.form.questions]
        place = len(order) if current is None else order.index(current.id)
        return [i for i in order[:place] if i in self.given]

    def can_go_back(self) -> bool:
        """Whether Back is possible."""
        is_open = self.phase() in {"question", "review"}
        return is_open and (self.review is not None or bool(self.before()))

    def answer(self, value: JsonValue) -> None:
        """Answer the open question."""
        current = self.current()
        assert current is not None
        self.given[current.id] = value
        if self.reviewed:
            self.ever[current.id] = value
        skipped = {q.id for q in self.form.questions if self.is_asked(q) is False}
        self.given = {i: v for i, v in self.given.items() if i not in skipped}
        if self.looking_at is not None:
            self.looking_at = None if self.review else self._next_after(current)
        if self.phase() == "review":
            self.review = None
        self.prefill = self._initial_value()

    def back(self) -> bool:
        """Return to the last answered question, or leave an Edit; False if neither is possible."""
        before = self.before()
        if self.review is not None:
            (self.given, self.ever), self.review, self.looking_at = self.review, None, None
        elif not before:
            return False
        elif self.reviewed:
            self.looking_at = before[-1]
        else:
            self.prefill = self.given[before[-1]]
            self.given = {i: self.given[i] for i in before[:-1]}
            return True
        self.prefill = self._initial_value()
        return True

    def edit(self, question_id: str) -> bool:
        """In review: open one answer again; it is kept until a new one is given."""
        if self.phase() != "review" or question_id not in self.given:
            return False
        self.review = (dict(self.given), dict(self.ever))
        self.looking_at = question_id
        self.prefill = self._initial_value()
        return True

    def end(self, how: str, reply: str | None = None) -> None:
        """End the walk."""
        self.ended, self.reply, self.prefill = how, reply, None

    def _initial_value(self) -> JsonValue:
        """Return the prompt's prefill: the last answer to the question, else its default."""
        current = self.current()
        if current is None:
            return None
        return self.ever.get(current.id, current.default)

    def _next_after(self, question: Question) -> str | None:
        """Return the next question to be asked after one that Back moved to, whether answered or not."""
        order = [q.id for q in self.form.questions]
        later = self.form.questions[order.index(question.id) + 1 :]
        return next((q.id for q in later if self.is_asked(q)), None)
