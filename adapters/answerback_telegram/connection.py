"""Long polling: one process asks Telegram for updates, and confirms each only once it is committed.

An update is confirmed by asking for those after it. So while one is being handled, all from it on are asked for again,
and those that are known are skipped; none is lost if this process dies.
https://core.telegram.org/bots/api#getupdates
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import JsonValue

from answerback.core.errors import PlatformError, RateLimitedError
from answerback.ports.outage_log import Outage
from answerback_base.backoff import Backoff
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.bot_listener import is_resent
from answerback_chat.control_codec import objects_of
from answerback_telegram.api_client import TIMEOUT, TelegramApi
from answerback_telegram.keyboards import Json
from answerback_telegram.limits import ALLOWED_UPDATES

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 25
"""Seconds that Telegram waits for the next update."""
GRACE: Final = 60.0
"""Seconds that polling may fail before it is reported as an outage."""
_SETTLING_SECONDS: Final = 0.25
"""Seconds to wait for the updates that are being handled before asking for more."""
_LONGEST_PAUSE: Final = 60.0


async def is_done_with(
    update: Mapping[str, Any], handle: Callable[[Mapping[str, Any]], Awaitable[None]]
) -> bool:
    """Handle an update; return whether it is done with. If it could not be stored, it has to come again."""
    try:
        await handle(update)
    except Exception as error:
        if is_resent(error):
            extra = {"action": "update_later"}
            logger.warning("A Telegram update will be handled again: %s", error, extra=extra)
            return False
        # One odd update must not hold up the others.
        logger.exception("A Telegram update failed", extra={"action": "update_failed"})
    return True


@dataclass(eq=False)
class UpdatePoller:
    """Asks for updates until it is stopped.

    Args:
        handle: handles one update; see `is_done_with`.
        leads: whether this process certainly is the one that polls, and knows who the bot is; nothing is handled else.
        on_connected: called when updates arrive, at first or again.
        first_pause: the seconds after the first failure in a row.
    """

    calls: TelegramApi
    handle: Callable[[Mapping[str, Any]], Awaitable[None]]
    outage: Outage
    leads: Callable[[], bool]
    on_connected: Callable[[], None]
    first_pause: float

    def __post_init__(self) -> None:
        self._polling = BackgroundTasks()
        self._handling: dict[int, asyncio.Task[bool]] = {}
        self._from_earlier: set[asyncio.Task[bool]] = set()
        """The updates from before their numbers began again that are still being handled."""
        self._next: int | None = None
        """The first update that is not confirmed yet; None: whatever Telegram says."""
        self._connected = False
        self._failing_since: float | None = None
        self._failure = ""

    async def start(self) -> None:
        self._polling.spawn("telegram updates", self._run())

    async def stop(self) -> None:
        """Stop polling; what is being handled is finished, and confirmed if no other process polls by now."""
        await self._polling.stop(0)
        if running := {*self._handling.values(), *self._from_earlier}:
            await asyncio.wait(running, timeout=TIMEOUT / 5)
        self._confirm_handled()
        for task in running:
            task.cancel()
        self._handling.clear()
        if self._next is not None and self._connected and self.leads():
            try:  # asking for later updates confirms those that were handled
                await self._poll(0, limit=1, seconds=2.0)
            except PlatformError as error:
                extra = {"action": "unconfirmed"}
                logger.info("Telegram will send the last updates again: %s", error, extra=extra)
        self._next, self._connected = None, False

    def outage_reason(self) -> str | None:
        """Return why no updates arrive, or None if they do or did until less than `GRACE` ago."""
        since = self._failing_since
        return self._failure if since is not None and time.monotonic() - since >= GRACE else None

    async def _run(self) -> None:
        backoff, retrying = (Backoff(self.first_pause, _LONGEST_PAUSE) for _ in range(2))
        while True:
            try:
                if not self._connected:
                    # Telegram answers no `getUpdates` while a webhook is set.
                    await self.calls.call("deleteWebhook")
                updates = await self._poll(
                    0 if self._handling or not self._connected else POLL_SECONDS
                )
            except PlatformError as error:
                self._failed(error)
                await backoff.wait(
                    error.retry_after if isinstance(error, RateLimitedError) else 0.0
                )
                continue
            backoff.reset()
            self._succeeded()
            self._begin(updates)
            if self._handling:
                await asyncio.wait(self._handling.values(), timeout=_SETTLING_SECONDS)
            if self._confirm_handled():
                retrying.reset()
            else:
                await retrying.wait()

    async def _poll(self, wait: int, *, limit: int = 100, seconds: float = TIMEOUT) -> JsonValue:
        params: Json = {"timeout": wait, "limit": limit, "allowed_updates": [*ALLOWED_UPDATES]}
        if self._next is not None:
            params["offset"] = self._next
        return await self.calls.call("getUpdates", params, seconds=seconds + wait)

    def _begin(self, updates: JsonValue) -> None:
        """Handle the updates that are not being handled yet, all at once: the order is kept where it matters."""
        # What has failed is among them again; until then it is kept, so that no later one is confirmed.
        self._handling = {n: task for n, task in self._handling.items() if not _has_failed(task)}
        found = {
            number: each
            for each in objects_of(updates)
            if isinstance(number := each.get("update_id"), int)
        }
        if self._next is not None and any(number < self._next for number in found):
            self._begin_again()
        for number, update in found.items():
            if number not in self._handling:
                task = asyncio.create_task(self._handle_one(update), name="telegram update")
                self._handling[number] = task

    def _begin_again(self) -> None:
        """Follow Telegram, which answered with updates from before the ones that were asked for.

        It does so after a week without updates, when it numbers them from anywhere, and if it has lost those it had:
        https://core.telegram.org/bots/api#update
        """
        extra = {"action": "updates_renumbered"}
        logger.info("Telegram numbers its updates from a lower number on", extra=extra)
        for task in self._handling.values():
            self._from_earlier.add(task)
            task.add_done_callback(self._from_earlier.discard)
        self._handling.clear()
        self._next = None

    async def _handle_one(self, update: Mapping[str, Any]) -> bool:
        return self.leads() and await is_done_with(update, self.handle)

    def _confirm_handled(self) -> bool:
        """Move on past the updates that are handled, up to the first that is not; return whether none failed."""
        for number in sorted(self._handling):
            task = self._handling[number]
            if not task.done():
                return True
            if _has_failed(task):
                return False
            del self._handling[number]
            self._next = number + 1
        return True

    def _failed(self, error: PlatformError) -> None:
        self._failure = str(error)
        self._failing_since = self._failing_since or time.monotonic()
        self.outage.record_failure("updates", error)
        self._connected = False

    def _succeeded(self) -> None:
        self._failing_since = None
        self.outage.record_success("updates")
        if not self._connected:
            self._connected = True
            self.on_connected()


def _has_failed(task: asyncio.Task[bool]) -> bool:
    return task.done() and (task.cancelled() or not task.result())
