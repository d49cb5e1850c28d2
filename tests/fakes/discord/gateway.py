"""The gateway websocket: hello, identify, heartbeat, resume with replay, and events to every session.

https://docs.discord.com/developers/events/gateway and .../topics/opcodes-and-status-codes#gateway. Frames are plain
text, which clients that ask for compression accept too. A session outlives its connection, so that it can be resumed.
"""

import asyncio
import contextlib
import json
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from aiohttp import WSMsgType, web

from tests.fakes.discord.problems import Payload
from tests.fakes.discord.wire_json import guild_json
from tests.fakes.discord.world import Guild

if TYPE_CHECKING:
    from tests.fakes.discord.core import Discord

# Event data, or a function that makes it, told whether the session may read message content.
Data: TypeAlias = Payload | Callable[[bool], Payload]

DISPATCH, HEARTBEAT, IDENTIFY, PRESENCE, VOICE, RESUME = 0, 1, 2, 3, 4, 6
RECONNECT, MEMBERS, INVALID_SESSION, HELLO, HEARTBEAT_ACK = 7, 8, 9, 10, 11
GUILDS, GUILD_MEMBERS, PRESENCES, MESSAGE_CONTENT = 1 << 0, 1 << 1, 1 << 8, 1 << 15
KNOWN_INTENTS = sum(1 << bit for bit in (*range(17), 20, 21, 24, 25))
UNKNOWN_OPCODE, DECODE_ERROR, NOT_AUTHENTICATED, AUTHENTICATION_FAILED, ALREADY_AUTHENTICATED = (
    range(4001, 4006)
)
INVALID_SEQ, RATE_LIMITED, SESSION_TIMEOUT, INVALID_SHARD = 4007, 4008, 4009, 4010
INVALID_INTENTS, DISALLOWED_INTENTS = 4013, 4014
FRAME_MAX, SENDS_PER_MINUTE = 4096, 120


@dataclass(eq=False)
class Connection:
    """One open websocket and the frames queued for it."""

    socket: web.WebSocketResponse
    transport: asyncio.Transport | None
    outgoing: asyncio.Queue[Payload] = field(default_factory=asyncio.Queue)
    session: "Session | None" = None
    sent: deque[float] = field(default_factory=deque)

    def send(
        self, op: int, data: object = None, *, seq: int | None = None, event: object = None
    ) -> None:
        """Queue a frame."""
        self.outgoing.put_nowait({"op": op, "d": data, "s": seq, "t": event})


@dataclass(eq=False)
class Session:
    """A client's session: what it identified as, and every event it was meant to get."""

    id: str
    intents: int
    shard: tuple[int, int]
    events: list[tuple[str, Payload]] = field(default_factory=list)
    connection: Connection | None = None
    ended: bool = False

    def takes(self, intent: int, guild_id: int | None) -> bool:
        """Does this session get an event of this intent and guild (None: a direct message)?"""
        shard = 0 if guild_id is None else (guild_id >> 22) % self.shard[1]
        return (
            not self.ended
            and shard == self.shard[0]
            and (not intent or bool(self.intents & intent))
        )

    def add(self, event: str, data: Payload) -> None:
        """Record an event and send it if somebody listens."""
        self.events.append((event, data))
        if self.connection:
            self.connection.send(DISPATCH, data, seq=len(self.events), event=event)


