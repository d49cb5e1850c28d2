"""One simulation: a service, a chat with people, agents with a webhook receiver, faults, and the verdict."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final

import aiohttp

from tests.simulation import files, hosts, rest
from tests.simulation.agents import Agents, Receiver, plans
from tests.simulation.chat import Chat
from tests.simulation.disk import Disk
from tests.simulation.evidence import Evidence, Json
from tests.simulation.faults import WEIGHTS, Faults, Schedule
from tests.simulation.front_end import FrontEnd
from tests.simulation.hosts import Hosts
from tests.simulation.invariants import count_judged, judge
from tests.simulation.loop import SimulatedLoop
from tests.simulation.machine import Machine, boot
from tests.simulation.people import BUSY, SELDOM, SimulatedPerson
from tests.simulation.platforms import chat_of, side_of
from tests.simulation.service import (
    API_URL,
    TOKEN,
    SimulatedService,
)
from tests.simulation.watch import SOON, Watch

HOUR: Final = 3_600.0
ASKS: Final = 10
CALM: Final = 3 * HOUR
"""Seconds without faults within which everything must have come to its end."""


@dataclass
class Result:
    """The result of one seed."""

    seed: int
    digest: str
    violations: list[str]
    faults: list[str] = field(default_factory=list)
    """The faults of the schedule."""
    judged: Counter[str] = field(default_factory=Counter)
    """The number of things that each invariant judged."""
    steps: int = 0
    virtual: float = 0.0
    trace: list[str] | None = None


class _Errors(logging.Handler):
    """Collects what the service logs as an error."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(logging.ERROR)
        self._evidence = evidence

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._evidence.errors.append(f"{record.name}: {record.getMessage()} {error!r}")


def simulate(
    seed: int,
    folder: Path,
    schedule: Schedule | None = None,
    *,
    kinds: Sequence[str] = (),
    keep_trace: bool = False,
) -> Result:
    """Run a seed. Only one can run in a process, which must have called `machine.install` first.

    Args:
        schedule: the faults, if they are not those of the seed.
        kinds: the kinds of faults that may be among those of the seed; empty: all.
    """
    gc.disable()  # it would run destructors at moments that depend on everything allocated before
    machine = Machine(seed, keep_trace=keep_trace)
    boot(machine)
    loop = SimulatedLoop(machine)  # type: ignore[abstract]
    if schedule is None:
        schedule = Schedule.of(random.Random(f"faults {seed}"), HOUR, kinds or tuple(WEIGHTS))
    universe = _Universe(seed, loop, folder, schedule)
    task = loop.create_task(universe.run())
    loop.run_until(task)
    task.result()
    machine.note(f"{loop.steps} steps")
    return Result(
        seed,
        machine.trace.digest,
        judge(universe.evidence),
        universe.faults.schedule.lines,
        count_judged(universe.evidence),
        loop.steps,
        machine.now,
        machine.trace.lines,
    )


