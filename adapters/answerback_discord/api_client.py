"""A client of Discord's HTTP API: one request at a time, without a queue or retries.

Showing is level-triggered: a request that has to wait must not keep an old state in a queue while the ask moves on.
So a rate limit is raised as an error with the time to wait, and the caller comes back with the newest state.
Responses to interactions have their own calls, which fail fast and observe no rate limits: interaction routes are
exempt (https://docs.discord.com/developers/topics/rate-limits).
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final, NamedTuple

import aiohttp
from pydantic import JsonValue

from answerback.core.errors import (
    NotDoneError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
)
from answerback_base.backoff import Backoff
from answerback_base.connection_errors import reason_of
from answerback_chat.call_limits import CallLimits
from answerback_chat.control_codec import objects_of
from answerback_chat.file_download import download
from answerback_chat.retry import min_retry_delay, retry
from answerback_discord import limits, parse
from answerback_discord.components import Json
from answerback_discord.errors import TOKEN_REFUSED, ErrorCode, error_from_response, has_code

logger = logging.getLogger(__name__)

API_URL: Final = "https://discord.com/api/v10"
TIMEOUT: Final = 15.0
ANSWER_TIMEOUT: Final = limits.ANSWER_SECONDS - 0.5
"""Seconds for the response to an interaction, all tries together: a response that arrives late is lost."""
PER_SECOND: Final = limits.REQUESTS_PER_SECOND - 5
"""Requests per second; leaves a few for other users of the same token."""
# Discord wants this shape: https://docs.discord.com/developers/reference#user-agent
USER_AGENT: Final = (
    f"DiscordBot (https://github.com/answerback/answerback, {version('answerback')})"
)
MAX_BUCKETS: Final = 10_000
_MINOR_IDS: Final = re.compile(r"(?<=/)\d{15,}|(?<=/reactions/)[^/]+")


class Upload(NamedTuple):
    """A file that is sent with a message."""

    name: str
    media_type: str
    data: bytes


@dataclass(slots=True)
class _Bucket:
    """The rate limit of one route and channel, as Discord reported it; ``until`` is in loop time."""

    limit: int
    remaining: int
    until: float
    window: float


class ResponseResult(NamedTuple):
    """The result of a response to an interaction."""

    accepted: bool | None
    """True if Discord accepted it; None: that is unknown, and Discord may still accept it a moment later."""
    updated_at: float | None = None
    """When the message was updated by it, by Discord's clock, as far as Discord says so."""
    still_awaited: bool = False
    """True if Discord refused it and still accepts another."""