class Gateway:
    """All sessions.

    Tests may set `heartbeat_interval` (ms), `replay_extra` (how many events from before the acknowledged one a resume
    repeats), `refuse_resume` (the next resume gets Invalid Session), `unavailable` (how many attempts to connect get
    a 503) and `closing` (a close code for every identify).
    """

    def __init__(self, discord: "Discord") -> None:
        self._discord = discord
        self.url = ""
        self.sessions: dict[str, Session] = {}
        self.connections: dict[Connection, None] = {}
        """In the order in which they were made."""
        self.identifies: list[Payload] = []
        self.resumes = 0
        self.heartbeats = 0
        self.closed_with: list[int] = []
        self.heartbeat_interval = 41_250
        self.replay_extra = 0
        self.refuse_resume = False
        self.unavailable = 0
        self.closing: int | None = None

    def dispatch(self, event: str, data: Data, intent: int, guild_id: int | None) -> int:
        """Send an event to every session that takes it; return how many did."""
        takers = [each for each in self.sessions.values() if each.takes(intent, guild_id)]
        copies: dict[bool, Payload] = {}  # for sessions with message content, and without
        for session in takers:
            content = bool(session.intents & MESSAGE_CONTENT)
            if content not in copies:
                plain = data(content) if callable(data) else data
                copies[content] = json.loads(json.dumps(plain))
            session.add(event, copies[content])
        return len(takers)

    def repeat(self, event: str, *, count: int = 1) -> None:
        """Send the latest event of this name again, as a new frame with the same content."""
        for session in self.sessions.values():
            data = next((each for name, each in reversed(session.events) if name == event), None)
            for _ in range(count if data is not None else 0):
                session.add(event, data or {})

    def guild_added(self, guild: Guild) -> None:
        """The app was added to a server while it runs."""
        body = guild_json(self._discord.world, guild, self._discord.bot.id)
        self.dispatch("GUILD_CREATE", body, GUILDS, guild.id)

    async def connected(self, sessions: int = 1, *, timeout: float = 60.0) -> None:
        """Wait until this many sessions have a live connection."""

        def live() -> bool:
            return sum(each.connection is not None for each in self.sessions.values()) >= sessions

        await self._discord.bell.until(live, timeout=timeout)

    async def disconnect(self, code: int = 4000) -> None:
        """Close every connection with this code; sessions stay resumable."""
        for connection in list(self.connections):
            await connection.socket.close(code=code)

    def abort(self) -> None:
        """Cut every connection without a closing frame."""
        for connection in list(self.connections):
            if connection.transport:
                connection.transport.abort()

    def forget_sessions(self) -> None:
        """Make all earlier sessions impossible to resume."""
        for session in self.sessions.values():
            session.ended = True

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        """Serve one websocket."""
        if self.unavailable:
            self.unavailable -= 1
            self._discord.bell.ring()
            raise web.HTTPServiceUnavailable
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(request)
        connection = Connection(socket, request.transport)
        self.connections[connection] = None
        writer = asyncio.create_task(self._write(connection))
        connection.send(HELLO, {"heartbeat_interval": self.heartbeat_interval})
        try:
            async for frame in socket:
                if frame.type is not WSMsgType.TEXT:
                    continue
                code = self._take(connection, frame.data)
                if code is not None:
                    await self._close(connection, code)
        finally:
            writer.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await writer
            self.connections.pop(connection, None)
            if connection.session and connection.session.connection is connection:
                connection.session.connection = None
            self._discord.bell.ring()
        return socket

    async def _write(self, connection: Connection) -> None:
        while True:
            frame = await connection.outgoing.get()
            try:
                await connection.socket.send_str(json.dumps(frame))
            except ConnectionError:
                return

    async def _close(self, connection: Connection, code: int) -> None:
        self.closed_with.append(code)
        await connection.socket.close(code=code)
        self._discord.bell.ring()

    def _take(self, connection: Connection, text: str) -> int | None:
        """Handle a frame; return the code to close with, if any."""
        if len(text) > FRAME_MAX:
            return DECODE_ERROR
        now = self._discord.clock.now()
        connection.sent.append(now)
        while connection.sent[0] < now - 60:
            connection.sent.popleft()
        if len(connection.sent) > SENDS_PER_MINUTE:
            return RATE_LIMITED
        try:
            frame = json.loads(text)
            op, data = frame["op"], frame.get("d")
        except (ValueError, KeyError, TypeError):
            return DECODE_ERROR
        if op == HEARTBEAT:
            self.heartbeats += 1
            connection.send(HEARTBEAT_ACK)
            self._discord.bell.ring()
            return None
        if op in {IDENTIFY, RESUME}:
            if connection.session:
                return ALREADY_AUTHENTICATED
            return (
                self._identify(connection, data)
                if op == IDENTIFY
                else self._resume(connection, data)
            )
        if connection.session is None:
            return NOT_AUTHENTICATED
        return None if op in {PRESENCE, VOICE, MEMBERS} else UNKNOWN_OPCODE

    def _identify(self, connection: Connection, data: Payload) -> int | None:
        self.identifies.append(data)
        application, world = self._discord.application, self._discord.world
        if self.closing is not None:
            return self.closing
        if data.get("token") != application.token:
            return AUTHENTICATION_FAILED
        intents = data.get("intents")
        if not isinstance(intents, int) or intents & ~KNOWN_INTENTS:
            return INVALID_INTENTS
        granted = (
            MESSAGE_CONTENT * application.message_content
            | GUILD_MEMBERS * application.guild_members
        )
        if intents & (MESSAGE_CONTENT | GUILD_MEMBERS | PRESENCES) & ~granted:
            return DISALLOWED_INTENTS
        number, count = data.get("shard") or (0, 1)
        if not 0 <= number < count:
            return INVALID_SHARD
        session = Session(secrets.token_hex(8), intents, (number, count), connection=connection)
        self.sessions[session.id] = connection.session = session
        guilds = [each for each in world.guilds.values() if session.takes(0, each.id)]
        session.add(
            "READY",
            {
                "v": 10,
                "user": self._discord.me(),
                "session_id": session.id,
                **({"shard": [number, count]} if data.get("shard") else {}),
                "guilds": [{"id": str(each.id), "unavailable": True} for each in guilds],
                "session_type": "normal",
                "resume_gateway_url": self.url,
                "private_channels": [],
                "application": {"id": str(application.id), "flags": application.flags},
                "user_settings": {},
                "relationships": [],
                "presences": [],
                "guild_join_requests": [],
                "geo_ordered_rtc_regions": [],
            },
        )
        for guild in guilds if intents & GUILDS else []:
            session.add("GUILD_CREATE", guild_json(world, guild, self._discord.bot.id))
        self._discord.bell.ring()
        return None

    def _resume(self, connection: Connection, data: Payload) -> int | None:
        session = self.sessions.get(str(data.get("session_id")))
        seq = data.get("seq")
        if data.get("token") != self._discord.application.token:
            return AUTHENTICATION_FAILED
        if session is None or session.ended or self.refuse_resume:
            self.refuse_resume = False
            if session:
                session.ended = True
            connection.send(INVALID_SESSION, False)
            return None
        if not isinstance(seq, int) or not 0 <= seq <= len(session.events):
            return INVALID_SEQ
        self.resumes += 1
        session.connection, connection.session = connection, session
        start = max(1, seq - self.replay_extra)
        for number in range(start, len(session.events)):
            event, body = session.events[number]
            connection.send(DISPATCH, body, seq=number + 1, event=event)
        session.add("RESUMED", {"_trace": []})
        self._discord.bell.ring()
        return None
