"""What one person is told privately, and tasks that outlive an acknowledgement: few, bounded, and never silent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Final

import aiohttp

from adapters.slack.calls import CALL_SECONDS, Calls
from adapters.slack.parse import Where
from bot.errors import PlatformError

logger = logging.getLogger(__name__)

_MOST_TASKS: Final = 2_000


class Later:
    """What is done after an acknowledgement."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def do(self, what: str, work: Awaitable[object]) -> None:
        """Starts ``work``; its failure is logged under ``what``."""
        task = asyncio.ensure_future(self._run(what, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if len(self._tasks) > _MOST_TASKS:
            task.cancel()
            logger.error(
                "Too much is under way: a %s is dropped", what, extra={"action": "dropped"}
            )

    async def stop(self, seconds: float) -> None:
        """Lets what was begun be finished, for so long."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, what: str, work: Awaitable[object]) -> None:
        try:
            await work
        except PlatformError as error:
            extra = {"action": what, "code": error.code}
            logger.warning("A %s failed: %s", what, error, extra=extra)
        except Exception:
            logger.exception("A %s failed", what, extra={"action": what})


class Notes:
    """Private messages to the person who acted."""

    def __init__(self, calls: Calls, http: aiohttp.ClientSession) -> None:
        self._calls = calls
        self._http = http

    async def tell(
        self, text: str, user: str, where: Where | None, response_url: str | None = None
    ) -> None:
        """Shows a text (mrkdwn, escaped) to one person, where they acted.

        Raises:
            PlatformError: it could not be shown.
        """
        if response_url and await self._answered(response_url, text, where):
            return
        if where is None:
            return
        client = self._calls.client
        await self._calls.do(
            "chat.postEphemeral",
            lambda: client.chat_postEphemeral(
                channel=where.channel, user=user, text=text, thread_ts=where.thread
            ),
            where.channel,
        )

    async def _answered(self, url: str, text: str, where: Where | None) -> bool:
        """Answers at the click's own address; whether that was taken."""
        body = {"response_type": "ephemeral", "replace_original": False, "text": text}
        if where is not None and where.thread:
            body["thread_ts"] = where.thread
        try:
            timeout = aiohttp.ClientTimeout(total=CALL_SECONDS)
            async with self._http.post(
                url, json=body, timeout=timeout, allow_redirects=False
            ) as response:
                return response.status == 200
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return False
