"""Faults in a simulation, by seed and weight: a schedule, which can be shortened, and the code that carries it out."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.simulation.chat import WHEN_TO_CLICK, Chat, Trouble, go_wrong
from tests.simulation.evidence import Evidence
from tests.simulation.loop import SimulatedLoop
from tests.simulation.service import SimulatedService
from tests.simulation.sides import Side

if TYPE_CHECKING:
    from tests.simulation.agents import Agents, Receiver

WEIGHTS: Final = {
    "kill": 5,
    "kill busy": 8,
    "kill at click": 4,
    "kill at call": 4,
    "kill at files": 3,
    "power": 5,
    "restart": 2,
    "pause": 2,
    "cut": 5,
    "stall": 4,
    "limit": 4,
    "refuse": 4,
    "lose answer": 6,
    "act late": 4,
    "answer late": 4,
    "forbid": 2,
    "renew": 2,
    "delete": 3,
    "files fail": 2,
    "repeat event": 3,
    "kill agents": 2,
    "fail callbacks": 3,
    "push fails": 4,
    "sign-in fails": 2,
    "clock": 1,
    "reload": 2,
}
"""The kinds of faults, and how often each comes."""
_LOOK_AWAY: Final = 200.0
"""Seconds for which nobody looks at what a late call did: a click would repair it."""
_MOST: Final = 30


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong."""

    at: float
    kind: str
    number: int
    """Decides the details."""

    def __str__(self) -> str:
        return f"{self.at:.3f} {self.kind} {self.number}"

    @classmethod
    def parse(cls, line: str) -> Fault:
        at, _, rest = line.partition(" ")
        kind, _, number = rest.rpartition(" ")
        return cls(float(at), kind, int(number))


