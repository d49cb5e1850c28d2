"""Shared by tests of notifications: the pages with notifications, over a real file, and a dispatcher."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp

from answerback.api.operation import PendingChanges
from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.people import NOBODY_KNOWN, People
from answerback.core.person import AuthMethod
from answerback.core.walker import Person
from answerback.outbox.attempts import DeliverySender
from answerback.outbox.dispatcher import OutboxDispatcher
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.extension import ServiceParts
from answerback.ports.person_key import KeyHolder, operator_holder
from answerback.ports.store_values import StoredDelivery
from answerback.ports.surface import Acted, Actor, Surface
from answerback.runtime.extensions import configured_for
from answerback.runtime.sockets import bind_socket, socket_url
from answerback.service.grants import need_no_credential
from answerback.service.notify import Hooks
from answerback.service.service import Service
from answerback.service.submission_request import Route, Routes, Submission
from answerback_push.devices import Devices
from answerback_push.extension import PushExtension
from answerback_push.pushes import Pushes
from answerback_push.settings import PushKeys, PushRules
from answerback_web.adapter import WebSurface
from answerback_web.page_access import PageLinks
from tests.browser.site import KEY, OPERATOR, SECRET, listen
from tests.fakes.push_service import PushBrowser
from tests.fakes.receiver import WAIT, Received, Receiver
from tests.service_support import FakeSurface, ManualClock, settings_with
from tests.unit.bot.outbox_support import WatchedStore

ANN: Final = Person(surface="web", user_id="ann", name="Ann", known=AuthMethod.LINK)
ANNS_KEY: Final = "abp_the-key-of-ann"
KEYS: Final = {KEY: OPERATOR, ANNS_KEY: ANN}
LOOPBACK: Final = ("127.0.0.1",)
QUESTION: Final[dict[str, Any]] = {"question": "Deploy to production?", "answer_type": "boolean"}
APPROVAL: Final[dict[str, Any]] = {
    "name": "PermissionRequest",
    "arguments": {"tool_name": "Bash", "tool_input": {"command": "ls"}},
}


@dataclass
class Rig:
    """A site whose people can have themselves notified."""

    store: WatchedStore
    clock: ManualClock
    service: Service
    devices: Devices
    pushes: Pushes
    keys: dict[str, Person]
    url: str
    http: aiohttp.ClientSession
    chat: FakeSurface

    async def ask(self, *responders: str, **more: Any) -> Ask:
        """Submit a question to these people, by default to anyone."""
        body = {
            "name": "ask_user",
            "arguments": QUESTION,
            "to": "web",
            "responders": list(responders) or "anyone",
            **more,
        }
        return (await self.service.submit(Submission.model_validate(body))).ask

    async def ask_and_notify(
        self, receiver: Receiver, *responders: str, **more: Any
    ) -> tuple[Ask, Received]:
        """Submit a question and wait until people are notified; return it and the only message."""
        ask = await self.ask(*responders, **more)
        await self.clock.advance(10.0)
        (got,) = await receiver.until(1)
        return ask, got

    async def answer(self, ask: Ask, value: object = True, *, by: Person = ANN) -> Ask:
        """Answer an ask."""
        done = await self.service.act(ask.id, Answer(value=value), Actor(by))  # type: ignore[arg-type]  # plain JSON
        assert isinstance(done, Acted), done
        return done.ask

    def inbox(self, key: str = ANNS_KEY) -> str:
        """Return the address of a person's inbox."""
        holder = operator_holder(key, self.keys.get(key, ANN))
        return f"{self.url}/inbox/{PageLinks(SECRET).inbox_name(holder)}"

    def page(self, ask: Ask, key: str = ANNS_KEY) -> str:
        """Return the address of an ask's page for a person."""
        holder = operator_holder(key, self.keys[key])
        return f"{self.url}/a/{PageLinks(SECRET).answering_link(ask.id, holder)}"

    async def post(self, url: str, form: Mapping[str, str]) -> int:
        """Post a form as one of our pages does; return the status."""
        headers = {"Sec-Fetch-Site": "same-origin", "User-Agent": "Firefox on a phone"}
        async with self.http.post(url, data=form, headers=headers, allow_redirects=False) as done:
            return done.status

    async def subscribe(
        self, receiver: Receiver, path: str = "", *, key: str = ANNS_KEY
    ) -> PushBrowser:
        """Subscribe a person's browser."""
        browser = PushBrowser(f"{receiver.url}{path}")
        assert await self.post(f"{self.inbox(key)}/devices", browser.form) == 204
        return browser

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Drain the outbox while the context lasts; then stop at once, as if killed."""
        sender = DeliverySender([self.pushes])
        dispatcher = OutboxDispatcher(
            self.store.outbox,
            self.clock,
            sender,
            self.service.hooks,
            self.service.late_answer_tracker.save_seen,
            jitter=lambda: 1.0,
        )
        task = asyncio.create_task(dispatcher.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await dispatcher.stop(grace=0)

    async def rows(self) -> tuple[StoredDelivery, ...]:
        """Return all rows of the outbox: those that are left to send."""
        page = await self.store.outbox.page(state=None, agent=None, after=None, limit=200)
        return page.rows

    async def failed(self, kind: str) -> None:
        """Return once a row of the outbox is to be tried again."""
        async with asyncio.timeout(WAIT), self.store.outbox.changed:
            while (kind, 1) not in {(row.delivery.type, row.tries) for row in await self.rows()}:
                await self.store.outbox.changed.wait()

    async def idle(self, left: int = 0) -> None:
        """Return once nothing is left to send but so many rows, which are not due yet."""
        async with asyncio.timeout(WAIT), self.store.outbox.changed:
            while len(await self.rows()) > left:
                await self.store.outbox.changed.wait()


@asynccontextmanager
async def push_rig(
    folder: Path,
    rules: PushRules | None = None,
    *,
    push_after: float = 10.0,
    people: People = NOBODY_KNOWN,
) -> AsyncIterator[Rig]:
    """A rig in a folder, with a chat beside the page."""
    keys: dict[str, Person] = dict(KEYS)

    async def holders() -> tuple[KeyHolder, ...]:
        return tuple(operator_holder(key, person) for key, person in keys.items())

    async with AsyncExitStack() as stack:
        bound = await bind_socket("127.0.0.1", 0, "server")
        stack.callback(bound.close)
        store, clock = WatchedStore(folder / "asks.db"), ManualClock()
        await store.open()
        stack.push_async_callback(store.close)
        chat = FakeSurface()
        surfaces: dict[str, Surface] = {"chat": chat}
        routes = Routes(by_name={"slow": Route(to="web", push_after=push_after)}, people=people)
        hooks, allowed = Hooks(), rules or PushRules(allow=LOOPBACK)
        web = PushKeys(
            push=True,
            push_detail="headline" if allowed.headline else "agent",
            push_answer=allowed.deny,
            push_anyone=allowed.anyone,
            push_allow=allowed.allow,
        )
        settings = settings_with(web=web)
        parts = ServiceParts(
            configured=configured_for(settings, PushExtension()),
            store=store,
            clock=clock,
            claim=SOLE_CLAIM,
            database_file=folder,
            database_name="asks",
            people=people,
            surfaces=surfaces,
            holders=holders,
            signed_in_by=None,
            credential_of=need_no_credential,
            is_agent=lambda _name: False,
            address=socket_url(bound),
            proxies=(),
            run_to_completion=PendingChanges().run_to_completion,
            wake_outbox=hooks.deliver,
            act=NotImplemented,
            quiet_until=lambda _person, _at: None,
            lists=NotImplemented,
            on_changed=lambda _listener: None,
            on_ended=hooks.ended.listen,
            trace_headers=dict,
            stack=stack,
        )
        pushes = await PushExtension().open(parts)
        assert isinstance(pushes, Pushes)
        service = Service(
            store,
            clock,
            surfaces,
            known_surfaces=frozenset({"web"}),
            routes=routes,
            hooks=hooks,
            extensions=[pushes],
        )
        pages = pushes.for_page("web")
        assert pages is not None
        surface = surfaces["web"] = WebSurface(
            service,
            secret=SECRET,
            labels=Labels(),
            local_url=socket_url(bound),
            now=clock.now,
            holders=holders,
            extensions=[pages],
        )
        runner, url = await listen(surface.routes(), local=True, bound=bound)
        stack.push_async_callback(runner.cleanup)
        stack.callback(service.stop_waiting)
        http = await stack.enter_async_context(aiohttp.ClientSession())
        yield Rig(store, clock, service, pushes.devices, pushes, keys, url, http, chat)
