"""Keeping a claim for as long as the work goes on, and giving the work up where the claim is lost."""

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
"""Seconds for which a stop lets what is under way end: a call that is cut off may still be carried out."""
_RENEWALS: Final = 4
"""Tries to renew a claim before it is over."""


@asynccontextmanager
async def hold_claim(
    renew: Callable[[], Awaitable[bool]],
    claim: Claim,
    longest: float,
    since: float | None = None,
) -> AsyncIterator[None]:
    """Bounds work to so many seconds, and to the time for which its claim is held.

    A process that was paused for longer than its lease so gives up what it was doing before it does any more of it.

    Args:
        renew: renews the claim where less than `MIN_REMAINING_FRACTION` of it is left; False where another has taken it.
        since: when the claim was asked for, by the event loop's time: it may have been a while until it was known to
            be held. None: just now.

    Raises:
        TimeoutError: the time is over, or the claim is lost.
    """
    loop = asyncio.get_running_loop()
    held = claim.seconds * MIN_REMAINING_FRACTION
    if held >= longest:
        async with asyncio.timeout(longest):
            yield
        return
    asked = loop.time() if since is None else since
    if loop.time() >= asked + held:
        raise TimeoutError("The claim may be over before the work begins")
    async with asyncio.timeout(longest), asyncio.timeout_at(asked + held) as bound:

        async def keep() -> None:
            while True:
                await asyncio.sleep(held / _RENEWALS)
                asked = loop.time()
                try:
                    mine = await renew()
                except StoreError as error:
                    logger.warning("A claim is renewed later: %s", error, extra={"action": "keep"})
                    continue
                bound.reschedule(asked + held if mine else asked)

        keeping = asyncio.create_task(keep())
        try:
            yield
        finally:
            keeping.cancel()
