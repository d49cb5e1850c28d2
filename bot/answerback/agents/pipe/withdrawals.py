"""Withdrawals of asks in the background, which are retried while the service restarts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from answerback.agents.pipe.ask_people import AskClient
from answerback.agents.pipe.service_calls import ANSWER_PATIENCE

_END_TIMEOUT: Final = 5.0
"""Seconds that a proxy waits at its end until its open asks are withdrawn."""


@dataclass(slots=True)
class Withdrawals:
    """The withdrawals of one proxy."""

    people: AskClient
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self, ask_id: str | None) -> None:
        """Withdraw an ask; None: people were not asked."""
        if ask_id is None:
            return
        arguments = (ask_id, ANSWER_PATIENCE)
        thread = threading.Thread(target=self.people.withdraw, args=arguments, daemon=True)
        self._threads = [thread, *(each for each in self._threads if each.is_alive())]
        thread.start()

    def end(self, asked: Iterable[threading.Event]) -> None:
        """Wait until everything is withdrawn, with what is still being asked; not for long."""
        until = time.monotonic() + _END_TIMEOUT
        for each in asked:
            each.wait(max(0.0, until - time.monotonic()))
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
