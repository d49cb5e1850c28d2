"""The service of a simulation: `run_service` itself, in a process that can be killed and started again."""

from __future__ import annotations

import asyncio
import hashlib
import random
import shutil
from collections import Counter
from collections.abc import Callable, Container, Iterable
from contextvars import copy_context
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

from answerback.ports.store import Store
from answerback.runtime.app import run_service
from answerback.runtime.config import Settings, StorageSettings, settings_type
from answerback.runtime.machine import Machine as Doors
from answerback.runtime.plugins import installed_plugins
from answerback.runtime.reload import SettingsReloader
from answerback_storage.sqlite.store import SqliteStore
from answerback_web import responses
from tests.simulation.chat import PUBLIC_PORT, PUBLIC_URL, Chat
from tests.simulation.disk import Disk
from tests.simulation.evidence import Evidence
from tests.simulation.jobs import SimulatedRunner
from tests.simulation.loop import SimulatedLoop
from tests.simulation.machine import CURRENT, Process
from tests.simulation.platforms import SURFACES
from tests.simulation.sides import Side

TOKEN: Final = "agent-token"
OTHER_TOKEN: Final = "token-of-another-agent"
SECRET: Final = "whsec_" + "QUJD" * 8
API_PORT: Final = 8420
_DATABASE: Final = "answerback.db"
API_URL: Final = f"http://127.0.0.1:{API_PORT}"


_LATE_MODULES: Final = (
    "answerback.core.picture_words",
    "answerback.mcp.endpoint",
    "answerback_away.announced_absences",
    "answerback_away.operations",
    "answerback_away.snooze_commands",
    "answerback_numbers.page",
    "answerback_numbers.numbers",
    "answerback_numbers.operations",
    "answerback_oidc.pages",
    "answerback_oidc.signing_in",
    "answerback_push.devices",
    "answerback_push.pages",
    "answerback_push.pushes",
    "answerback_receipts.key_file",
    "answerback_receipts.keys",
    "answerback_receipts.linker",
    "answerback_receipts.operations",
    "answerback_receipts.receipts",
    "answerback_storage.sqlite.exclusive_lock",
    "answerback_teams.agent_operations",
    "answerback_teams.agent_pages",
    "answerback_teams.link_operations",
    "answerback_teams.running_sign_ins",
    "answerback_webhooks.webhooks",
    "_strptime",
    "anyio._backends._asyncio",
    "cryptography.hazmat.backends.openssl.backend",
    "encodings.unicode_escape",
    "encodings.utf_16_be",
    "encodings.utf_16_le",
    "h11",
    "httpcore2",
    "nacl.signing",
    "truststore",
)
"""The modules that the service and its clients import only when they start, beside the surfaces."""
_WITH_TEMPLATES: Final = (
    "answerback_away",
    "answerback_numbers",
    "answerback_push",
    "answerback_teams",
)
"""The packages of extensions whose pages have templates."""


def warm_up() -> None:
    """Import and compile what a service needs, so that no seed has to: that would take a third of its time."""
    settings_type()
    for surface in installed_plugins():
        if surface.name in {*SURFACES, "web"}:
            surface.load()
    for name in _LATE_MODULES:
        import_module(name)
    responses.compile_templates(_WITH_TEMPLATES)


def settings_for(
    folder: Path, chat: Chat, front_token: str, side: Side, unlisted: Container[str]
) -> Settings:
    """The settings of the service, as its operator would write them.

    Args:
        unlisted: the names of people whom they do not list.
    """
    everybody = list(chat.people.values())
    to = f"{chat.surface}:{chat.channel}"
    return settings_type().model_validate(
        {
            "server": {"port": API_PORT},
            "public": {"port": PUBLIC_PORT, "url": PUBLIC_URL},
            "storage": {"url": f"sqlite:///{folder / _DATABASE}"},
            "default_route": "ops",
            "routes": {
                "ops": {"to": to, "responders": everybody},
                "dev": {
                    "to": to,
                    "responders": everybody,
                    "grants": {"hours": 8, "uses": 5},
                    "edit": True,
                },
                "pair": {"to": to, "responders": everybody, "confirmations": {"count": 1}},
                "trio": {"to": to, "responders": everybody, "confirmations": {"count": 2}},
            },
            "agents": {
                "robot": {
                    "token_hash": _hashed(TOKEN),
                    "callback_secret": SECRET,
                },
                "other": {"token_hash": _hashed(OTHER_TOKEN)},
                "front": {"token_hash": _hashed(front_token), "role": "surface"},
            },
            "people": {
                name: {"name": name, "ids": [f"{chat.surface}:{id_}", side.account_of(name)]}
                for id_, name in chat.names.items()
                if name not in unlisted
            },
            chat.surface: chat.settings,
            **side.settings,
        }
    )


def _hashed(token: str) -> str:
    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


