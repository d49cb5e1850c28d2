"""Checks of people's walks through forms: each attempt had the right effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

BACK: Final = "back"
"""The value of an attempt to go back instead of answering."""


@dataclass
class Attempt:
    """An attempt of a person on a form, at the revision it showed: the value that they gave, or `BACK`."""

    value: bool | str
    began: int
    took: int | None = None
    """When it was known to have been accepted; None if nobody knows whether it was."""


@dataclass
class Walk:
    """A form that one person answers."""

    name: str
    surface: str
    ask_id: str = ""
    attempts: dict[int, list[Attempt]] = field(default_factory=dict)
    """Every attempt, by the revision that its author saw."""
    outcome: dict[str, Any] | None = None
    """The outcome, as reported to the agent that waited for it."""
    _time: int = 0

    def attempt(self, revision: int, value: bool | str) -> Attempt:
        """Record that somebody is about to try something at a revision."""
        self._time += 1
        attempt = Attempt(value, self._time)
        self.attempts.setdefault(revision, []).append(attempt)
        return attempt

    def accepted(self, attempt: Attempt) -> None:
        """Record that an attempt was accepted, as far as its author can tell, or that another came first."""
        self._time += 1
        attempt.took = self._time

    def is_done(self, revision: int) -> bool:
        """Return True if something was accepted at a revision."""
        return any(each.took is not None for each in self.attempts.get(revision, ()))

    def possible(self, revision: int) -> list[bool | str]:
        """Return what can have been accepted at a revision: the first to be accepted, or anything begun before then."""
        tried = self.attempts.get(revision, [])
        first = min((one.took for one in tried if one.took is not None), default=self._time + 1)
        return [one.value for one in tried if one.began < first]


def verify(walk: Walk, ask: dict[str, Any], record: list[dict[str, Any]]) -> None:
    """Assert that the form ended as the accepted actions say: each once, in order, at the revision it was for."""
    about = f"{walk} became {ask['answers']} by {record}"
    assert ask["status"] == "answered", about
    responses = [line for line in record if line["type"] == "response"]
    assert ask["revision"] == len(responses) + 1, about
    assert sum(line["type"] == "ended" for line in record) == 1, about
    answers: dict[str, Any] = {}
    for revision, line in enumerate(responses, start=1):
        answered = line["response"].get("answered")
        value = BACK if answered is None else answered["value"]
        assert value in walk.possible(revision), f"at revision {revision}: {about}"
        if answered is not None:
            answers[line["question_id"]] = value
    assert not set(walk.attempts) - set(range(1, len(responses) + 1)), about
    assert ask["answers"] == answers, about
    assert walk.outcome is not None, about
    assert (walk.outcome["answers"], walk.outcome["status"]) == (answers, "answered"), about
