"""The message that an ask leaves behind when it moves: it becomes a note that says where the ask is now."""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager

from answerback.core.ask import AbandonedMessage, Ask
from answerback.core.errors import (
    DestinationGoneError,
    PayloadRejectedError,
    PlatformError,
    RateLimitedError,
    UnauthorizedError,
)
from answerback.ports.surface import SupportsMoves
from answerback.service.service import Service

logger = logging.getLogger(__name__)


async def retire_old_message(
    service: Service, ask: Ask, left: AbandonedMessage, claim: AbstractAsyncContextManager[None]
) -> bool:
    """Turn the message at a place that the ask has left into a note, as far as possible.

    False: it could not be done now. The ask then counts as outdated, and the next sweep finds it.

    Args:
        claim: holds the claim on the ask's messages while it is entered.

    Raises:
        RateLimitedError: the platform accepts nothing for a while.
    """
    old = service.surfaces.get(left.destination.surface)
    extra: dict[str, str | None] = {"action": "note_given_up", "ask_id": ask.id}
    at: float | None = None
    try:
        if old is not None and isinstance(old, SupportsMoves):
            async with claim:
                at = await old.retire_message(ask, left.message, ask.placement.destination)
    except (DestinationGoneError, PayloadRejectedError, UnauthorizedError) as error:
        extra["code"] = error.code
        logger.warning(
            "The old message of an ask that has moved could not be edited: %s", error, extra=extra
        )
    except RateLimitedError:
        raise
    except (PlatformError, TimeoutError) as error:
        extra |= {"action": "note_again", "code": getattr(error, "code", None)}
        logger.warning(
            "The old message of an ask that has moved will be edited later: %s",
            str(error) or "it timed out",
            extra=extra,
        )
        return False
    await service.save_retired(ask, at)
    return True
