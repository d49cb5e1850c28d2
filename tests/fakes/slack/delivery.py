"""Delivery to the app: signed HTTP requests, and events that are sent until they are acknowledged.

Owns `Ack`, the HTTP sender with its signatures, and the retry schedule of the Events API
(https://docs.slack.dev/apis/events-api: at once, after a minute, after five; shortened here).
Interactions are sent only once: a missed click is lost.
"""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlencode

import aiohttp

from tests.fakes.slack import rules
from tests.fakes.slack.schema import Json


@dataclass(frozen=True, slots=True)
class Ack:
    """The app's answer to one delivery: `seconds` from sending to the acknowledgement."""

    ok: bool
    status: int = 0
    body: Json | None = None
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """The number of an event's retry, and its reason."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it was sent, so that a test can send it again."""

    headers: dict[str, str]
    body: bytes


class Delivery(Protocol):
    """One of the two transports to the app."""

    async def send(self, kind: str, payload: Json, retry: Retry | None = None) -> Ack:
        """Deliver a payload (`interactive`, `slash_commands` or `events_api`) and wait for the acknowledgement."""


def sign(secret: str, body: bytes, timestamp: int | str) -> str:
    """The v0 signature of https://docs.slack.dev/authentication/verifying-requests-from-slack"""
    base = b"v0:" + str(timestamp).encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


class HttpDelivery:
    """Post to the app's request URL, signed."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self.url = ""
        self.sent: list[SentRequest] = []
        self._session: aiohttp.ClientSession | None = None

    async def send(self, kind: str, payload: Json, retry: Retry | None = None) -> Ack:
        """Deliver a payload in Slack's format: a form for interactions, JSON for events."""
        return await self.post(self.request(kind, payload, retry))

    def request(
        self,
        kind: str,
        payload: Json,
        retry: Retry | None = None,
        *,
        secret: str | None = None,
        timestamp: int | None = None,
    ) -> SentRequest:
        """A signed request; pass another `secret` or `timestamp` for a forged or an old one."""
        if kind == "events_api":
            body, content_type = json.dumps(payload).encode(), "application/json"
        else:
            is_command = kind == "slash_commands"
            fields = payload if is_command else {"payload": json.dumps(payload)}
            body = urlencode(fields).encode()
            content_type = "application/x-www-form-urlencoded"
        at = int(time.time()) if timestamp is None else timestamp
        headers = {
            "Content-Type": content_type, "X-Slack-Request-Timestamp": str(at),
            "X-Slack-Signature": sign(self.secret if secret is None else secret, body, at),
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        }  # fmt: skip
        if retry is not None:
            headers["X-Slack-Retry-Num"] = str(retry.number)
            headers["X-Slack-Retry-Reason"] = retry.reason
        return SentRequest(headers, body)

    async def post(self, request: SentRequest) -> Ack:
        """Send a request unchanged, even if it was sent before or is wrongly signed."""
        if self._session is None:
            self._session = aiohttp.ClientSession()
        self.sent.append(request)
        started = time.perf_counter()
        try:
            async with self._session.post(
                self.url,
                data=request.body,
                headers=request.headers,
                timeout=aiohttp.ClientTimeout(total=rules.ACK_SECONDS),
                allow_redirects=False,
            ) as response:
                text = await response.text()
                seconds = time.perf_counter() - started
        except TimeoutError:
            return Ack(ok=False, seconds=time.perf_counter() - started, error="http_timeout")
        except aiohttp.ClientError as error:
            seconds = time.perf_counter() - started
            return Ack(ok=False, seconds=seconds, error=f"connection_failed: {error}")
        ok = response.status == 200
        answer = _json(text)
        return Ack(ok, response.status, answer, seconds, None if ok else "http_error")

    async def close(self) -> None:
        """Close the connections to the app."""
        if self._session is not None:
            await self._session.close()


def _json(text: str) -> Json | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


@dataclass(slots=True, eq=False)
class Event:
    """An event that is sent until it is acknowledged, or until the retry schedule is exhausted."""

    envelope: Json
    attempts: list[Ack] = field(default_factory=list)
    started: int = 0

    @property
    def acked(self) -> bool:
        """True if the app acknowledged it."""
        return any(ack.ok for ack in self.attempts)


class EventQueue:
    """Send events in the background, and repeat those that were not acknowledged."""

    def __init__(self, delays: Sequence[float] = (0.05, 0.3, 1.0)) -> None:
        self.delays = tuple(delays)
        self.events: list[Event] = []
        self.on_change: Callable[[], None] = lambda: None
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, envelope: Json, way: Delivery) -> Event:
        """Start sending one event."""
        event = Event(envelope)
        self.events.append(event)
        self._start(self._run(event, way))
        return event

    @property
    def unacked(self) -> list[Event]:
        """Events that the app has not acknowledged yet."""
        return [event for event in self.events if not event.acked]

    async def redeliver(self, way: Delivery) -> None:
        """Send every unacknowledged event once more, as Slack does when the app is back."""
        await asyncio.gather(*(self._attempt(event, way) for event in self.unacked))

    def redeliver_soon(self, way: Delivery) -> None:
        """`redeliver`, in the background."""
        if self.unacked:
            self._start(self.redeliver(way))

    async def settle(self, timeout: float = 60.0) -> None:
        """Wait until no event is in flight."""
        async with asyncio.timeout(timeout):
            while self._tasks:
                await asyncio.wait(set(self._tasks))

    async def close(self) -> None:
        """Cancel all events in flight."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, event: Event, way: Delivery) -> None:
        await self._attempt(event, way)
        for delay in self.delays:
            if event.acked:
                return
            await asyncio.sleep(delay)
            if not event.acked:
                await self._attempt(event, way)

    async def _attempt(self, event: Event, way: Delivery) -> None:
        retry = None
        if event.started:
            reason = (event.attempts[-1].error if event.attempts else None) or "timeout"
            retry = Retry(event.started, reason.split(":", maxsplit=1)[0])
        event.started += 1
        event.attempts.append(await way.send("events_api", event.envelope, retry))
        self.on_change()
