"""One service with every surface, and what people and agents do with it again and again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    closing,
)
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import aiohttp
import psycopg
from aiohttp import web
from yarl import URL

from answerback.runtime.app import RunningService, run_service
from answerback.runtime.config import settings_type
from answerback_discord.adapter import DiscordSurface
from answerback_receipts.linker import ReceiptLinker
from tests.budgets.counting import Counter, Counts
from tests.budgets.housekeeping import lengthen_leases, stop_housekeeping
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.slack.server import FakeSlack
from tests.fakes.telegram.server import FakeTelegram
from tests.person_keys import bearer
from tests.unit.adapters.web.reader import Reader

Phases = dict[str, Counts]
Journey = Callable[[], Awaitable[Phases]]

DATABASE: Final = "answerback.db"
WARM_UP: Final = 2
"""Rounds that are not counted: caches fill."""
TIMES: Final = 5
"""Rounds that are counted; the lowest count is taken, because what runs alongside only adds to one."""
PATIENCE: Final = 30.0
_SETTLING: Final = 0.1
"""Seconds without a call of ours, after which what follows a commit by itself has been done: it takes a millisecond, or
Discord's `confirm_after` below."""
_connect: Final = sqlite3.connect
"""Opens the database for reads here, which are not counted."""


def counts_at(counter: Counter, **paths: str) -> Phases:
    """Return the counts up to the commit and to these responses, and stop counting."""
    return {name: counter.reached[path] for name, path in {"commit": "commit", **paths}.items()}


@dataclass
class Town:
    """A running service, and its people and agents."""

    up: RunningService
    url: str
    """The store's."""
    counter: Counter
    http: aiohttp.ClientSession
    person: Mapping[str, str]
    links: asyncio.Semaphore
    """Released once for each time that receipts are linked."""
    _numbers: Iterator[int] = field(default_factory=lambda: count(1_000))
    """No two asks are the same, since a repeated call returns the earlier ask."""

    async def submit(self, to: str, *responders: str, questions: int = 3, **more: object) -> str:
        """Submit an ask; return its id."""
        text = f"Shall step {next(self._numbers)} be applied?"
        form = [{"id": f"q{n}", "text": text, "answer_type": "boolean"} for n in range(questions)]
        body = {"name": "ask_user", "arguments": {"questions": form}, "to": to, **more}
        if responders:
            body["responders"] = list(responders)
        async with self.http.post(f"{self.up.api_url}/v1/asks", json=body) as response:
            assert response.status == 201, await response.text()
            return str((await response.json())["id"])

    async def answer(self, ask_id: str) -> str:
        """Answer by the API; return the request's path."""
        path, action = f"/v1/asks/{ask_id}/actions", {"action": "answer", "value": True}
        async with self.http.post(
            f"{self.up.api_url}{path}", json=action, headers=self.person
        ) as response:
            assert response.status == 200, await response.text()
            await response.read()
        return path

    async def until(self, query: str, *values: object) -> None:
        """Wait until a query returns a row, and what was committed with it has been dealt with."""
        async with asyncio.timeout(PATIENCE):
            while not self._exists(query, *values):  # noqa: ASYNC110 - a database signals nothing
                await asyncio.sleep(0.005)
            counted = -1
            while counted != (counted := self.counter.total()):  # noqa: ASYNC110 - calls signal nothing
                await asyncio.sleep(_SETTLING)

    def _exists(self, query: str, *values: object) -> bool:
        if self.url.startswith("sqlite"):
            with closing(_connect(self.url.removeprefix("sqlite:///"))) as db:
                return db.execute(query, values).fetchone() is not None
        with psycopg.connect(self.url) as connection:
            return (
                connection.execute(query.replace("?", "%s").encode(), values).fetchone() is not None
            )

    async def link(self, ask_id: str) -> None:
        """Put the receipt of an ask into the chain."""
        self.links.release()
        await self.until(
            "SELECT 1 FROM asks JOIN receipts USING (seq) WHERE id = ? AND n IS NOT NULL", ask_id
        )

    async def collected(self, ask_id: str) -> None:
        """Wait until it is noted that the agent has the outcome."""
        await self.until("SELECT 1 FROM owed WHERE ask_id = ? AND told = 2", ask_id)

    async def shown(self, ask_id: str, revision: int) -> None:
        """Wait until an ask is at a revision and has nothing left to show."""
        query = "SELECT 1 FROM asks WHERE id = ? AND revision = ? AND shown_revision = revision"
        await self.until(query, ask_id, revision)


