"""The service and the store with a stopwatch: the same, and what they did is counted."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bot.api.metrics import Metrics
from bot.ask import Ask
from bot.ports import Acted, Actor, Decision, Rejected, Write
from bot.service import Service
from bot.stored import Created, Existing, Idempotency
from bot.walker import Action
from storage.sqlite import SqliteStore

T = TypeVar("T")


class MeteredService(Service):
    """A service that counts actions and times them up to their commit."""

    metrics: Metrics
    """Set by who makes it, before anybody acts."""

    async def act(
        self,
        ask_id: str,
        action: Action,
        actor: Actor,
        *,
        revision: int | None = None,
        delivery: str | None = None,
    ) -> Acted | Rejected:
        """Acts on an ask as a responder."""
        began = time.perf_counter()
        done = await super().act(ask_id, action, actor, revision=revision, delivery=delivery)
        self._count(actor, action.action, done, began)
        return done

    async def choose(
        self,
        ask_id: str,
        choose: Callable[[Ask], Action | None],
        actor: Actor,
        *,
        revision: int | None = None,
        delivery: str | None = None,
    ) -> Acted | Rejected | None:
        """Acts as ``choose`` finds for the ask as it stands."""
        began = time.perf_counter()
        chosen: list[str] = []

        def noted(ask: Ask) -> Action | None:
            action = choose(ask)
            if action is not None:
                chosen.append(action.action)
            return action

        done = await super().choose(ask_id, noted, actor, revision=revision, delivery=delivery)
        if done is not None:
            self._count(actor, chosen[-1] if chosen else "none", done, began)
        return done

    async def typed(
        self, ask_id: str, text: str, actor: Actor, *, delivery: str | None = None
    ) -> Acted | Rejected | None:
        """Takes words typed by a responder as the action they stand for."""
        began = time.perf_counter()
        done = await super().typed(ask_id, text, actor, delivery=delivery)
        if done is not None:
            self._count(actor, "typed", done, began)
        return done

    def _count(self, actor: Actor, action: str, done: Acted | Rejected, began: float) -> None:
        acted = "acted" if isinstance(done, Acted) and not done.repeated else "repeated"
        result = done.why.value if isinstance(done, Rejected) else acted
        surface = actor.person.surface
        self.metrics.actions.labels(surface, action, result).inc()
        self.metrics.act_seconds.labels(surface).observe(time.perf_counter() - began)


class MeteredSqliteStore(SqliteStore):
    """An SQLite store that times the writes people wait for."""

    def __init__(self, path: Path, metrics: Metrics) -> None:
        """Times into ``metrics``."""
        super().__init__(path)
        self._metrics = metrics

    async def create(self, write: Write, idempotency: Idempotency | None) -> Created | Existing:
        """Stores a new ask, or finds the one that this idempotency key stored before."""
        with self._metrics.commit_seconds.time():
            return await super().create(write, idempotency)

    async def change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        *,
        delivery: str | None = None,
    ) -> tuple[T, bool]:
        """Loads an ask, decides and stores."""
        with self._metrics.commit_seconds.time():
            return await super().change(ask_id, decide, delivery=delivery)
