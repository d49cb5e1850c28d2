"""The status of one process among the replicas that share a store, for `/readyz` and `/metrics`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
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


class ReplicaStatusCollector(Collector):
    """The replica metrics in `/metrics`; none for a process that does not share its store."""

    def __init__(self) -> None:
        self.status: ReplicaStatus | None = None

    def collect(self) -> Iterable[Metric]:
        """Yield the status as Prometheus metrics."""
        if (status := self.status) is None:
            return
        help_text = "Whether this process leads the surface; only one process leads it at a time."
        leads = GaugeMetricFamily("answerback_leads", help_text, labels=["surface"])
        for surface, is_leader in sorted(status.leads.items()):
            leads.add_metric([surface], float(is_leader))
        yield leads
        help_text = "Claims this process holds, by kind of work."
        claims = GaugeMetricFamily("answerback_claims", help_text, labels=["work"])
        for work, count in sorted(status.claims.items()):
            claims.add_metric([work], count)
        yield claims
        help_text = "Seconds since this process was notified of another's commit."
        yield GaugeMetricFamily(
            "answerback_notification_age_seconds", help_text, status.seconds_since_notification
        )
        help_text = (
            "Wake-ups that came from a check of the database because a notification was missed."
        )
        yield CounterMetricFamily(
            "answerback_missed_notifications", help_text, status.missed_notifications
        )
