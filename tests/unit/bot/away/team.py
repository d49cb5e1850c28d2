"""A service with people who can be away, without its background work: tests take each step."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from answerback.core.ask import Ask
from answerback.core.people import People
from answerback.core.person import Person
from answerback.service.inbox import Hides
from answerback.service.service import Service
from answerback.service.submission_request import Route, Routes
from answerback.workers.message_sync import MessageSync, SyncPace
from answerback_away.away import Away
from tests.unit.bot.background_support import submit
from tests.unit.bot.conftest import Parts

DAY = 86_400.0
PEOPLE = People(
    {
        "ann": ("chat:ann", "web:ann@example.com"),
        "bob": ("chat:bob", "web:bob@example.com"),
        "cy": ("chat:cy",),
        "dee": ("web:dee@example.com",),
        "e1": ("chat:e1",),
        "e2": ("chat:e2",),
    },
    {"ann": "Ann", "bob": "Bob B.", "e1": "Eve", "e2": "Eve"},
)
ANN, BOB, CY = (Person(surface="chat", user_id=name) for name in ("ann", "bob", "cy"))
DEE = Person(surface="web", user_id="dee@example.com")


class Team:
    """A service and who is away."""

    def __init__(
        self,
        parts: Parts,
        people: People = PEOPLE,
        other: dict[str, Any] | None = None,
        **route: Any,
    ) -> None:
        table = {"to": "chat:C1", "responders": ["ann", "bob", "cy"], **route}
        tables = {"ops": table, "other": {**table, **(other or {})}}
        by_name = {name: Route.model_validate(each) for name, each in tables.items()}
        routes = Routes("ops", by_name, people)
        self.parts = parts
        self.service: Service = parts.service(routes=routes, hidden_from=self._hidden_from)
        self.away = Away(
            parts.store,
            parts.clock,
            people,
            self.service.act,
            self.service,
            self.service.surfaces,
        )
        self.service.hooks.changed.listen(self.away.note_changed)
        self.service.quiet_until = self.away.quiet_until

    async def _hidden_from(self, person: Person) -> Hides:
        return await self.away.hidden_from(person)

    @property
    def now(self) -> float:
        return self.parts.clock.now()

    async def leave(self, person: Person, stand_in: Person, days: float = 3.0) -> str | None:
        return await self.away.leave(person, self.now + days * DAY, stand_in)

    async def ask(self, *responders: str, **more: Any) -> Ask:
        call = {"to": None, "responders": [*responders] or None, **more}
        return await submit(self.service, **call)

    async def step(self, ask: Ask) -> Ask:
        """Let who is away be looked after; return the ask after that."""
        await self.away.step()
        now = await self.service.get(ask.id)
        assert now is not None
        return now

    async def record(self, ask: Ask, kind: str) -> list[Any]:
        lines = await self.service.record(ask.id)
        return [line.entry for line in lines if line.entry.kind == kind]

    @asynccontextmanager
    async def showing(self) -> AsyncIterator[MessageSync]:
        """Show asks in the background, too."""
        pace = SyncPace(first_pause=0.01)
        sync = MessageSync(self.service, pace=pace, call_later=self.parts.timers.call_later)
        try:
            yield sync
        finally:
            await sync.stop()
