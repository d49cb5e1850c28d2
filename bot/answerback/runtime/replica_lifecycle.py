"""What a process does besides when it shares its store with others: it hears of what they commit, says how it stands
among them, and gives back at its end what it has claimed."""

from __future__ import annotations

import logging
from collections.abc import Collection

from answerback.api.replica_status import ReplicaStatus
from answerback.core.errors import StoreError
from answerback.ports.claims import Work
from answerback.ports.surface import Leads
from answerback.service.remote_changes import Hearing
from answerback.service.service import Service
from answerback.webhooks.outbox import Deliverer
from answerback.workers.message_sync import Shower
from answerback.workers.scheduler import Upkeep

logger = logging.getLogger(__name__)


class Replica:
    """One process of several."""

    def __init__(
        self, service: Service, shower: Shower, upkeep: Upkeep, deliverer: Deliverer
    ) -> None:
        self._service = service
        self._shower = shower
        self._upkeep = upkeep
        self._deliverer = deliverer
        self.hearing = Hearing(
            service.store,
            service.signals,
            service.listeners,
            service.surfaces.keys(),
            moved_on=shower.moved_on,
        )
        service.store.listen(self.hearing.heard)

    def status(self) -> ReplicaStatus:
        """How it stands."""
        surfaces = self._service.surfaces.items()
        leads = {name: each.leads() for name, each in surfaces if isinstance(each, Leads)}
        return ReplicaStatus(
            name=self._service.claim.holder,
            leads={name: held for name, held in leads.items() if held is not None},
            claims={
                Work.MESSAGE.value: self._shower.at_hand,
                Work.TIMER.value: self._upkeep.at_hand,
                Work.DELIVERY.value: self._deliverer.at_hand,
            },
            silent_for=self.hearing.silent_for,
            found=self.hearing.found,
        )


async def release(service: Service, cut_off: Collection[Work] = ()) -> None:
    """Gives back what this process has claimed: others need not wait for the end of its leases.

    Args:
        cut_off: kinds of which something did not end. A platform may still carry out a post that was cut off, so
            others do this work once the leases are over, and find what was posted.
    """
    try:
        for work in [work for work in Work if work not in cut_off]:
            await service.store.release(work, service.claim.holder)
    except StoreError as error:
        extra = {"action": "release"}
        logger.warning("What this process has claimed is free later: %s", error, extra=extra)
