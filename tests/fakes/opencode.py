"""A fake opencode server over a real socket, with the events and responses of opencode-ai 1.18.33."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from aiohttp import encode_basic_auth, web

from tests.ports import free_port
from tests.service_support import WAIT

Json = dict[str, Any]


class Opencode:
    """The server: its pending requests, its event streams, and the calls it received."""

    def __init__(self, password: str | None = None) -> None:
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.pending: dict[str, dict[str, Json]] = {"question": {}, "permission": {}}
        self.has_v2 = False
        """True if its requests are those of the second version."""
        self.received: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        """The path with its query, and the body, of every answer, prompt and abort that was accepted."""
        self.refused: list[str] = []
        self.running: dict[str, list[str]] = {}
        """By session, the ids of unfinished tool calls, including those that a stopped server left behind."""
        self.inputs: Any = {}
        """The arguments of every unfinished tool call."""
        self.busy: set[str] = set()
        self.deleted: set[str] = set()
        self.folder: str | None = "/srv/shop"
        """The folder of every session."""
        self.failing_folders = 0
        """Times that the server is still to fail when it is asked for the folder: first broken, then with no JSON."""
        self.listed = asyncio.Event()
        """Set once a client has listed the sessions."""
        self.failing = 0
        """The number of calls that are still to fail."""
        self.failure: type[web.HTTPException] = web.HTTPServiceUnavailable
        self.failing_prompts = 0
        """The number of prompts that are still to fail."""
        self.connections = 0
        self._connected = asyncio.Condition()
        self._password = password
        self._streams: set[web.StreamResponse] = set()
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen, each time on the same port."""
        app = web.Application()
        app.router.add_get("/event", self._event)
        app.router.add_get("/{kind:question|permission}", self._list)
        app.router.add_post("/{kind}/{id}/{verb}", self._reply)
        if self.has_v2:
            app.router.add_get("/api/{kind}/request", self._list)
            app.router.add_post("/api/session/{session}/{kind}/{id}/{verb}", self._reply)
        app.router.add_post("/session/{id}/abort", self._abort)
        app.router.add_get("/session", self._sessions)
        app.router.add_get("/session/status", self._status)
        app.router.add_get("/session/{id}", self._session)
        app.router.add_get("/session/{id}/message", self._messages)
        app.router.add_post("/session/{id}/prompt_async", self._prompt)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()

    async def stop(self) -> None:
        """Stop the server and close all connections. Pending requests remain until they are dropped."""
        self.hang_up()
        if self._runner is not None:
            await self._runner.cleanup()

    def forget(self) -> None:
        """Drop the pending requests, as a stopped server does. Its sessions and unfinished tool calls remain."""
        for request in [row for rows in self.pending.values() for row in rows.values()]:
            self.running.setdefault(request["sessionID"], []).append(request["tool"]["callID"])
        self.pending = {"question": {}, "permission": {}}

    def delete(self, session: str) -> None:
        """Delete a session, as a person does in opencode's own window."""
        self.running.pop(session, None)
        self.deleted.add(session)

    def hang_up(self) -> None:
        """Cut all event streams."""
        for stream in self._streams:
            transport = stream._req.transport if stream._req is not None else None
            if transport is not None:
                transport.close()

    async def connected(self, count: int = 1) -> None:
        """Return once the given number of event streams have been opened."""
        async with asyncio.timeout(WAIT), self._connected:
            await self._connected.wait_for(lambda: self.connections >= count)

    async def ask(self, event: Json) -> None:
        """Add a model's question or permission request, and send its event."""
        kind = event["type"].partition(".")[0]
        self.pending[kind][event["properties"]["id"]] = event["properties"]
        await self.send(event)

    async def send(self, event: Json) -> None:
        """Send an event to all streams, in pieces as a socket may deliver it."""
        raw = f"data: {json.dumps(event)}\n\n".encode()
        for stream in self._streams:
            with contextlib.suppress(ConnectionError):
                for piece in (raw[:10], raw[10:]):
                    await stream.write(piece)

    async def answer(self, event: Json) -> None:
        """Answer as a person in opencode's own window."""
        kind = event["type"].partition(".")[0]
        del self.pending[kind][event["properties"]["requestID"]]
        await self.send(event)

    def _check(self, request: web.Request) -> None:
        if self.failing:
            self.failing -= 1
            raise self.failure
        expected = self._password and encode_basic_auth("opencode", self._password)
        if expected and request.headers.get("Authorization") != expected:
            raise web.HTTPUnauthorized

    async def _session(self, request: web.Request) -> web.Response:
        self._check(request)
        if self.failing_folders:
            self.failing_folders -= 1
            return web.Response(status=503 if self.failing_folders else 404, text="no JSON")
        if (session := request.match_info["id"]) in self.deleted:
            return _not_found(session)
        return web.json_response({"id": session, "directory": self.folder})

    async def _event(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        self._streams.add(stream)
        await stream.write(b'data: {"id":"evt_1","type":"server.connected","properties":{}}\n\n')
        async with self._connected:
            self.connections += 1
            self._connected.notify_all()
        try:
            await asyncio.Event().wait()
        finally:
            self._streams.discard(stream)
        return stream

    async def _list(self, request: web.Request) -> web.Response:
        self._check(request)
        rows = [*self.pending[request.match_info["kind"]].values()]
        if request.path.startswith("/api/"):
            return web.json_response({"location": {}, "data": rows})
        return web.json_response([] if self.has_v2 else rows)

    async def _reply(self, request: web.Request) -> web.Response:
        self._check(request)
        kind, request_id = request.match_info["kind"], request.match_info["id"]
        body = await request.json() if request.can_read_body else None
        pending = self.pending[kind].pop(request_id, None)
        if pending is None:
            self.refused.append(request_id)
            problem = {"_tag": f"{kind.title()}NotFoundError", "requestID": request_id}
            return web.json_response(problem, status=404)
        verb = "rejected" if request.match_info["verb"] == "reject" else "replied"
        properties = {"sessionID": pending["sessionID"], "requestID": request_id, **(body or {})}
        await self.send(
            {
                "id": "evt_2",
                "type": f"{kind}{'.v2' if self.has_v2 else ''}.{verb}",
                "properties": properties,
            }
        )
        self.received.put_nowait((request.path_qs, body))
        return web.json_response(True)

    async def _sessions(self, _request: web.Request) -> web.Response:
        self.listed.set()
        return web.json_response([{"id": session} for session in self.running])

    async def _status(self, _request: web.Request) -> web.Response:
        return web.json_response({session: {"type": "busy"} for session in self.busy})

    async def _messages(self, request: web.Request) -> web.Response:
        if (session := request.match_info["id"]) in self.deleted:
            return _not_found(session)
        calls = self.running.get(session, [])
        running = [
            {"type": "tool", "callID": call, "state": {"status": "running", "input": self.inputs}}
            for call in calls
        ]
        parts = [{"type": "step-start"}, *running]
        return web.json_response([{"info": {}, "parts": parts}, {"info": {}}] if calls else [])

    async def _prompt(self, request: web.Request) -> web.Response:
        body = await request.json()
        if self.failing_prompts:
            self.failing_prompts -= 1
            raise web.HTTPServiceUnavailable
        if (session := request.match_info["id"]) in self.deleted:
            self.refused.append(session)
            return _not_found(session)
        self.received.put_nowait((request.path_qs, body))
        return web.Response(status=204)

    async def _abort(self, request: web.Request) -> web.Response:
        self.received.put_nowait((request.path_qs, None))
        return web.json_response(True)


def _not_found(session: str) -> web.Response:
    data = {"message": f"Session not found: {session}"}
    return web.json_response({"name": "NotFoundError", "data": data}, status=404)
