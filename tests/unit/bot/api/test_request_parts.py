"""Parameters and headers that a call does not have, or has only once, are refused; a HEAD changes nothing; every
response has the headers for browsers."""

from __future__ import annotations

import pytest

from tests.unit.bot.api.conftest import Serve, Served
from tests.unit.bot.api.test_late_answers import answered_ask, ids


@pytest.mark.rule("API-22")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/v1/asks?lmit=1", 'lmit is not a known field (did you mean "limit"?).'),
        ("/v1/answers?wait=9", "wait is not a known field; the known ones are conversation, after"),
        ("/v1/search?limit=0", "limit must be at least 1."),
        ("/v1/asks/{id}?wait=30", "wait is not a known field; this call has none."),
        ("/v1/asks/{id}/events?after=1", "after is not a known field; this call has none."),
    ],
)
async def test_a_parameter_that_a_call_does_not_have_is_refused(
    api: Served, path: str, text: str
) -> None:
    status, body = await api.get(path.format(**await api.asked()))
    assert (status, body["title"]) == (400, "Bad query")
    assert text in body["errors"][0]["message"]


@pytest.mark.rule("API-22")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/mcp?tool=question", 'tool is not a known field (did you mean "tools"?).'),
        (
            "/mcp?limit=1",
            "limit is not a known field; the known ones are tools, wait, to, urgency.",
        ),
        (
            "/hooks/claude?limit=1",
            "limit is not a known field; the known ones are to, urgency, files, wait, poll.",
        ),
        ("/mcp?to=web&to=slack", "The parameter to is given twice."),
        ("/hooks/codex?to=web&to=web", "The parameter to is given twice."),
    ],
)
async def test_mcp_and_hooks_refuse_what_their_address_cannot_say(
    api: Served, path: str, text: str
) -> None:
    async with api.http.post(path, json={}) as response:
        body = await response.json(content_type=None)
    assert (response.status, body["title"]) == (400, "Bad query")
    assert (body.get("detail") or body["errors"][0]["message"]) == text


@pytest.mark.rule("API-22")
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("Authorization", "/v1/asks"),
        ("Authorization", "/mcp"),
        ("Authorization", "/hooks/claude"),
        ("Idempotency-Key", "/v1/asks"),
        ("Idempotency-Key", "/hooks/claude"),
        ("Last-Event-ID", "/v1/asks/{id}/events"),
    ],
)
async def test_a_header_that_can_have_one_value_is_refused_with_two(
    serve: Serve, name: str, path: str
) -> None:
    async with serve({"ci": "agent"}) as api:
        ask = await api.asked(headers=api.bearer("ci"))
        method = "GET" if name == "Last-Event-ID" else "POST"
        headers = [(name, "1"), (name, "2")]
        if name != "Authorization":
            headers += api.bearer("ci").items()
        async with api.http.request(method, path.format(**ask), headers=headers) as response:
            assert (response.status, (await response.json(content_type=None))["detail"]) == (
                400,
                f"The header {name} is given twice: send it once.",
            )


@pytest.mark.rule("LATE-1")
@pytest.mark.parametrize("path", ["/v1/answers", "/v1/asks/{id}", "/v1/asks/{id}/events"])
async def test_the_response_to_a_head_reports_no_outcome(api: Served, path: str) -> None:
    ask = await answered_ask(api)
    async with api.http.head(path.format(**ask)) as response:
        assert response.status == 200
    assert await ids(api) == [ask["id"]]


@pytest.mark.parametrize(
    "call",
    [
        "GET /v1/export",
        "GET /v1/asks/{id}/events",
        "POST /mcp",
        "POST /hooks/claude",
        "GET /nowhere",
        "GET /docs",
        "HEAD /v1/asks",
    ],
)
async def test_browsers_may_not_guess_what_a_response_is(api: Served, call: str) -> None:
    ask = await answered_ask(api)
    method, path = call.format(**ask).split()
    accept = {"Accept": "application/json, text/event-stream"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "hook_event_name": "Stop"}
    json = message if method == "POST" else None
    async with api.http.request(method, path, json=json, headers=accept) as response:
        assert response.headers.getall("X-Content-Type-Options") == ["nosniff"]
        assert response.headers.getall("Referrer-Policy") == ["same-origin"]
