"""The parts of the machine that the service uses directly, rather than through the event loop: listening sockets, and a
store.

Everything else goes through the loop: connections, timers, and work in threads that `asyncio.to_thread` starts. So a
simulated loop with a simulated machine runs the whole service (`tests.simulation`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from answerback.runtime.open_store import BuildStore, build_store
from answerback.runtime.sockets import BindListener, bind_listener


@dataclass(frozen=True, slots=True)
class Machine:
    """The doors to a machine; each default is the real one."""

    bind: BindListener = bind_listener
    build_store: BuildStore = build_store


THIS_MACHINE: Final = Machine()
