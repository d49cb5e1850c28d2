"""Slack Web API calls with timeouts, without automatic retries, and with translated errors.

Owns the pauses that Slack asks for: a rate-limited method (for posts: a method in a channel) is not called again
before its pause has passed (https://docs.slack.dev/apis/web-api/rate-limits). Posts to a channel may come in a burst.
Once Slack has limited them there, they are spaced out.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, ParamSpec

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from answerback.core.errors import (
    NotDoneError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    UnauthorizedError,
)
from answerback_base.connection_errors import reason_of
from answerback_chat.delays import DELAYS
from answerback_slack import errors

P = ParamSpec("P")

POST_INTERVAL_SECONDS: Final = 1.0
"""Posts to one channel that are this far apart are not limited, according to the page above."""
_FORGET_SECONDS: Final = 60.0
MAX_LIMITS: Final = 1_000
_PER_CHANNEL: Final = frozenset({"chat.postMessage", "chat.postEphemeral"})


def create_web_client(
    token: str | None, api_url: str | None, http: aiohttp.ClientSession
) -> AsyncWebClient:
    """Create a client on the shared session that never sends a request twice: the first may have taken effect."""
    # The SDK checks the logger's own level, not the effective one. Without one, each call formats its request and
    # response for debug lines that are never written.
    logger = logging.getLogger(f"{__name__}.sdk")
    logger.setLevel(logging.WARNING)
    base = AsyncWebClient.BASE_URL if api_url is None else f"{api_url.removesuffix('/')}/"
    return AsyncWebClient(
        token=token, base_url=base, session=http, retry_handlers=[], logger=logger
    )


@dataclass(slots=True)
class _RateLimit:
    """A rate limit: when the method may be called again, and the interval between its calls from then on."""

    ends: float = 0.0
    interval: float = 0.0


class SlackApi:
    """The calls of one workspace's bot token.

    Args:
        refused: called with every error that rejects the token rather than the call.
        timeout: the seconds that a call may take.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        refused: Callable[[PlatformError], None] = lambda _error: None,
        timeout: float = DELAYS.call,
    ) -> None:
        self.client, self.timeout = client, timeout
        self._refused = refused
        self._limits: dict[tuple[str, str], _RateLimit] = {}

    async def call(
        self, method: Callable[P, Awaitable[AsyncSlackResponse]], *args: P.args, **kwargs: P.kwargs
    ) -> Mapping[str, object]:
        """Call a method of the client, such as ``client.reactions_add``, and return its response.

        Raises:
            PlatformError: the call failed; the subclass says how.
        """
        name, call = method.__name__.replace("_", "."), partial(method, *args, **kwargs)
        return await self.send(name, call, str(kwargs.get("channel", "")))

    async def sign_in(self) -> tuple[Mapping[str, object], Mapping[str, str]]:
        """Ask who the token belongs to; return the response and its headers, by their names in small letters.

        Raises:
            PlatformError: the token is refused, or Slack does not answer.
        """
        responses: list[AsyncSlackResponse] = []

        async def auth_test() -> AsyncSlackResponse:
            responses.append(await self.client.auth_test())
            return responses[0]

        answer = await self.send("auth.test", auth_test)
        return answer, {name.lower(): str(value) for name, value in responses[0].headers.items()}

    async def send(
        self,
        method: str,
        call: Callable[[], Awaitable[AsyncSlackResponse]],
        channel: str = "",
        timeout: float | None = None,
    ) -> Mapping[str, object]:
        """Make one call of a method with this name in Slack's API; see `call`.

        Args:
            channel: the channel that it posts to.
            timeout: the seconds to wait for the response; None: as long as for any.
        """
        self.raise_if_limited(method, channel)
        seconds = self.timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(seconds):
                response = await call()
        except SlackApiError as error:
            raised = errors.error_from_exception(method, error)
            if isinstance(raised, RateLimitedError):
                self._record_limit(method, channel, raised.retry_after)
            if isinstance(raised, UnauthorizedError) and raised.code in errors.TOKEN_REFUSED_CODES:
                self._refused(raised)
            raise raised from error
        except TimeoutError as error:
            raise PlatformUnavailableError(
                f"Slack did not answer {method} within {seconds:.1f} s", code="timeout"
            ) from error
        except aiohttp.ClientConnectorError as error:
            raise NotDoneError(
                f"Slack could not be reached for {method}: {reason_of(error)}", code="connection"
            ) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise PlatformUnavailableError(
                f"Slack could not be reached for {method}: {reason_of(error)}", code="connection"
            ) from error
        self._record_success(method, channel)
        data = response.data
        return data if isinstance(data, dict) else {}

    def raise_if_limited(self, method: str, channel: str = "") -> None:
        """Fail early if a known rate limit means that Slack would reject the call.

        Raises:
            RateLimitedError: the method may not be called yet.
        """
        limit = self._limits.get(_key(method, channel))
        remaining = 0.0 if limit is None else limit.ends - time.monotonic()
        if remaining <= 0:
            return
        # Posts to a channel take turns anyway. Other calls get jitter, so that they do not all retry at once.
        wait = remaining if method in _PER_CHANNEL else remaining + random.uniform(0, 1)
        raise RateLimitedError(
            f"Slack is rate-limiting {method}", retry_after=wait, code="ratelimited"
        )

    def _record_limit(self, method: str, channel: str, pause: float) -> None:
        now = time.monotonic()
        if len(self._limits) >= MAX_LIMITS:
            self._limits = {key: limit for key, limit in self._limits.items() if limit.ends > now}
        limit = self._limits.setdefault(_key(method, channel), _RateLimit())
        limit.ends = now + pause
        if method in _PER_CHANNEL:
            limit.interval = min(
                max(limit.interval * 2, POST_INTERVAL_SECONDS / 2), POST_INTERVAL_SECONDS
            )

    def _record_success(self, method: str, channel: str) -> None:
        limit = self._limits.get(_key(method, channel))
        if limit is None:
            return
        now = time.monotonic()
        if limit.interval == 0 or now - limit.ends > _FORGET_SECONDS:
            del self._limits[_key(method, channel)]
        else:
            limit.ends = now + limit.interval


def granted_scopes(headers: Mapping[str, str]) -> frozenset[str]:
    """Return the token's scopes, which Slack lists in a header of every response."""
    return frozenset(scope.strip() for scope in headers.get("x-oauth-scopes", "").split(","))


def _key(method: str, channel: str) -> tuple[str, str]:
    return method, channel if method in _PER_CHANNEL else ""
