"""Agents: they ask by HTTP with the project's own client, wait, give up, come back, die, and receive webhooks."""

from __future__ import annotations

import asyncio
import contextlib
import random
from contextvars import copy_context
from typing import Final

from aiohttp import web

from answerback_client.async_client import AsyncClient
from answerback_client.errors import (
    ClientError,
    RefusedError,
    TooManyAsksError,
    UnreachableError,
)
from answerback_client.models import Ask, EndedError, StillOpenError
from tests.simulation import files
from tests.simulation.evidence import Evidence, Json, Plan, Report
from tests.simulation.hosts import Hosts
from tests.simulation.loop import SimulatedLoop
from tests.simulation.machine import CURRENT, Process
from tests.simulation.service import API_URL, TOKEN

RECEIVER_PORT: Final = 9_000
_COMMANDS: Final = ("git push origin main", "rm -rf build", "make deploy", "psql -f drop.sql")

_AGAIN: Final = ("pytest -q", "pytest -q", "npm test")
"""The commands that agents want to run more than once."""
_CONFIRMATIONS: Final = {"pair": 1, "trio": 2}
"""The confirmations that are due, by route."""
_APPROVALS: Final = (0.35, 0.35, 0.95)
"""The share of calls that ask for a permission: where it is large, grants are used again and again."""
_CONSUMERS: Final = 2
"""The number of programs that want to use one approval at the same time."""


def plans(rng: random.Random, people: dict[str, str], count: int, seconds: float) -> list[Plan]:
    """Make up the asks of a simulation."""
    made, approvals = [], rng.choice(_APPROVALS)
    for number in range(count):
        responders = frozenset(people.values())
        call = _call(rng, number, approvals)
        route = rng.choice(["pair", "trio"]) if rng.random() < 0.2 else "ops"
        if call["name"] != "ask_user" and rng.random() < max(0.7, approvals):
            route = "dev"
            call |= {"takes_edited": True, "origin": {"folder": "/work"}}
            call["arguments"]["tool_input"]["command"] = rng.choice(_AGAIN)
        body: Json = {**call, "to": route}
        if route == "ops" and rng.random() < 0.3:
            responders = frozenset(rng.sample(sorted(responders), 1))
            body["responders"] = sorted(responders)
        if rng.random() < 0.4:
            body["expires_in"] = rng.choice([120, 600, 1800, 5400])
            body["on_expiry"] = rng.choice(["cancel", "defaults"])
        else:
            body["expires_in"] = 7200
        if rng.random() < 0.3:
            body["remind_after"] = [rng.choice([60, 300, 900])]
        has_webhook = rng.random() < 0.5
        if has_webhook:
            body["callback"] = {"url": f"http://127.0.0.1:{RECEIVER_PORT}/{number}"}
        patience = rng.choice([None, None, 5.0, 60.0, 600.0])
        withdraws = patience is not None and rng.random() < 0.15
        due = _CONFIRMATIONS.get(route, 0)
        key = f"call-{number}"
        made.append(
            Plan(
                key, rng.uniform(0, seconds), body, responders, due, patience, has_webhook, withdraws,
            )
        )  # fmt: skip
    return made


def _call(rng: random.Random, number: int, approvals: float) -> Json:
    if rng.random() < approvals:
        command = f"{rng.choice(_COMMANDS)} # {number}"
        return {
            "name": "PermissionRequest",
            "arguments": {
                "hook_event_name": "PermissionRequest",
                "session_id": "s1",
                "cwd": "/work",
                "tool_name": "Bash",
                "tool_input": {"command": command},
            },
        }
    questions = []
    for place in range(rng.choice([1, 2, 3])):
        kind = rng.choice(["boolean", "select", "text"])
        question: Json = {
            "id": f"q{place}",
            "text": f"Ask {number}, question {place}?",
            "answer_type": kind,
        }
        if kind == "select":
            question["options"] = [{"value": each, "label": each} for each in ("red", "green")]
        if rng.random() < 0.5:
            question["default"] = {"boolean": True, "select": "red", "text": "as ever"}[kind]
        questions.append(question)
    return {"name": "ask_user", "arguments": {"questions": questions}}


