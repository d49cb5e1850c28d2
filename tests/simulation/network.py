"""The simulated network: streams between the processes of one machine, with delays, cuts and stalls.

A stream behaves as TCP does: bytes arrive in order or not at all, who is not read from makes the other side wait, a
closed end answers data with a reset, and a killed process's connections end as the system ends them.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import struct
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.machine import CURRENT, Process

if TYPE_CHECKING:
    from tests.simulation.loop import SimulatedLoop

Address = tuple[str, int]

_LATENCY: Final = (0.0002, 0.03)
"""The least and the most seconds that a segment takes."""
_HIGH_WATER: Final = 256 * 1024
"""Bytes that may be on the way or unread before the sender has to wait."""
_TCP_INFO: Final = struct.Struct("=B23xI")
_ESTABLISHED, _CLOSED = 1, 7
_END: Final = None
"""The item that arrives when the other side has closed."""


class FakeSocket:
    """The socket below an endpoint, as far as programs see it."""

    family = socket.AF_INET
    type = socket.SOCK_STREAM
    proto = socket.IPPROTO_TCP

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def setsockopt(self, *_: object) -> None:
        pass

    def getsockopt(self, level: int, option: int, size: int = 0) -> Any:
        if level == socket.IPPROTO_TCP and option == socket.TCP_INFO:
            state = _CLOSED if self._endpoint.was_reset else _ESTABLISHED
            return _TCP_INFO.pack(state, self._endpoint.unacknowledged)
        return bytes(size) if size else 0

    def getsockname(self) -> Address:
        return self._endpoint.local

    def getpeername(self) -> Address:
        return self._endpoint.remote

    def fileno(self) -> int:
        return -1


class Endpoint(asyncio.Transport):
    """One end of a connection."""

    def __init__(self, network: Network, local: Address, remote: Address, number: str) -> None:
        super().__init__()
        self._network = network
        self._loop = network.loop
        self.local = local
        self.remote = remote
        self.number = number
        self.peer: Endpoint
        self.owner: Process | None = CURRENT.get(None)
        self.was_reset = False
        self.unacknowledged = 0
        """Segments that the other side's system has not received yet."""
        self.in_flight = 0
        """Bytes that were sent and not read by the other side."""
        self._context: Context = copy_context()
        self._protocol: Any = None
        self._received: deque[bytes | None] = deque()
        self._last_arrival = 0.0
        self._reading = True
        self._read_planned = False
        self._closing = False
        self._gone = False
        """True if the system has closed it: what arrives is answered with a reset."""
        self._writing_paused = False

    def adopt(self) -> None:
        """Let it belong to the process that runs now."""
        self.owner, self._context = CURRENT.get(None), copy_context()

    def attach(self, protocol: Any) -> None:
        self.adopt()
        self._protocol = protocol
        protocol.connection_made(self)
        self._plan_read()

    # --- sending ---

    def write(self, data: Any) -> None:
        if self._closing or not data:
            return
        sent = bytes(data)
        self._network.note(self, f"{len(sent)} {hashlib.md5(sent).hexdigest()}")
        self.unacknowledged += 1
        self.in_flight += len(sent)
        self._send(sent)
        if self.in_flight > _HIGH_WATER and not self._writing_paused:
            self._writing_paused = True
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def _send(self, item: bytes | None) -> None:
        now, random = self._loop.machine.now, self._loop.machine.random
        arrival = max(now + random.uniform(*_LATENCY), self._last_arrival, self._network.held(self))
        self._last_arrival = arrival
        self._loop.after(arrival - now, self.peer._arrive, item)

    def _arrive(self, item: bytes | None) -> None:
        sender = self.peer
        if self.was_reset or sender.was_reset:
            return
        if item is not None:
            sender.unacknowledged -= 1
        if self._gone:
            if item is not None:
                self._loop.after(self._network.latency(), sender.reset)
            return
        self._received.append(item)
        self._plan_read()

    def _plan_read(self) -> None:
        if (
            self._received
            and self._protocol is not None
            and self._reading
            and not self._closing
            and not self._read_planned
        ):
            self._read_planned = True
            self._loop.call_soon(self._read, context=self._context)

    def _read(self) -> None:
        self._read_planned = False
        chunks = []
        while self._received and (self._received[0] is not None):
            chunks.append(self._received.popleft() or b"")
        if self._closing or self.was_reset:
            return
        if chunks:
            data = b"".join(chunks)
            self.peer._was_read(len(data))
            self._protocol.data_received(data)
        elif self._received:
            self._received.popleft()
            if not self._protocol.eof_received():
                self.close()
        self._plan_read()

    def _was_read(self, size: int) -> None:
        self.in_flight -= size
        if self._writing_paused and self.in_flight < _HIGH_WATER // 2 and not self._closing:
            self._writing_paused = False
            self._loop.call_soon(self._protocol.resume_writing, context=self._context)

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._plan_read()

    def is_reading(self) -> bool:
        return self._reading

    # --- ending ---

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._lost, None, context=self._context)

    abort = close

    def _lost(self, error: Exception | None) -> None:
        if self._protocol is not None:
            self._protocol.connection_lost(error)
        self.leave()

    def leave(self) -> None:
        """Close the socket, as the system does at the end of its process: with a reset if something is unread."""
        if self._gone:
            return
        self._gone = True
        self._network.forget(self)
        if self.was_reset:
            return
        unread = any(item is not None for item in self._received)
        self._network.note(self, "reset" if unread else "closed")
        if unread:
            self._loop.after(self._network.latency(), self.peer.reset)
        else:
            self._send(_END)

    def reset(self) -> None:
        """The other side, or the network, ends the connection at once: what is unread is gone."""
        if self.was_reset or self._gone:
            self.was_reset = True
            return
        self.was_reset = True
        self._received.clear()
        self._network.forget(self)
        if not self._closing:
            self._closing = True
            error = ConnectionResetError(104, "Connection reset by peer")
            self._loop.call_soon(self._lost, error, context=self._context)

    def is_closing(self) -> bool:
        return self._closing

    # --- what else programs ask ---

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        found = {"sockname": self.local, "peername": self.remote, "socket": FakeSocket(self)}
        return found.get(name, default)

    def get_write_buffer_size(self) -> int:
        return max(0, self.in_flight - _HIGH_WATER)

    def get_protocol(self) -> Any:
        return self._protocol

    def set_protocol(self, protocol: Any) -> None:
        self._protocol = protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def can_write_eof(self) -> bool:
        return False


