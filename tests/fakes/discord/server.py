"""The fake Discord as a server on loopback: REST below /api/v10, the gateway, and a page for people.

`async with FakeDiscord() as discord:` gives everything a test needs: `discord.api_url`, `discord.application`,
`discord.add_guild()`, `discord.person("ada", guild)`, `discord.faults`, `discord.gateway`, `discord.pings`.
"""

import hashlib
import json
import time
from types import TracebackType
from typing import Self

from aiohttp import web
from aiohttp.typedefs import Handler

from tests.fakes.discord.core import Discord
from tests.fakes.discord.faults import Call, Fault, LineCutError
from tests.fakes.discord.interactions import Interactions
from tests.fakes.discord.page import Page
from tests.fakes.discord.person import Person
from tests.fakes.discord.problems import Payload, RefusalError
from tests.fakes.discord.request_reader import LOGGED, USER_AGENT
from tests.fakes.discord.rest_app import App
from tests.fakes.discord.rest_channels import Channels
from tests.fakes.discord.rest_interactions import Responses
from tests.fakes.discord.rest_messages import Messages, answer
from tests.fakes.discord.world import Guild, Role, User

PREFIX = "/api/v10"
BODY_MAX = 30 * 1024 * 1024
OPENED_BY_A_TOKEN = ("/interactions/", "/webhooks/")


class RateLimits:
    """Real limits of a bucket: `limit` calls in `window` seconds. Generous unless a test sets them."""

    def __init__(self) -> None:
        self.limit, self.window = 1000, 1.0
        self._used: dict[str, list[float]] = {}

    def take(self, bucket: str) -> tuple[bool, dict[str, str]]:
        """Count a call; return whether it is allowed, and the rate limit headers."""
        now = time.time()
        used = [each for each in self._used.get(bucket, []) if each > now - self.window]
        allowed = len(used) < self.limit
        self._used[bucket] = used = [*used, now] if allowed else used
        reset = used[0] + self.window
        return allowed, {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(max(0, self.limit - len(used))),
            "X-RateLimit-Reset": f"{reset:.3f}",
            "X-RateLimit-Reset-After": f"{max(0.001, reset - now):.3f}",
            "X-RateLimit-Bucket": hashlib.sha256(bucket.encode()).hexdigest()[:32],
        }