class DiscordApi:
    """Sends the bot's requests.

    Args:
        http: a session that outlives this object.
        api_url: the base URL of the routes, for a proxy or a test server.
        refused: called when Discord refuses the token.
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
        self.url = (api_url or API_URL).rstrip("/")
        """The base URL of all routes."""
        self._headers = {"Authorization": f"Bot {token}", "User-Agent": USER_AGENT}
        self._buckets: dict[str, _Bucket] = {}
        self.date: str | None = None
        """The time of Discord's last response, by Discord's clock."""
        self._global = CallLimits()

    def raise_if_limited(self, method: str, path: str) -> None:
        """Refuse a request that a known limit rules out, before time is spent rendering it.

        Raises:
            RateLimitedError: Discord does not allow such a request for a while.
        """
        now = asyncio.get_running_loop().time()
        self._require_capacity(f"{method} {_route(path)}", now)

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> JsonValue:
        return await self.request("GET", path, query=query)

    async def messages_after(self, channel: str, message_id: str) -> list[Json]:
        """Return a page of a channel's messages after this one; see `request`."""
        query = {"after": message_id, "limit": str(limits.MESSAGES_PER_PAGE)}
        return objects_of(await self.get(f"/channels/{channel}/messages", query))

    async def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, str] | None = None,
        uploads: Sequence[Upload] = (),
    ) -> JsonValue:
        """Send a request, once.

        Raises:
            PlatformError: `PlatformUnavailableError` if it is unknown whether Discord acted on the request.
        """
        key = f"{method} {_route(path)}"
        self._acquire(key)
        what = f"{method} {path}"
        try:
            async with self._http.request(
                method,
                self.url + path,
                json=None if uploads else body,
                data=_form(body, uploads) if uploads else None,
                params=query,
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(total=TIMEOUT),
            ) as response:
                answer = _json(await response.read())
                self._update_bucket(key, response.headers)
                self.date = response.headers.get("Date")
                if response.status < 400:
                    return answer
                error = error_from_response(response.status, answer, response.headers, what)
        except (aiohttp.ClientError, TimeoutError) as failure:
            raise PlatformUnavailableError(
                f"Discord did not answer {what}: {failure!r}."
            ) from failure
        self._close_bucket(key, error, answer, response.headers)
        if error.code == TOKEN_REFUSED:
            self._refused(error)
        raise error

    async def respond_to_interaction(
        self, interaction_id: str, token: str, callback: Json
    ) -> ResponseResult:
        """Respond to an interaction by its callback route, immediately or not at all."""
        url = f"{self.url}/interactions/{interaction_id}/{token}/callback?with_response=true"
        what = f"the answer to interaction {interaction_id}"
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT):
                return await self._respond(url, callback, what)
        except PlatformUnavailableError as error:
            self._log_unanswered(what, error)
            return ResponseResult(None)
        except PlatformError as error:
            if has_code(error, ErrorCode.ALREADY_ACKNOWLEDGED):
                # Another delivery of the same click was faster: the person has a response.
                return ResponseResult(False)
            self._log_unanswered(what, error)
            return ResponseResult(
                False, still_awaited=not has_code(error, ErrorCode.UNKNOWN_INTERACTION)
            )
        except (aiohttp.ClientError, TimeoutError) as failure:
            self._log_unanswered(what, failure)
        return ResponseResult(None)

    async def _respond(self, url: str, callback: Json, what: str) -> ResponseResult:
        """Respond, twice if need be: Discord accepts only one response, so the second does no harm."""
        try:
            return await self._respond_once(url, callback, what)
        except (aiohttp.ClientConnectionError, PlatformUnavailableError):
            pass
        try:
            return await self._respond_once(url, callback, what)
        except PlatformError as error:
            if has_code(error, ErrorCode.ALREADY_ACKNOWLEDGED):
                return ResponseResult(None)  # by the first try: its result was lost
            raise

    async def _respond_once(self, url: str, callback: Json, what: str) -> ResponseResult:
        return ResponseResult(
            True, parse.response_updated_at(await self._post(url, callback, what))
        )

    async def _post(self, url: str, body: Json, what: str) -> JsonValue:
        headers = {"User-Agent": USER_AGENT}
        async with self._http.post(url, json=body, headers=headers) as response:
            answer = _json(await response.read())
            if response.status < 400:
                return answer
            raise error_from_response(response.status, answer, response.headers, what)

    async def send_followup(self, interaction: Json, message: Json) -> None:
        """Send a further message to the author of an interaction; never twice.

        Discord knows the interaction's token only once it has accepted the response, and takes each follow-up that it
        gets for a new one. So one is sent again only if Discord says that it did not take it.
        https://docs.discord.com/developers/interactions/receiving-and-responding#followup-messages
        """
        number = interaction.get("id")
        what = f"the note after interaction {number}"
        path = f"/webhooks/{interaction.get('application_id')}/{interaction.get('token')}"

        async def send() -> None:
            try:
                async with asyncio.timeout(TIMEOUT):
                    await self._post(self.url + path, message, what)
            except aiohttp.ClientConnectorError as error:
                raise NotDoneError(
                    f"Discord could not be reached for {what}: {reason_of(error)}"
                ) from error

        try:
            await retry(
                send, passing=_untaken_delay, backoff=Backoff(0.1, 2.0, factor=3.0), tries=5
            )
        except (PlatformError, aiohttp.ClientError, TimeoutError) as error:
            self._log_unanswered(what, error)

    async def delete_response(self, interaction: Json) -> None:
        """Delete the response to an interaction: it has said that something is being done, which is done now."""
        path = f"/webhooks/{interaction.get('application_id')}/{interaction.get('token')}"
        what = f"the end of the response to interaction {interaction.get('id')}"

        async def delete() -> None:
            url, headers = f"{self.url}{path}/messages/@original", {"User-Agent": USER_AGENT}
            timeout = aiohttp.ClientTimeout(total=TIMEOUT)
            async with self._http.delete(url, headers=headers, timeout=timeout) as response:
                if response.status >= 400:
                    answer = _json(await response.read())
                    raise error_from_response(response.status, answer, response.headers, what)

        try:
            await retry(delete, passing=_undeleted_delay)
        except (PlatformError, aiohttp.ClientError, TimeoutError) as error:
            self._log_unanswered(what, error)

    def read_attachment(self, url: str, is_own: Callable[[str], bool]) -> AsyncGenerator[bytes]:
        """Read a file; see `answerback_chat.file_download.download`. The token is not sent there."""
        return download(self._http, url, is_own=is_own, headers={"User-Agent": USER_AGENT})

    @staticmethod
    def _log_unanswered(what: str, error: Exception) -> None:
        extra = {"action": "interaction_unanswered", "code": getattr(error, "code", None)}
        logger.warning("Discord did not take %s: %r", what, error, extra=extra)

    # --- limits: https://docs.discord.com/developers/topics/rate-limits ----------------------------

    def _acquire(self, key: str) -> None:
        """Count a request, or refuse it if Discord would."""
        now = asyncio.get_running_loop().time()
        bucket = self._require_capacity(key, now)
        windows = [("", PER_SECOND, 1.0)]
        if (wait := self._global.wait_for("", windows)) > 0:
            raise _limited("requests", wait)
        self._global.count(windows)
        if bucket is not None:
            bucket.remaining -= 1

    def _require_capacity(self, key: str, now: float) -> _Bucket | None:
        if (wait := self._global.wait_for("", ())) > 0:
            raise _limited(key, wait)
        bucket = self._buckets.get(key)
        if bucket is not None:
            if now >= bucket.until:
                bucket.remaining, bucket.until = bucket.limit, now + bucket.window
            if bucket.remaining <= 0:
                raise _limited(key, bucket.until - now)
        return bucket

    def _update_bucket(self, key: str, headers: Mapping[str, str]) -> None:
        try:
            limit = int(headers["X-RateLimit-Limit"])
            remaining = int(headers["X-RateLimit-Remaining"])
            window = float(headers["X-RateLimit-Reset-After"])
        except (KeyError, ValueError):
            return
        now = asyncio.get_running_loop().time()
        bucket = self._buckets.get(key)
        if bucket is None:
            self._drop_expired(now)
            self._buckets[key] = _Bucket(limit, remaining, now + window, window)
            return
        # Requests in flight are already in our count, but not yet in Discord's.
        bucket.remaining = min(bucket.remaining, remaining)
        bucket.limit, bucket.until = limit, now + window
        bucket.window = max(bucket.window, window)

    def _close_bucket(
        self, key: str, error: PlatformError, answer: JsonValue, headers: Mapping[str, str]
    ) -> None:
        if not isinstance(error, RateLimitedError) or error.alone:
            return
        now = asyncio.get_running_loop().time()
        is_global = isinstance(answer, dict) and answer.get("global")
        if is_global or "X-RateLimit-Global" in headers:
            self._global.close("", error.retry_after)
            return
        bucket = self._buckets.setdefault(key, _Bucket(1, 0, now, error.retry_after))
        bucket.remaining, bucket.until = 0, now + error.retry_after

    def _drop_expired(self, now: float) -> None:
        if len(self._buckets) >= MAX_BUCKETS:
            self._buckets = {k: b for k, b in self._buckets.items() if b.until > now}


