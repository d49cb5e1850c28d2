"""Posts and edits of unknown outcome. A platform may still carry them out, and so post twice or undo a later edit.

Each of their asks is shown once more as soon as that is no longer possible.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from answerback.core.ask import Ask
from answerback.workers.message_queues import MAX_QUEUED

LATE_SECONDS: Final = 20.0
"""Seconds within which a platform may still carry out a post or an edit whose outcome is unknown."""


class Timer(Protocol):
    """A call that was arranged for later."""

    def cancel(self) -> None:
        """Arrange that it is not called."""


CallLater = Callable[[float, Callable[[str], None], str], Timer]
"""Arranges that a function is called with an argument, in so many seconds."""


@dataclass
class LateEdits:
    """The asks with such a post or edit, by id."""

    show: Callable[[str], None]
    """Called with the id of an ask to show once more."""
    call_later: CallLater | None
    """Sets the timers; by default, that of the event loop."""
    over: set[str] = field(default_factory=set)
    """The asks to show once more, now that this has been carried out or never will be."""
    _timers: dict[str, Timer] = field(default_factory=dict)

    def __contains__(self, ask_id: str) -> bool:
        return ask_id in self._timers

    def __len__(self) -> int:
        return len(self._timers)

    def expect(self, ask: Ask) -> None:
        """Note that an ask's message, or an edit of it, may be on its way."""
        if len(self) >= MAX_QUEUED:
            return
        if (timer := self._timers.get(ask.id)) is not None:
            timer.cancel()
        call_later = self.call_later or asyncio.get_running_loop().call_later
        self._timers[ask.id] = call_later(LATE_SECONDS, self._end, ask.id)

    def _end(self, ask_id: str) -> None:
        del self._timers[ask_id]
        self.over.add(ask_id)
        self.show(ask_id)

    def stop(self) -> None:
        """Cancel all timers: no ask is shown once more."""
        for timer in self._timers.values():
            timer.cancel()