# --- people ----------------------------------------------------------------------------------------


@dataclass
class Chat:
    """A person in a chat."""

    person: str
    new_place: Callable[[], str]
    """Open a channel, and return its destination: each ask has its own, because platforms limit posts in a channel."""
    click: Callable[[str], Awaitable[object]]
    """Click a button of the newest message by its text."""


def clicks(town: Town, chat: Chat, questions: int, acknowledged_at: str = "") -> Journey:
    """Click the answer to the first of some questions."""
    paths = {"acknowledgement": acknowledged_at} if acknowledged_at else {}

    async def once() -> Phases:
        ask_id = await town.submit(chat.new_place(), chat.person, questions=questions)
        await town.shown(ask_id, 1)
        town.counter.begin()
        await chat.click("Yes")
        await town.shown(ask_id, 2)
        whole = town.counter.end()
        if questions == 1:
            await town.link(ask_id)
        return {**counts_at(town.counter, **paths), "shown": whole}

    return once


def goes_back(town: Town, chat: Chat) -> Journey:
    """Go back to the first question after it was answered: the plainest of clicks."""

    async def once() -> Phases:
        ask_id = await town.submit(chat.new_place(), chat.person)
        await town.shown(ask_id, 1)
        await chat.click("Yes")
        await town.shown(ask_id, 2)
        town.counter.begin()
        await chat.click("Back")
        await town.shown(ask_id, 3)
        town.counter.end()
        return counts_at(town.counter)

    return once


Connect = Callable[[RunningService], Chat]
"""Connects the platform to a running service."""


@asynccontextmanager
async def slack(*, events: bool = True) -> AsyncIterator[tuple[dict[str, Any], Connect]]:
    """Slack by HTTP, which tells the app of its own messages unless it sends no events."""
    async with FakeSlack() as world:
        if not events:
            world.event_types.clear()
        ada = world.person("U0ADA", "ada")
        channels: list[str] = []
        settings = {
            "bot_token": world.bot_token,
            "signing_secret": world.signing_secret,
            "api_url": world.api_url,
        }

        def new_place() -> str:
            channels.append(f"C0OPS{len(channels):03}")
            world.workspace.add_channel(channels[-1], ada.id)
            return f"slack:{channels[-1]}"

        async def click(text: str) -> None:
            await ada.click(world.messages(channels[-1])[-1], text)

        def connect(up: RunningService) -> Chat:
            world.deliver_to(f"{up.public_url}/slack/events")
            return Chat(ada.id, new_place, click)

        yield settings, connect


@asynccontextmanager
async def discord() -> AsyncIterator[tuple[dict[str, Any], Connect]]:
    """Discord by HTTP."""
    async with FakeDiscord() as world:
        ann = world.person("ann", guild := world.add_guild())
        settings = {
            "bot_token": world.application.token,
            "public_key": world.application.public_key,
            "api_url": world.api_url,
            "gateway": False,
        }

        def new_place() -> str:
            return f"discord:{world.add_channel(guild).id}"

        def connect(up: RunningService) -> Chat:
            world.application.interactions_endpoint_url = f"{up.public_url}/discord/interactions"
            return Chat(str(ann.id), new_place, ann.click)

        yield settings, connect


@asynccontextmanager
async def telegram() -> AsyncIterator[tuple[dict[str, Any], Connect]]:
    """Telegram by long polling."""
    async with FakeTelegram() as world:
        ann, groups = world.add_user("Ann"), []
        settings = {"bot_token": world.token, "api_url": world.url}

        def new_place() -> str:
            groups.append(world.add_group())
            groups[-1].members[ann.id] = "member"
            return f"telegram:{groups[-1].id}"

        async def click(text: str) -> None:
            message = groups[-1].messages[max(groups[-1].messages)]
            button = next(each for each in message.buttons if each["text"] == text)
            await world.click(ann, message, button["callback_data"])

        def connect(up: RunningService) -> Chat:
            return Chat(str(ann.id), new_place, click)

        yield settings, connect


