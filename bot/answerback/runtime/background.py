"""The background work: what is shown, sent, timed and removed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp

from answerback.outbox.attempts import DeliverySender
from answerback.outbox.dispatcher import OutboxDispatcher
from answerback.ports.claims import SOLE_CLAIM, ClaimKind
from answerback.ports.sender import Sender
from answerback.runtime.built_service import BuiltService
from answerback.runtime.clock import SharedClock
from answerback.runtime.extensions import row_tables
from answerback.runtime.foundation import Foundation
from answerback.runtime.replica_lifecycle import Replica, listen_for_changes
from answerback.runtime.supervision import run_supervised
from answerback.workers.housekeeping import Housekeeping
from answerback.workers.inquiry import HttpInquiryBackend
from answerback.workers.message_sync import MessageSync
from answerback.workers.retention import RetentionPolicy
from answerback.workers.scheduler import Scheduler

Loop = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Background:
    """The background work, for those who report on it."""

    message_sync: MessageSync
    replica: Replica | None
    """This process among those that share the store; None: it is the only one."""


async def start_background(on: Foundation, built: BuiltService) -> Background:
    """Start the background loops. They stop with the stack; work that does not stop in time is noted as cut off."""
    settings, service = on.settings, built.service
    inquiry = None
    if settings.inquiry.url is not None:
        http = await on.stack.enter_async_context(aiohttp.ClientSession())
        inquiry = HttpInquiryBackend(http, settings.inquiry.url, settings.inquiry.timeout).answer
    dispatcher = _build_dispatcher(on, built)
    message_sync = MessageSync(service)
    kept = settings.retention
    retention = RetentionPolicy(
        service, kept.days, kept.audit_days, row_tables(), message_sync.is_busy
    )
    scheduler = Scheduler(service, message_sync, inquiry)
    loops: list[tuple[str, Loop]] = [
        ("scheduler", scheduler.run),
        ("delivery", dispatcher.run),
        ("presence", service.presence.run),
        *Housekeeping(service, retention).loops(),
    ]
    loops += built.extensions.loops()
    replica = None
    if service.claim is not SOLE_CLAIM:
        changes = listen_for_changes(service, message_sync)
        replica = Replica(service, changes, message_sync, scheduler, dispatcher)
        loops += [
            ("changes", changes.dispatch_changes),
            ("missed changes", changes.poll_missed_changes),
        ]
    if isinstance(service.clock, SharedClock):
        loops.append(("clock", service.clock.run))
    tasks = [
        asyncio.create_task(run_supervised(name, run), name=f"loop {name}") for name, run in loops
    ]

    async def stop() -> None:
        # What is still to be shown or sent is in the store, and the next start handles it.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        synced, scheduled, delivered = await asyncio.gather(
            message_sync.stop(), scheduler.stop(), dispatcher.stop()
        )
        ended = {
            ClaimKind.MESSAGE: synced,
            ClaimKind.TIMER: scheduled,
            ClaimKind.DELIVERY: delivered,
        }
        on.cut_off.update(work for work, in_time in ended.items() if not in_time)

    on.stack.push_async_callback(stop)
    return Background(message_sync, replica)


def _build_dispatcher(on: Foundation, built: BuiltService) -> OutboxDispatcher:
    service = built.service
    sender: Sender = DeliverySender([*built.extensions.running.values()])
    if on.tracing is not None:
        sender = on.tracing.traced(sender, service.store.asks)
    save_seen = service.late_answer_tracker.save_seen
    return OutboxDispatcher(
        service.store.outbox, service.clock, sender, service.hooks, save_seen, claim=service.claim
    )
