"""Registers the address to which Telegram posts updates, and again if another program has changed that.

Whoever knows the token can remove or replace the address, and Telegram tells nobody: https://core.telegram.org/bots/api#getwebhookinfo
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import Final

from answerback.core.errors import PlatformError, RateLimitedError
from answerback.ports.outage_log import Outage
from answerback_base.backoff import Backoff
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.control_codec import text_of, texts_of
from answerback_telegram.api_client import TelegramApi
from answerback_telegram.connection import GRACE
from answerback_telegram.keyboards import Json
from answerback_telegram.limits import ALLOWED_UPDATES

logger = logging.getLogger(__name__)

_LONGEST_PAUSE: Final = 60.0


@dataclass(eq=False)
class WebhookRegistration:
    """Keeps the address registered until it is stopped; an `answerback_chat.chat_surface.EventSource`.

    Args:
        secret: the secret token that Telegram has to send with updates.
        first_pause: the seconds after the first failure in a row.
        interval: the seconds between checks.
    """

    calls: TelegramApi
    address: str
    secret: str = field(repr=False)
    outage: Outage
    first_pause: float
    interval: float

    def __post_init__(self) -> None:
        self._checking = BackgroundTasks()
        self._changed = ""
        """The address that the last check found, if it was not ours."""
        self._failing_since: float | None = None
        self._failure = ""

    async def start(self) -> None:
        self._checking.spawn("telegram webhook", self._run())

    async def stop(self) -> None:
        await self._checking.stop(0)

    def outage_reason(self) -> str | None:
        """Return why updates may not arrive: another program has the bot's token, or Telegram is out of reach."""
        since = self._failing_since
        failed = since is not None and time.monotonic() - since >= GRACE
        return self._changed or (self._failure if failed else None)

    async def _run(self) -> None:
        backoff, is_new = Backoff(self.first_pause, _LONGEST_PAUSE), True
        while True:
            try:
                if is_new or not await self._is_ours():
                    await self._register()
            except PlatformError as error:
                self._failure = str(error)
                self._failing_since = self._failing_since or time.monotonic()
                self.outage.record_failure("updates", error)
                limited = error.retry_after if isinstance(error, RateLimitedError) else 0.0
                await backoff.wait(limited)
                continue
            is_new, self._failing_since = False, None
            self.outage.record_success("updates")
            backoff.reset()
            await asyncio.sleep(self.interval)

    async def _is_ours(self) -> bool:
        info = await self.calls.call_object("getWebhookInfo")
        found, kinds = text_of(info.get("url")), texts_of(info.get("allowed_updates"))
        if found == self.address and {*kinds} == {*ALLOWED_UPDATES}:
            self._changed = ""
            return True
        self._changed = (
            f"Another program with this bot's token has told Telegram to send updates to {found or 'nobody'}: "
            "use one token for one service."
        )
        logger.warning("%s", self._changed, extra={"action": "webhook_changed"})
        return False

    async def _register(self) -> None:
        params: Json = {"url": self.address, "secret_token": self.secret}
        kinds: Json = {"allowed_updates": [*ALLOWED_UPDATES]}
        await self.calls.call("setWebhook", params | kinds)
