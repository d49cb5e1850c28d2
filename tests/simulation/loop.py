"""The event loop of a simulation: virtual time, one thread, and no real socket.

It keeps what asyncio promises, above all that callbacks run in the order in which they were registered. Chance decides
only what it decides in reality: how long the network, threads and disks take.

It has the methods of asyncio's loop that the service and its clients use. A call of any other one fails at once, since
asyncio's base class refuses it.
"""

from __future__ import annotations

import asyncio
import heapq
import sys
from collections import Counter, deque
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any, Final

from tests.simulation import threads
from tests.simulation.machine import CURRENT, Machine, Process
from tests.simulation.network import Accepted, Endpoint, Listener, Network

_THREAD_SECONDS: Final = (0.0001, 0.02)
"""The least and the most that work in a thread takes."""


class Callback:
    """A callback of one process, as asyncio's handles are."""

    __slots__ = ("args", "context", "function", "when_due")

    def __init__(
        self, when: float, function: Callable[..., object], args: tuple[Any, ...], context: Context
    ) -> None:
        self.when_due = when
        self.function: Callable[..., object] | None = function
        """None once it is cancelled."""
        self.args = args
        self.context = context

    def cancel(self) -> None:
        self.function, self.args = None, ()

    def cancelled(self) -> bool:
        return self.function is None

    def when(self) -> float:
        return self.when_due


class _Task(asyncio.Task[Any]):
    """A task whose place in a set does not depend on its address: aiohttp and discord.py have sets of tasks."""

    def __init__(self, coro: Any, number: int, **given: Any) -> None:
        self._number = number
        context: Context | None = given.get("context")
        current = CURRENT.get(None) if context is None else context.get(CURRENT)
        self.process = current
        super().__init__(coro, **given)

    def __hash__(self) -> int:
        return self._number


