"""What goes wrong in a simulation, by seed and weight: a schedule, which can be shortened, and what carries it out."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.fakes.slack.server import FakeSlack
from tests.simulation.loop import SimulatedLoop
from tests.simulation.machine import EPOCH
from tests.simulation.service import SimulatedService

if TYPE_CHECKING:
    from tests.simulation.agents import Agents, Receiver

WEIGHTS: Final = {
    "kill": 5,
    "kill busy": 8,
    "kill at click": 4,
    "kill at call": 4,
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
    "repeat event": 3,
    "kill agents": 2,
    "fail callbacks": 3,
    "clock": 1,
    "reload": 2,
}
"""The kinds of faults, and how often each comes."""
_LATEST: Final = 15.0
"""The most seconds by which Slack does late what it was asked for. The service is ready for twenty."""
_SUSPENDED: Final = 660.0
"""Seconds after which the service tries again what only the operator can fix: ten minutes, and until the next look."""
_LOOK_AWAY: Final = 200.0
"""Seconds for which nobody looks at what a late call did: a click would repair it."""
_SLOWEST: Final = 9.0
"""The most seconds that Slack takes to answer what it has carried out. The service waits for ten."""
_MOST: Final = 30
_SOON: Final = 120.0
"""Seconds within which a click or a call must come, for the service to be killed at it."""
_LATE_METHODS: Final = ("chat.update", "chat.update", "chat.postMessage", "views.open")
"""The methods that Slack may carry out after its caller has gone."""
_FORBIDDEN: Final = ("missing_scope", "app_access_restricted", "message_limit_exceeded")
"""The reasons for which Slack lets no app edit until somebody who administers it has done something."""
_CONTROL: Final = ":answer"
"""The verb of controls that answer a question."""
_METHODS: Final = ("*", "chat.postMessage", "chat.update", "chat.postEphemeral", "views.open")


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

    def __init__(self, loop: SimulatedLoop, schedule: Schedule, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self.schedule = schedule
        self.kills = 0
        self._troubled_until = 0.0
        self._nobody_looks_until = 0.0

    @property
    def nobody_looks(self) -> bool:
        """True while people have something else to do."""
        return self._loop.time() < self._nobody_looks_until

    @property
    def quiet_since(self) -> float:
        """Since when nothing has gone wrong between the service and Slack; what is only planned has not."""
        failed = (call.at for call in reversed(self._slack.calls) if call.fault is not None)
        return max(self._troubled_until, next(failed, EPOCH) - EPOCH)

    def _trouble_until(self, seconds: float = 0.0) -> None:
        """Note that something goes wrong now, and for so many seconds."""
        self._troubled_until = max(self._troubled_until, self._loop.time() + seconds)

    async def run(
        self, service: SimulatedService, slack: FakeSlack, agents: Agents, receiver: Receiver
    ) -> None:
        """Let everything go wrong, then repair everything; the service is up when this returns."""
        self._service, self._slack, self._agents = service, slack, agents
        self._receiver = receiver
        for fault in self.schedule.faults:
            await asyncio.sleep(max(0.0, fault.at - self._loop.time()))
            self._loop.machine.note(f"fault: {fault.kind}")
            await self._inject(fault.kind, random.Random(fault.number))
        await asyncio.sleep(max(0.0, self._seconds - self._loop.time()))
        self._loop.machine.note("the faults stop")
        slack.faults.clear()
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
        if kind in {"kill at click", "kill at call"}:
            await self._kill_at(
                self._delivered if kind == "kill at click" else self._slack.calls, rng
            )
        elif kind in {"kill", "kill busy", "power", "restart", "pause", "clock"}:
            await self._trouble_service(kind, rng)
        elif kind == "reload":
            self._service.reload()
        elif kind in {"cut", "stall"}:
            self._trouble_network(kind, rng)
        elif kind in {"kill agents", "fail callbacks"}:
            self._trouble_agents(kind, rng)
        else:
            self._trouble_slack(kind, rng)

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
        before, until = len(happened), self._loop.time() + _SOON
        while len(happened) == before:
            if self._loop.time() > until:
                return
            await asyncio.sleep(0.01)
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
            self._loop.after(rng.uniform(0.1, 200), self._agents.start)

    def _trouble_slack(self, kind: str, rng: random.Random) -> None:
        plan, method = self._slack.faults.add, rng.choice(_METHODS)
        match kind:
            case "limit":
                seconds = rng.choice([1, 5, 30])
                plan(method, times=rng.randint(1, 5), status=429, retry_after=seconds)
            case "refuse":
                plan(method, times=rng.randint(1, 5), status=rng.choice([500, 502, 503]))
            case "lose answer":
                when = rng.choice(["before", "after", "after"])
                plan(method, times=rng.randint(1, 3), drop=True, when=when)
            case "act late":
                # The caller has gone, and Slack does what was asked all the same, some time later.
                late = self._act_late(rng.choice(_LATE_METHODS), rng)
                self._loop.create_task(late, context=self._loop.kernel.copy())
            case "answer late":
                late = self._answer_late(rng)
                self._loop.create_task(late, context=self._loop.kernel.copy())
            case "forbid":
                forbidden = plan("chat.update", times=None, error=rng.choice(_FORBIDDEN))
                self._loop.after(seconds := rng.choice([10, 120, 900]), forbidden.release)
                self._trouble_until(seconds + _SUSPENDED)
            case "renew":
                # Slack closes each connection of Socket Mode from time to time.
                renewal = self._slack.socket.disconnect(
                    rng.choice(["warning", "refresh_requested"])
                )
                self._loop.create_task(renewal, context=self._loop.kernel.copy())
            case "repeat event":
                self._repeat_event(rng)
            case _:
                raise ValueError(f"there is no fault {kind!r}")

    async def _act_late(self, method: str, rng: random.Random) -> None:
        """Let Slack carry out a call seconds later: an edit, if it can be, after another one, which it undoes."""
        calls, seconds = self._slack.calls, rng.uniform(0.2, _LATEST)
        # Of edits, the next one that leaves an ask open: another one may follow it.
        about = _CONTROL if method == "chat.update" else ""
        late = self._slack.faults.add(method, hang=True, drop=True, about=about)
        await self._until(lambda: late.hits, _SOON)
        if not late.hits:
            late.release()
            return
        begun = len(calls)
        late_args = next(call.args for call in reversed(calls) if call.fault is not None)

        def was_outrun() -> bool:
            return any(
                call.ok
                and call.method == "chat.update"
                and call.args.get("ts") == late_args.get("ts")
                and call.args.get("blocks") != late_args.get("blocks")
                for call in calls[begun:]
            )

        await self._until(was_outrun, seconds)
        self._trouble_until()
        self._nobody_looks_until = self._loop.time() + _LOOK_AWAY
        late.release()

    async def _answer_late(self, rng: random.Random) -> None:
        """Let Slack edit a message at once, and say so only seconds later, when people have acted on it."""
        late = self._slack.faults.add("chat.update", hang=True, when="after", about=_CONTROL)
        await self._until(lambda: late.hits, _SOON)
        if late.hits:
            await asyncio.sleep(rng.uniform(1, _SLOWEST))
            self._trouble_until()
            self._nobody_looks_until = self._loop.time() + _LOOK_AWAY
        late.release()

    async def _until(self, condition: Callable[[], object], seconds: float) -> None:
        """Wait until Slack is in a state, or some seconds have passed."""
        with contextlib.suppress(TimeoutError):
            await self._slack.until(condition, seconds)

    @property
    def _delivered(self) -> Sized:
        """The payloads that Slack has sent to the service."""
        slack = self._slack
        return slack.http.sent if slack.way is slack.http else slack.socket.wire

    def _start_again(self, rng: random.Random) -> None:
        self.kills += 1
        self._trouble_until(seconds := rng.choice([0.5, 5.0, 60.0]))
        self._loop.after(seconds, self._service.start)

    def _repeat_event(self, rng: random.Random) -> None:
        """Deliver something once more that Slack has delivered before, as after an acknowledgement that got lost."""
        slack = self._slack
        if slack.way is slack.http and slack.http.sent:
            again = slack.http.post(rng.choice(slack.http.sent[-5:]))
        elif slack.socket.wire and slack.socket.connections:
            connection = rng.choice(slack.socket.connections)
            again = slack.socket.deliver(rng.choice(slack.socket.wire[-5:]), connection)
        else:
            return
        self._loop.create_task(again, context=self._loop.kernel.copy())