class FakeDiscord(Discord):
    """A running fake; enter it to start serving on an ephemeral port."""

    def __init__(self) -> None:
        super().__init__()
        self.interactions = Interactions(self)
        self.rate_limits = RateLimits()
        self.url = ""
        self._runner: web.AppRunner | None = None

    @property
    def api_url(self) -> str:
        """The base URL of REST, as `discord.http.Route.BASE` expects it."""
        return self.url + PREFIX

    def person(
        self, name: str, *guilds: Guild, roles: tuple[Role, ...] = (), dms_open: bool = True
    ) -> Person:
        """A simulated person, new to the world, member of these guilds."""
        return Person(
            self, self.interactions, self.add_user(name, *guilds, roles=roles, dms_open=dms_open)
        )

    def as_person(self, user: User) -> Person:
        """A simulated person for an existing account."""
        return Person(self, self.interactions, user)

    async def __aenter__(self) -> Self:
        messages = Messages(self)
        parts = (
            App(self, self.interactions),
            messages,
            Channels(self, messages),
            Responses(self, self.interactions),
        )
        api = web.Application(middlewares=[self._middleware], client_max_size=BODY_MAX)
        for part in parts:
            api.add_routes(part.routes())
        app = web.Application(client_max_size=BODY_MAX)
        app.add_subapp(PREFIX, api)
        app.add_routes(
            [
                web.get("/gw/", self.gateway.handle),
                *Page(self, self.interactions).routes(),
                *self.attachments.routes(),
            ]
        )
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.2, handler_cancellation=True
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = self.attachments.origin = f"http://{host}:{port}"
        self.gateway.url = f"ws://{host}:{port}/gw/"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.interactions.close()
        self.faults.clear()
        await self.gateway.disconnect(1001)
        if self._runner:
            await self._runner.cleanup()

    @web.middleware
    async def _middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Log, authorise, limit, inject faults, and translate refusals."""
        call = await self._log(request)
        bucket = self._bucket(request)
        allowed, headers = self.rate_limits.take(bucket)
        response: web.StreamResponse
        try:
            if not allowed:
                response = self._too_many(headers)
            else:
                response = await self._serve(request, handler, call)
        except LineCutError:
            call.status = 0
            self.bell.ring()
            if request.transport:
                request.transport.abort()
            return web.Response()
        call.status = response.status
        if response.content_type == "text/html":
            self.bell.ring()
            return response
        response.headers.update(headers)
        response.headers.setdefault("Via", "1.1 google")
        raw = response.body if isinstance(response, web.Response) else None
        call.answer = json.loads(raw) if isinstance(raw, bytes) and raw else None
        self.bell.ring()
        return response

    async def _log(self, request: web.Request) -> Call:
        # A multipart body is a stream that only its route may read: it adds its JSON to the log.
        raw = b"" if request.content_type == "multipart/form-data" else await request.read()
        body: Payload = {}
        if request.content_type == "application/json" and raw:
            try:
                parsed = json.loads(raw)
                body = parsed if isinstance(parsed, dict) else {"": parsed}
            except ValueError:
                body = {"": raw.decode("utf-8", "replace")}
        call = Call(
            request.method,
            request.path.removeprefix(PREFIX),
            body,
            self.clock.now(),
            query=dict(request.query),
        )
        self.faults.log.append(call)
        request[LOGGED] = call
        return call

    async def _serve(
        self, request: web.Request, handler: Handler, call: Call
    ) -> web.StreamResponse:
        async def run() -> web.StreamResponse:
            try:
                self._authorise(request, call)
                return await handler(request)
            except RefusalError as refusal:
                return _refused(refusal)
            except web.HTTPNotFound:
                return answer({"message": "404: Not Found", "code": 0}, 404)
            except web.HTTPMethodNotAllowed:
                return answer({"message": "405: Method Not Allowed", "code": 0}, 405)

        response, fault = await self.faults.run(call, run)
        if response is not None:
            return response
        return _on_purpose(fault)

    def _authorise(self, request: web.Request, call: Call) -> None:
        # discord.py calls the token routes without a User-Agent of its own, and Discord lets it.
        if call.path.startswith(OPENED_BY_A_TOKEN):
            return
        if not USER_AGENT.match(request.headers.get("User-Agent", "")):
            raise RefusalError(40333)
        if call.path == "/gateway":
            return
        if request.headers.get("Authorization") != f"Bot {self.application.token}":
            raise RefusalError(0)

    def _bucket(self, request: web.Request) -> str:
        info = request.match_info
        major = info.get("channel") or info.get("guild") or info.get("token") or ""
        resource = info.route.resource
        return f"{request.method} {resource.canonical if resource else request.path} {major}"

    def _too_many(self, headers: dict[str, str]) -> web.Response:
        after = float(headers["X-RateLimit-Reset-After"])
        body = {"message": "You are being rate limited.", "retry_after": after, "global": False}
        response = answer(body, 429)
        response.headers.update({"Retry-After": str(int(after) + 1), "X-RateLimit-Scope": "user"})
        return response


def _refused(refusal: RefusalError) -> web.Response:
    status, body = refusal.answer()
    return answer(body, status)


def _on_purpose(fault: Fault | None) -> web.Response:
    if fault is not None and fault.kind == "page":
        page = "<html>Réseau protégé".encode("latin-1")  # not what its header says
        return web.Response(body=page, headers={"Content-Type": "text/html; charset=utf-8"})
    if fault is None or fault.refusal is None:
        raise AssertionError("a fault without an answer came through")
    response = _refused(fault.refusal)
    response.headers.update(fault.headers)
    return response
