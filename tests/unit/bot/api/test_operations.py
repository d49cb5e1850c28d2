"""What operators and tools read: health, readiness, metrics, tool definitions, the description."""

from __future__ import annotations

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.ports import Surface
from bot.routing import ToolRule
from tests.unit.bot.api.conftest import Serve, Served


async def test_healthz_and_readyz_say_ok(api: Served) -> None:
    assert await api.get("/healthz") == (200, {"status": "ok"})
    assert await api.get("/readyz") == (200, {"status": "ok"})


async def test_readyz_names_the_database_when_it_cannot_be_used(api: Served) -> None:
    await api.running.service.store.close()
    status, body = await api.get("/readyz")
    assert status == 503
    assert [one["name"] for one in body["failing"]] == ["database"]
    assert await api.get("/healthz") == (200, {"status": "ok"})


async def test_a_database_that_fails_is_503_for_whoever_needs_it(api: Served) -> None:
    await api.running.service.store.close()
    status, body = await api.get("/v1/asks")
    assert (status, body["title"]) == (503, "The database failed")


async def test_readyz_names_a_surface_that_reaches_nobody(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    web: Surface = api.running.service.surfaces["web"]
    monkeypatch.setattr(web, "ready", lambda: "The token was revoked: put a new one in web.token.")
    status, body = await api.get("/readyz")
    assert status == 503
    assert body["failing"] == [
        {"name": "web", "message": "The token was revoked: put a new one in web.token."}
    ]


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


@pytest.mark.parametrize(
    ("form", "key"), [("mcp", "inputSchema"), ("anthropic", "input_schema"), ("openai", "function")]
)
async def test_tools_come_in_each_apis_format(api: Served, form: str, key: str) -> None:
    _, body = await api.get(f"/v1/tools?format={form}")
    assert body["tools"]
    assert all(key in tool for tool in body["tools"])


async def test_a_tool_that_is_switched_off_is_not_listed_and_not_served(serve: Serve) -> None:
    async with serve(tools={"AskUserQuestion": ToolRule(enable=False)}) as api:
        _, body = await api.get("/v1/tools")
        assert "AskUserQuestion" not in {tool["name"] for tool in body["tools"]}
        call = {"name": "AskUserQuestion", "arguments": {}}
        async with api.http.post("/v1/asks", json=call) as response:
            assert response.status == 422


async def test_a_format_that_is_none_is_refused(api: Served) -> None:
    status, body = await api.get("/v1/tools?format=yaml")
    assert (status, body["errors"][0]["pointer"]) == (400, "/format")


async def test_the_docs_page_names_every_call_and_loads_nothing(api: Served) -> None:
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
