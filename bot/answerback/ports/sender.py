"""One attempt at sending what is in the outbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from answerback.ports.store_values import Delivery


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result of one attempt. ``status`` is None if nothing responded; ``error`` is None if it was accepted.

    ``error`` is one of the fixed words of `answerback.outbox.attempts`, or ``status`` and the number: agents see it.
    ``detail`` is only for the log.
    """

    status: int | None
    error: str | None
    detail: str = ""
    gone: bool = False
    """The receiver wants no more webhooks for this URL (410)."""
    retry_after: float | None = None
    """Seconds that the receiver asks to wait before the next attempt."""


class Sender(Protocol):
    """Makes one attempt at a delivery."""

    async def send(self, delivery: Delivery, at: float) -> SendResult:
        """Send a delivery once; ``at`` is the current time, in seconds since the epoch."""
