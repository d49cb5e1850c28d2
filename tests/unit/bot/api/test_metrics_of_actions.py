"""People's actions are counted and timed, however they arrive; other events are not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from answerback.api.metrics import Metrics
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Thread
from answerback.core.intents import Intent, TypedText
from answerback.ports.surface import Acted, Rejected, RejectReason, Shown
from answerback.service.service import Service
from tests.service_support import actor, ask_user, boolean
from tests.unit.bot.conftest import Parts


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def metered(parts: Parts, metrics: Metrics) -> Service:
    service = parts.service()
    service.hooks.acted.listen(metrics.count_action)
    return service


async def open_ask(service: Service) -> Ask:
    return (await service.submit(ask_user(boolean("a"), boolean("b"), responders=["U1"]))).ask


def counted(metrics: Metrics) -> Mapping[tuple[str, str], float]:
    """Return the number of times that each action had each result."""
    return {
        (sample.labels["action"], sample.labels["result"]): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "answerback_actions_total"
    }


def timed(metrics: Metrics) -> float | None:
    return metrics.registry.get_sample_value("answerback_act_seconds_count", {"surface": "chat"})


async def test_an_action_is_counted_by_its_name_and_result(
    metered: Service, metrics: Metrics
) -> None:
    ask = await open_ask(metered)
    intent = Intent(ask.id, Answer(value=True))
    await metered.apply(intent._replace(delivery="click-1"), actor())
    await metered.apply(intent._replace(delivery="click-1"), actor())
    await metered.apply(intent._replace(revision=1), actor())
    await metered.apply(intent, actor("U2"))
    assert counted(metrics) == {
        ("answer", "acted"): 1,
        ("answer", "repeated"): 1,
        ("answer", "stale"): 1,
        ("answer", "not_allowed"): 1,
    }
    assert timed(metrics) == 4


async def test_an_intent_without_an_action_is_not_counted(
    metered: Service, metrics: Metrics
) -> None:
    ask = await open_ask(metered)
    assert await metered.apply(Intent(ask.id, None, 1), actor()) == Acted(ask)
    assert await metered.apply(Intent(ask.id, None, 1), actor("U2")) == Rejected(
        RejectReason.NOT_ALLOWED, ask
    )
    assert (counted(metrics), timed(metrics)) == ({}, None)


async def test_typed_text_is_counted_whatever_its_result(
    metered: Service, metrics: Metrics
) -> None:
    ask = await open_ask(metered)
    await metered.store.asks.save_shown(ask.id, Shown(1, {"id": "m"}, Thread(), at=10.0))
    for delivery, text, who in (("1", "what?", "U1"), ("2", "yes", "U1"), ("3", "yes", "U2")):
        intent = Intent(ask.id, TypedText(text), delivery=delivery, at=11.0)
        await metered.apply(intent, actor(who))
    assert counted(metrics) == {
        ("typed", "invalid"): 1,
        ("typed", "acted"): 1,
        ("typed", "not_allowed"): 1,
    }
    assert timed(metrics) == 3
