"""Injected failures, rate limits, and the log of every call.

Owns `Faults` (programmable), `Buckets` (real rate limits) and `Call`.
"""

import asyncio
from dataclasses import dataclass, field

from tests.fakes.slack import rules
from tests.fakes.slack.schema import Json


@dataclass(frozen=True, slots=True)
class Call:
    """A Web API call as it was received, and its response."""

    method: str
    args: Json
    token: str
    at: float
    answer: Json | None
    status: int
    fault: str | None = None

    @property
    def ok(self) -> bool:
        """True if the response to the caller was a success."""
        return self.answer is not None and bool(self.answer.get("ok"))


@dataclass(slots=True, eq=False)
class Fault:
    """One planned failure. Without `when="after"` the call is not processed at all.

    `status` (with `retry_after` for 429), `error` (an answer `ok: false`), `hang` (until `release()`:
    it is processed then, also for a caller that has left), `drop` (the line is cut) are alternatives; both
    together cut the line at once, and process the call at the release.
    `when="after"` processes the call first and then spoils the answer: for hang, drop and status.
    """

    method: str
    times: int | None = 1
    status: int | None = None
    retry_after: int = 1
    error: str | None = None
    extra: Json = field(default_factory=dict)
    hang: bool = False
    drop: bool = False
    when: str = "before"
    channel: str | None = None
    about: str = ""
    """Only calls whose arguments have this text."""
    hits: int = 0
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def release(self) -> None:
        """End a hang, and plan no more of it."""
        self.times = 0
        self.released.set()

    @property
    def name(self) -> str:
        """For the log."""
        what = self.error or (self.status and str(self.status)) or ("hang" if self.hang else "drop")
        return f"{what} {self.when}"


class Faults:
    """The planned failures, first match first."""

    def __init__(self) -> None:
        self._planned: list[Fault] = []

    def add(
        self,
        method: str,
        *,
        times: int | None = 1,
        status: int | None = None,
        retry_after: int = 1,
        error: str | None = None,
        extra: Json | None = None,
        hang: bool = False,
        drop: bool = False,
        when: str = "before",
        channel: str | None = None,
        about: str = "",
    ) -> Fault:
        """Plan a failure for a method ("*" for all), `times` times (None: until cleared)."""
        fault = Fault(
            method, times, status, retry_after, error, extra or {}, hang, drop, when, channel, about
        )
        self._planned.append(fault)
        return fault

    def clear(self) -> None:
        """Plan no more failures; calls that hang continue to hang."""
        for fault in self._planned:
            fault.release()
        self._planned.clear()

    def take(self, method: str, args: Json) -> Fault | None:
        """The failure planned for this call, if any; count it."""
        for fault in self._planned:
            if fault.method not in (method, "*") or fault.times == 0:
                continue
            if fault.channel is not None and fault.channel != args.get("channel"):
                continue
            if fault.about and fault.about not in str(args):
                continue
            fault.hits += 1
            if fault.times is not None:
                fault.times -= 1
            return fault
        return None


class Buckets:
    """Slack's published limits as token buckets: per method, and per channel for posts.

    Args:
        posts: how many posts per second a channel accepts, and how many at once; None for the published limits.
        speed: how much faster time passes here than in reality.
    """

    def __init__(self, posts: int | None = None, speed: float = 1.0) -> None:
        self._posts = (posts, posts) if posts else (rules.POST_PER_CHANNEL_SECOND, rules.POST_BURST)
        self._speed = speed
        self._left: dict[tuple[str, str], tuple[float, float]] = {}

    def wait(self, method: str, channel: str | None, now: float) -> float:
        """0 when the call may pass, else the seconds of Retry-After: whole ones of the time that passes here."""
        return self._wait(method, channel, now * self._speed) / self._speed

    def _wait(self, method: str, channel: str | None, now: float) -> int:
        if method == "chat.postMessage":
            rate, size = (float(number) for number in self._posts)
            key = (method, channel or "")
        elif method in rules.PER_MINUTE:
            size = float(rules.PER_MINUTE[method])
            rate, key = size / 60, (method, "")
        else:
            return 0
        left, since = self._left.get(key, (size, now))
        left = min(size, left + (now - since) * rate)
        if left < 1:
            self._left[key] = (left, now)
            return max(1, round((1 - left) / rate + 0.5))
        self._left[key] = (left - 1, now)
        return 0
