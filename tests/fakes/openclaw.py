"""A fake OpenClaw gateway over a real WebSocket, with the frames of OpenClaw 2026.9.6."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from typing import Any, Final

from aiohttp import WSMsgType, web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.ports import free_port
from tests.service_support import WAIT

Json = dict[str, Any]

_KINDS: Final = ("question", "exec.approval", "plugin.approval")
TOKEN: Final = "gateway-token"


class Openclaw:
    """The gateway: its pending requests, its connections, and the calls that it accepted."""

    def __init__(self) -> None:
        self._port = free_port()
        self.url = f"ws://127.0.0.1:{self._port}"
        self.pending: dict[str, dict[str, Json]] = {kind: {} for kind in _KINDS}
        self.received: asyncio.Queue[tuple[str, Json]] = asyncio.Queue()
        """The method and parameters of every answer, message and abort that was accepted."""
        self.sessions: list[str] = []
        self.refusals: list[Json] = []
        """Errors for the next introductions."""
        self.failures: list[Json] = []
        """Errors for the next answers."""
        self.failing_statuses: list[int] = []
        """The statuses with which a proxy answers the next connections in the gateway's place."""
        self.first_frame: str | None = None
        """The frame to send in place of the challenge."""
        self.started_at = time.time()
        self.introductions: list[Json] = []
        self._introduced = asyncio.Condition()
        self._sockets: set[web.WebSocketResponse] = set()
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen, each time on the same port."""
        app = web.Application()
        app.router.add_get("/", self._connect)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()

    async def stop(self) -> None:
        """Stop the gateway and close all connections."""
        await self.hang_up()
        if self._runner is not None:
            await self._runner.cleanup()

    async def hang_up(self) -> None:
        """Close all connections."""
        for socket in [*self._sockets]:
            await socket.close()

    async def connected(self, count: int) -> None:
        """Return once the given number of clients have been let in."""
        async with asyncio.timeout(WAIT), self._introduced:
            await self._introduced.wait_for(lambda: len(self.introductions) >= count)

    async def ask(self, kind: str, record: Json) -> None:
        """Put a request, and report it."""
        self.pending[kind][record["id"]] = record
        await self.send({"type": "event", "event": f"{kind}.requested", "payload": record})

    async def resolve(self, kind: str, request_id: str) -> None:
        """Answer a request as a person in OpenClaw itself."""
        del self.pending[kind][request_id]
        payload = {"id": request_id, "status": "answered"}
        await self.send({"type": "event", "event": f"{kind}.resolved", "payload": payload})

    async def send(self, frame: Json | str) -> None:
        """Send a frame to every client."""
        for socket in self._sockets:
            await socket.send_str(frame if isinstance(frame, str) else json.dumps(frame))

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        if self.failing_statuses:
            return web.Response(status=self.failing_statuses.pop(0))
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        challenge = {"nonce": "n1", "ts": 1_700_000_000_000}
        frame = {"type": "event", "event": "connect.challenge", "payload": challenge}
        await socket.send_str(self.first_frame or json.dumps(frame))
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                break
            called = json.loads(message.data)
            method, params = called["method"], called["params"]
            if method == "connect":
                answer = self._introduce(params, challenge)
                self._sockets.add(socket)
            else:
                answer = self._answer(method, params)
            await socket.send_json({"type": "res", "id": called["id"], **answer})
            if method == "connect":
                async with self._introduced:
                    self.introductions += [params] if answer["ok"] else []
                    self._introduced.notify_all()
        self._sockets.discard(socket)
        return socket

    def _introduce(self, params: Json, challenge: Json) -> Json:
        if self.refusals:
            return {"ok": False, "error": self.refusals.pop(0)}
        _verify(params, challenge)
        uptime = (time.time() - self.started_at) * 1000
        return {"ok": True, "payload": {"type": "hello-ok", "snapshot": {"uptimeMs": uptime}}}

    def _answer(self, method: str, params: Json) -> Json:
        kind, _, verb = method.rpartition(".")
        if kind == "sessions":
            return {"ok": True, "payload": {"sessions": [{"key": key} for key in self.sessions]}}
        if verb == "list":
            rows = [*self.pending[kind].values()]
            return {"ok": True, "payload": {"questions": rows} if kind == "question" else rows}
        if self.failures:
            return {"ok": False, "error": self.failures.pop(0)}
        if verb == "resolve" and self.pending[kind].pop(params["id"], None) is None:
            return {"ok": False, "error": {"code": "INVALID_REQUEST", "message": "not found"}}
        self.received.put_nowait((method, params))
        return {"ok": True, "payload": {"status": "ok"}}


def _verify(params: Json, challenge: Json) -> None:
    """Check the proof as a gateway does."""
    device, client = params["device"], params["client"]
    public = _decoded(device["publicKey"])
    assert device["id"] == hashlib.sha256(public).hexdigest()
    parts = (
        "v2",
        device["id"],
        client["id"],
        client["mode"],
        params["role"],
        ",".join(params["scopes"]),
    )
    signed = "|".join(map(str, (*parts, challenge["ts"], TOKEN, challenge["nonce"])))
    Ed25519PublicKey.from_public_bytes(public).verify(
        _decoded(device["signature"]), signed.encode()
    )


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
