"""The asks that wait for people. Whoever sent a request may cancel it, and its asks are withdrawn then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from answerback.agents.pipe.ask_people import AskClient, AskOutcome, Call
from answerback.agents.pipe.service_calls import ANSWER_PATIENCE

_END_TIMEOUT: Final = 5.0
"""Seconds that the proxy waits at its end until its open asks are withdrawn."""


@dataclass(eq=False)
class Pending:
    """A request that waits for people."""

    key: str
    ask_id: str | None = None
    over: threading.Event = field(default_factory=threading.Event)
    """Set once nobody waits any more."""
    asked: threading.Event = field(default_factory=threading.Event)
    """Set once people were asked, or cannot be asked."""


class PendingAsks:
    """The requests of one side that wait for people, by the keys of their ids.

    Args:
        warn: reports why people cannot be asked.
    """

    def __init__(self, people: AskClient, warn: Callable[[str], None]) -> None:
        self._people = people
        self._warn = warn
        self._lock = threading.Lock()
        self._open: list[Pending] = []
        self._withdrawals: list[threading.Thread] = []

    def open(self, key: str) -> Pending:
        """Note that a request waits."""
        pending = Pending(key)
        with self._lock:
            self._open.append(pending)
        return pending

    def is_open(self, key: str) -> bool:
        """Whether a request waits."""
        with self._lock:
            return any(each.key == key for each in self._open)

    def close(self, pending: Pending) -> bool:
        """Note that a request waits no longer, and return whether it did until now: nobody had cancelled it."""
        with self._lock:
            if pending not in self._open:
                return False
            self._open.remove(pending)
        pending.over.set()
        return True

    def cancel(self, key: str) -> bool:
        """Withdraw what a request has asked, and return whether it was waiting."""
        with self._lock:
            cancelled = [each for each in self._open if each.key == key]
        were_open = [self._cancel(each) for each in cancelled]
        return any(were_open)

    def _cancel(self, pending: Pending) -> bool:
        was_open = self.close(pending)
        self._withdraw(pending)
        return was_open

    def ask(self, pending: Pending, call: Call) -> AskOutcome:
        """Ask people, and return the outcome once there is one."""

        def opened(ask_id: str) -> None:
            pending.ask_id = ask_id
            if pending.over.is_set():
                self._withdraw(pending)
            pending.asked.set()

        try:
            outcome = self._people.ask(call, opened, lambda: not pending.over.is_set())
        except Exception as error:  # noqa: BLE001 - whatever fails, somebody waits for an answer
            failure = error
            outcome = AskOutcome(None, f"Nobody could be asked: {failure!r}.")
        pending.asked.set()
        if outcome.ask is None and not pending.over.is_set():
            self._warn(outcome.message)
            if call.dialect != "approval":  # a question has no decision to report
                self._withdraw(pending)
            elif pending.ask_id is not None:
                decided = self._people.report_no_answer(pending.ask_id)
                return decided._replace(message=outcome.message)
        return outcome

    def end(self) -> None:
        """Withdraw all that is open: nobody waits for it any more."""
        until = time.monotonic() + _END_TIMEOUT
        with self._lock:
            still_open = [*self._open]
        for pending in still_open:
            self._cancel(pending)
        for pending in still_open:
            pending.asked.wait(max(0.0, until - time.monotonic()))
        for thread in self._withdrawals:
            thread.join(max(0.0, until - time.monotonic()))

    def _withdraw(self, pending: Pending) -> None:
        """Withdraw an ask in the background, retrying while the service restarts."""
        if pending.ask_id is None:
            return
        arguments = (pending.ask_id, ANSWER_PATIENCE)
        thread = threading.Thread(target=self._people.withdraw, args=arguments, daemon=True)
        self._withdrawals = [thread, *(each for each in self._withdrawals if each.is_alive())]
        thread.start()
