"""The status of one process among the replicas that share a store, for `/readyz` and `/metrics`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """The leads and claims a process holds, and how well it receives notifications from the others."""

    name: str
    leads: Mapping[str, bool]
    """Whether it leads each surface: only one process leads a surface at a time."""
    claims: Mapping[str, int]
    """How many claims it holds, by kind of work."""
    seconds_since_notification: float
    """Seconds since it received a notification."""
    missed_notifications: int
    """Missed notifications: wake-ups that came from the periodic check of the database instead."""

    def as_json(self) -> JsonValue:
        """The JSON that `/readyz` returns."""
        return {
            "name": self.name,
            "leads": dict(self.leads),
            "claims": dict(self.claims),
            "seconds_since_notification": round(self.seconds_since_notification, 1),
            "missed_notifications": self.missed_notifications,
        }
