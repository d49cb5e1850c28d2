"""How a process stands among those that share its store, for `/readyz` and `/metrics`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """What one process holds, and how well it hears of the others."""

    name: str
    leads: Mapping[str, bool]
    """Whether it has what only one process has at a time, by surface."""
    claims: Mapping[str, int]
    """How much it has in hand, by the kind of work."""
    seconds_since_notification: float
    """Seconds since it heard a notification."""
    found: int
    """Wakings that a notification should have brought, and the safety net did."""

    def as_json(self) -> JsonValue:
        """What `/readyz` says."""
        return {
            "name": self.name,
            "leads": dict(self.leads),
            "claims": dict(self.claims),
            "seconds_since_notification": round(self.seconds_since_notification, 1),
            "missed_notifications": self.found,
        }


class ReplicaStatusCollector(Collector):
    """What `/metrics` says; nothing for a process that has its store for itself."""

    def __init__(self) -> None:
        self.status: ReplicaStatus | None = None

    def collect(self) -> Iterable[Metric]:
        """The status as Prometheus takes it."""
        if (status := self.status) is None:
            return
        words = "Whether this process holds what one process holds at a time."
        leads = GaugeMetricFamily("answerback_leads", words, labels=["surface"])
        for surface, held in sorted(status.leads.items()):
            leads.add_metric([surface], float(held))
        yield leads
        words = "What this process has claimed and has in hand."
        claims = GaugeMetricFamily("answerback_claims", words, labels=["work"])
        for work, count in sorted(status.claims.items()):
            claims.add_metric([work], count)
        yield claims
        words = "Seconds since this process heard of another's commit."
        yield GaugeMetricFamily(
            "answerback_notification_age_seconds", words, status.seconds_since_notification
        )
        words = "Wakings that a notification should have brought, and a look at the database did."
        yield CounterMetricFamily("answerback_missed_notifications", words, status.found)