class SimulatedService:
    """The service's machine: it has one process at a time, and a disk that survives it.

    Args:
        folder: an empty folder for what is on the disk.
        disk: what SQLite writes to.
    """

    def __init__(
        self,
        loop: SimulatedLoop,
        folder: Path,
        disk: Disk,
        chat: Chat,
        side: Side,
        evidence: Evidence,
    ) -> None:
        self._loop = loop
        self._folder = folder
        self._below = disk
        self.power_fails: random.Random | None = None
        """Decides what is left on the disk, if the next death of the process is one of the whole machine."""
        self._chat = chat
        self._side = side
        self._evidence = evidence
        self._starts = 0
        self._disk = folder / "0"
        self._disk.mkdir()
        self._task: asyncio.Task[None] | None = None
        self._killed: asyncio.Future[None] = loop.create_future()
        self.process: Process | None = None
        self.failures: list[str] = []
        """Why it ended, other than because it was told to."""
        self.front_token = "front-end-token-0"
        """The token that the settings give the front end."""
        self.revoked_tokens: dict[str, float] = {}
        """The tokens that the front end had before, and when the service ceased to accept each."""
        self._reloader: SettingsReloader | None = None
        self._unlisted: frozenset[str] = frozenset()
        """The names of the people whom the settings do not list now."""
        self._written: tuple[Path, str] | None = None
        """The disk and the token that the settings were last read with."""
        side.prepare(self._disk / _DATABASE)
        self.doors = Doors(bind=loop.network.bind, build_store=self._build_store)

    @property
    def is_up(self) -> bool:
        return self.process is not None and self.process.alive

    def start(self, clock_error: float = 0.0) -> Process:
        """Start it on what the disk has."""
        self._starts += 1
        self._loop.machine.note(f"the service starts, the {self._starts}. time")
        process = self.process = Process(f"service {self._starts}", clock_error=clock_error)
        process.on_kill.append(partial(self._was_killed, process))
        self._killed = self._loop.create_future()
        context = copy_context()
        context.run(CURRENT.set, process)
        self._task = self._loop.create_task(self._serve(), name=process.name, context=context)
        return process

    async def stop(self) -> None:
        """Stop it in an orderly way, unless it is killed meanwhile."""
        if self._task is None or not self.is_up:
            return
        self._loop.machine.note("the service is told to stop")
        process, task = self.process, self._task
        self._loop.call_soon(task.cancel, context=self._loop.kernel)
        await asyncio.wait({task, self._killed}, return_when=asyncio.FIRST_COMPLETED)
        if process is not None:
            process.alive = False
            self._loop.network.end_of(process)

    def count_tasks(self) -> Counter[str]:
        """Count the tasks of the process, by what they do."""
        return Counter() if self.process is None else self._loop.tasks_of(self.process)

    def reload(self, rng: random.Random) -> None:
        """Give the front end another token, in settings that the service reloads, or reads when it starts.

        They may also cease to list somebody, and list those again whom they did not.
        """
        may_leave = self._side.may_leave
        left = frozenset({rng.choice(may_leave)} if may_leave and rng.random() < 0.6 else ())
        self._note_unlisted(left & self._unlisted)
        self._unlisted = left
        self.front_token = f"front-end-token-{len(self.revoked_tokens) + 1}"
        self._loop.machine.note(f"the settings have {self.front_token}")
        if self._reloader is not None and self.is_up:
            self._reloader.update_from(self._settings())
            self._note_revoked()

    def _note_unlisted(self, names: Iterable[str]) -> None:
        accounts = frozenset(self._side.account_of(name) for name in names)
        self._evidence.unlisted.append((self._loop.time(), accounts))

    def _note_revoked(self) -> None:
        self._note_unlisted(self._unlisted)
        for number in range(int(self.front_token.rpartition("-")[2])):
            self.revoked_tokens.setdefault(f"front-end-token-{number}", self._loop.time())

    def _settings(self) -> Settings:
        written = (self._disk, self.front_token)
        if written != self._written:
            self._read = settings_for(
                self._disk, self._chat, self.front_token, self._side, self._unlisted
            )
            self._written = written
        return self._read

    def _build_store(self, storage: StorageSettings, timed: Callable[[float], None]) -> Store:
        runner = partial(SimulatedRunner, self._loop.machine)
        return SqliteStore(self._disk / _DATABASE, timed=timed, start_runner=runner)

    async def _serve(self) -> None:
        self._reloader = None
        try:
            async with run_service(self._settings(), self.doors) as running:
                running.reloader.update_from(self._settings())  # they may have changed meanwhile
                self._reloader = running.reloader
                self._note_revoked()
                await self._loop.create_future()
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - whatever it is, the service should not have ended
            self.failures.append(f"the service ended by itself: {error!r}")

    def _was_killed(self, process: Process) -> None:
        """Close its connections, and keep what the disk has at this moment.

        The next process gets a copy: the dead one's handles stay open here, and must not hold any lock.
        """
        self._loop.machine.note(f"{process.name} is killed")
        self._loop.network.end_of(process)
        disk = self._folder / str(self._starts)
        shutil.copytree(self._disk, disk, ignore=shutil.ignore_patterns("*-shm"))
        if self.power_fails is not None:
            self._loop.machine.note("the power fails")
            self._below.fail(self._disk, disk, self.power_fails)
            self.power_fails = None
        self._disk = disk
        if not self._killed.done():
            self._killed.set_result(None)
