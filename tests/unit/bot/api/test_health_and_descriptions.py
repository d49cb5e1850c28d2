"""For operators and tools: health, readiness, metrics, tool definitions and the API description."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families
from pydantic import JsonValue

from answerback.api import health, openapi
from answerback.api.metrics import Metrics, ReplicaStatus
from answerback.api.routes import all_operations
from answerback.api.wire import ContextBody
from answerback.ports.operation import ResponseSpec, post
from answerback.ports.surface import Surface
from answerback.service.question_routing import ToolRule
from tests.unit.bot.api.conftest import Serve, Served


@pytest.mark.rule("API-13")
async def test_healthz_and_readyz_say_ok(api: Served) -> None:
    assert await api.get("/healthz") == (200, {"status": "ok"})
    assert await api.get("/readyz") == (200, {"status": "ok"})


@pytest.mark.rule("API-13")
async def test_readyz_names_the_database_when_it_cannot_be_used(api: Served) -> None:
    await api.running.service.store.close()
    status, body = await api.get("/readyz")
    assert status == 503
    assert [one["name"] for one in body["failing"]] == ["database"]
    assert await api.get("/healthz") == (200, {"status": "ok"})


@pytest.mark.rule("API-3", "API-13")
async def test_only_who_may_read_asks_learns_why_a_part_fails(
    serve: Serve,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serve({"ci": "agent"}) as api:
        (tmp_path / "asks.db").rename(tmp_path / "gone.db")
        reason = "Slack cannot be reached at proxy.internal."
        monkeypatch.setattr(api.running.service.surfaces["web"], "unready_reason", lambda: reason)
        stranger = await api.get("/readyz")
        unknown = await api.get("/readyz", Authorization="Bearer ab_wrong")
        assert stranger == unknown
        status, body = stranger
        plain = "It does not work."
        assert (status, body["failing"]) == (
            503,
            [{"name": "database", "message": plain}, {"name": "web", "message": plain}],
        )
        assert str(tmp_path) in caplog.text
        assert "agent's token or a person's key" in body["detail"]
        for known in (api.bearer("ci"), api.person):
            status, body = await api.get("/readyz", **known)
            assert (status, [one["name"] for one in body["failing"]]) == (503, ["database", "web"])
            assert str(tmp_path) in body["failing"][0]["message"]
            assert body["failing"][1]["message"] == reason


@pytest.mark.rule("API-13")
async def test_readyz_does_not_wait_for_a_database_that_hangs(
    api: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_READY_TIMEOUT", 0.05)
    other = sqlite3.connect(tmp_path / "asks.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    status, body = await api.get("/readyz")
    other.execute("ROLLBACK")
    other.close()
    message = "The database did not answer within 0.05 seconds."
    assert (status, body["failing"]) == (503, [{"name": "database", "message": message}])


@pytest.mark.rule("DATA-5")
async def test_a_failing_database_is_503_for_calls_that_need_it(api: Served) -> None:
    await api.running.service.store.close()
    status, body = await api.get("/v1/asks")
    assert (status, body["title"]) == (503, "The database failed")


@pytest.mark.rule("API-13")
async def test_readyz_names_a_surface_that_is_not_connected(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    web: Surface = api.running.service.surfaces["web"]
    monkeypatch.setattr(
        web, "unready_reason", lambda: "The token was revoked: put a new one in web.token."
    )
    status, body = await api.get("/readyz")
    assert status == 503
    assert body["failing"] == [
        {"name": "web", "message": "The token was revoked: put a new one in web.token."}
    ]


@pytest.mark.rule("API-14")
async def test_metrics_count_what_happened(api: Served) -> None:
    ask = await api.asked()
    await api.asked()
    await api.act(ask, action="answer", value=5)
    await api.act(ask, action="answer", value=False)
    async with api.http.get("/metrics") as response:
        assert response.headers["Content-Type"].startswith("text/plain; version=")
        families = text_string_to_metric_families(await response.text())
    found = {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }
    assert found["answerback_asks", "open"] == 1
    assert found["answerback_asks", "answered"] == 1
    assert found["answerback_actions_total", "answer", "acted", "web"] == 1
    assert found["answerback_actions_total", "answer", "invalid", "web"] == 1
    assert found["answerback_act_seconds_count", "web"] == 2
    assert found["answerback_commit_seconds_count",] == 4
    assert found["answerback_waiters",] == 0
    assert found["answerback_deliveries", "pending"] == 0
    assert found["answerback_http_requests_total", "/v1/asks", "201"] == 2


@pytest.mark.rule("CLAIM-11")
async def test_a_replica_reports_its_leads_claims_and_missed_notifications() -> None:
    status = ReplicaStatus("ann", {"discord": True}, {"message": 2}, 1.5, 3)
    text = Metrics().render({}, {}, {}, 0, status).decode()
    assert 'answerback_leads{surface="discord"} 1.0' in text
    assert 'answerback_claims{work="message"} 2.0' in text
    assert "answerback_notification_age_seconds 1.5" in text
    assert "answerback_missed_notifications_total 3.0" in text
    assert "answerback_leads" not in Metrics().render({}, {}, {}, 0).decode()


def test_live_message_updates_are_counted_by_surface_and_result() -> None:
    shows = {("slack", "shown"): 3, ("slack", "limited"): 1}
    text = Metrics().render({}, {}, shows, 0).decode()
    assert 'answerback_shows_total{result="shown",surface="slack"} 3.0' in text
    assert 'answerback_shows_total{result="limited",surface="slack"} 1.0' in text


def test_a_request_body_is_documented_with_its_example() -> None:
    async def handle(_: object) -> web.Response:
        return web.Response()

    def described(example: JsonValue) -> JsonValue:
        replies = {200: ResponseSpec("Done.")}
        operation = post(
            "do", "/do", "Does it.", handle, replies, body=ContextBody, example=example
        )
        document: Any = openapi.document([operation], "1", tokens=False)
        found: JsonValue = document["paths"]["/do"]["post"]["requestBody"]["content"]
        return found

    body = {"schema": {"$ref": "#/components/schemas/ContextBody"}}
    assert described(None) == {"application/json": body}
    assert described({"a": 1}) == {"application/json": {**body, "example": {"a": 1}}}


@pytest.mark.rule("API-2")
def test_every_shape_that_the_description_refers_to_is_in_it() -> None:
    document: Any = openapi.document(all_operations(), "1", tokens=True)
    referred = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert referred <= set(document["components"]["schemas"])


@pytest.mark.rule("API-11")
@pytest.mark.parametrize(
    ("form", "key"),
    [
        ("mcp", "inputSchema"),
        ("anthropic", "input_schema"),
        ("openai", "function"),
        ("openai-responses", "parameters"),
        ("gemini", "parametersJsonSchema"),
    ],
)
async def test_tools_are_returned_in_each_apis_format(api: Served, form: str, key: str) -> None:
    _, body = await api.get(f"/v1/tools?format={form}")
    assert body["tools"]
    assert all(key in tool for tool in body["tools"])


@pytest.mark.rule("DIALECT-8")
async def test_a_disabled_tool_is_neither_listed_nor_served(serve: Serve) -> None:
    async with serve(tools={"AskUserQuestion": ToolRule(enable=False)}) as api:
        _, body = await api.get("/v1/tools")
        assert "AskUserQuestion" not in {tool["name"] for tool in body["tools"]}
        call = {"name": "AskUserQuestion", "arguments": {}}
        async with api.http.post("/v1/asks", json=call) as response:
            assert response.status == 422


@pytest.mark.rule("API-11")
async def test_the_dialects_of_the_tools_can_be_chosen(api: Served) -> None:
    _, body = await api.get("/v1/tools?dialect=single,claude")
    assert [tool["name"] for tool in body["tools"]] == ["ask_user", "AskUserQuestion"]
    for wrong in ("dialect=none", "dialect=single,ask_user", "dialect="):
        status, body = await api.get(f"/v1/tools?{wrong}")
        assert (status, "dialect: " in body["detail"]) == (400, True)


@pytest.mark.rule("API-12")
async def test_strict_definitions_are_available(api: Served) -> None:
    _, body = await api.get("/v1/tools?format=openai&strict=true")
    assert all(tool["function"]["strict"] is True for tool in body["tools"])
    assert (await api.get("/v1/tools?strict=maybe"))[0] == 400


async def test_an_unknown_format_is_refused(api: Served) -> None:
    status, body = await api.get("/v1/tools?format=yaml")
    assert (status, body["errors"][0]["pointer"]) == (400, "/format")


@pytest.mark.rule("API-2")
async def test_the_docs_page_lists_every_operation_and_loads_nothing(api: Served) -> None:
    _, document = await api.get("/openapi.json")
    async with api.http.get("/docs") as response:
        page = await response.text()
        policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script|<link|src=|http://|https://(?!json-schema)", page)
    for path in document["paths"]:
        assert f"<code>{path}</code>" in page
    for name in document["components"]["schemas"]:
        assert f'id="{name}"' in page
