"""The machines of the chaos suite: three services, a database behind a pooler, proxies, and the fakes.

Each machine reaches the database through its own proxies, one for statements and one for the listening connection, so
that each can be cut on its own. One machine's clock is an hour off.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp

from tests import postgres
from tests.acceptance.chaos.deciding_forms import AGENT
from tests.acceptance.forked_process import CLOCK_OFF
from tests.acceptance.process import PATIENCE, NotServingError
from tests.acceptance.replicas import Proxy as Balancer
from tests.acceptance.replicas import Replica, Town, town
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.receiver import Receiver, receiving
from tests.fakes.slack.server import FakeSlack
from tests.pooler import Pooler, pooler
from tests.proxy import Proxy, proxy

MACHINES: Final = 3
HOUR: Final = 3_600
_POOLED: Final = 12
"""The pooler's connections: fewer than the machines would open without it."""
_NOTICED_AFTER: Final = 0.7
"""Seconds until the load balancer notices that a machine no longer answers."""


@dataclass
class Machine:
    """A machine, and the service that runs on it, if any."""

    number: int
    statements: Proxy
    listening: Proxy
    clock_off: int
    replica: Replica | None = None
    name: str = ""
    """The name of its connections in the database; each start has another."""
    busy: bool = False
    """True if a fault is under way here."""

    @property
    def up(self) -> Replica:
        """The running service."""
        assert self.replica is not None, f"machine {self.number} has no service"
        return self.replica


@dataclass
class Stage:
    """Everything in the suite's world."""

    town: Town
    machines: list[Machine]
    pooler: Pooler
    server: postgres.Server
    database: str
    """The database's name."""
    slack: FakeSlack
    discord: FakeDiscord
    receiver: Receiver
    keys: Mapping[str, str]
    """The keys that `deciding_forms.configure` returned."""
    holders: dict[str, str] = field(default_factory=dict)
    """The name of each replica, by the name of its connections."""
    _starts: int = 0

    def client(self, who: str = AGENT) -> aiohttp.ClientSession:
        """Open an HTTP client at the load balancer, with somebody's token."""
        return aiohttp.ClientSession(
            self.town.api.url, headers={"Authorization": f"Bearer {self.keys[who]}"}
        )

    def run(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement as the database's superuser."""
        return self.server.run(statement, self.database)

    async def boot(self, machine: Machine) -> None:
        """Start a machine's service, again and again until it is up, as a supervisor does."""
        while machine.replica is None:
            with suppress(NotServingError, aiohttp.ClientError, TimeoutError):
                machine.replica = await self._start(machine)

    async def _start(self, machine: Machine) -> Replica:
        self._starts += 1
        machine.name = f"start-{self._starts}"
        here = f"postgresql://{postgres.USER}@127.0.0.1"
        name = f"{self.database}?application_name={machine.name}"
        replica = await self.town.add(
            ANSWERBACK_STORAGE__URL=f"{here}:{machine.statements.port}/{name}",
            ANSWERBACK_STORAGE__LISTEN_URL=f"{here}:{machine.listening.port}/{name}",
            **({CLOCK_OFF: str(machine.clock_off)} if machine.clock_off else {}),
        )
        self.holders[machine.name] = str((await replica.ready())["name"])
        return replica

    async def end(self, machine: Machine, number: signal.Signals) -> int:
        """End its service with a signal; return the exit code."""
        replica = machine.up
        replica.signal(number)
        if number is signal.SIGTERM:
            self.hide(machine)
        async with asyncio.timeout(2 * PATIENCE):
            code = await replica.process.child.wait()
        self.hide(machine)
        self.town.replicas.remove(replica)
        machine.replica = None
        return code

    async def freeze(self, machine: Machine, seconds: float) -> None:
        """Freeze its service for the given time; the load balancer notices after a moment."""
        machine.up.signal(signal.SIGSTOP)
        await asyncio.sleep(_NOTICED_AFTER)
        self.hide(machine)
        await asyncio.sleep(seconds - _NOTICED_AFTER)
        machine.up.signal(signal.SIGCONT)
        self.show(machine)

    def hide(self, machine: Machine) -> None:
        """Take the machine out of the load balancer."""
        for balancer, url in self._addresses(machine.up):
            if url in balancer.targets:
                balancer.targets.remove(url)

    def show(self, machine: Machine) -> None:
        """Put the machine back into the load balancer."""
        for balancer, url in self._addresses(machine.up):
            balancer.targets.append(url)

    def _addresses(self, replica: Replica) -> list[tuple[Balancer, str]]:
        return [(self.town.api, replica.url), (self.town.public, replica.public)]


@asynccontextmanager
async def stage(
    server: postgres.Server,
    database: str,
    folder: Path,
    keys: Mapping[str, str],
    *,
    socket_mode: bool,
) -> AsyncIterator[Stage]:
    """Run three machines with their services; Slack reaches them by sockets, or through the load balancer."""
    name = database.rpartition("/")[2]
    slack, discord = FakeSlack(), FakeDiscord()
    async with AsyncExitStack() as stack:
        for fake in (slack, discord):
            await stack.enter_async_context(fake)
        receiver = await stack.enter_async_context(receiving())
        pooling = stack.enter_context(pooler(server, name, _POOLED))
        machines = [
            Machine(
                number,
                await stack.enter_async_context(proxy(pooling.port)),
                await stack.enter_async_context(proxy(server.port)),
                clock_off=HOUR if number == MACHINES - 1 else 0,
            )
            for number in range(MACHINES)
        ]
        environment = {
            "SLACK_BOT_TOKEN": slack.bot_token,
            **(
                {"SLACK_APP_TOKEN": slack.app_token}
                if socket_mode
                else {"SLACK_SIGNING_SECRET": slack.signing_secret}
            ),
            "ANSWERBACK_SLACK__API_URL": slack.api_url,
            "DISCORD_BOT_TOKEN": discord.application.token,
            "DISCORD_PUBLIC_KEY": discord.application.public_key,
            "ANSWERBACK_DISCORD__API_URL": discord.api_url,
        }
        made = await stack.enter_async_context(town(folder, database, environment, replicas=0))
        staged = Stage(made, machines, pooling, server, name, slack, discord, receiver, keys)
        await asyncio.gather(*(staged.boot(machine) for machine in machines))
        if socket_mode:
            await slack.socket.connected(MACHINES)
        else:
            slack.deliver_to(f"{made.public.url}/slack/events")
        discord.application.interactions_endpoint_url = f"{made.public.url}/discord/interactions"
        try:
            yield staged
        finally:
            (folder / "services.log").write_text("\n".join(made.log))
