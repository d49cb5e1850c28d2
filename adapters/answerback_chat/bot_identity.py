"""Who we are on a platform: asked until the platform says so, by which the token is proved as well."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from answerback.core.errors import PlatformError, RateLimitedError
from answerback_client.backoff import Backoff

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0


class IdentityResolver:
    """Asks who we are, over and over.

    Args:
        platform: its name, for the task.
        ask: asks once, and keeps what it is told.
        failed: takes in why it was not told; says whether to ask again.
    """

    def __init__(
        self,
        platform: str,
        ask: Callable[[], Awaitable[None]],
        failed: Callable[[PlatformError], bool],
    ) -> None:
        self._platform = platform
        self._ask = ask
        self._failed = failed
        self._task: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()

    def start(self) -> asyncio.Event:
        """Asks from now on, unless it does already; gives what is set after the first attempt."""
        if self._task is None or self._task.done():
            self._tried = asyncio.Event()
            name = f"{self._platform} identity"
            self._task = asyncio.create_task(self._run(self._tried), name=name)
        return self._tried

    async def stop(self) -> None:
        """Gives up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, tried: asyncio.Event) -> None:
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
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
