"""What breaks. A round is one fault; what takes longer to heal goes on while the next ones come."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from answerback_chat.leader_lease import LEASE
from tests.acceptance.chaos.stage import Machine, Stage
from tests.fakes.receiver import status

_WORK: Final = 10.0
"""Seconds of a pause that is longer than what a process has claimed is its own."""
_LEADING: Final = LEASE + 2.0
"""Seconds of a pause that is longer than the lease of Discord's gateway."""
_LEAST_UP: Final = 2
"""Machines that are well before another is broken; what concerns all of them comes at any time."""


class Faults:
    """Breaks one thing after the other, each kind once before any comes again."""

    def __init__(self, stage: Stage, chance: random.Random) -> None:
        self._stage, self._chance = stage, chance
        self._healing: asyncio.TaskGroup
        self._left: list[Callable[[], Awaitable[None]]] = []
        self._well = asyncio.Condition()
        self.story: list[str] = []
        """What was broken, in order."""

    async def round(self, healing: asyncio.TaskGroup) -> None:
        """Breaks something, and lets a moment pass; what takes longer to heal is a task of the group."""
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
                self._part,
                self._refuse,
            ]
            self._chance.shuffle(self._left)
        fault = self._left.pop()
        self.story.append(fault.__name__.lstrip("_"))
        await fault()
        await asyncio.sleep(self._chance.uniform(0.1, 0.8))

    # --- a machine ---

    async def _kill(self) -> None:
        machine = await self._some()

        async def heal() -> None:
            await self._stage.end(machine, signal.SIGKILL)
            await self._boot(machine)

        self._begin(machine, heal())

    async def _end(self) -> None:
        machine = await self._some()

        async def heal() -> None:
            code = await self._stage.end(machine, signal.SIGTERM)
            assert code == 0, f"a service that was told to end ended with {code}"
            await self._boot(machine)

        self._begin(machine, heal())

    async def _pause(self) -> None:
        machine = await self._some()
        self._begin(machine, self._stage.freeze(machine, _WORK))

    async def _pause_the_leader(self) -> None:
        machine = await self._some(leading=True)
        self._begin(machine, self._stage.freeze(machine, _LEADING))

    async def _boot(self, machine: Machine) -> None:
        """Starts it again, its clock set to another wrong time where it is wrong."""
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
        """Every connection of every machine breaks, again and again."""
        for _ in range(5):
            for machine in self._stage.machines:
                machine.statements.cut()
                machine.listening.cut()
            await asyncio.sleep(self._chance.uniform(0, 0.1))

    async def _lose_requests(self) -> None:
        """Statements are lost on their way, or made without an answer."""
        for _ in range(6):
            proxy = self._chance.choice(self._stage.machines).statements
            if self._chance.random() < 0.5:
                proxy.cut_after_request = True
            else:
                proxy.cut_before_request = True
            await asyncio.sleep(self._chance.uniform(0, 0.1))

    async def _deafen(self) -> None:
        """The listening connections alone break."""
        for machine in self._stage.machines:
            machine.listening.cut()

    async def _part(self) -> None:
        """One machine reaches its database no more, for longer than its lease, and answers whoever asks it."""
        machine = await self._some()

        async def heal() -> None:
            machine.statements.refusing = machine.listening.refusing = True
            machine.statements.cut()
            machine.listening.cut()
            await asyncio.sleep(self._chance.choice((2.0, _LEADING)))
            machine.statements.refusing = machine.listening.refusing = False

        self._begin(machine, heal())

    # --- who is told ---

    async def _refuse(self) -> None:
        """A receiver takes no webhook for a while."""
        self._stage.receiver.answers += [status(503)] * 3

    # --- healing ---

    async def _some(self, *, leading: bool = False) -> Machine:
        """A machine that is well, while others are; with ``leading`` the one that holds Discord's gateway."""
        async with self._well:
            await self._well.wait_for(lambda: len(self._free()) >= _LEAST_UP)
        free = self._free()
        if leading:
            holder = self._stage.run("SELECT holder FROM leases WHERE name = 'discord gateway'")
            leaders = [one for one in free if [(self._stage.holders[one.name],)] == holder]
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
            async with self._well:
                self._well.notify_all()

        self._healing.create_task(heal())