class Schedule:
    """The faults of one simulation, in order."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults

    @classmethod
    def of(cls, rng: random.Random, seconds: float, kinds: Sequence[str]) -> Schedule:
        """Draw a schedule of some kinds of faults. Some seeds have few, and some only some of these kinds."""
        chosen = rng.sample(kinds, rng.randint(1, len(kinds)))
        weights = [WEIGHTS[kind] for kind in chosen]
        drawn = rng.choices(chosen, weights, k=rng.randint(0, _MOST))
        times = sorted(round(rng.uniform(1, seconds), 3) for _ in drawn)
        pairs = zip(times, drawn, strict=True)
        return cls([Fault(at, kind, rng.randrange(1_000_000)) for at, kind in pairs])

    @property
    def lines(self) -> list[str]:
        return [str(each) for each in self.faults]


class Faults:
    """Carries out a schedule."""

    def __init__(
        self,
        loop: SimulatedLoop,
        schedule: Schedule,
        seconds: float,
        evidence: Evidence,
        side: Side,
    ) -> None:
        self._loop = loop
        self._evidence = evidence
        self._side = side
        self._seconds = seconds
        self.schedule = schedule
        self.kills = 0
        self._troubled_until = 0.0
        self._agents_died_at = -1.0
        self._nobody_looks_until = 0.0

    @property
    def nobody_looks(self) -> bool:
        """True while people have something else to do."""
        return self._loop.time() < self._nobody_looks_until

    @property
    def quiet_since(self) -> float:
        """Since when nothing has gone wrong between the service and the chat; what is only planned has not."""
        return max(self._troubled_until, self._chat.failed_at)

    def is_certain(self, since: float) -> bool:
        """Return True if nothing has gone wrong since a time, so that whoever was told something knows it."""
        return since > 0 and self.quiet_since < since and self._agents_died_at < since

    def _trouble_until(self, seconds: float = 0.0) -> None:
        """Note that something goes wrong now, and for so many seconds."""
        now = self._loop.time()
        self._evidence.troubles.append((now, now + seconds))
        self._troubled_until = max(self._troubled_until, now + seconds)

    def _look_away(self) -> None:
        self._nobody_looks_until = self._loop.time() + _LOOK_AWAY

    async def run(
        self, service: SimulatedService, chat: Chat, agents: Agents, receiver: Receiver
    ) -> None:
        """Let everything go wrong, then repair everything; the service is up when this returns."""
        self._service, self._chat, self._agents = service, chat, agents
        self._receiver = receiver
        self._trouble = Trouble(self._loop, self._trouble_until, self._look_away)
        for fault in self.schedule.faults:
            await asyncio.sleep(max(0.0, fault.at - self._loop.time()))
            self._loop.machine.note(f"fault: {fault.kind}")
            await self._inject(fault.kind, random.Random(fault.number))
        await asyncio.sleep(max(0.0, self._seconds - self._loop.time()))
        self._loop.machine.note("the faults stop")
        chat.stop_faults()
        self._side.stop_faults()
        receiver.failing_until = 0.0
        service.power_fails = None
        if service.process is not None:
            service.process.steps_left = None
        await asyncio.sleep(300)  # a killed process is started again after a while
        for process in (service.process, agents.process):
            if process is not None:
                process.steps_left = None

    async def _inject(self, kind: str, rng: random.Random) -> None:
        """Let one thing go wrong; ``rng`` decides the details."""
        if kind == "kill at files":
            # What a person sends with files is acknowledged before they are read.
            self._loop.after(rng.choice([1.0, 130.0]), self._chat.faults.fail_files(rng))
            await self._kill_at(self._evidence.sent_with_files, rng)
        elif kind in {"kill at click", "kill at call"}:
            await self._kill_at(
                self._chat.delivered if kind == "kill at click" else self._chat.calls, rng
            )
        elif kind in {"kill", "kill busy", "power", "restart", "pause", "clock"}:
            await self._trouble_service(kind, rng)
        elif kind == "reload":
            self._service.reload(rng)
        elif kind in {"cut", "stall"}:
            self._trouble_network(kind, rng)
        elif kind in {"kill agents", "fail callbacks"}:
            self._trouble_agents(kind, rng)
        elif kind in {"push fails", "sign-in fails"}:
            if kind == self._side.kind:
                self._side.go_wrong(rng, self._trouble)
        else:
            go_wrong(self._chat, kind, rng, self._trouble)

    async def _trouble_service(self, kind: str, rng: random.Random) -> None:
        process = self._service.process
        if process is None or not process.alive or process.steps_left is not None:
            return  # it is down, or about to be killed
        self._trouble_until()
        if kind == "pause":
            process.paused_until = self._loop.time() + rng.choice([0.5, 2.0, 10.0])
        elif kind == "clock":
            process.clock_error = rng.choice([-120.0, -5.0, 5.0, 120.0])
        elif kind == "restart":
            await self._service.stop()
            await asyncio.sleep(rng.uniform(0.1, 30))
            self._trouble_until()
            self._service.start()
        else:
            if kind == "power":
                self._service.power_fails = rng
            process.on_kill.append(lambda: self._start_again(rng))
            process.steps_left = rng.randrange(3 if kind == "kill" else 400)

    async def _kill_at(self, happened: Sized, rng: random.Random) -> None:
        """Kill the service just after the next thing of a kind has happened, if there is one soon."""
        before = len(happened)
        if not await self._loop.holds(lambda: len(happened) != before, WHEN_TO_CLICK):
            return
        process = self._service.process
        if process is not None and process.alive and process.steps_left is None:
            process.on_kill.append(lambda: self._start_again(rng))
            process.steps_left = rng.randrange(80)

    def _trouble_network(self, kind: str, rng: random.Random) -> None:
        for _ in range(rng.choice([1, 1, 3])):
            endpoint = self._loop.network.pick()
            if endpoint is None:
                return
            self._trouble_until(30)
            if kind == "cut":
                self._loop.network.cut(endpoint)
            else:
                self._loop.network.stall(endpoint, rng.choice([1.0, 4.0, 30.0]))

    def _trouble_agents(self, kind: str, rng: random.Random) -> None:
        if kind == "fail callbacks":
            self._receiver.failing_until = self._loop.time() + rng.choice([10, 600, 3600])
        elif self._agents.process.alive:
            self._loop.kill(self._agents.process)
            self._agents_died_at = self._loop.time()
            self._loop.after(rng.uniform(0.1, 200), self._agents.start)

    def _start_again(self, rng: random.Random) -> None:
        self.kills += 1
        self._trouble_until(seconds := rng.choice([0.5, 5.0, 60.0]))
        self._loop.after(seconds, self._service.start)
