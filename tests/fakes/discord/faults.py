"""Deliberate faults, and the log of every call.

A place is written `METHOD /path`, with `*` for any part: `POST /channels/*/messages`. The path is the one below
/api/v10. A fault is used up after `times` calls.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from aiohttp import web

from tests.fakes.discord.clock import Bell
from tests.fakes.discord.problems import Payload, RefusalError

Handler = Callable[[], Awaitable[web.StreamResponse]]


@dataclass(eq=False)
class Call:
    """One request as it arrived, and how it was answered (status 0: the connection was dropped)."""

    method: str
    path: str
    body: Payload
    at: float
    status: int | None = None
    answer: object = None
    query: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    """The kind of the fault that it met."""

    @property
    def place(self) -> str:
        """`METHOD /path`."""
        return f"{self.method} {self.path}"


@dataclass(eq=False)
class Fault:
    """One fault at a place."""

    place: str
    kind: str
    refusal: RefusalError | None = None
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    hits: int = 0
    released: asyncio.Event = field(default_factory=asyncio.Event)
    when: Callable[[Call], bool] = lambda call: True

    def release(self) -> None:
        """Release the calls that hang here, which then go through, and plan no more of it."""
        self.times = 0
        self.released.set()


class LineCutError(Exception):
    """Raised to cut the connection without an answer."""


class Faults:
    """The faults in force and the log. Counts with `count`, waits with `called`."""

    def __init__(self, bell: Bell) -> None:
        self.log: list[Call] = []
        self._faults: list[Fault] = []
        self._bell = bell
        self._late: set[asyncio.Task[None]] = set()

    def _add(self, fault: Fault) -> Fault:
        self._faults.append(fault)
        return fault

    def rate_limit(
        self,
        place: str,
        *,
        retry_after: float = 0.05,
        times: int = 1,
        scope: str = "user",
        via: bool = True,
    ) -> Fault:
        """Answer 429; without `via` it looks like a Cloudflare ban, which discord.py does not retry."""
        body: Payload = {
            "message": "You are being rate limited.",
            "retry_after": retry_after,
            "global": scope == "global",
        }
        headers = {"Retry-After": str(max(1, round(retry_after))), "X-RateLimit-Scope": scope}
        if scope == "global":
            headers["X-RateLimit-Global"] = "true"
        if via:
            headers["Via"] = "1.1 google"
        refusal = RefusalError(0, status=429, extra=body)
        return self._add(Fault(place, "refuse", refusal, headers, times))

    def server_error(
        self, place: str, *, status: int = 500, times: int = 1, after: bool = False
    ) -> Fault:
        """Answer 5xx, before anything happened or `after` it was done."""
        kind = "refuse_after" if after else "refuse"
        refusal = RefusalError(0, status=status, extra={"message": f"{status}: Server Error"})
        return self._add(Fault(place, kind, refusal, {}, times))

    def page(self, place: str, *, times: int = 1) -> Fault:
        """Answer 200 with a page of HTML before anything happened, as a proxy on the way may."""
        return self._add(Fault(place, "page", times=times))

    def code(self, place: str, code: int, *, times: int = 1) -> Fault:
        """Answer with one of Discord's error codes."""
        headers = (
            {"Via": "1.1 google", "Retry-After": "1"}
            if RefusalError(code).answer()[0] == 429
            else {}
        )
        return self._add(Fault(place, "refuse", RefusalError(code), headers, times))

    def hang(self, place: str, *, times: int = 1, after: bool = False) -> Fault:
        """Accept the request but do not answer until `release()`; it goes through then, or before (`after`)."""
        return self._add(Fault(place, "hang_after" if after else "hang", times=times))

    def drop(self, place: str, *, after: bool, times: int = 1) -> Fault:
        """Cut the connection, before anything happened or `after` it was done."""
        return self._add(Fault(place, "drop_after" if after else "drop", times=times))

    def drop_until_released(self, place: str) -> Fault:
        """Cut the connection of one call, and carry the call out only at the release."""
        return self._add(Fault(place, "late"))

    def clear(self) -> None:
        """Remove all faults; hanging calls go through."""
        for fault in self._faults:
            fault.release()
        self._faults.clear()

    def calls(self, place: str = "* *") -> list[Call]:
        """The calls to a place so far, oldest first."""
        return [call for call in self.log if fnmatchcase(call.place, place)]

    def count(self, place: str) -> int:
        """Return the number of calls that a place has had."""
        return len(self.calls(place))

    async def called(self, place: str, times: int = 1, *, timeout: float = 60.0) -> list[Call]:
        """Wait until a place has had, and answered, this many calls."""

        def answered() -> list[Call]:
            return [call for call in self.calls(place) if call.status is not None]

        await self._bell.until(lambda: len(answered()) >= times, timeout=timeout)
        return answered()

    def _next(self, call: Call) -> Fault | None:
        for fault in self._faults:
            if (
                fault.hits < fault.times
                and fnmatchcase(call.place, fault.place)
                and fault.when(call)
            ):
                fault.hits += 1
                return fault
        return None

    async def run(
        self, call: Call, handler: Handler
    ) -> tuple[web.StreamResponse | None, Fault | None]:
        """Handle a call through the fault that waits for it, if any; LineCutError means: cut it."""
        fault = self._next(call)
        if fault is None:
            return await handler(), None
        call.fault = fault.kind
        self._bell.ring()
        if fault.kind == "late":
            late = asyncio.create_task(self._carry_out_late(fault, handler))
            self._late.add(late)
            late.add_done_callback(self._late.discard)
            raise LineCutError
        if fault.kind == "hang":
            await fault.released.wait()
            return await handler(), None
        if fault.kind == "drop":
            raise LineCutError
        if fault.kind.endswith("_after"):
            response = await handler()
            if fault.kind == "hang_after":
                await fault.released.wait()
                return response, None
            if fault.kind == "drop_after":
                raise LineCutError
            return (None, fault) if response.status < 400 else (response, None)
        return None, fault

    async def _carry_out_late(self, fault: Fault, handler: Handler) -> None:
        await fault.released.wait()
        await handler()
        self._bell.ring()