class Accepted:
    """A connection that was accepted, and has no protocol yet."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    def close(self) -> None:
        self.endpoint.leave()


class ListeningSocket:
    """A socket that listens."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener

    def getsockname(self) -> Address:
        return self.listener.address

    def close(self) -> None:
        self.listener.close()


class Listener:
    """A port on which one process accepts connections."""

    def __init__(self, network: Network, address: Address) -> None:
        self._network = network
        self.address = address
        self.owner = CURRENT.get(None)
        self.sockets = [ListeningSocket(self)]
        self._context = copy_context()
        self._waiting: deque[Endpoint] = deque()
        self._acceptor: asyncio.Future[Any] | None = None
        self._factory: Callable[[], Any] | None = None

    def serve(self, factory: Callable[[], Any]) -> None:
        """Accept everything with a protocol of its own."""
        self._factory = factory

    def offer(self, endpoint: Endpoint) -> None:
        """A client has connected."""
        if self._factory is not None:
            self._network.loop.call_soon(
                endpoint.attach, self._factory(), context=self._context.copy()
            )
            return
        self._waiting.append(endpoint)
        if self._acceptor is not None and not self._acceptor.done():
            self._acceptor.set_result(None)

    async def accept(self) -> Accepted:
        while not self._waiting:
            self._acceptor = self._network.loop.create_future()
            await self._acceptor
        endpoint = self._waiting.popleft()
        endpoint.adopt()
        return Accepted(endpoint)

    def close(self) -> None:
        self._network.listeners.pop(self.address, None)
        while self._waiting:
            self._waiting.popleft().leave()

    async def wait_closed(self) -> None:
        pass


