"""Prometheus metrics: counters and latencies of this process, in a separate registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.service.notify import Hooks

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 3.0, 10.0)
_PATIENCE: Final = (1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 14_400, 86_400, 259_200)
"""Seconds that people take, from one to three days."""
CONTENT_TYPE: Final = CONTENT_TYPE_LATEST


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """The leads and claims a process holds, and how well it receives notifications from the others."""

    name: str
    leads: Mapping[str, bool]
    """For each surface, True if it leads that surface: only one process does at a time."""
    claims: Mapping[str, int]
    """The number of claims it holds, by kind of work."""
    seconds_since_notification: float
    """Seconds since it received a notification."""
    missed_notifications: int
    """Missed notifications: wake-ups that came from the periodic check of the database instead."""

    def as_json(self) -> JsonValue:
        """The JSON that `/readyz` returns."""
        return asdict(self) | {
            "seconds_since_notification": round(self.seconds_since_notification, 1)
        }


class _Snapshot(Collector):
    """The current counts of other parts of the service; those of the replicas only if the process shares its store."""

    def __init__(self) -> None:
        self.replica: ReplicaStatus | None = None
        self.shows: Mapping[tuple[str, str], int] = {}

    def collect(self) -> Iterable[Metric]:
        if (replica := self.replica) is not None:
            yield _by_label(
                "answerback_leads",
                "Whether this process leads the surface; only one process leads it at a time.",
                "surface",
                replica.leads,
            )
            yield _by_label(
                "answerback_claims",
                "Claims this process holds, by kind of work.",
                "work",
                replica.claims,
            )
            yield GaugeMetricFamily(
                "answerback_notification_age_seconds",
                "Seconds since this process was notified of another's commit.",
                replica.seconds_since_notification,
            )
            yield CounterMetricFamily(
                "answerback_missed_notifications",
                "Wake-ups that came from a check of the database because a notification was missed.",
                replica.missed_notifications,
            )
        shows = CounterMetricFamily(
            "answerback_shows",
            "Live messages posted or edited, by the platform's result.",
            labels=["surface", "result"],
        )
        for labels, count in sorted(self.shows.items()):
            shows.add_metric(labels, count)
        yield shows


def _by_label(name: str, text: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


class Metrics:
    """The metrics of one process; docs/operations.md lists them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._snapshot = _Snapshot()
        self.registry.register(self._snapshot)
        gauge = partial(Gauge, registry=self.registry)
        counter = partial(Counter, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        self.asks = gauge("answerback_asks", "Asks in the database.", ["status"])
        self.deliveries = gauge(
            "answerback_deliveries",
            "Webhook deliveries in the database.",
            ["state"],
        )
        self.waiters = gauge("answerback_waiters", "Callers waiting for an ask.")
        self.actions = counter(
            "answerback_actions",
            "Actions by people, by result.",
            ["surface", "action", "result"],
        )
        self.limited = counter(
            "answerback_limited",
            "Asks that were refused because their agent had reached a limit.",
            ["agent", "limit"],
        )
        self.act_seconds = histogram(
            "answerback_act_seconds",
            "Seconds from an action to its durable commit.",
            ["surface"],
            buckets=_SECONDS,
        )
        self._action_metrics: dict[tuple[str, str, str], tuple[Counter, Histogram]] = {}
        """The labelled metrics of `count_action`, cached because looking them up takes longer than counting."""
        self.commit_seconds = histogram(
            "answerback_commit_seconds",
            "Seconds from queueing a write to its durable commit.",
            buckets=_SECONDS,
        )
        self.requests = counter(
            "answerback_http_requests",
            "Requests to the agents' API.",
            ["route", "status"],
        )
        self.shown_seconds = histogram(
            "answerback_shown_seconds",
            "Seconds from an ask to its first live message or view on the web.",
            ["route"],
            buckets=_PATIENCE,
        )
        self.ended_seconds = histogram(
            "answerback_ended_seconds",
            "Seconds from when an ask was first shown (if it was not: from the ask) to its end.",
            ["route", "status"],
            buckets=_PATIENCE,
        )
        self.oldest_open_ask = gauge(
            "answerback_oldest_open_ask_seconds",
            "Seconds for which the oldest open ask has waited.",
            ["route"],
        )

    def listen(self, hooks: Hooks) -> None:
        hooks.acted.listen(self.count_action)
        hooks.limited.listen(self.count_limited)
        hooks.shown.listen(self.count_shown)
        hooks.ended.listen(self.count_ended)

    def count_shown(self, ask: Ask, seconds: float) -> None:
        """Count an ask that people can see for the first time."""
        self.shown_seconds.labels(ask.request.route or "").observe(max(seconds, 0.0))

    def count_ended(self, ask: Ask) -> None:
        if ask.outcome is None:
            return
        seen = (
            ask.placement.first_seen
            or ask.placement.seen_since
            or ask.created_at - ask.schedule.clock_set_back
        )
        labelled = self.ended_seconds.labels(ask.request.route or "", ask.status.value)
        labelled.observe(max(ask.outcome.at - seen, 0.0))

    def set_oldest_open(self, seconds: Mapping[str, float]) -> None:
        self.oldest_open_ask.clear()
        for route, waited in seconds.items():
            self.oldest_open_ask.labels(route).set(waited)

    def count_action(
        self, surface: str, action: str, result: str, seconds: float, _ask: Ask | None
    ) -> None:
        key = (surface, action, result)
        if key not in self._action_metrics:
            self._action_metrics[key] = self.actions.labels(*key), self.act_seconds.labels(surface)
        counter, histogram = self._action_metrics[key]
        counter.inc()
        histogram.observe(seconds)

    def count_limited(self, agent: str, limit: str) -> None:
        self.limited.labels(agent, limit).inc()

    def render(
        self,
        asks: Mapping[str, int],
        deliveries: Mapping[str, int],
        shows: Mapping[tuple[str, str], int],
        waiters: int,
        replica: ReplicaStatus | None = None,
    ) -> bytes:
        """Render the exposition, with the current values of the counts that are kept elsewhere."""
        for status, count in asks.items():
            self.asks.labels(status).set(count)
        for state, count in deliveries.items():
            self.deliveries.labels(state).set(count)
        self.waiters.set(waiters)
        self._snapshot.shows, self._snapshot.replica = shows, replica
        return generate_latest(self.registry)
