"""Delivery of updates by the fake Telegram: kept until they are confirmed, or posted until that succeeds."""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import aiohttp
from telegram import Update

WAIT: Final = 60.0


class UpdateDelivery:
    """The updates for the bot."""

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.confirmed = 0
        """The first update that is not confirmed yet."""
        self.webhook: dict[str, Any] | None = None
        self.webhook_target: str | None = None
        """Where updates go instead of the webhook's address: a load balancer."""
        self.handled: set[int] = set()
        self.fail_poll = False
        self.refused_posts = 0
        self.sent: list[dict[str, Any]] = []
        """All updates, in their order."""
        self.retry_seconds = 0.05
        """Seconds until an update is posted again that was not accepted."""
        self._ids = itertools.count(1)
        self._update_ids = itertools.count(1_000)
        self._last_update = 0
        self._changed = asyncio.Condition()
        self._deliveries: set[asyncio.Task[None]] = set()
        self._http: aiohttp.ClientSession

    async def stop_deliveries(self) -> None:
        """Post no more updates."""
        for task in self._deliveries:
            task.cancel()
        await asyncio.gather(*self._deliveries, return_exceptions=True)

    async def changed(self) -> None:
        """Wake whoever waits for something to happen."""
        async with self._changed:
            self._changed.notify_all()

    async def interrupt_poll(self) -> None:
        """Let the poll that waits for updates fail."""
        self.fail_poll = True
        await self.changed()

    async def until(self, holds: Callable[[], Any]) -> None:
        """Wait until a condition holds."""
        async with asyncio.timeout(WAIT), self._changed:
            await self._changed.wait_for(holds)

    async def send_update(self, body: dict[str, Any], *, odd: bool = False) -> int:
        """Send an update to the bot; return its number."""
        number = self._last_update = next(self._update_ids)
        update = {"update_id": number, **body}
        if not odd:
            assert Update.de_json(copy.deepcopy(update), None).update_id == number
        self.sent.append(update)
        if self.webhook is not None:
            task = asyncio.create_task(self._deliver(update))
            self._deliveries.add(task)
            task.add_done_callback(self._deliveries.discard)
        else:
            self.updates.append(update)
        await self.changed()
        return number

    def restart_update_ids(self) -> None:
        """Number updates from a lower number on, as after a week without any: https://core.telegram.org/bots/api#update"""
        self._update_ids, self._last_update, self.confirmed = itertools.count(7), 6, 0

    def confirm(self, offset: int) -> None:
        """Forget the updates before an offset, unless it is ahead of all that there are: then it counts for nothing.

        https://github.com/tdlib/td/blob/master/tddb/td/db/TQueue.cpp (get)
        """
        if offset <= self._last_update + 10:
            self.confirmed = max(self.confirmed, offset)
        self.updates = [each for each in self.updates if each["update_id"] >= self.confirmed]

    def is_handled(self, number: int) -> bool:
        """Return True if an update is confirmed."""
        return number in self.handled or number < self.confirmed

    async def _deliver(self, update: dict[str, Any]) -> None:
        while self.webhook is not None:
            headers = {"X-Telegram-Bot-Api-Secret-Token": self.webhook.get("secret_token", "")}
            url = self.webhook_target or self.webhook["url"]
            with suppress(aiohttp.ClientError, TimeoutError):
                async with self._http.post(url, json=update, headers=headers) as response:
                    if response.status == 200:
                        self.handled.add(update["update_id"])
                        await self.changed()
                        return
                    self.refused_posts += 1
                    await self.changed()
            await asyncio.sleep(self.retry_seconds)