class _Universe:
    def __init__(self, seed: int, loop: SimulatedLoop, folder: Path, schedule: Schedule) -> None:
        self._seed = seed
        self._loop = loop
        self._folder = folder
        self.evidence = Evidence()
        self._chat = chat_of(seed)
        planned = plans(self._random("asks"), self._chat.people, ASKS, HOUR)
        files.keep_below(folder / "agents")
        files.attach_to(planned, self._random("pictures"))
        hosts.choose_ways(planned, self._random("hosts"))
        people = {name: id_ for id_, name in self._chat.names.items()}
        self._side = side_of(seed, loop, self.evidence, people)
        accounts = {self._side.account_of(name): id_ for name, id_ in people.items()}
        self.evidence.accounts = accounts
        self.faults = Faults(loop, schedule, HOUR, self.evidence, self._side)
        host = Hosts(loop, self._random("host"), self.evidence, self.faults.is_certain)
        self._agents = Agents(loop, self._random("agents"), self.evidence, planned, host)
        self._receiver = Receiver(loop, self.evidence)

    def _random(self, what: str) -> random.Random:
        return random.Random(f"{what} {self._seed}")

    async def run(self) -> None:
        logging.getLogger().addHandler(_Errors(self.evidence))
        async with self._chat as chat:
            await self._receiver.start()
            await self._side.start()
            disk = Disk()
            disk.install()
            service = SimulatedService(
                self._loop, self._folder, disk, chat, self._side, self.evidence
            )
            service.start()
            self._agents.start()
            pauses = self._random("pauses").choice([BUSY, SELDOM])

            def is_away() -> bool:
                return self.faults.nobody_looks

            camera = files.Camera(self._random("camera"))
            living = [
                SimulatedPerson(
                    self._loop,
                    self._random(name),
                    chat.client(id_),
                    self.evidence,
                    pauses,
                    is_away,
                    camera,
                )
                for id_, name in chat.names.items()
            ]
            rng = self._random("front end")
            front_end = FrontEnd(
                self._loop, rng, self.evidence, chat.names, chat.surface, service, is_away, camera
            )
            spies = files.Spies(self._loop, self._random("spies"), self.evidence)
            lives = [
                *(each.live() for each in living),
                front_end.live(),
                spies.live(),
                *self._side.lives(),
            ]
            tasks = [self._loop.create_task(life) for life in lives]
            watch = Watch(self._loop, chat, self.evidence, self.faults)
            tasks.append(self._loop.create_task(watch.run()))
            await self.faults.run(service, chat, self._agents, self._receiver)
            await self._come_to_rest()
            await asyncio.sleep(max(0.0, self.faults.quiet_since + SOON - self._loop.time()))
            for task in tasks:
                task.cancel()
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(ended, Exception):
                    self.evidence.broken.append(f"CRASH: the simulation itself failed: {ended!r}")
            left, _ = await rest.watch(service.count_tasks)  # and what the last action caused
            if not service.failures:
                await self._look_at_the_end(chat, service.front_token)
                await service.stop()
                service.start()
                _, fresh = await rest.watch(service.count_tasks)
                self.evidence.broken += rest.judge_tasks(left, fresh)
            self.evidence.errors += [*self._loop.unhandled, *service.failures]
            self.evidence.kills = self.faults.kills
            kinds = {fault.kind for fault in self.faults.schedule.faults}
            self.evidence.clock_errors = "clock" in kinds
            self.evidence.is_calm = not kinds

    async def _come_to_rest(self) -> None:
        until = self._loop.time() + CALM
        while (
            not self._agents.done or self._missing_webhooks() or not self._side.has_come_to_rest()
        ):
            if self._loop.time() > until:
                if waits := [*self._agents.waits_for, *self._missing_webhooks()]:
                    self.evidence.broken.append(
                        f"LIVE: these have not been told the outcome: {waits}"
                    )
                return
            await asyncio.sleep(10)

    def _missing_webhooks(self) -> list[str]:
        evidence = self.evidence
        return [
            f"{key} by webhook"
            for key, plan in evidence.plans.items()
            if plan.has_webhook
            and not any(
                report.ask["id"] in evidence.erasures for report in evidence.reports.get(key, ())
            )
            and not any(report.way == "webhook" for report in evidence.reports.get(key, ()))
        ]

    async def _look_at_the_end(self, chat: Chat, front_token: str) -> None:
        evidence = self.evidence
        async with _client(TOKEN) as agent, _client(front_token) as front_end:
            page: Json = await _get(agent, "/v1/asks?limit=100")
            for ask in page["asks"]:
                path = f"/v1/asks/{ask['id']}"
                evidence.asks[ask["id"]] = await _get(agent, path)
                # People read also what the agent must not, such as answers that were never confirmed.
                evidence.records[ask["id"]] = (await _get(front_end, f"{path}/record"))["entries"]
                async with front_end.get(f"{path}/receipt") as response:
                    if response.status == HTTPStatus.OK:
                        evidence.receipts[ask["id"]] = await response.json()
            evidence.deliveries = (await _get(agent, "/v1/deliveries"))["deliveries"]
            evidence.broken += await rest.judge_queues(agent)
            keys = "/.well-known/answerback-receipts.json"
            evidence.receipt_keys = await _get(front_end, keys)
        for message in chat.messages():
            evidence.messages.setdefault(message.ask_id, []).append(message)
        evidence.reminders, evidence.deleted = chat.reminders(), chat.deleted
        await files.look_at_the_end(evidence, chat, front_token)


def _client(token: str) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(API_URL, headers={"Authorization": f"Bearer {token}"})


async def _get(http: aiohttp.ClientSession, path: str) -> Json:
    async with http.get(path) as response:
        found: Json = await response.json()
        return found
