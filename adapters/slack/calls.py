"""Calls of Slack's Web API: bounded in time, never repeated by themselves, their errors translated.

Owns the pauses that Slack asks for: a method (for posts: a method in a channel) that is limited is not called again
before its time (https://docs.slack.dev/apis/web-api/rate-limits).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack import errors
from bot.errors import RateLimitedError, UnavailableError

CALL_SECONDS: Final = 10.0
_PER_CHANNEL: Final = frozenset({"chat.postMessage", "chat.postEphemeral"})


def client_of(
    token: str | None, api_url: str | None, http: aiohttp.ClientSession
) -> AsyncWebClient:
    """A client on the shared session that never sends anything twice: a post that was read may have been done."""
    if api_url is None:
        return AsyncWebClient(token=token, session=http, retry_handlers=[])
    base = api_url if api_url.endswith("/") else f"{api_url}/"
    return AsyncWebClient(token=token, base_url=base, session=http, retry_handlers=[])


class Calls:
    """The calls of one workspace's bot token."""

    def __init__(self, client: AsyncWebClient) -> None:
        self.client = client
        self._not_before: dict[tuple[str, str], float] = {}

    async def do(
        self,
        method: str,
        call: Callable[[], Awaitable[AsyncSlackResponse]],
        channel: str = "",
    ) -> Mapping[str, object]:
        """Makes one call and gives its answer.

        Args:
            method: its name, as in ``chat.update``.
            channel: where it posts to.

        Raises:
            PlatformError: one of its kinds.
        """
        gate = (method, channel if method in _PER_CHANNEL else "")
        self._wait_over(gate, method)
        try:
            async with asyncio.timeout(CALL_SECONDS):
                response = await call()
        except SlackApiError as error:
            raised = errors.of_exception(method, error)
            if isinstance(raised, RateLimitedError):
                self._not_before[gate] = time.monotonic() + raised.retry_after
            raise raised from error
        except TimeoutError as error:
            raise UnavailableError(
                f"Slack did not answer {method} within {CALL_SECONDS:.0f} s", code="timeout"
            ) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise UnavailableError(
                f"Slack could not be reached for {method}: {error}", code="connection"
            ) from error
        data = response.data
        return data if isinstance(data, dict) else {}

    def _wait_over(self, gate: tuple[str, str], method: str) -> None:
        until = self._not_before.get(gate)
        if until is None:
            return
        left = until - time.monotonic()
        if left > 0:
            # Those who wait for the same pause do not all come back at the same moment.
            wait = left + random.uniform(0, 1)
            raise RateLimitedError(f"Slack limits {method}", retry_after=wait, code="ratelimited")
        del self._not_before[gate]
