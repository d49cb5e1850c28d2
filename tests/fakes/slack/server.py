"""The fake Slack server: one loopback port for the Web API, Socket Mode, response URLs and pages.

Owns the wiring, the tokens and their scopes, the order faults → limits → auth → method, and the
waiting on what the app does. State is in `workspace.py`, methods in `methods_*.py`.
"""

import asyncio
import json
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from aiohttp import web

from tests.fakes.slack import (
    agent_sessions,
    home_tab,
    methods_chat,
    methods_directory,
    methods_files,
    methods_views,
    page,
    response_urls,
)
from tests.fakes.slack.delivery import Ack, Delivery, Event, EventQueue, HttpDelivery
from tests.fakes.slack.faults import Buckets, Call, Fault, Faults
from tests.fakes.slack.interactivity import ApiError, Interactivity
from tests.fakes.slack.methods import Method, Methods
from tests.fakes.slack.person import Person
from tests.fakes.slack.schema import Json
from tests.fakes.slack.socket_mode import SocketMode
from tests.fakes.slack.workspace import TEAM, Clock, Message, Workspace

BOT_SCOPES = (
    "chat:write", "im:write", "channels:history", "groups:history", "im:history", "mpim:history",
    "channels:read", "groups:read", "im:read", "mpim:read", "users:read", "usergroups:read",
    "reactions:write", "app_mentions:read", "commands", "files:write", "files:read",
)  # fmt: skip
_JSON_ARGUMENTS = ("blocks", "attachments", "metadata", "view")


