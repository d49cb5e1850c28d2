"""Hold a claim for as long as the work takes, and abandon the work if the claim is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from answerback.core.errors import StoreError
from answerback.ports.claims import MIN_REMAINING_FRACTION, Claim

logger = logging.getLogger(__name__)

STOP_WITHIN: Final = 3.0
"""Seconds for which shutdown waits for work in progress: a call that is cut off may still be carried out."""
_RENEWAL_ATTEMPTS: Final = 4
"""Attempts to renew a claim before it expires."""


@asynccontextmanager
async def hold_claim(
    renew: Callable[[], Awaitable[bool]],
    claim: Claim,
    max_seconds: float,
    since: float | None = None,
) -> AsyncIterator[None]:
    """Limit work to a number of seconds, and to the time for which its claim is held.

    A process that was suspended for longer than its lease therefore abandons its work before it does any more of it.

    Args:
        renew: renews the claim once less than `MIN_REMAINING_FRACTION` of it remains; False if another has taken it.
        since: when the claim was requested, by the event loop's time: it may have taken a while until it was known to
            be held. None: just now.

    Raises:
        TimeoutError: the time is up, or the claim is lost.
    """
    loop = asyncio.get_running_loop()
    held = claim.seconds * MIN_REMAINING_FRACTION
    if held >= max_seconds:
        async with asyncio.timeout(max_seconds):
            yield
        return
    requested_at = loop.time() if since is None else since
    if loop.time() >= requested_at + held:
        raise TimeoutError("The claim may expire before the work begins")
    async with asyncio.timeout(max_seconds), asyncio.timeout_at(requested_at + held) as bound:

        async def keep_renewing() -> None:
            while True:
                await asyncio.sleep(held / _RENEWAL_ATTEMPTS)
                requested_at = loop.time()
                try:
                    still_held = await renew()
                except StoreError as error:
                    logger.warning(
                        "The database has not confirmed yet that this process may continue its work: %s",
                        error,
                        extra={"action": "keep"},
                    )
                    continue
                bound.reschedule(requested_at + held if still_held else requested_at)

        renewal_task = asyncio.create_task(keep_renewing())
        try:
            yield
        finally:
            renewal_task.cancel()