def press(town: Town) -> Journey:
    """Press a button of the web page."""
    assert town.up.operator_pages is not None
    visitor = Reader(town.http, "")
    operator_pages = town.up.operator_pages

    async def once() -> Phases:
        ask_id = await town.submit("web")
        address = await operator_pages.answering_url(ask_id)
        page = await visitor.open(address)
        town.counter.begin()
        response = await visitor.press(page, address, "yes", follow=False)
        assert response.status == 303, response.text
        await town.shown(ask_id, 2)
        whole = town.counter.end()
        return {**counts_at(town.counter, acknowledgement=URL(address).path), "shown": whole}

    return once


# --- agents ----------------------------------------------------------------------------------------


def submission(town: Town) -> Journey:
    """Submit an ask with three questions."""

    async def once() -> Phases:
        town.counter.begin()
        ask_id = await town.submit("web")
        await town.shown(ask_id, 1)
        town.counter.end()
        return counts_at(town.counter, response="/v1/asks")

    return once


def api_answer(town: Town) -> Journey:
    """Answer the last question by the API, read the outcome for the first time, and link the receipt."""

    async def once() -> Phases:
        ask_id = await town.submit("web", questions=1)
        await town.shown(ask_id, 1)
        town.counter.begin()
        path = await town.answer(ask_id)
        await town.shown(ask_id, 2)
        town.counter.end()
        found = counts_at(town.counter, response=path)
        town.counter.begin()
        async with town.http.get(f"{town.up.api_url}/v1/asks/{ask_id}") as response:
            await response.read()
        await town.collected(ask_id)
        found["first read of the outcome"] = town.counter.end()
        town.counter.begin()
        await town.link(ask_id)
        linking = town.counter.end()
        # On PostgreSQL it also depends on how long ago the lease was renewed.
        return {**found, "linking": linking} if town.url.startswith("sqlite") else found

    return once


def long_poll(town: Town) -> Journey:
    """Answer while an agent waits."""

    async def once() -> Phases:
        ask_id = await town.submit("web", questions=1)
        await town.shown(ask_id, 1)
        address = f"{town.up.api_url}/v1/asks/{ask_id}"

        async def wait() -> None:
            async with town.http.get(address, headers={"Prefer": "wait=60"}) as response:
                assert (await response.json())["status"] == "answered"

        waiter = asyncio.create_task(wait())
        async with asyncio.timeout(PATIENCE):
            while not town.up.service.signals.count:  # noqa: ASYNC110 - not signalled
                await asyncio.sleep(0.005)
        await asyncio.sleep(_SETTLING)
        town.counter.begin()
        await town.answer(ask_id)
        await waiter
        await town.shown(ask_id, 2)
        await town.collected(ask_id)
        whole = town.counter.end()
        await town.link(ask_id)
        return {**counts_at(town.counter, woken=f"/v1/asks/{ask_id}"), "collected": whole}

    return once


