"""Shows an ask that was asked in a direct message to those who may confirm its answers, each in their own chat."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from answerback.core.ask import Ask
from answerback.core.confirmer_copies import (
    as_copy,
    outdated_copies,
    record_copy,
    record_pending_copy,
    record_unreachable,
)
from answerback.core.errors import DestinationGoneError, PayloadRejectedError, UnauthorizedError
from answerback.ports.message_state import mark_outdated
from answerback.ports.store import Decision, Write
from answerback.ports.surface import RetryLater, Shown
from answerback.service.service import Service

logger = logging.getLogger(__name__)


async def show_copies(
    service: Service, ask: Ask, claim: AbstractAsyncContextManager[None]
) -> float:
    """Post or edit the copies that are outdated; return in how many seconds to look at them again, 0 for never.

    A person who cannot be reached is noted as such; the ask stays open for the others.

    Args:
        claim: holds the claim on the ask's messages while it is entered.

    Raises:
        PlatformError: a copy could not be shown now; the others were.
        TimeoutError: it took too long.
    """
    async with claim:
        copies = [as_copy(ask, chat) for chat in outdated_copies(ask)]
        results = await asyncio.gather(
            *(_show(service, copy) for copy in copies), return_exceptions=True
        )
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return max((result for result in results if isinstance(result, float)), default=0.0)


async def _show(service: Service, copy: Ask) -> float:
    surface = service.surfaces.get(copy.placement.destination.surface)
    if surface is None:
        await _give_up(service, copy, f"{copy.placement.destination.surface} is not configured")
        return 0.0

    async def save(shown: Shown) -> None:
        chat, message = copy.placement.destination, dict(shown.message)
        await _change(service, copy, lambda ask: record_pending_copy(ask, chat, message))

    try:
        shown = await surface.show(copy, save)
    except (DestinationGoneError, PayloadRejectedError, UnauthorizedError) as error:
        await _give_up(service, copy, str(error))
        return 0.0
    if isinstance(shown, RetryLater):
        return shown.seconds
    await _change(
        service, copy, lambda ask: record_copy(ask, copy, dict(shown.message), shown.thread)
    )
    return 0.0


async def _change(service: Service, copy: Ask, change: Callable[[Ask], Ask]) -> None:
    def decide(latest: Ask | None) -> Decision[None]:
        return Decision(Write(change(latest)) if latest else None, None)

    await service.store.asks.change(copy.id, decide)


async def _give_up(service: Service, copy: Ask, why: str) -> None:
    at = service.clock.now()

    def decide(latest: Ask | None) -> Decision[None]:
        if latest is None:
            return Decision(None, None)
        change = record_unreachable(latest, copy.placement.destination, why, at)
        return Decision(Write(mark_outdated(change.ask), change.entries), None)

    await service.store.asks.change(copy.id, decide)
    extra = {"action": "confirmer_unreachable", "ask_id": copy.id}
    logger.error("A person who may confirm an answer cannot be told: %s", why, extra=extra)