class SimulatedLoop(asyncio.AbstractEventLoop):
    """The loop that all simulated processes share."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.network = Network(self)
        self.unhandled: list[str] = []
        """The errors that reached the loop's exception handler."""
        self.steps = 0
        self._ready: deque[Callback] = deque()
        self._timers: list[tuple[float, int, Callback]] = []
        self._timer_count = 0
        self._awaited: list[tuple[Callable[[], object], asyncio.Future[None]]] = []
        """Conditions for which somebody waits."""
        self._names = 0
        self._abandoned: list[asyncio.Task[Any]] = []
        """Tasks of killed processes, kept so that no destructor of theirs ever runs."""
        self.kernel = copy_context()
        """The context of what no process does, such as the network."""

    # --- running ---

    def run_until(self, done: asyncio.Future[Any]) -> None:
        """Run until a future is done.

        Raises:
            RuntimeError: nothing is left to do, and the future is not done.
        """
        asyncio._set_running_loop(self)
        threads.use(self)
        sys.set_asyncgen_hooks(finalizer=self._close_generator)
        machine, ready, timers = self.machine, self._ready, self._timers
        try:
            while not done.done():
                while timers and timers[0][0] <= machine.now:
                    ready.append(heapq.heappop(timers)[2])
                if not ready:
                    self._advance()
                    continue
                callback = ready.popleft()
                function, context = callback.function, callback.context
                if function is None:
                    continue
                process = context.get(CURRENT)
                if process is not None and not self._lets_run(process, callback):
                    continue
                self.steps += 1
                try:
                    context.run(function, *callback.args)
                except Exception as error:  # noqa: BLE001 - as asyncio does
                    self.call_exception_handler(
                        {"message": f"Exception in callback {function}", "exception": error}
                    )
                if self._awaited:
                    self._look()
        finally:
            asyncio._set_running_loop(None)

    def _advance(self) -> None:
        """Go on to the time of the next timer."""
        timers = self._timers
        while timers and timers[0][2].function is None:
            heapq.heappop(timers)
        if not timers:
            raise RuntimeError("nothing is left to do, and the simulation has not ended")
        self.machine.now = max(self.machine.now, timers[0][0])

    def _lets_run(self, process: Process, callback: Callback) -> bool:
        """Return whether a process runs a callback now."""
        if not process.alive:
            return False
        if process.paused_until > self.machine.now:
            self._push(process.paused_until, callback)
            return False
        if process.steps_left is not None:
            process.steps_left -= 1
            if process.steps_left < 0:
                self.kill(process)
                return False
        return True

    async def holds(self, condition: Callable[[], object], seconds: float) -> bool:
        """Wait until a condition holds, which is looked at after every callback; return whether it does in time."""
        held = self.create_future()
        self._awaited.append((condition, held))
        await asyncio.wait([held], timeout=seconds)
        self._awaited = [each for each in self._awaited if each[1] is not held]
        return held.done()

    def _look(self) -> None:
        for condition, held in self._awaited:
            if not held.done() and condition():
                held.set_result(None)

    def kill(self, process: Process) -> None:
        """End a process at once, as SIGKILL does."""
        self._abandoned += asyncio.all_tasks(self)
        process.kill()

    def tasks_of(self, process: Process) -> Counter[str]:
        """Count the tasks that a process has, by what they do."""
        tasks = [each for each in asyncio.all_tasks(self) if isinstance(each, _Task)]
        own = (each.get_coro() for each in tasks if each.process is process)
        return Counter(getattr(each, "__qualname__", "") for each in own)

    def _push(self, when: float, callback: Callback) -> None:
        self._timer_count += 1
        heapq.heappush(self._timers, (when, self._timer_count, callback))

    def _close_generator(self, generator: Any) -> None:
        self.call_soon(lambda: self.create_task(generator.aclose()))

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def get_debug(self) -> bool:
        return False

    def time(self) -> float:
        return self.machine.now

    # --- callbacks, tasks and futures ---

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Callback:
        handle = Callback(
            self.machine.now, callback, args, copy_context() if context is None else context
        )
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Callback:
        return self.call_at(self.machine.now + max(0.0, delay), callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Callback:
        handle = Callback(when, callback, args, copy_context() if context is None else context)
        self._push(when, handle)
        return handle

    def after(self, delay: float, callback: Callable[..., object], *args: Any) -> Callback:
        """Do something outside all processes, after a delay."""
        return self.call_later(delay, callback, *args, context=self.kernel)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Any = None) -> Any:
        self._names += 1
        name = name or f"task {self._names}"
        return _Task(coro, self._names, loop=self, name=name, context=context)

    def get_task_factory(self) -> None:
        return None

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.unhandled.append(f"{context.get('message')}: {error!r}")

    def run_in_executor(  # type: ignore[override]
        self, _executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Run a function after some time, as a thread would, but in one piece."""
        future = self.create_future()

        def run() -> None:
            try:
                result = func(*args)
            except BaseException as error:  # noqa: BLE001 - as an executor does
                self.call_later(0, resolve, future.set_exception, error)
            else:
                self.call_later(0, resolve, future.set_result, result)

        def resolve(setter: Callable[[Any], None], value: Any) -> None:
            if not future.done():
                setter(value)

        self.call_later(self.machine.random.uniform(*_THREAD_SECONDS), run)
        return future

    async def shutdown_asyncgens(self) -> None:
        pass

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        pass

    # --- the network ---

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> Any:
        return self.network.addresses(host, port)

    async def create_connection(
        self,
        protocol_factory: Callable[[], Any],
        host: str | None = None,
        port: int | None = None,
        *,
        sock: Any = None,
        **_: Any,
    ) -> tuple[Endpoint, Any]:
        if sock is not None:
            endpoint = self.network.connected.pop(sock.fileno())
            sock.close()
        else:
            endpoint = await self.network.connect((str(host), int(port or 0)))
        protocol = protocol_factory()
        endpoint.attach(protocol)
        return endpoint, protocol

    async def sock_connect(self, sock: Any, address: Any) -> None:
        endpoint = await self.network.connect((address[0], address[1]))
        self.network.connected[sock.fileno()] = endpoint

    async def create_server(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], Any],
        host: Any = None,
        port: int | None = None,
        **_: Any,
    ) -> Listener:
        listener = self.network.listen(str(host or "127.0.0.1"), port or 0)
        listener.serve(protocol_factory)
        return listener

    async def sock_accept(self, sock: Any) -> tuple[Accepted, tuple[str, int]]:  # type: ignore[override]
        listener: Listener = sock.listener
        accepted = await listener.accept()
        return accepted, accepted.endpoint.remote

    async def connect_accepted_socket(
        self, protocol_factory: Callable[[], Any], sock: Any, **_: Any
    ) -> tuple[Endpoint, Any]:
        accepted: Accepted = sock
        protocol = protocol_factory()
        accepted.endpoint.attach(protocol)
        return accepted.endpoint, protocol