async def webhook(town: Town, stack: AsyncExitStack) -> Journey:
    """Answer an ask that has a callback."""

    async def receive(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(status=204)

    app = web.Application()
    app.router.add_post("/hook", receive)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    callback = {"url": f"http://127.0.0.1:{runner.addresses[0][1]}/hook"}

    async def once() -> Phases:
        ask_id = await town.submit("web", questions=1, callback=callback)
        await town.shown(ask_id, 1)
        town.counter.begin()
        await town.answer(ask_id)
        await town.until(
            "SELECT 1 FROM deliveries WHERE ask_id = ? AND state = 'delivered'", ask_id
        )
        whole = town.counter.end()
        await town.link(ask_id)
        return {**counts_at(town.counter), "delivered": whole}

    return once


# --- all of them -------------------------------------------------------------------------------------


Chats = Mapping[str, Callable[[], AbstractAsyncContextManager[tuple[dict[str, Any], Connect]]]]
"""Chat platforms by name."""


@asynccontextmanager
async def town(
    folder: Path, url: str, counter: Counter, chats: Chats | None = None
) -> AsyncIterator[dict[str, Journey]]:
    """Run the service on a store, and yield the journeys by their names."""
    # Receipts are linked when a journey says so, rather than alongside whatever happens to run then.
    links = asyncio.Semaphore(0)
    setattr(ReceiptLinker, "_wait", lambda _linker: links.acquire())  # noqa: B010 - mypy allows no other way
    # Discord's message is settled as soon as its response may have been accepted.
    defaults: dict[str, Any] = DiscordSurface.__init__.__kwdefaults__ or {}
    defaults["confirm_after"] = 0.05
    lengthen_leases()
    async with AsyncExitStack() as stack:
        if chats is None:
            # One chat shows what PostgreSQL costs. Each more would renew its leases alongside.
            every: Chats = {"slack": slack, "discord": discord, "telegram": telegram}
            chats = every if url.startswith("sqlite") else {"slack": slack}
        worlds = {name: await stack.enter_async_context(world()) for name, world in chats.items()}
        settings = settings_type().model_validate(
            {
                "server": {"port": 0},
                "public": {"port": 0},
                "storage": {"url": url},
                "callbacks": {"allow": ["127.0.0.1"], "secret": f"whsec_{'A' * 32}"},
                **{name: table for name, (table, _) in worlds.items()},
            }
        )
        up = await stack.enter_async_context(run_service(settings))
        stop_housekeeping()
        http = await stack.enter_async_context(aiohttp.ClientSession())
        running = Town(up, url, counter, http, bearer(folder), links)
        people = {name: connect(up) for name, (_, connect) in worlds.items()}
        journeys = {
            "first click in Slack": clicks(running, people["slack"], 3, "/slack/events"),
            "last click in Slack": clicks(running, people["slack"], 1, "/slack/events"),
            "back in Slack": goes_back(running, people["slack"]),
            "first button on the web page": press(running),
            "submission": submission(running),
            "answer by the API": api_answer(running),
            "answer to a long-poll": long_poll(running),
            "answer to a webhook": await webhook(running, stack),
        }
        if "discord" in people:
            path = "/discord/interactions"
            journeys["first click in Discord"] = clicks(running, people["discord"], 3, path)
            journeys["back in Discord"] = goes_back(running, people["discord"])
            # Telegram is told of the click by a call, at the same time as the message is edited.
            journeys["first click in Telegram"] = clicks(running, people["telegram"], 3)
        yield journeys


async def measure(folder: Path, url: str) -> dict[str, Phases]:
    """Make each journey several times, and return its counts."""
    counter = Counter()
    counter.install()
    async with town(folder, url, counter) as journeys:
        found = {}
        for name, once in journeys.items():
            rounds = [await once() for _ in range(WARM_UP + TIMES)][WARM_UP:]
            found[name] = {
                phase: {what: min(each[phase][what] for each in rounds) for what in counts}
                for phase, counts in rounds[0].items()
            }
        return found


async def way(folder: Path, url: str) -> Counts:
    """Click in Slack several times; return the files, and the calls of the project's own functions, of the shortest.

    They are those up to the commit that notes what people see. What else the service does meanwhile only adds to them.
    """
    counter = Counter()
    counter.install()
    async with town(folder, url, counter, {"slack": partial(slack, events=False)}) as journeys:
        found = []
        for _ in range(WARM_UP + TIMES):
            await journeys["first click in Slack"]()
            found.append(counter.shown)
        return min(found, key=lambda counts: counts["calls"])


async def calls(folder: Path, url: str, journey: str) -> Counts:
    """Make one journey, and return how often each function was called, the most frequent first."""
    counter = Counter()
    counter.install()
    async with town(folder, url, counter) as journeys:
        for _ in range(WARM_UP + 1):
            await journeys[journey]()
        return dict(sorted(counter.calls.items(), key=lambda each: -each[1]))