class Network:
    """All connections of one machine."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop = loop
        self.listeners: dict[Address, Listener] = {}
        self.connected: dict[int, Endpoint] = {}
        """Connected sockets that have no protocol yet, by their file descriptors."""
        self._open: dict[Endpoint, None] = {}
        self._held: dict[Endpoint, float] = {}
        self._last_port = 20_000
        self._connections = 0

    def note(self, endpoint: Endpoint, what: str) -> None:
        self.loop.machine.note(f"{endpoint.number} {what}")

    def latency(self) -> float:
        return self.loop.machine.random.uniform(*_LATENCY)

    def addresses(self, host: Any, port: Any) -> Any:
        name = {"localhost": "127.0.0.1"}.get(str(host), str(host))
        try:
            socket.inet_aton(name)
        except OSError:
            raise socket.gaierror(socket.EAI_NONAME, f"{host} has no address here") from None
        kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        return [(*kind, "", (name, int(port or 0)))]

    def listen(self, host: str, port: int) -> Listener:
        """Listen on a port; 0 takes a free one.

        Raises:
            OSError: somebody else does.
        """
        if port == 0:
            self._last_port += 1
            port = self._last_port
        if (host, port) in self.listeners:
            raise OSError(98, "Address already in use")
        listener = self.listeners[host, port] = Listener(self, (host, port))
        if listener.owner is not None:
            listener.owner.on_kill.append(listener.close)
        return listener

    async def bind(self, host: str, port: int, _key: str) -> Any:
        """See `answerback.runtime.sockets.bind_listener`."""
        return tuple(self.listen(host, port).sockets)

    async def connect(self, address: Address) -> Endpoint:
        """Connect to a listener.

        Raises:
            ConnectionRefusedError: nobody listens there.
        """
        arrived = self.loop.create_future()
        self._connections += 1
        self._last_port += 1
        number = f"#{self._connections}"
        client = Endpoint(self, ("127.0.0.1", self._last_port), address, f"{number}>")
        server = Endpoint(self, address, client.local, f"{number}<")
        client.peer, server.peer = server, client

        def arrive() -> None:
            listener = self.listeners.get(address)
            if listener is None:
                self.note(client, f"refused by {address[1]}")
                error = ConnectionRefusedError(111, "Connection refused")
                self.loop.after(self.latency(), _resolve, arrived, error)
                return
            self.note(client, f"connects to {address[1]}")
            self._open[client] = self._open[server] = None
            server.owner = listener.owner
            listener.offer(server)
            self.loop.after(self.latency(), _resolve, arrived, None)

        self.loop.after(self.latency(), arrive)
        try:
            await arrived
        except asyncio.CancelledError:
            client.leave()
            raise
        return client

    def forget(self, endpoint: Endpoint) -> None:
        self._open.pop(endpoint, None)
        self._held.pop(endpoint, None)

    def held(self, endpoint: Endpoint) -> float:
        """The time until which nothing arrives from an endpoint."""
        return self._held.get(endpoint, 0.0)

    # --- faults ---

    def end_of(self, process: Process) -> None:
        """Close the sockets of a process that was killed."""
        for each in [each for each in self._open if each.owner is process]:
            each.leave()

    def pick(self) -> Endpoint | None:
        """An open connection, by chance."""
        return self.loop.machine.random.choice(list(self._open)) if self._open else None

    def cut(self, endpoint: Endpoint) -> None:
        """Break a connection: both sides see a reset, and what was on the way is lost."""
        self.note(endpoint, "is cut")
        for each in (endpoint, endpoint.peer):
            each.was_reset = False
            each.reset()

    def stall(self, endpoint: Endpoint, seconds: float) -> None:
        """Deliver nothing on a connection for some time."""
        self.note(endpoint, f"stalls for {seconds:.1f} s")
        for each in (endpoint, endpoint.peer):
            self._held[each] = self.loop.machine.now + seconds


def _resolve(future: asyncio.Future[None], error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
