"""What people tried on the forms they answered, and what must have become of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

BACK: Final = "back"
"""What somebody tried who went back instead of answering."""


@dataclass
class Attempt:
    """Something that somebody did on a form, at what it showed: a value that they gave, or `BACK`."""

    value: bool | str
    began: int
    took: int | None = None
    """When it was known to be accepted; None: whether it was, nobody knows."""


@dataclass
class Walk:
    """A form that one person answers."""

    name: str
    surface: str
    ask_id: str = ""
    attempts: dict[int, list[Attempt]] = field(default_factory=dict)
    """By the revision that they saw."""
    told: dict[str, Any] | None = None
    """How it ended, as the agent was told that waited for it."""
    _time: int = 0

    def tries(self, revision: int, value: bool | str) -> Attempt:
        """Somebody is about to do something at a revision."""
        self._time += 1
        attempt = Attempt(value, self._time)
        self.attempts.setdefault(revision, []).append(attempt)
        return attempt

    def accepted(self, attempt: Attempt) -> None:
        """It was accepted, as far as they were told: or another one of this revision was before."""
        self._time += 1
        attempt.took = self._time

    def is_done(self, revision: int) -> bool:
        """Whether something was accepted at a revision."""
        return any(one.took is not None for one in self.attempts.get(revision, ()))

    def possible(self, revision: int) -> list[bool | str]:
        """What can have been accepted at a revision: the first that was, or what was under way by then."""
        tried = self.attempts.get(revision, [])
        first = min((one.took for one in tried if one.took is not None), default=self._time + 1)
        return [one.value for one in tried if one.began < first]


def verify(walk: Walk, ask: dict[str, Any], record: list[dict[str, Any]]) -> None:
    """The form ended as what was accepted says: each action once, in order, at the revision that it was for."""
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
    assert walk.told is not None, about
    assert (walk.told["answers"], walk.told["status"]) == (answers, "answered"), about