def _untaken_delay(error: Exception) -> float | None:
    """The minimum delay before a follow-up that Discord did not take is sent again; None if it may have taken it.

    It may have overtaken the response that it follows, which Discord accepts for 3 s.
    """
    if isinstance(error, RateLimitedError | NotDoneError):
        return min_retry_delay(error)
    early = isinstance(error, PlatformError) and has_code(error, ErrorCode.UNKNOWN_WEBHOOK)
    return 0.0 if early else None


def _undeleted_delay(error: Exception) -> float | None:
    """The minimum delay before a response is deleted again; None if it is gone, or stays."""
    early = isinstance(error, PlatformError) and has_code(error, ErrorCode.UNKNOWN_WEBHOOK)
    return 0.0 if early else min_retry_delay(error)


def _route(path: str) -> str:
    """The route that shares a rate limit: it includes the first id, which is the channel or server."""
    _, _, rest = path.partition("?")[0].lstrip("/").partition("/")
    first, _, tail = rest.partition("/")
    return f"{path.lstrip('/').partition('/')[0]}/{first}/{_MINOR_IDS.sub('*', '/' + tail)}"


def _limited(key: str, pause: float) -> RateLimitedError:
    return RateLimitedError(f"Discord limits {key}", retry_after=max(pause, 0.01), code="429")


def _form(body: Json | None, uploads: Sequence[Upload]) -> aiohttp.FormData:
    """Return a message with its files: https://docs.discord.com/developers/reference#uploading-files."""
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps(body), content_type="application/json")
    for number, (name, media_type, data) in enumerate(uploads):
        content = io.BytesIO(data)
        form.add_field(f"files[{number}]", content, filename=name, content_type=media_type)
    return form


def _json(body: bytes) -> JsonValue:
    try:
        value: JsonValue = json.loads(body) if body else None
    except ValueError:
        return None  # an HTML page from a proxy, say: the status says enough
    return value
