"""Find out the bot's identity on a platform, retrying until the platform answers; this also verifies the token."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from answerback.core.errors import PlatformError, RateLimitedError
from answerback.ports.backoff import Backoff
from answerback_chat.background_tasks import BackgroundTasks

_LONGEST_PAUSE: Final = 60.0


@dataclass(slots=True)
class BotIdentity:
    """Who we are on a platform, as far as it has told us."""

    bot_user: str | None = None
    """The bot's user id."""


class IdentityResolver:
    """Asks the platform who we are until it answers.

    Args:
        platform: the platform's name, for the log.
        ask: asks once, and stores the identity.
        failed: called with the error of a failed attempt; returns whether to try again.
        first_pause: the seconds after the first failure.
    """

    def __init__(
        self,
        platform: str,
        ask: Callable[[], Awaitable[None]],
        failed: Callable[[PlatformError], bool],
        first_pause: float,
    ) -> None:
        self._first_pause = first_pause
        self._platform = platform
        self._ask = ask
        self._failed = failed
        self._asking = BackgroundTasks()

    def start(self) -> asyncio.Event:
        """Start asking; returns an event that is set after the first attempt."""
        tried = asyncio.Event()
        self._asking.spawn(f"{self._platform} identity", self._run(tried))
        return tried

    async def stop(self) -> None:
        """Stop asking."""
        await self._asking.stop(0.0)

    async def _run(self, tried: asyncio.Event) -> None:
        backoff = Backoff(self._first_pause, _LONGEST_PAUSE)
        while True:
            try:
                await self._ask()
            except PlatformError as error:
                again = self._failed(error)
                tried.set()
                if not again:
                    return
                await backoff.wait(
                    error.retry_after if isinstance(error, RateLimitedError) else 0.0
                )
                continue
            tried.set()
            return
