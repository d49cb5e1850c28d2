"""Calls of Slack's Web API: bounded in time, never repeated by themselves, their errors translated.

Owns the pauses that Slack asks for: a method (for posts: a method in a channel) that is limited is not called again
before its time (https://docs.slack.dev/apis/web-api/rate-limits). Posts to a channel may come in a burst; once Slack
has limited them there, they are spaced out.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from answerback.core.errors import (
    NotDoneError,
    PlatformUnavailableError,
    RateLimitedError,
    UnauthorizedError,
)
from answerback_slack import errors

CALL_SECONDS: Final = 10.0
POST_INTERVAL_SECONDS: Final = 1.0
"""Posts to one channel that are this far apart are not limited: the page above."""
_FORGET_SECONDS: Final = 60.0
_MOST_GATES: Final = 1_000
_PER_CHANNEL: Final = frozenset({"chat.postMessage", "chat.postEphemeral"})


def create_web_client(
    token: str | None, api_url: str | None, http: aiohttp.ClientSession
) -> AsyncWebClient:
    """A client on the shared session that never sends anything twice: a post that was read may have been done."""
    # The SDK asks the logger for its own level, not for the one that applies: with none of its own, each call spells
    # out its request, answers included, for lines that nobody wants.
    logger = logging.getLogger(f"{__name__}.sdk")
    logger.setLevel(logging.WARNING)
    base = AsyncWebClient.BASE_URL if api_url is None else f"{api_url.removesuffix('/')}/"
    return AsyncWebClient(
        token=token, base_url=base, session=http, retry_handlers=[], logger=logger
    )


@dataclass(slots=True)
class _Gate:
    """What was limited: when it may be called again, and how far apart its calls are from then on."""

    opens: float = 0.0
    gap: float = 0.0


class SlackApi:
    """The calls of one workspace's bot token.

    Args:
        refused: told of every error that says that the token, not the call, is refused.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        refused: Callable[[UnauthorizedError], None] = lambda _error: None,
    ) -> None:
        self.client = client
        self._refused = refused
        self._gates: dict[tuple[str, str], _Gate] = {}

    async def call(
        self,
        method: str,
        call: Callable[[], Awaitable[AsyncSlackResponse]],
        channel: str = "",
        seconds: float | None = None,
    ) -> Mapping[str, object]:
        """Makes one call and gives its answer.

        Args:
            method: its name, as in ``chat.update``.
            channel: where it posts to.
            seconds: how long to wait for the answer, where that is less than usual.

        Raises:
            PlatformError: one of its kinds.
        """
        self.raise_if_limited(method, channel)
        within = CALL_SECONDS if seconds is None else seconds
        try:
            async with asyncio.timeout(within):
                response = await call()
        except SlackApiError as error:
            raised = errors.error_from_exception(method, error)
            if isinstance(raised, RateLimitedError):
                self._limited(method, channel, raised.retry_after)
            if isinstance(raised, UnauthorizedError) and raised.code in errors.TOKEN_REFUSED_CODES:
                self._refused(raised)
            raise raised from error
        except TimeoutError as error:
            raise PlatformUnavailableError(
                f"Slack did not answer {method} within {within:.1f} s", code="timeout"
            ) from error
        except aiohttp.ClientConnectorError as error:
            raise NotDoneError(
                f"Slack could not be reached for {method}: {error}", code="connection"
            ) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise PlatformUnavailableError(
                f"Slack could not be reached for {method}: {error}", code="connection"
            ) from error
        self._passed(method, channel)
        data = response.data
        return data if isinstance(data, dict) else {}

    def raise_if_limited(self, method: str, channel: str = "") -> None:
        """Refuses what Slack would refuse for a known limit, before anybody goes to any trouble for it.

        Raises:
            RateLimitedError: it may not be called yet.
        """
        gate = self._gates.get(_key(method, channel))
        left = 0.0 if gate is None else gate.opens - time.monotonic()
        if left <= 0:
            return
        # Posts to a channel take turns anyway. Others who wait for the same pause do not all come back at once.
        wait = left if method in _PER_CHANNEL else left + random.uniform(0, 1)
        raise RateLimitedError(f"Slack limits {method}", retry_after=wait, code="ratelimited")

    def _limited(self, method: str, channel: str, pause: float) -> None:
        now = time.monotonic()
        if len(self._gates) >= _MOST_GATES:
            self._gates = {key: gate for key, gate in self._gates.items() if gate.opens > now}
        gate = self._gates.setdefault(_key(method, channel), _Gate())
        gate.opens = now + pause
        if method in _PER_CHANNEL:
            gate.gap = min(max(gate.gap * 2, POST_INTERVAL_SECONDS / 2), POST_INTERVAL_SECONDS)

    def _passed(self, method: str, channel: str) -> None:
        gate = self._gates.get(_key(method, channel))
        if gate is None:
            return
        now = time.monotonic()
        if gate.gap == 0 or now - gate.opens > _FORGET_SECONDS:
            del self._gates[_key(method, channel)]
        else:
            gate.opens = now + gate.gap


def _key(method: str, channel: str) -> tuple[str, str]:
    return method, channel if method in _PER_CHANNEL else ""
