"""A loopback listener: no other origin and no rebound name reaches the API or the pages."""

from __future__ import annotations

import pytest

from tests.unit.bot.api.conftest import Serve, Served

PATHS = ["/v1/asks", "/mcp", "/healthz", "/metrics", "/openapi.json", "/docs", "/", "/nothing"]


def port(api: Served) -> str:
    return api.running.api_url.rpartition(":")[2]


@pytest.mark.rule("AUTH-4")
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Host": "localhost:1"},
        {"Host": "localhost.evil.example:{port}"},
        {"Host": "127.0.0.1.nip.io:{port}"},
        {"Host": "user@localhost:{port}"},
        {"Host": "[::1"},
        {"Host": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {
            "Sec-Fetch-Site": "cross-site",
            "Sec-Fetch-Mode": "navigate",
            "Sec-Fetch-Dest": "document",
        },
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
    ids=str,
)
async def test_requests_from_elsewhere_are_refused(api: Served, headers: dict[str, str]) -> None:
    sent = {name: value.format(port=port(api)) for name, value in headers.items()}
    for path in PATHS:
        async with api.http.get(path, headers=sent) as response:
            assert response.status == 403, path
            assert response.content_type == "application/problem+json"
            assert "ask_" not in await response.text()


@pytest.mark.rule("AUTH-4")
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "localhost"},
        {"Host": "localhost:{port}"},
        {"Host": "LOCALHOST:{port}"},
        {"Host": "127.0.0.1:{port}"},
        {"Host": "[::1]:{port}"},
        {"Origin": "http://127.0.0.1:{port}"},
        {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ],
    ids=str,
)
async def test_requests_from_this_machine_are_accepted(
    api: Served, headers: dict[str, str]
) -> None:
    sent = {name: value.format(port=port(api)) for name, value in headers.items()}
    async with api.http.get("/v1/asks", headers=sent) as response:
        assert response.status == 200


@pytest.mark.rule("AUTH-4")
async def test_a_page_on_another_port_of_the_same_site_cannot_submit(
    api: Served,
) -> None:
    headers = {
        "Sec-Fetch-Site": "same-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    async with api.http.post("/v1/asks", json={}, headers=headers) as response:
        assert response.status == 403


async def test_with_tokens_the_api_accepts_any_host_name_but_pages_only_loopback_names(
    serve: Serve,
) -> None:
    async with serve({"ci": "agent"}) as api:
        headers = {"Host": "asks.internal", **api.bearer("ci")}
        async with api.http.get("/v1/asks", headers=headers) as response:
            assert response.status == 200
        async with api.http.get("/", headers=headers) as response:
            assert response.status == 403
            assert response.content_type == "application/problem+json"
        key = api.running.inbox_url.removeprefix(api.running.api_url)
        async with api.http.get(key) as response:
            assert response.status == 200
            assert "Nothing is waiting" in await response.text()
            assert "text/html" in response.headers["Content-Type"]
