"""The faults. Each round injects one; recovery from a slow one overlaps with the rounds that follow."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from answerback_chat.leader_lease import LEASE
from tests.acceptance.chaos.cluster import Machine, Stage
from tests.fakes.receiver import status

_PAST_ANY_CLAIM: Final = 10.0
"""Seconds of a pause that outlasts a process's claims on work."""
_PAST_THE_LEASE: Final = LEASE + 2.0
"""Seconds of a pause that outlasts the lease of Discord's gateway."""
_MIN_HEALTHY: Final = 2
"""Machines that must be well before another is broken; a fault that affects all of them may come at any time."""


class Faults:
    """Injects one fault after the other, each kind once before any is repeated."""

    def __init__(self, stage: Stage, chance: random.Random) -> None:
        self._stage, self._chance = stage, chance
        self._healing: asyncio.TaskGroup
        self._left: list[Callable[[], Awaitable[None]]] = []
        self._recovered = asyncio.Condition()
        self.story: list[str] = []
        """The faults so far, in order."""

    async def round(self, healing: asyncio.TaskGroup) -> None:
        """Break something and pause briefly; a slow recovery becomes a task of the group."""
        self._healing = healing
        if not self._left:
            self._left = [
                self._kill,
                self._end,
                self._pause,
                self._pause_the_leader,
                self._crash_the_database,
                self._restart_the_database,
                self._restart_the_pooler,
                self._cut,
                self._lose_requests,
                self._deafen,
                self._partition,
                self._refuse,
            ]
            self._chance.shuffle(self._left)
        fault = self._left.pop()
        self.story.append(fault.__name__.lstrip("_"))
        await fault()
        await asyncio.sleep(self._chance.uniform(0.1, 0.8))

    # --- a machine ---

    async def _kill(self) -> None:
        machine = await self._pick()

        async def heal() -> None:
            await self._stage.end(machine, signal.SIGKILL)
            await self._boot(machine)

        self._begin(machine, heal())

    async def _end(self) -> None:
        machine = await self._pick()

        async def heal() -> None:
            code = await self._stage.end(machine, signal.SIGTERM)
            assert code == 0, f"a service stopped by SIGTERM exited with {code}"
            await self._boot(machine)

        self._begin(machine, heal())

    async def _pause(self) -> None:
        machine = await self._pick()
        self._begin(machine, self._stage.freeze(machine, _PAST_ANY_CLAIM))

    async def _pause_the_leader(self) -> None:
        machine = await self._pick(leading=True)
        self._begin(machine, self._stage.freeze(machine, _PAST_THE_LEASE))

    async def _boot(self, machine: Machine) -> None:
        """Start it again; a machine whose clock is wrong gets another wrong time."""
        machine.clock_off = -machine.clock_off
        await self._stage.boot(machine)

    # --- the database, and the way to it ---

    async def _crash_the_database(self) -> None:
        await asyncio.to_thread(self._stage.server.stop, signal.SIGQUIT)
        await asyncio.to_thread(self._stage.server.start)

    async def _restart_the_database(self) -> None:
        await asyncio.to_thread(self._stage.server.stop)
        await asyncio.sleep(self._chance.uniform(0, 1.0))
        await asyncio.to_thread(self._stage.server.start)

    async def _restart_the_pooler(self) -> None:
        await asyncio.to_thread(self._stage.pooler.kill)
        await asyncio.to_thread(self._stage.pooler.start)

    async def _cut(self) -> None:
        """Break every connection of every machine, again and again."""
        for _ in range(5):
            for machine in self._stage.machines:
                machine.statements.cut()
                machine.listening.cut()
            await asyncio.sleep(self._chance.uniform(0, 0.1))

    async def _lose_requests(self) -> None:
        """Lose statements on their way, or execute them without an answer."""
        for _ in range(6):
            proxy = self._chance.choice(self._stage.machines).statements
            if self._chance.random() < 0.5:
                proxy.cut_after_request = True
            else:
                proxy.cut_before_request = True
            await asyncio.sleep(self._chance.uniform(0, 0.1))

    async def _deafen(self) -> None:
        """Break the listening connections only."""
        for machine in self._stage.machines:
            machine.listening.cut()

    async def _partition(self) -> None:
        """Cut one machine off from its database, for longer than its lease, while it still answers requests."""
        machine = await self._pick()

        async def heal() -> None:
            machine.statements.refusing = machine.listening.refusing = True
            machine.statements.cut()
            machine.listening.cut()
            await asyncio.sleep(self._chance.choice((2.0, _PAST_THE_LEASE)))
            machine.statements.refusing = machine.listening.refusing = False

        self._begin(machine, heal())

    # --- the receiver ---

    async def _refuse(self) -> None:
        """Make the receiver refuse webhooks for a while."""
        self._stage.receiver.answers += [status(503)] * 3

    # --- healing ---

    async def _pick(self, *, leading: bool = False) -> Machine:
        """Return a machine that is well, as are others; with ``leading``, the one that holds Discord's gateway."""
        async with self._recovered:
            await self._recovered.wait_for(lambda: len(self._free()) >= _MIN_HEALTHY)
        free = self._free()
        if leading:
            holder = self._stage.run("SELECT holder FROM leases WHERE name = 'discord gateway'")
            leaders = [
                machine for machine in free if [(self._stage.holders[machine.name],)] == holder
            ]
            free = leaders or free
        machine = self._chance.choice(free)
        machine.busy = True
        self.story[-1] += f" of {machine.number}"
        return machine

    def _free(self) -> list[Machine]:
        return [machine for machine in self._stage.machines if not machine.busy]

    def _begin(self, machine: Machine, healing: Coroutine[Any, Any, None]) -> None:
        async def heal() -> None:
            await healing
            machine.busy = False
            async with self._recovered:
                self._recovered.notify_all()

        self._healing.create_task(heal())
