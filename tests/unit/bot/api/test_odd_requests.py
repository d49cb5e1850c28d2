"""Valid HTTP requests that make no sense: every endpoint responds with the right status and without a traceback."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Iterator
from itertools import product
from urllib.parse import urlsplit

import pytest

from answerback.runtime.config import PublicSettings
from tests.service_support import WAIT
from tests.unit.bot.api.conftest import FORM, Json, Serve, Served

CALL = {"name": "ask_user", "arguments": FORM, "to": "web"}
JSON_TYPE = b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
FORM_TYPE = b"Content-Type: application/x-www-form-urlencoded\r\n"


@pytest.fixture(autouse=True)
def no_traceback(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No request makes our code log a traceback."""
    yield
    assert [
        r.getMessage() for r in caplog.records if r.exc_info and r.name != "aiohttp.server"
    ] == []


async def status(url: str, head: str, headers: bytes, body: bytes = b"") -> int:
    """Send a request exactly as given; return the status of the response."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    length = b"Connection: close\r\nContent-Length: %d\r\n" % len(body)
    host = f"Host: {parts.netloc}\r\n".encode()
    writer.write(f"{head} HTTP/1.1\r\n".encode() + host + length + headers + b"\r\n" + body)
    async with asyncio.timeout(WAIT):
        line = await reader.readline()
        await reader.read()
    writer.close()
    await writer.wait_closed()
    return int(line.split()[1])


def endpoints(ask: Json) -> list[str]:
    """Every kind of endpoint of the agents' listener."""
    page = urlsplit(ask["thread"]["url"]).path
    return [
        "POST /v1/asks",
        f"POST /v1/asks/{ask['id']}/actions",
        f"GET /v1/asks/{ask['id']}",
        "POST /mcp",
        "POST /hooks/claude",
        "GET /",
        f"GET {page}",
        f"POST {page}",
        "GET /healthz",
        "GET /nowhere",
    ]


@pytest.mark.parametrize("coding", [b"foo", b"br", b"zstd", b"gzip, gzip", b"\xff"])
async def test_an_unknown_content_encoding_is_415_everywhere(api: Served, coding: bytes) -> None:
    headers = JSON_TYPE + b"Content-Encoding: " + coding + b"\r\n"
    for head in endpoints(await api.asked()):
        assert await status(api.running.api_url, head, headers, b"{}") == 415, head


@pytest.mark.parametrize(
    "body",
    [b"no gzip", gzip.compress(b"{}" * 99)[:-9], gzip.compress(b"{}") * 2],
    ids=["none", "cut", "two"],
)
@pytest.mark.parametrize("path", ["/v1/asks", "/mcp", "/hooks/claude"])
async def test_a_body_that_cannot_be_decompressed_is_400(
    api: Served, path: str, body: bytes
) -> None:
    headers = JSON_TYPE + b"Content-Encoding: gzip\r\n"
    assert await status(api.running.api_url, f"POST {path}", headers, body) == 400


def _bare_deflate(text: bytes) -> bytes:
    engine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return engine.compress(text) + engine.flush()


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(json.dumps(CALL).encode())),
        ("GZIP", gzip.compress(json.dumps(CALL).encode())),
        ("deflate", zlib.compress(json.dumps(CALL).encode())),
        ("deflate", _bare_deflate(json.dumps(CALL).encode())),
        ("identity", json.dumps(CALL).encode()),
    ],
)
async def test_a_body_may_be_compressed(api: Served, coding: str, body: bytes) -> None:
    headers = JSON_TYPE + b"Content-Encoding: %s\r\n" % coding.encode()
    assert await status(api.running.api_url, "POST /v1/asks", headers, body) == 201


@pytest.mark.parametrize("path", ["/mcp", "/hooks/claude"])
async def test_mcp_and_hooks_accept_compressed_bodies_too(api: Served, path: str) -> None:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/list",
        "hook_event_name": "Stop",
        "session_id": "s",
    }
    headers = JSON_TYPE + b"Content-Encoding: gzip\r\n"
    body = gzip.compress(json.dumps(message).encode())
    assert await status(api.running.api_url, f"POST {path}", headers, body) == 200


async def test_forms_platforms_and_public_pages_refuse_compressed_bodies(serve: Serve) -> None:
    async with serve(public=PublicSettings(port=0)) as api:
        ask = await api.asked()
        link = ask["thread"]["url"]
        headers = FORM_TYPE + b"Content-Encoding: gzip\r\n"
        assert (
            await status(link, f"POST {urlsplit(link).path}", headers, gzip.compress(b"a=b")) == 415
        )
        public = str(api.running.public_url)
        assert await status(public, "GET /nowhere", b"Content-Encoding: foo\r\n") == 415


HEADERS = (
    "Cookie", "Authorization", "Accept", "Accept-Language", "Prefer", "Idempotency-Key",
    "Last-Event-ID", "Origin", "Referer", "Expect", "Content-Type", "Upgrade",
)  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [b"\xff", b"a=\xff; b=\xed\xa0\x80", b"http://[", b"x; charset=y"],
)
async def test_headers_that_are_not_text_cause_no_failure(api: Served, value: bytes) -> None:
    for name, head in product(HEADERS, endpoints(await api.asked())):
        headers = (
            (b"" if name == "Content-Type" else JSON_TYPE) + name.encode() + b": " + value + b"\r\n"
        )
        assert await status(api.running.api_url, head, headers, b"{}") < 500, (name, head)


@pytest.mark.parametrize(
    "query", ["%ff=%fe", "key=%ed%a0%80", "after=%ff", "status=%00", "to=%ff&wait=0"]
)
async def test_queries_that_are_not_text_cause_no_failure(api: Served, query: str) -> None:
    for head in [*endpoints(await api.asked()), "GET /v1/asks"]:
        assert await status(api.running.api_url, f"{head}?{query}", JSON_TYPE, b"{}") < 500, head


PROPERTIES = (
    r'{"type":"object","properties":{"\ud800":{"type":"no \ud800"},"b":{"enum":["\ud800"]}}}'
)


HOOK = r'"hook_event_name":"Elicitation","session_id":"s","mcp_server_name":"x","message":"m"'


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (
            "/v1/asks",
            r'{"name":"elicitation/create","arguments":{"message":"m","requestedSchema":%s}}',
            422,
        ),
        ("/hooks/claude", "{" + HOOK + r',"requested_schema":%s}', 200),
    ],
)
async def test_a_lone_surrogate_in_a_property_name_is_reported(
    api: Served, path: str, body: str, expected: int
) -> None:
    sent = (body % PROPERTIES).encode()
    headers = {"Content-Type": "application/json"}
    async with api.http.post(path, data=sent, headers=headers) as response:
        assert response.status == expected
        assert "surrogate" in await response.text()
    assert await api.get("/v1/asks") == (200, {"asks": [], "next": None})


async def test_a_lone_surrogate_in_an_mcp_call_is_refused(api: Served) -> None:
    arguments = r'{"questions":[{"id":"a","text":"?","answer_type":"schema","schema":%s}]}'
    call = '{"name":"ask_user","arguments":' + arguments % PROPERTIES + "}"
    body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + call + "}"
    assert await status(api.running.api_url, "POST /mcp", JSON_TYPE, body.encode()) == 400
