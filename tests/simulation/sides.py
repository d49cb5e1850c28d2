"""The part of a seed beside its chat: devices that are notified, or people who sign in on the page."""

from __future__ import annotations

import random
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.simulation.chat import Trouble
from tests.simulation.evidence import Json


class Side(Protocol):
    """A part of the world in which the same people have further accounts."""

    settings: Json
    """Its tables of the service's settings."""
    may_leave: Sequence[str]
    """The names of those whom the settings may cease to list."""
    kind: str
    """The kind of faults that it can have."""

    def account_of(self, name: str) -> str:
        """Return a person's further account, as the settings list it."""

    def prepare(self, database: Path) -> None:
        """Do what the operator does by commands before the service is first started."""

    async def start(self) -> None:
        """Begin to serve."""

    def lives(self) -> Sequence[Coroutine[Any, Any, None]]:
        """Return what its people do."""

    def go_wrong(self, rng: random.Random, trouble: Trouble) -> None:
        """Let one thing go wrong; ``rng`` decides the details."""

    def stop_faults(self) -> None:
        """Let nothing more go wrong."""

    def has_come_to_rest(self) -> bool:
        """Return True if nothing is left to arrive in it, as the simulation ends."""
