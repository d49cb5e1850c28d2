"""The ways in which a host gives up an approval, and what people can do about it then, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from answerback.core.asides import EpochSeconds
from answerback.core.walker import Person, StrictDataclass


class GaveUp(StrEnum):
    """The way in which a host stopped waiting for an approval."""

    DENIED = "denied"
    """Its caller, a hook, bridge or proxy, reported that nobody had answered, and told it no."""
    GONE = "gone"
    """Its caller is gone: nobody knows what the host was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedAgain(StrictDataclass):
    """A person's request that the agent try again; it allows nothing."""

    at: EpochSeconds
    by: Person | None
    text: str | None = None
