"""The simulated machine: its processes, their clocks, its random bytes, and the trace of everything that happens on it.

The product takes no simulation into account. Libraries read the time and random bytes from the standard library and
offer no other way, so here the standard library itself answers from the machine, in the process of a simulation only.
`install` must run before the product is imported, because some of its defaults are these functions.
"""

from __future__ import annotations

import contextvars
import hashlib
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

EPOCH: Final = 1_800_000_000.0
"""The time at which each simulation begins, in seconds since 1970."""
_UP: Final = 10_000.0
"""Seconds for which the machine has been up by then: `time.monotonic` is never near 0."""


_READING: Final = 1e-6
"""Seconds that pass whenever a program looks at a clock: none shows the same time twice."""


@dataclass(eq=False)
class Process:
    """A process of the machine. What a dead one was about to do never happens, not even its ``finally`` blocks."""

    name: str
    alive: bool = True
    clock_error: float = 0.0
    """Seconds by which its machine's clock is wrong."""
    paused_until: float = 0.0
    steps_left: int | None = None
    """Callbacks that it still runs before it is killed; None: as many as it likes."""
    on_kill: list[Callable[[], None]] = field(default_factory=list)

    def kill(self) -> None:
        """End it at once, as SIGKILL does."""
        if self.alive:
            self.alive = False
            for each in self.on_kill:
                each()


CURRENT: Final[contextvars.ContextVar[Process | None]] = contextvars.ContextVar("process")


class Trace:
    """Everything that happened, as a digest and, if wanted, as lines."""

    def __init__(self, *, keep: bool) -> None:
        self._digest = hashlib.sha256()
        self.lines: list[str] | None = [] if keep else None

    def add(self, line: str) -> None:
        self._digest.update(line.encode())
        self._digest.update(b"\n")
        if self.lines is not None:
            self.lines.append(line)

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()


class Machine:
    """The machine of one simulation.

    Args:
        seed: decides every random byte and number.
        keep_trace: whether the trace can be read afterwards.
    """

    def __init__(self, seed: int, *, keep_trace: bool = False) -> None:
        self.now = 0.0
        """Virtual seconds since the simulation began."""
        self.random = random.Random(f"machine {seed}")
        self._entropy = random.Random(f"entropy {seed}")
        self.trace = Trace(keep=keep_trace)

    def note(self, line: str) -> None:
        """Add a line to the trace."""
        self.trace.add(f"{self.now:.6f} {line}")

    def time(self) -> float:
        """The time by the clock of the process that asks."""
        self.now += _READING
        process = CURRENT.get(None)
        return EPOCH + self.now + (0.0 if process is None else process.clock_error)

    def monotonic(self) -> float:
        self.now += _READING
        return _UP + self.now

    def random_bytes(self, count: int) -> bytes:
        return self._entropy.randbytes(count)


_machine: Machine | None = None


def install() -> None:
    """Let the standard library answer from the current machine; without one, everything is as ever."""

    def replace(module: object, name: str, simulated: Callable[[Machine], object]) -> None:
        real = getattr(module, name)

        def answer(*args: object) -> object:
            return real(*args) if _machine is None else simulated(_machine)

        setattr(module, name, answer)

    replace(time, "time", Machine.time)
    replace(time, "time_ns", lambda machine: int(machine.time() * 1e9))
    for name in ("monotonic", "perf_counter"):
        replace(time, name, Machine.monotonic)
        replace(time, f"{name}_ns", lambda machine: int(machine.monotonic() * 1e9))
    replace(time, "process_time", Machine.monotonic)
    real_bytes = os.urandom

    def random_bytes(count: int) -> bytes:
        return real_bytes(count) if _machine is None else _machine.random_bytes(count)

    os.urandom = random_bytes
    setattr(random, "_urandom", random_bytes)  # noqa: B010 - `secrets` reads it there
    real_seed = random.Random.seed

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        # A generator without a seed, such as that of discord.py's pauses, would ask the system for one.
        if a is None and _machine is not None:
            a = _machine.random_bytes(16)
        real_seed(self, a, version)

    setattr(random.Random, "seed", seed)  # noqa: B010 - every generator calls it


def boot(machine: Machine) -> None:
    """Make this the machine that the process runs on, until the process ends."""
    global _machine
    _machine = machine
    random.seed(machine.random.getrandbits(64))
    # Imported late, because `install` must come first.
    from aiohttp.http_websocket import WebSocketWriter
    from anyio._backends._asyncio import CancelScope
    from cryptography.hazmat.primitives.asymmetric import ec

    # aiohttp masks what a WebSocket's client sends with a generator of its own, made when it was imported.
    masks: random.Random = (WebSocketWriter.__init__.__kwdefaults__ or {})["random"]
    masks.seed(machine.random.getrandbits(64))
    # anyio has sets of its scopes. In one of equal hashes, the order does not depend on addresses.
    setattr(CancelScope, "__hash__", lambda _: 0)  # noqa: B010 - mypy allows no other way
    # OpenSSL has a generator of its own. Without it, keys follow from the machine's, and signatures from keys.
    made = partial(_private_key, machine)
    setattr(ec, "generate_private_key", made)  # noqa: B010
    setattr(ec.ECDSA.__init__, "__defaults__", (True,))  # noqa: B010


def _private_key(machine: Machine, curve: Any, _backend: Any = None) -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.derive_private_key(int.from_bytes(machine.random_bytes(31), "big") + 1, curve)
