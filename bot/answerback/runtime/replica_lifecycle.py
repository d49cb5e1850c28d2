"""The additional work of a process that shares its store: it follows the others' commits, reports its status, and
releases its claims when it stops."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass

from answerback.api.metrics import ReplicaStatus
from answerback.core.errors import StoreError
from answerback.outbox.dispatcher import OutboxDispatcher
from answerback.ports.claims import ClaimKind
from answerback.ports.surface import SupportsLeading
from answerback.service.remote_changes import RemoteChangeListener
from answerback.service.service import Service
from answerback.workers.message_sync import MessageSync
from answerback.workers.scheduler import Scheduler

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Replica:
    """One of several processes that share a store."""

    service: Service
    changes: RemoteChangeListener
    message_sync: MessageSync
    scheduler: Scheduler
    dispatcher: OutboxDispatcher

    def status(self) -> ReplicaStatus:
        surfaces = self.service.surfaces.items()
        leads = {
            name: surface.is_leader()
            for name, surface in surfaces
            if isinstance(surface, SupportsLeading)
        }
        return ReplicaStatus(
            name=self.service.claim.holder,
            leads={name: held for name, held in leads.items() if held is not None},
            claims={
                ClaimKind.MESSAGE.value: self.message_sync.pending_count,
                ClaimKind.TIMER.value: self.scheduler.pending_count,
                ClaimKind.DELIVERY.value: self.dispatcher.pending_count,
            },
            seconds_since_notification=self.changes.seconds_since_notification,
            missed_notifications=self.changes.missed_count,
        )


def listen_for_changes(service: Service, message_sync: MessageSync) -> RemoteChangeListener:
    """Listen to what the other processes commit; the listener's loops have yet to run."""
    listener = RemoteChangeListener(
        service.store,
        service.signals,
        service.presence,
        service.surfaces.keys(),
        on_remote_change=message_sync.on_remote_change,
    )
    service.store.changes.listen(listener.handle_notification)
    return listener


async def release_claims(service: Service, cut_off: Collection[ClaimKind] = ()) -> None:
    """Release the claims of this process, so that others need not wait until its leases expire.

    Args:
        cut_off: the kinds of work that did not stop in time; they are not released. A platform may still carry out a
            post that was cut off, so others do this work only once the leases expire, and find what was posted.
    """
    store = service.store
    releases = {
        ClaimKind.MESSAGE: store.claims.release_messages,
        ClaimKind.TIMER: store.claims.release_timers,
        ClaimKind.DELIVERY: store.outbox.release,
    }
    try:
        for work, release in releases.items():
            if work not in cut_off:
                await release(service.claim.holder)
    except StoreError as error:
        extra = {"action": "release"}
        logger.warning(
            "The other processes were not notified that this one stops; they take over within seconds: %s",
            error,
            extra=extra,
        )
