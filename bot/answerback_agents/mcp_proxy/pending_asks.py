"""The asks that wait for people. A client may cancel its request, and its asks are withdrawn then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from answerback_agents.pipe.ask_people import AskClient, Asking, AskOutcome, Call


@dataclass(eq=False)
class Pending(Asking):
    """A request that waits for people."""

    key: str
    done: threading.Event = field(default_factory=threading.Event)
    """Set once the server itself has got what it asked for."""


@dataclass(eq=False)
class PendingAsks:
    """The requests of one side that wait for people, by the keys of their ids."""

    people: AskClient
    warn: Callable[[str], None]
    """Reports why people cannot be asked."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _open: list[Pending] = field(default_factory=list)

    def open(self, key: str) -> Pending:
        """Note that a request waits."""
        pending = Pending(key)
        with self._lock:
            self._open.append(pending)
        return pending

    def close(self, pending: Pending) -> bool:
        """Note that a request waits no longer, and return whether it did until now: it had not been cancelled."""
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
        were_open = [self.withdraw(each) for each in cancelled]
        return any(were_open)

    def withdraw(self, pending: Pending) -> bool:
        """Withdraw what a request has asked, and return whether it was waiting."""
        was_open = self.close(pending)
        self.people.withdraw_in_background(pending)
        return was_open

    def ask(self, pending: Pending, call: Call) -> AskOutcome:
        outcome = self.people.ask(pending, call)
        if outcome.ask is None and not pending.over.is_set():
            self.warn(outcome.message)
            if call.dialect != "approval":  # a question has no decision to report
                self.people.withdraw_in_background(pending)
            elif pending.ask_id is not None:
                decided = self.people.report_no_answer(pending.ask_id)
                return decided._replace(message=outcome.message)
        return outcome

    def end(self) -> None:
        """Withdraw all that is open: no agent waits for it any more."""
        with self._lock:
            still_open = [*self._open]
        for pending in still_open:
            self.withdraw(pending)
        self.people.end(still_open)
