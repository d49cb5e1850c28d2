"""The alert rules and the dashboard in `manifests/monitoring`, beside what `/metrics` serves."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from typing import Any, Final

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from answerback.api.metrics import Metrics, ReplicaStatus
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Destination, Outcome, Status
from answerback.core.escalation import move
from answerback.ports.store import Decision, Write
from answerback.service.submission_plan import Plan, plan
from answerback.service.submission_request import Route, Routes, Submission
from answerback_testing.example_asks import new_ask
from tests.meta.project import ROOT
from tests.service_support import actor, boolean
from tests.unit.bot.api.conftest import Served
from tests.unit.bot.background_support import running, shows, submit
from tests.unit.bot.conftest import Parts

_FOLDER: Final = ROOT / "manifests" / "monitoring"
_NAME: Final = re.compile(r"answerback_[a-z_]+")
_SAMPLES: Final = {
    "histogram": ("_bucket", "_count", "_sum"),
    "counter": ("_total",),
    "gauge": ("",),
}
_ALERTS: Final = {
    *("AnswerbackDown", "AnswerbackNobodyReached", "AnswerbackOldestOpenAsk"),
    *("AnswerbackSlowAnswers", "AnswerbackWebhooksFail", "AnswerbackWebhooksPile"),
    *("AnswerbackPlatformRefuses", "AnswerbackReplicaDeaf", "AnswerbackNoLeader"),
}


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((_FOLDER / "alerts.yaml").read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions() -> list[str]:
    panels = json.loads((_FOLDER / "dashboard.json").read_text("utf-8"))["panels"]
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    return [*shown, *(rule["expr"] for rule in rules())]


def sample_names(exposition: str) -> set[str]:
    return {
        f"{family.name}{suffix}"
        for family in text_string_to_metric_families(exposition)
        for suffix in _SAMPLES[family.type]
    }


@pytest.mark.rule("API-14")
async def test_the_alerts_and_the_dashboard_name_only_metrics_that_are_served(api: Served) -> None:
    async with api.http.get("/metrics") as response:
        served = sample_names(await response.text())
    replica = ReplicaStatus("a", {"discord": True}, {"message": 1}, 0.0, 0)
    served |= sample_names(Metrics().render({}, {}, {}, 0, replica).decode())
    for expression in expressions():
        named = set(_NAME.findall(expression))
        assert named <= served, expression
        assert named or expression.startswith("up"), expression


def test_every_alert_says_what_to_do() -> None:
    assert {rule["alert"] for rule in rules()} == _ALERTS
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"].keys() == {"summary", "description"}


def test_the_alerts_fire_when_they_should() -> None:
    if (promtool := shutil.which("promtool")) is None:
        pytest.skip("promtool, which comes with Prometheus, is not installed")
    done = subprocess.run(
        [promtool, "test", "rules", "alerts.test.yaml"],
        cwd=_FOLDER,
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.rule("API-14")
async def test_how_long_asks_wait_is_measured(parts: Parts) -> None:
    metrics = Metrics()
    async with running(parts) as (service, sync):
        metrics.listen(service.hooks)
        ask = await submit(service, boolean("a"), boolean("b"))
        await parts.chat.until(shows(parts, ask, 1))
        for revision in (2, 3):
            await service.act(ask.id, Answer(value=True), actor())
            await parts.chat.until(shows(parts, ask, revision))
        await sync.wait_until_idle()
    served = metrics.render({}, {}, {}, 0).decode()
    assert 'answerback_shown_seconds_count{route=""} 1.0' in served
    assert 'answerback_ended_seconds_count{route="",status="answered"} 1.0' in served


@pytest.mark.rule("API-14")
async def test_an_ask_seen_on_the_web_is_not_counted_again_where_it_moves_to(parts: Parts) -> None:
    metrics = Metrics()
    async with running(parts) as (service, sync):
        service.hooks.shown.listen(metrics.count_shown)
        ask = await submit(service, boolean("a"), to="web")
        await service.note_seen([ask])

        def decide(stored: Ask | None) -> Decision[None]:
            assert stored is not None
            there = Destination(surface="chat", channel="C1")
            return Decision(Write(replace(move(stored, there), revision=2)), None)

        await service.store.asks.change(ask.id, decide)
        await service.show_outdated("chat")
        await parts.chat.until(shows(parts, ask, 2))
        await sync.wait_until_idle()
    served = metrics.render({}, {}, {}, 0).decode()
    assert 'answerback_shown_seconds_count{route=""} 1.0' in served


@pytest.mark.rule("API-14")
async def test_the_oldest_open_ask_of_each_route_is_a_gauge(api: Served) -> None:
    for _ in range(2):
        await api.asked()
    async with api.http.get("/metrics") as response:
        assert 'answerback_oldest_open_ask_seconds{route=""}' in await response.text()
    for each in (await api.get("/v1/asks", **api.person))[1]["asks"]:
        await api.http.delete(f"/v1/asks/{each['id']}", headers=api.person)
    async with api.http.get("/metrics") as response:
        text = await response.text()
    assert "answerback_oldest_open_ask_seconds{" not in text
    assert 'answerback_ended_seconds_count{route="",status="withdrawn"} 2.0' in text


def test_an_end_is_counted_from_when_the_ask_was_first_seen() -> None:
    cases: tuple[tuple[dict[str, Any], float], ...] = (
        ({}, 90.0),
        ({"seen_since": 1_030.0}, 60.0),
        ({"seen_since": 1_080.0, "first_seen": 1_060.0}, 30.0),
    )
    for number, (seen, seconds) in enumerate(cases):
        metrics = Metrics()
        ask = new_ask(number, request={"route": "ops"}, **seen)
        metrics.count_ended(ask)
        metrics.count_ended(replace(ask, outcome=Outcome(status=Status.ANSWERED, at=1_090.0)))
        sum_line = f'answerback_ended_seconds_sum{{route="ops",status="answered"}} {seconds}'
        assert sum_line in metrics.render({}, {}, {}, 0).decode()


def test_an_ask_that_moves_twice_was_first_seen_at_its_first_place() -> None:
    moved = move(new_ask(was_visible=True, seen_since=1_030.0), Destination(surface="chat"))
    again = move(
        replace(
            moved,
            placement=replace(moved.placement, was_visible=True, seen_since=1_080.0),
        ),
        Destination(surface="web"),
    )
    assert (moved.placement.first_seen, again.placement.first_seen) == (1_030.0, 1_030.0)


@pytest.mark.parametrize(("to", "route"), [("ops", "ops"), ("web", None), (None, None)])
def test_an_ask_stores_the_route_that_it_took(to: str | None, route: str | None) -> None:
    submission = Submission.model_validate({"name": "ask_user", "arguments": {}, "to": to})
    routes = Routes(by_name={"ops": Route(to="web")})
    planned = plan(submission, routes, frozenset({"web"}), None)
    assert isinstance(planned, Plan)
    assert planned.route == route
