"""The web pages as they run in production: the real service, a real SQLite file, a real listener on loopback."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Handler

from answerback.api.origin_guard import guard_route
from answerback.core.ask import Ask
from answerback.core.intents import Intent, RequestedAction
from answerback.core.labels import Labels
from answerback.core.people import NOBODY_KNOWN, People
from answerback.core.walker import Person
from answerback.http.service_workers import service_worker_removal
from answerback.ports.person_key import KeyHolder, operator, operator_holder
from answerback.ports.surface import Acted, Actor, Surface
from answerback.runtime.sockets import bind_socket, socket_url
from answerback.service.service import Service
from answerback.service.submission_request import Agent, Route, Routes, Submission
from answerback_teams.account_links import AccountLinks
from answerback_teams.account_pages import AccountPages
from answerback_web.adapter import WebSurface
from answerback_web.page_access import PageLinks
from tests.service_support import FakeSurface
from tests.surface_setups import open_store

SECRET: Final = b"the secret of every site in tests"
KEY: Final = "abk_the-key-of-every-site-in-tests"
OPERATOR: Final = operator("web")
COLLEAGUE: Final = Actor(Person(surface="web", user_id="U7", name="Kim"))
MIGRATION: Final[tuple[dict[str, Any], ...]] = (
    {"id": "apply", "text": "Apply the proposed migration?", "answer_type": "boolean"},
    {
        "id": "env",
        "text": "Which environment?",
        "answer_type": "select",
        "options": ["staging", "production"],
        "when": {"question_id": "apply", "equals": True},
    },
    {
        "id": "note",
        "text": "Optional note for the migration log",
        "answer_type": "text",
        "when": {"question_id": "apply", "equals": True},
    },
)


def answering_path(ask: Ask) -> str:
    """Return the path where the operator answers an ask, on any test's site."""
    return f"/a/{PageLinks(SECRET).answering_link(ask.id, operator_holder(KEY, OPERATOR))}"


async def operator_only() -> tuple[KeyHolder, ...]:
    """Return the holders of keys where nobody but the operator has one."""
    return (operator_holder(KEY, OPERATOR),)


INBOX: Final = f"/inbox/{PageLinks(SECRET).inbox_name(operator_holder(KEY, OPERATOR))}"


@dataclass
class Site:
    """A running site, and the agent's access to it."""

    service: Service
    surface: WebSurface
    url: str
    public_url: str

    async def ask(
        self,
        *questions: Mapping[str, Any],
        name: str = "ask_user",
        agent: str | None = None,
        **more: object,
    ) -> Ask:
        """Submit questions in the ``ask_user`` dialect, or, if there are none, ``arguments`` of another."""
        arguments = more.pop("arguments", None) or {"questions": list(questions)}
        body = Submission.model_validate(
            {"name": name, "arguments": arguments, "to": "web", **more}
        )
        return (await self.service.submit(body, agent=Agent(agent) if agent else None)).ask

    async def migration(self) -> Ask:
        """Submit the migration form with its three questions."""
        return await self.ask(*MIGRATION)

    async def act(self, ask: Ask, action: RequestedAction) -> Ask:
        """Act on an ask as a colleague elsewhere."""
        result = await self.service.apply(Intent(ask.id, action), COLLEAGUE)
        assert isinstance(result, Acted)
        return result.ask

    def page(self, ask: Ask) -> str:
        """Return the address where the operator answers an ask."""
        return self.url + answering_path(ask)

    def page_of(self, ask: Ask, key: str, person: Person) -> str:
        """Return the address where the holder of one of the ``keys`` answers an ask."""
        link = PageLinks(SECRET).answering_link(ask.id, operator_holder(key, person))
        return f"{self.url}/a/{link}"

    async def stored(self, ask: Ask) -> Ask:
        """Return the stored ask."""
        stored = await self.service.get(ask.id)
        assert stored is not None
        return stored


@web.middleware
async def _without_service_workers(request: web.Request, handler: Handler) -> web.StreamResponse:
    return service_worker_removal(request) or await handler(request)


async def listen(
    routes: list[web.RouteDef], *, local: bool, port: int = 0, bound: socket | None = None
) -> tuple[web.AppRunner, str]:
    """Serve routes, as one of the two listeners does; return what ends it, and its address.

    Args:
        bound: the socket to serve on; None: one that is bound to the port.
    """
    app = web.Application(middlewares=[_without_service_workers])
    app.add_routes([guard_route(route) for route in routes] if local else routes)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    bound = bound or await bind_socket("127.0.0.1", port, "server")
    await web.SockSite(runner, bound).start()
    return runner, socket_url(bound)


@asynccontextmanager
async def site(
    place: Path | str,
    *,
    labels: Labels | None = None,
    keys: Mapping[str, Person] | None = None,
    agents: Mapping[str, str] | None = None,
    link_days: float = math.inf,
    people: People = NOBODY_KNOWN,
    routes: Mapping[str, Route] | None = None,
    people_link: bool = False,
) -> AsyncIterator[Site]:
    """Run a site on two listeners, the local and the public one.

    Args:
        place: a folder for its database, the database's file, or a ``storage.url``.
        keys: the valid keys and their people, read at each request; without them, only `KEY`, the operator's.
        agents: the agents' labels by name.
        people: the directory; whoever it names can be asked on a surface ``chat``, too.
        people_link: whether people link accounts themselves.
        link_days: days after an ask's end for which its read-only link works.
    """

    async def holders() -> tuple[KeyHolder, ...]:
        known = {KEY: OPERATOR} if keys is None else keys
        return tuple(operator_holder(key, person) for key, person in known.items())

    local, public = [await bind_socket("127.0.0.1", 0, "server") for _ in range(2)]
    chosen_labels = labels or Labels()
    database = place / "answerback.db" if isinstance(place, Path) and place.is_dir() else place
    async with open_store(database) as (store, claim, clock):
        surfaces: dict[str, Surface] = {} if people is NOBODY_KNOWN else {"chat": FakeSurface()}
        names = frozenset({"web", *surfaces})
        links: AccountLinks | None = None
        if people_link:
            people = People({})

            async def credentials() -> dict[str, str]:
                return {each.person.user_id: each.key_hash for each in await holders()}

            links = AccountLinks(store, clock, people, chosen_labels, credentials, "x-user")
        service = Service(
            store,
            clock,
            surfaces,
            known_surfaces=names,
            labels=chosen_labels,
            claim=claim,
            routes=Routes(by_name=routes or {}, people=people),
            commands=[links.command] if links else [],
        )
        surface = surfaces["web"] = WebSurface(
            service,
            secret=SECRET,
            labels=chosen_labels,
            local_url=socket_url(local),
            public_url=socket_url(public),
            now=clock.now,
            link_days=link_days,
            holders=holders,
            agents=agents,
            extensions=[AccountPages(links)] if links else [],
        )
        await surface.start()
        here, local_url = await listen(surface.routes(), local=True, bound=local)
        everywhere, public_url = await listen(surface.public_routes(), local=False, bound=public)
        try:
            yield Site(service, surface, local_url, public_url)
        finally:
            service.stop_waiting()
            await here.cleanup()
            await everywhere.cleanup()
