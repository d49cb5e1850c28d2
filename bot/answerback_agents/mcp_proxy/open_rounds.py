"""The requests that a client may send again with further input: those, and that input, that it has been asked for."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Final

from answerback_agents.mcp_proxy import messages
from answerback_agents.pipe.json_rpc import Json, as_object, params

MAX_REMEMBERED: Final = 1_000
"""Requests, or questions of tasks, that are remembered: the latest ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """A request that its client may send again once."""

    key: str
    shown: frozenset[str]
    """The requests for input that the client has been shown, by their keys."""
    answers: Json
    """The answers that people have given already."""
    edited: str | None
    """The arguments of a call as people changed them: its client sends its own again."""


@dataclass(eq=False)
class OpenRounds:
    """The rounds in which clients are asked for input. A request that continues no round could hold an answer that no
    person gave."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _rounds: list[Round] = field(default_factory=list)
    _tasks: dict[str, None] = field(default_factory=dict)

    def open(self, request: Json, result: Json, answers: Json, edited: str | None) -> None:
        """Note that the client is shown a result that requires input."""
        key = messages.round_key(request, result.get("requestState"))
        opened = Round(key, messages.inputs(result), answers, edited)
        with self._lock:
            self._rounds = [*self._rounds[1 - MAX_REMEMBERED :], opened]

    def take(self, message: Json) -> Round | None:
        """Return the round that a request continues with only what was asked, and close it; None if there is none."""
        fields = params(message)
        key = messages.round_key(message, fields.get("requestState"))
        given = as_object(fields.get("inputResponses"))
        with self._lock:
            for each in self._rounds:
                if each.key == key and given.keys() <= each.shown:
                    self._rounds.remove(each)
                    return each
        return None

    def show_task(self, task_id: object, fields: Json) -> None:
        """Note what the client is shown of a task's requests for input."""
        with self._lock:
            for key in messages.inputs(fields):
                self._tasks[json.dumps([task_id, key])] = None
                if len(self._tasks) > MAX_REMEMBERED:
                    del self._tasks[next(iter(self._tasks))]

    def updates_task(self, message: Json) -> bool:
        """Return True if an update of a task gives only input that the client has been asked for."""
        fields = params(message)
        task_id, given = fields.get("taskId"), as_object(fields.get("inputResponses"))
        return all(json.dumps([task_id, key]) in self._tasks for key in given)