class Agents:
    """The machine that the agents run on, in one process."""

    def __init__(
        self,
        loop: SimulatedLoop,
        rng: random.Random,
        evidence: Evidence,
        planned: list[Plan],
        hosts: Hosts,
    ) -> None:
        self._loop = loop
        self._rng = rng
        self._evidence = evidence
        self._planned = planned
        self._hosts = hosts
        self._finished: set[str] = set()
        self._waiters: dict[str, str] = {}
        self.process = Process("agents")
        evidence.plans = {plan.key: plan for plan in planned}

    @property
    def done(self) -> bool:
        """True if each ask has ended, and its agent knows."""
        return len(self._finished) == len(self._planned)

    @property
    def waits_for(self) -> list[str]:
        return sorted({plan.key for plan in self._planned} - self._finished)

    def start(self) -> None:
        """Start the process, which continues what it had begun before."""
        self._loop.machine.note("the agents start")
        process = self.process = Process("agents")
        process.on_kill.append(lambda: self._loop.network.end_of(process))
        process.on_kill.append(lambda: self._loop.machine.note("the agents are killed"))
        context = copy_context()
        context.run(CURRENT.set, process)
        for plan in self._planned:
            if plan.key not in self._finished:
                task = self._loop.create_task(self._ask(plan), context=context.copy())
                task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._evidence.broken.append(f"CRASH: the simulation itself failed: {error!r}")

    async def _ask(self, plan: Plan) -> None:
        await asyncio.sleep(max(0.0, plan.at - self._loop.time()))
        async with AsyncClient(API_URL, TOKEN) as client:
            while True:
                try:
                    if plan.way is not None:
                        ask = await self._hosts.ask(client, plan)
                        break
                    body = await files.upload(client, plan)
                    ask = await client.submit_body(body, key=plan.key)
                    self._tell(plan, "submitted", ask)
                    ask = await client.wait(ask.id, timeout=plan.patience)
                except StillOpenError as error:
                    self._tell(plan, "gave up", error.ask)
                    if plan.withdraws:
                        await self._withdraw(client, error.ask)
                    await asyncio.sleep(self._rng.uniform(1, 300))
                    continue
                except (UnreachableError, TooManyAsksError):
                    await asyncio.sleep(self._rng.uniform(1, 30))
                    continue
                except ClientError as error:
                    self._evidence.broken.append(f"{plan.key}: the client said {error!r}")
                    return
                break
            self._tell(plan, "waited", ask)
            await files.fetch(client, self._evidence, plan.key, ask.json)
            self._finished.add(plan.key)
            self._evidence.finished.add(plan.key)
            if plan.body["name"] == "PermissionRequest" and ask.by_person:
                await asyncio.gather(*(self._consume(client, ask) for _ in range(_CONSUMERS)))

    async def _withdraw(self, client: AsyncClient, ask: Ask) -> None:
        with contextlib.suppress(EndedError, UnreachableError):
            await client.withdraw(ask.id)

    async def _consume(self, client: AsyncClient, ask: Ask) -> None:
        """Use an approval, as a deploy script does just before it deploys."""
        digest = None if ask.edited is None else ask.edited.digest
        for _ in range(3):
            try:
                await client.consume(ask.id, edited=digest)
            except UnreachableError:
                await asyncio.sleep(self._rng.uniform(1, 30))
            except RefusedError as error:
                self._loop.machine.note(f"{ask.id} is not used: {error}")
                return
            else:
                self._evidence.consumed[ask.id] += 1
                return

    def _tell(self, plan: Plan, way: str, ask: Ask) -> None:
        self._loop.machine.note(f"{plan.key} {way}: {ask.status} {ask.revision}")
        self._evidence.tell(plan, Report(self._loop.time(), way, ask.json))


class Receiver:
    """The agents' webhook receiver. It fails for as long as it is told to."""

    def __init__(self, loop: SimulatedLoop, evidence: Evidence) -> None:
        self._loop = loop
        self._evidence = evidence
        self.failing_until = 0.0

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/{number}", self._handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", RECEIVER_PORT).start()

    async def _handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        fails = self._loop.time() < self.failing_until
        plan = self._evidence.plans[f"call-{request.match_info['number']}"]
        self._loop.machine.note(f"{plan.key} webhook {body['type']}")
        way = "refused webhook" if fails else "webhook"
        report = Report(self._loop.time(), way, body["data"], request.headers["webhook-id"])
        self._evidence.tell(plan, report)
        return web.Response(status=503 if fails else 204)
