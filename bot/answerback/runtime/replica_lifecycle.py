"""What a process does besides when it shares its store with others: it hears of what they commit, says how it stands
among them, and gives back at its end what it has claimed."""

from __future__ import annotations

import logging
from collections.abc import Collection

from answerback.api.replica_status import ReplicaStatus
from answerback.core.errors import StoreError
from answerback.ports.claims import ClaimKind
from answerback.ports.surface import SupportsLeading
from answerback.service.remote_changes import RemoteChangeListener
from answerback.service.service import Service
from answerback.webhooks.outbox import WebhookDispatcher
from answerback.workers.message_sync import MessageSync
from answerback.workers.scheduler import Scheduler

logger = logging.getLogger(__name__)


class Replica:
    """One process of several."""

    def __init__(
        self, service: Service, shower: MessageSync, upkeep: Scheduler, deliverer: WebhookDispatcher
    ) -> None:
        self._service = service
        self._shower = shower
        self._upkeep = upkeep
        self._deliverer = deliverer
        self.change_listener = RemoteChangeListener(
            service.store,
            service.signals,
            service.presence,
            service.surfaces.keys(),
            on_remote_change=shower.on_remote_change,
        )
        service.store.listen(self.change_listener.handle_notification)

    def status(self) -> ReplicaStatus:
        """How it stands."""
        surfaces = self._service.surfaces.items()
        leads = {
            name: each.is_leader() for name, each in surfaces if isinstance(each, SupportsLeading)
        }
        return ReplicaStatus(
            name=self._service.claim.holder,
            leads={name: held for name, held in leads.items() if held is not None},
            claims={
                ClaimKind.MESSAGE.value: self._shower.pending_count,
                ClaimKind.TIMER.value: self._upkeep.pending_count,
                ClaimKind.DELIVERY.value: self._deliverer.pending_count,
            },
            seconds_since_notification=self.change_listener.seconds_since_notification,
            missed_notifications=self.change_listener.missed_count,
        )


async def release_claims(service: Service, cut_off: Collection[ClaimKind] = ()) -> None:
    """Gives back what this process has claimed: others need not wait for the end of its leases.

    Args:
        cut_off: kinds of which something did not end. A platform may still carry out a post that was cut off, so
            others do this work once the leases are over, and find what was posted.
    """
    try:
        for work in [work for work in ClaimKind if work not in cut_off]:
            await service.store.release(work, service.claim.holder)
    except StoreError as error:
        extra = {"action": "release"}
        logger.warning("What this process has claimed is free later: %s", error, extra=extra)