class FakeSlack:
    """A workspace behind real sockets.

    `async with FakeSlack() as slack:` serves on an ephemeral loopback port. The app is given
    `slack.api_url`, `slack.bot_token` and, for Socket Mode, `slack.app_token`; for HTTP mode,
    `slack.deliver_to(url)` and `slack.signing_secret`.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        scopes: Iterable[str] = BOT_SCOPES,
        real_limits: bool = False,
        retry_delays: Iterable[float] = (0.05, 0.3, 1.0),
    ) -> None:
        self.bot_token, self.app_token = "xoxb-fake-bot-token", "xapp-1-fake-app-token"
        self.signing_secret = "fake-signing-secret"
        self.scopes = set(scopes)
        self.app_scopes = {"connections:write"}
        self.revoked = False
        self.home_tab = True
        self.is_agent = False
        self.keeps_rich_text = False
        self.event_types = {"message", "app_mention"}
        self.clock = clock or Clock()
        self.workspace = Workspace(self.clock)
        self.interactivity = Interactivity(self.workspace)
        self.faults = Faults()
        self.buckets = Buckets() if real_limits else None
        self.calls: list[Call] = []
        self.split: list[str] = []
        """Texts of which Slack made several messages, since they were too long for one."""
        self.acks: list[tuple[Json, Ack]] = []
        self.http = HttpDelivery(self.signing_secret)
        self.socket = SocketMode()
        self.queue = EventQueue(tuple(retry_delays))
        self.socket.on_connect = lambda: self.queue.redeliver_soon(self.socket)
        self.queue.on_change = self.socket.on_send = self.changed
        self.methods: Methods = {}
        self.uploads = methods_files.Uploads()
        self.people_files = methods_files.PeoplesFiles(self)
        for module in (
            methods_chat, methods_views, methods_directory, methods_files, home_tab, agent_sessions,
        ):  # fmt: skip
            self.methods |= module.METHODS
        self._people: dict[str, Person] = {}
        self._runner: web.AppRunner | None = None
        self._late: set[asyncio.Task[Json]] = set()
        self._changed = asyncio.Condition()
        self._notifying: set[asyncio.Task[None]] = set()
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=16 * 1024 * 1024)
        app.router.add_post("/upload/{id}", self.uploads.receive)
        for path in ("/files-pri/{key}/{name}", "/files-pri/{key}/download/{name}"):
            app.router.add_get(path, self.people_files.send)
        app.router.add_route("*", "/api/{method}", self._web_api)
        app.router.add_get("/link/", self.socket.handle)
        app.router.add_post("/actions/{team}/{token}", self._response_url)
        page.add_routes(app, self)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/"
        self.interactivity.base = self.url
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.faults.clear()
        await asyncio.gather(*self._late)
        await self.queue.close()
        await self.http.close()
        await self.socket.close()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def api_url(self) -> str:
        """The `base_url` for slack-sdk's clients."""
        return f"{self.url}api/"

    @property
    def way(self) -> Delivery:
        """The transport for payloads: HTTP once a request URL is set, else Socket Mode."""
        return self.http if self.http.url else self.socket

    def deliver_to(self, url: str) -> None:
        """Set the app's request URL, which switches to HTTP mode ("" switches back)."""
        self.http.url = url

    def person(self, id: str, name: str = "", *, team: str | None = None) -> Person:
        """A person at a client; created on first use."""
        if id not in self._people:
            if id not in self.workspace.users:
                self.workspace.add_user(id, name, team=team or TEAM)
            self._people[id] = Person(self, self.workspace.users[id])
        return self._people[id]

    async def interact(self, payload: Json) -> Ack:
        """Deliver an interaction, once; the acknowledgement is kept in `acks`."""
        ack = await self.way.send("interactive", payload)
        self.acks.append((payload, ack))
        self.changed()
        return ack

    def emit(self, event: Json) -> Event | None:
        """Send an event to the app if it is subscribed to that type."""
        if event["type"] not in self.event_types:
            return None
        return self.queue.put(self.interactivity.event(event), self.way)

    async def until(self, condition: Callable[[], object], timeout: float = 60.0) -> None:
        """Wait until a condition holds; it is checked after every call, acknowledgement and change.

        Raises:
            TimeoutError: with the last calls, when it did not come about.
        """
        try:
            async with asyncio.timeout(timeout), self._changed:
                await self._changed.wait_for(lambda: bool(condition()))
        except TimeoutError:
            last = [(call.method, call.answer) for call in self.calls[-5:]]
            raise TimeoutError(f"not so within {timeout} s; last calls: {last}") from None

    def changed(self) -> None:
        """Have the conditions in `until` checked again."""
        task = asyncio.ensure_future(self._notify())
        self._notifying.add(task)
        task.add_done_callback(self._notifying.discard)

    def count(self, method: str) -> int:
        """The number of calls of a method that were received, answered or not."""
        return sum(call.method == method for call in self.calls)

    def messages(self, channel: str) -> list[Message]:
        """The messages of a conversation, oldest first, without ephemeral ones."""
        stored = self.workspace.messages[channel].values()
        return sorted((m for m in stored if not m.deleted), key=lambda m: m.ts)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _response_url(self, request: web.Request) -> web.StreamResponse:
        return await response_urls.handle(self, request)

    async def _web_api(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["method"]
        args = await _arguments(request)
        given = str(args.pop("token", ""))
        token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip() or given
        fault = self.faults.take(name, args)
        if fault is not None and (spoiled := await self._before(fault, request, name, args, token)):
            return spoiled
        wait = 0.0
        if self.buckets is not None:
            wait = self.buckets.wait(name, args.get("channel"), self.clock.now())
        if wait:
            limited = {"ok": False, "error": "ratelimited"}
            return self._answer(
                name, args, token, limited, 429, headers={"Retry-After": f"{wait:g}"}
            )
        answer = await self._process(name, args, token)
        if fault is not None and fault.when == "after":
            return await self._after(fault, request, name, args, token, answer)
        return self._answer(name, args, token, answer, 200)

    async def _before(
        self, fault: Fault, request: web.Request, name: str, args: Json, token: str
    ) -> web.StreamResponse | None:
        """The failure response of a call that is not processed; None if it should be processed."""
        if fault.when == "after":
            return None
        if fault.hang:
            self._log(name, args, token, None, 0, fault)
            late = asyncio.create_task(self._processed_late(fault, name, args, token))
            self._late.add(late)
            late.add_done_callback(self._late.discard)
            if fault.drop:
                return self._spoil(fault, request, name, args, token)
            return web.json_response(await asyncio.shield(late))
        return self._spoil(fault, request, name, args, token)

    async def _processed_late(self, fault: Fault, name: str, args: Json, token: str) -> Json:
        """The response of a call that hung. It is processed even if its caller has gone."""
        await fault.released.wait()
        return await self._process(name, args, token)

    async def _after(
        self, fault: Fault, request: web.Request, name: str, args: Json, token: str, answer: Json
    ) -> web.StreamResponse:
        if fault.hang:
            self._log(name, args, token, None, 0, fault)
            await fault.released.wait()
            return web.json_response(answer)
        return self._spoil(fault, request, name, args, token)

    def _spoil(
        self, fault: Fault, request: web.Request, name: str, args: Json, token: str
    ) -> web.StreamResponse:
        if fault.drop:
            self._log(name, args, token, None, 0, fault)
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        if fault.status == 429:
            headers = {"Retry-After": str(fault.retry_after)}
            limited = {"ok": False, "error": "ratelimited"}
            return self._answer(name, args, token, limited, 429, fault, headers)
        if fault.status is not None:
            self._log(name, args, token, None, fault.status, fault)
            return web.Response(status=fault.status, text="<html>error</html>")
        return self._answer(
            name, args, token, {"ok": False, "error": fault.error} | fault.extra, 200, fault
        )

    async def _process(self, name: str, args: Json, token: str) -> Json:
        method = self.methods.get(name)
        if method is None:
            return {"ok": False, "error": "unknown_method", "req_method": name}
        try:
            self._authorise(method, args, token)
            return {"ok": True} | await method.run(self, args)
        except ApiError as error:
            return {"ok": False, "error": error.code} | error.extra

    def _authorise(self, method: Method, args: Json, token: str) -> None:
        if not token:
            raise ApiError("not_authed")
        expected, scopes = self.bot_token, self.scopes
        if method.app_level:
            expected, scopes = self.app_token, self.app_scopes
        if token != expected:
            known = token in (self.bot_token, self.app_token)
            raise ApiError("not_allowed_token_type" if known else "invalid_auth")
        if self.revoked:
            raise ApiError("token_revoked")
        needed = method.scopes(self, args)
        if needed and not scopes & set(needed):
            provided = ",".join(sorted(scopes))
            raise ApiError("missing_scope", needed=",".join(needed), provided=provided)

    def _answer(
        self,
        name: str,
        args: Json,
        token: str,
        answer: Json,
        status: int,
        fault: Fault | None = None,
        headers: dict[str, str] | None = None,
    ) -> web.Response:
        self._log(name, args, token, answer, status, fault)
        scopes = {"X-OAuth-Scopes": ",".join(sorted(self.scopes))}
        return web.json_response(answer, status=status, headers=scopes | (headers or {}))

    def _log(
        self, name: str, args: Json, token: str, answer: Json | None, status: int,
        fault: Fault | None,
    ) -> None:  # fmt: skip
        label = fault.name if fault is not None else None
        self.calls.append(Call(name, args, token, self.clock.now(), answer, status, label))
        self.changed()


async def _arguments(request: web.Request) -> Json:
    """Arguments as slack-sdk sends them: query string, form or JSON, with JSON inside strings."""
    args: Json = dict(request.query)
    if request.content_type == "application/json":
        body = await request.json()
        args |= body if isinstance(body, dict) else {}
    elif request.can_read_body:
        args |= dict(await request.post())
    for key in _JSON_ARGUMENTS:
        if isinstance(args.get(key), str):
            try:
                args[key] = json.loads(args[key])
            except ValueError:
                continue  # the method itself refuses what is not JSON, by its own error code
    return args
