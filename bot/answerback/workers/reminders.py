"""Sends the reminder of an ask that is due."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Change, RecordEntry
from answerback.core.confirmer_copies import places_to_remind
from answerback.core.errors import (
    DestinationGoneError,
    PayloadRejectedError,
    PlatformError,
    UnauthorizedError,
)
from answerback.core.handing_over import is_collective, reminder_recipients, without_recipients
from answerback.core.person import Person
from answerback.ports.message_state import mark_outdated
from answerback.ports.store import Decision, Write
from answerback.ports.surface import Rejected, SupportsReminders
from answerback.service.service import Service

logger = logging.getLogger(__name__)

RETRY_DELAY: Final = 30.0
"""Seconds until what could not be done is tried again."""


async def remind(service: Service, ask_id: str, timeout: float) -> float | None:
    """Ping people once for the latest due reminder; earlier ones that could not be sent are dropped.

    Returns in how many seconds to try again, None if that is not necessary.

    Args:
        timeout: the seconds until a reminder that hangs is abandoned.
    """
    now, ask = service.clock.now(), await service.get(ask_id)
    if ask is None or not ask.open:
        return None
    created_at = ask.created_at - ask.schedule.clock_set_back  # by the clock as it is set now
    due_count = ask.schedule.reminders_done_before + sum(
        created_at + after <= now for after in ask.reminders
    )
    if due_count <= ask.schedule.reminders_done:
        return None
    quiet = _quiet(service, ask, due_count - 1, now)
    return await _remind(service, ask, due_count, quiet, timeout)


async def _remind(
    service: Service, ask: Ask, due_count: int, quiet: dict[str, float], timeout: float
) -> float | None:
    """Send a reminder that leaves these people out; if that is everybody, it waits for the first of them."""
    if quiet and len(quiet) == len(reminder_recipients(ask, due_count - 1)):
        return min(quiet.values()) - service.clock.now()
    surface = service.surfaces.get(ask.placement.destination.surface)
    extra = {"action": "remind", "ask_id": ask.id}
    if surface is None or (surface.live and ask.placement.message is None):
        return RETRY_DELAY
    try:
        async with asyncio.timeout(timeout):
            for each in places_to_remind(without_recipients(ask, quiet), due_count - 1):
                there = service.surfaces.get(each.placement.destination.surface)
                if there is not None and isinstance(there, SupportsReminders):
                    await there.remind(each, due_count - 1)
    except (DestinationGoneError, PayloadRejectedError, UnauthorizedError) as error:
        logger.warning("Gave up on a reminder: %s", error, extra=extra)
    except (PlatformError, TimeoutError) as error:
        reason = str(error) or "it timed out"
        logger.warning("A reminder will be retried: %s", reason, extra=extra)
        failed_at = service.clock.monotonic()
        await _close_if_late(service, ask.id, due_count)  # it may have been posted
        passed = service.clock.monotonic() - failed_at
        return float(getattr(error, "retry_after", RETRY_DELAY)) - passed

    def reminded(latest: Ask, at: float) -> Change | None:
        body: dict[str, JsonValue] = {"reminded": due_count}
        if quiet:
            body["left_out"] = [*quiet]
        entry = RecordEntry(at=at, kind="note", body=body)
        return Change(
            replace(
                latest,
                schedule=replace(
                    latest.schedule, reminders_done=max(due_count, latest.schedule.reminders_done)
                ),
            ),
            (entry,),
        )

    if isinstance(await service.update(ask.id, reminded), Rejected):
        await _close_if_late(service, ask.id, due_count)
    return None


async def _close_if_late(service: Service, ask_id: str, due_count: int) -> None:
    """Show an ask again that ended, or was erased, during a reminder: its message then closes the reminder, too."""

    def decide(latest: Ask | None) -> Decision[Ask | None]:
        is_shown = latest is not None and (latest.placement.message or latest.copies)
        if latest is None or latest.open or not is_shown:
            return Decision(None, None)
        done = max(due_count, latest.schedule.reminders_done)
        reminded = replace(latest, schedule=replace(latest.schedule, reminders_done=done))
        outdated = mark_outdated(reminded)
        return Decision(Write(outdated), outdated)

    ask, _ = await service.store.asks.change(ask_id, decide)
    if ask is not None:
        service.hooks.show(ask)


def _quiet(service: Service, ask: Ask, number: int, now: float) -> dict[str, float]:
    """Return the ids of those whom a reminder does not notify now, each with when it could."""
    place = ask.placement.destination.surface
    found = {
        each: service.quiet_until(Person(surface=place, user_id=each), now)
        for each in reminder_recipients(ask, number)
        if not is_collective(each)
    }
    return {each: until for each, until in found.items() if until is not None}
