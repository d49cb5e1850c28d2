"""A naive walker to compare the real one with: it keeps the answers in a dict and recomputes everything.

Written from the specification, not from the code: whether a question is asked is computed
recursively, and in a form with a review every answer ever given is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import JsonValue

from answerback.core.form import Form, Question


def canonical(value: JsonValue) -> str:
    """Return a text that is equal for equal JSON values and differs between types."""
    if isinstance(value, list):
        return f"[{', '.join(map(canonical, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k!r}: {canonical(v)}' for k, v in sorted(value.items()))}}}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = float(value)
    return repr(value)


class NaiveAnswer(NamedTuple):
    """An answer to a question."""

    value: JsonValue
    by_person: bool = True
    """True if a person gave it; Back and Edit skip the answers of machines."""
    details: tuple[Any, ...] = ()
    """Whatever else belongs to the answer and has to stay with it."""


@dataclass
class NaiveWalk:
    """The expected state of a form's walk after some actions."""

    form: Form
    given: dict[str, NaiveAnswer] = field(default_factory=dict)
    ever: dict[str, NaiveAnswer] = field(default_factory=dict)
    """With a review: the last answer to each question, including those that are skipped now."""
    looking_at: str | None = None
    """The question that Back or Edit moved to, or the next one after it that is shown again."""
    review: tuple[dict[str, NaiveAnswer], dict[str, NaiveAnswer]] | None = None
    """During an Edit: the answers and remembered answers at the review in which it began."""
    moves_on: bool = False
    """True if only questions without an answer are asked from there on; Back ends that."""
    again: NaiveAnswer | None = None
    """The earlier answer to the open question."""
    ended: str | None = None
    open_at_end: Question | None = None
    reply: str | None = None

    @property
    def prefill(self) -> JsonValue:
        """The value that the open question is filled in with: the earlier answer, else its default."""
        current = self.current()
        assert current is not None
        return current.default if self.again is None else self.again.value

    @property
    def reviewed(self) -> bool:
        """True if the form ends in a review."""
        return self.form.review and len(self.form.questions) > 1

    def is_asked(self, question: Question) -> bool | None:
        """Return True if a question is to be asked; None if the answers do not determine it yet."""
        if question.when is None:
            return True
        parent = next(q for q in self.form.questions if q.id == question.when.question_id)
        asked = self.is_asked(parent)
        if asked is None or (asked and parent.id not in self.given):
            return None
        value = self.given[parent.id].value if asked else None
        return canonical(value) == canonical(question.when.equals)

    def current(self) -> Question | None:
        """Return the open question, or None if all are answered."""
        if self.ended:
            return None
        for question in self.form.questions:
            if question.id == self.looking_at:
                return question
        for question in self.form.questions:
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
        """Return the ids of the questions before the open one that a person answered."""
        current = self.current()
        order = [q.id for q in self.form.questions]
        place = len(order) if current is None else order.index(current.id)
        return [i for i in order[:place] if i in self.given and self.given[i].by_person]

    def can_go_back(self) -> bool:
        """Return True if Back is possible."""
        is_open = self.phase() in {"question", "review"}
        return is_open and (self.review is not None or bool(self.before()))

    def answer(
        self, value: JsonValue, by_person: bool = True, details: tuple[Any, ...] = ()
    ) -> None:
        """Answer the open question."""
        current = self.current()
        assert current is not None
        self.given[current.id] = NaiveAnswer(value, by_person, details)
        if self.reviewed:
            self.ever[current.id] = self.given[current.id]
        skipped = {q.id for q in self.form.questions if self.is_asked(q) is False}
        self.given = {i: v for i, v in self.given.items() if i not in skipped}
        if self.looking_at is not None:
            self.looking_at = None if self.review else self._next_after(current)
            if self.looking_at is None and self.current() is not None:
                self.looking_at, self.moves_on = self._first_open(), True
        if self.phase() == "review":
            self.review, self.looking_at, self.moves_on = None, None, False
        self.again = self._earlier_answer()

    def next(self) -> bool:
        """Move on to another question without an answer; False if there is none, or no review."""
        current = self.current()
        if not self.reviewed or current is None or self.next_open() is None:
            return False
        self.looking_at, self.moves_on = self.next_open(), True
        self.again = self._earlier_answer()
        return True

    def next_open(self) -> str | None:
        """Return the next question without an answer behind the current one, else the first before it."""
        current = self.current()
        if not self.reviewed or current is None:
            return None
        order = [q.id for q in self.form.questions]
        place = order.index(current.id)
        for question_id in (*order[place + 1 :], *order[:place]):
            if question_id in self._open():
                return question_id
        return None

    def back(self) -> bool:
        """Return to the last answered question, or leave an Edit; False if neither is possible."""
        before = self.before()
        if self.review is not None:
            (self.given, self.ever), self.review, self.looking_at = self.review, None, None
            self.moves_on = False
        elif not before:
            return False
        elif self.reviewed:
            self.looking_at, self.moves_on = before[-1], False
        else:
            self.again = self.given[before[-1]]
            order = [q.id for q in self.form.questions]
            earlier = order[: order.index(before[-1])]
            self.given = {i: answer for i, answer in self.given.items() if i in earlier}
            return True
        self.again = self._earlier_answer()
        return True

    def edit(self, question_id: str) -> bool:
        """In review: open one answer again; it is kept until a new one is given."""
        if self.phase() != "review" or question_id not in self.given:
            return False
        if not self.given[question_id].by_person:
            return False
        self.review = (dict(self.given), dict(self.ever))
        self.looking_at = question_id
        self.again = self._earlier_answer()
        return True

    def left(self) -> list[str]:
        """Return the questions without an answer that a person has seen, at or before the last one that they saw."""
        if not self.reviewed:
            return []
        order = [q.id for q in self.form.questions]
        seen = {*self.given, *(q.id for q in (self.current(), self.open_at_end) if q is not None)}
        return [i for i in self._open() if any(order.index(i) <= order.index(j) for j in seen)]

    def end(self, how: str, reply: str | None = None) -> None:
        """End the walk, as a phase says."""
        self.open_at_end = self.current()
        self.ended, self.reply, self.again = how, reply, None

    def _earlier_answer(self) -> NaiveAnswer | None:
        """Return the last answer to the open question, if it is kept."""
        current = self.current()
        return None if current is None else self.ever.get(current.id)

    def _next_after(self, question: Question) -> str | None:
        """Return the next question for a person after one that Back moved to, whether answered or not."""
        order = [q.id for q in self.form.questions]
        for later in self.form.questions[order.index(question.id) + 1 :]:
            answer = self.given.get(later.id)
            is_offered = answer is None or (answer.by_person and not self.moves_on)
            if self.is_asked(later) and is_offered:
                return later.id
        return None

    def _open(self) -> list[str]:
        """Return the questions that are certainly asked and have no answer."""
        return [q.id for q in self.form.questions if self.is_asked(q) and q.id not in self.given]

    def _first_open(self) -> str:
        return self._open()[0]
