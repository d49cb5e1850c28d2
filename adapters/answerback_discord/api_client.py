"""Discord's HTTP API, as far as Answerback calls it: one request at a time, no queue, nothing repeated.

Showing is level-triggered: a request that has to wait must not keep an old state in a queue while
the ask moves on. So a limit is an error with its pause, and the caller comes back with the newest
state. The answers to interactions have their own calls, which fail fast and know no limits
(https://docs.discord.com/developers/topics/rate-limits: interaction routes are outside of them).
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

import aiohttp
from pydantic import JsonValue

from answerback.core.errors import PlatformError, PlatformUnavailableError, RateLimitedError
from answerback_chat.retry import retry
from answerback_client.backoff import Backoff
from answerback_discord import limits
from answerback_discord.components import Json
from answerback_discord.errors import TOKEN_REFUSED, ErrorCode, error_from_response, has_code

logger = logging.getLogger(__name__)

API_URL: Final = "https://discord.com/api/v10"
TIMEOUT: Final = 15.0
ANSWER_TIMEOUT: Final = limits.ANSWER_SECONDS - 0.5
"""Seconds for the answer to an interaction, tries together: what is late on its way is late for Discord."""
PER_SECOND: Final = limits.REQUESTS_PER_SECOND - 5
"""Requests a second: a few are left to whoever else uses the token."""
# Discord wants this shape: https://docs.discord.com/developers/reference#user-agent
USER_AGENT: Final = (
    f"DiscordBot (https://github.com/answerback/answerback, {version('answerback')})"
)
_MOST_BUCKETS: Final = 10_000
_MINOR_IDS: Final = re.compile(r"(?<=/)\d{15,}|(?<=/reactions/)[^/]+")


@dataclass(slots=True)
class _Bucket:
    """What Discord said of one route and channel: how often it may be called until when (loop time)."""

    limit: int
    remaining: int
    until: float
    window: float


class DiscordApi:
    """The bot's requests.

    Args:
        http: a session that lives longer than this.
        api_url: the base below which the routes are, for a proxy or a test server.
        refused: is told when Discord refuses the token.
    """

    def __init__(
        self,
        http: aiohttp.ClientSession,
        token: str,
        api_url: str | None = None,
        refused: Callable[[PlatformError], None] = lambda _error: None,
    ) -> None:
        self._http = http
        self._refused = refused
        self._url = (api_url or API_URL).rstrip("/")
        self._headers = {"Authorization": f"Bot {token}", "User-Agent": USER_AGENT}
        self._buckets: dict[str, _Bucket] = {}
        self.date: str | None = None
        """When Discord answered last, by its own clock."""
        self._closed_until = 0.0
        self._second, self._in_second = 0, 0

    @property
    def url(self) -> str:
        """The base of all routes."""
        return self._url

    def raise_if_limited(self, method: str, path: str) -> None:
        """Refuses what would be refused for a known limit, before anybody goes to the trouble of rendering it.

        Raises:
            RateLimitedError: Discord allows no such request for a while.
        """
        now = asyncio.get_running_loop().time()
        self._demand_open(f"{method} {_route(path)}", now)

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> JsonValue:
        """Reads; see `request`."""
        return await self.request("GET", path, query=query)

    async def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, str] | None = None,
    ) -> JsonValue:
        """One request, tried once.

        Raises:
            PlatformError: `PlatformUnavailableError` where nobody knows whether Discord acted.
        """
        key = f"{method} {_route(path)}"
        self._take(key)
        what = f"{method} {path}"
        try:
            async with self._http.request(
                method,
                self._url + path,
                json=body,
                params=query,
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(total=TIMEOUT),
            ) as response:
                answer = _json(await response.text())
                self._learn(key, response.headers)
                self.date = response.headers.get("Date")
                if response.status < 400:
                    return answer
                error = error_from_response(response.status, answer, response.headers, what)
        except (aiohttp.ClientError, TimeoutError) as failure:
            raise PlatformUnavailableError(
                f"Discord did not answer {what}: {failure!r}."
            ) from failure
        self._close(key, error, answer, response.headers)
        if error.code == TOKEN_REFUSED:
            self._refused(error)
        raise error

    async def respond_to_interaction(
        self, interaction_id: str, token: str, callback: Json
    ) -> bool | None:
        """Answers an interaction by its callback route, at once or not at all.

        Returns:
            Whether Discord took it; None where nobody knows, and it may do so a moment later.
        """
        url = f"{self._url}/interactions/{interaction_id}/{token}/callback"
        what = f"the answer to interaction {interaction_id}"
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT):
                return await self._answer(url, callback, what)
        except PlatformError as error:
            if has_code(error, ErrorCode.ALREADY_ACKNOWLEDGED):
                return False  # another delivery of the same click was quicker: the person has an answer
            self._log_unanswered(what, error)
            return None if isinstance(error, PlatformUnavailableError) else False
        except (aiohttp.ClientError, TimeoutError) as failure:
            self._log_unanswered(what, failure)
        return None

    async def _answer(self, url: str, callback: Json, what: str) -> bool:
        for last in (False, True):
            try:
                async with self._http.post(
                    url, json=callback, headers={"User-Agent": USER_AGENT}
                ) as response:
                    if response.status < 400:
                        return True
                    answer = _json(await response.text())
                    raise error_from_response(response.status, answer, response.headers, what)
            except aiohttp.ClientConnectionError:
                if last:
                    raise
        return False

    async def send_followup(self, interaction: Json, message: Json) -> None:
        """Sends a further message to who made an interaction; Discord knows its token once it has taken the answer.

        https://docs.discord.com/developers/interactions/receiving-and-responding#followup-messages
        """
        number = interaction.get("id")
        what = f"the note after interaction {number}"
        path = f"/webhooks/{interaction.get('application_id')}/{interaction.get('token')}"

        async def send() -> None:
            async with asyncio.timeout(TIMEOUT):
                await self._answer(self._url + path, message, what)

        try:
            await retry(send, passing=_too_early, backoff=Backoff(0.1, 2.0, factor=3.0), tries=5)
        except (PlatformError, aiohttp.ClientError, TimeoutError) as error:
            self._log_unanswered(what, error)

    @staticmethod
    def _log_unanswered(what: str, error: Exception) -> None:
        extra = {"action": "interaction_unanswered", "code": getattr(error, "code", None)}
        logger.warning("Discord did not take %s: %r", what, error, extra=extra)

    # --- limits: https://docs.discord.com/developers/topics/rate-limits ----------------------------

    def _take(self, key: str) -> None:
        """Counts a request, or refuses it where Discord would."""
        now = asyncio.get_running_loop().time()
        bucket = self._demand_open(key, now)
        if int(now) != self._second:
            self._second, self._in_second = int(now), 0
        if self._in_second >= PER_SECOND:
            raise _limited("requests", 1 - now % 1)
        self._in_second += 1
        if bucket is not None:
            bucket.remaining -= 1

    def _demand_open(self, key: str, now: float) -> _Bucket | None:
        if now < self._closed_until:
            raise _limited(key, self._closed_until - now)
        bucket = self._buckets.get(key)
        if bucket is not None:
            if now >= bucket.until:
                bucket.remaining, bucket.until = bucket.limit, now + bucket.window
            if bucket.remaining <= 0:
                raise _limited(key, bucket.until - now)
        return bucket

    def _learn(self, key: str, headers: Mapping[str, str]) -> None:
        try:
            limit = int(headers["X-RateLimit-Limit"])
            remaining = int(headers["X-RateLimit-Remaining"])
            window = float(headers["X-RateLimit-Reset-After"])
        except (KeyError, ValueError):
            return
        now = asyncio.get_running_loop().time()
        bucket = self._buckets.get(key)
        if bucket is None:
            self._forget(now)
            self._buckets[key] = _Bucket(limit, remaining, now + window, window)
            return
        # Requests that are under way are in our count and not yet in Discord's.
        bucket.remaining = min(bucket.remaining, remaining)
        bucket.limit, bucket.until = limit, now + window
        bucket.window = max(bucket.window, window)

    def _close(
        self, key: str, error: PlatformError, answer: JsonValue, headers: Mapping[str, str]
    ) -> None:
        if not isinstance(error, RateLimitedError) or error.alone:
            return
        now = asyncio.get_running_loop().time()
        everywhere = isinstance(answer, dict) and answer.get("global")
        if everywhere or "X-RateLimit-Global" in headers:
            self._closed_until = now + error.retry_after
            return
        bucket = self._buckets.setdefault(key, _Bucket(1, 0, now, error.retry_after))
        bucket.remaining, bucket.until = 0, now + error.retry_after

    def _forget(self, now: float) -> None:
        if len(self._buckets) >= _MOST_BUCKETS:
            self._buckets = {k: b for k, b in self._buckets.items() if b.until > now}


def _too_early(error: Exception) -> float | None:
    """A follow-up may come before the answer that it follows, which may be taken for 3 s."""
    early = isinstance(error, PlatformError) and has_code(error, ErrorCode.UNKNOWN_WEBHOOK)
    return 0.0 if early else None


def query_after(message_id: str) -> dict[str, str]:
    """The query for the next messages behind one."""
    return {"after": message_id, "limit": str(limits.MESSAGES_PER_PAGE)}


def _route(path: str) -> str:
    """What shares a limit: the route with its first id, the channel or server."""
    _, _, rest = path.partition("?")[0].lstrip("/").partition("/")
    first, _, tail = rest.partition("/")
    return f"{path.lstrip('/').partition('/')[0]}/{first}/{_MINOR_IDS.sub('*', '/' + tail)}"


def _limited(key: str, pause: float) -> RateLimitedError:
    return RateLimitedError(f"Discord limits {key}", retry_after=max(pause, 0.01), code="429")


def _json(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text) if text else None
    except ValueError:
        return None  # an HTML page of a proxy, say: the status tells enough
    return value
