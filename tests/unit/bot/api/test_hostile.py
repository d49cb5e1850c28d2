"""Hostile requests over real sockets: each gets a 4xx problem, never a stack trace, and none uses up memory."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import io
import json
import os
import random
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback_base.strict_json import MAX_BODY
from tests.service_support import WAIT
from tests.unit.bot.api.conftest import FORM, Json, Served

COUNT = int(os.environ.get("HOSTILE_BODIES", "600"))
"""10,000 of them take about half a minute."""
JSON_TYPE = {"Content-Type": "application/json"}


async def check_refused(api: Served, status: int, method: str, path: str, **how: Any) -> Json:
    async with api.http.request(method, path, **how) as response:
        assert response.status == status, await response.text()
        assert response.content_type == "application/problem+json"
        problem: Json = await response.json(content_type=None)
    assert problem["status"] == status
    assert problem["type"] == "about:blank"
    assert problem["title"]
    assert "Traceback" not in json.dumps(problem)
    return problem


@pytest.mark.rule("API-4")
@pytest.mark.parametrize(
    "path", ["/v1", "/v1/asks/", "/v1/asks/a/b/c", "/%00", "/../etc", "/slack/events"]
)
async def test_an_unknown_path_is_404(api: Served, path: str) -> None:
    await check_refused(api, 404, "GET", path)


@pytest.mark.rule("API-4")
@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/v1/asks", {"GET", "HEAD", "POST"}),
        ("TRACE", "/healthz", {"GET", "HEAD"}),
        ("OPTIONS", "/v1/asks/x/actions", {"POST"}),
        ("PATCH", "/v1/asks/x", {"DELETE", "GET", "HEAD"}),
    ],
)
async def test_a_wrong_method_is_405_and_lists_the_allowed_ones(
    api: Served, method: str, path: str, allow: set[str]
) -> None:
    async with api.http.request(method, path) as response:
        assert response.status == 405
        assert set(response.headers["Allow"].split(",")) == allow
        assert response.content_type == "application/problem+json"


@pytest.mark.rule("API-6")
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/json; charset=utf-16",
    ],
)
@pytest.mark.parametrize("path", ["/v1/asks", "/v1/asks/x/actions"])
async def test_another_content_type_is_415(api: Served, path: str, content_type: str) -> None:
    if path.endswith("actions"):
        path = f"/v1/asks/{(await api.asked())['id']}/actions"
    headers = {"Content-Type": content_type, **api.person}
    await check_refused(api, 415, "POST", path, data=b"{}", headers=headers)


@pytest.mark.rule("API-6")
async def test_a_body_without_content_type_is_415(api: Served) -> None:
    await check_refused(
        api, 415, "POST", "/v1/asks", data=b"{}", skip_auto_headers=["Content-Type"]
    )


def padded(size: int) -> bytes:
    body = json.dumps({"name": "ask_user", "arguments": FORM, "to": "web"}).encode()
    return body + b" " * (size - len(body))


@pytest.mark.rule("API-5")
async def test_a_body_at_the_limit_is_accepted_and_one_byte_more_is_413(api: Served) -> None:
    async with api.http.post("/v1/asks", data=padded(MAX_BODY), headers=JSON_TYPE) as response:
        assert response.status == 201
    await check_refused(api, 413, "POST", "/v1/asks", data=padded(MAX_BODY + 1), headers=JSON_TYPE)


@pytest.mark.rule("API-5")
async def test_a_chunked_body_over_the_limit_is_413_without_being_read_to_its_end(
    api: Served,
) -> None:
    sent = 0

    async def endless() -> Any:
        nonlocal sent
        while sent < 64 * MAX_BODY:
            sent += 16_384
            yield b" " * 16_384

    # The connection may be closed while we are still sending; that is a refusal too.
    with contextlib.suppress(aiohttp.ClientConnectionError):
        await check_refused(api, 413, "POST", "/v1/asks", data=endless(), headers=JSON_TYPE)
    assert sent < 64 * MAX_BODY


@pytest.mark.rule("API-5")
async def test_a_body_that_decompresses_to_more_than_the_limit_is_413(api: Served) -> None:
    bomb = gzip.compress(b" " * (64 * MAX_BODY))
    headers = {**JSON_TYPE, "Content-Encoding": "gzip"}
    await check_refused(api, 413, "POST", "/v1/asks", data=bomb, headers=headers)


async def test_a_body_that_does_not_match_its_content_encoding_is_400(api: Served) -> None:
    headers = {**JSON_TYPE, "Content-Encoding": "gzip"}
    await check_refused(api, 400, "POST", "/v1/asks", data=b"no gzip", headers=headers)


@pytest.mark.rule("API-6")
@pytest.mark.parametrize("body", [b"", b"{", b"[1,]", b'{"a":NaN}', b"\xff", b"[" * 5000])
async def test_malformed_json_is_400_with_its_position(api: Served, body: bytes) -> None:
    problem = await check_refused(api, 400, "POST", "/v1/asks", data=body, headers=JSON_TYPE)
    assert problem["title"] == "Malformed JSON"
    assert problem["detail"].startswith("The body is not valid JSON: ")


@pytest.mark.rule("API-6")
@pytest.mark.parametrize(
    "members",
    [
        '"question":"a?","question":"b?"',
        '"wait_seconds":NaN',
        '"after":1e999',
        f'"max":{"9" * 309}',
    ],
)
async def test_json_over_mcp_is_as_strict(api: Served, members: str) -> None:
    """The MCP SDK would take the last of two keys that are equal, and NaN for null."""
    call = f'"method":"tools/call","params":{{"name":"ask_user","arguments":{{{members}}}}}'
    body = f'{{"jsonrpc":"2.0","id":1,{call}}}'.encode()
    headers = {**JSON_TYPE, "Accept": "application/json, text/event-stream"}
    problem = await check_refused(api, 400, "POST", "/mcp", data=body, headers=headers)
    assert problem["title"] == "Malformed JSON"


@pytest.mark.parametrize("body", ["null", "1", '"x"', "[]", "{}", "true"])
async def test_json_that_is_not_a_submission_is_422_with_every_location(
    api: Served, body: str
) -> None:
    problem = await check_refused(api, 422, "POST", "/v1/asks", data=body, headers=JSON_TYPE)
    assert problem["errors"]
    assert problem["tool_result"]["is_error"]


async def test_a_lone_surrogate_reaches_the_dialect_as_a_wrong_type(api: Served) -> None:
    form = {"questions": [{"id": "a", "text": "\ud800", "answer_type": "text"}]}
    body = {"name": "ask_user", "arguments": form}
    problem = await check_refused(api, 422, "POST", "/v1/asks", json=body)
    assert [(e["pointer"], e["code"]) for e in problem["errors"]] == [
        ("/questions/0/text", "wrong_type")
    ]


@pytest.mark.rule("FORM-8")
async def test_a_lone_surrogate_anywhere_is_refused_or_kept_but_never_fails(
    api: Served,
) -> None:
    call: Json = {"name": "ask_user", "arguments": FORM, "to": "web"}
    for more in (
        {"name": "\udfff"},
        {"to": "\ud800"},
        {"dialect": "\ud800"},
        {"responders": ["\ud800"]},
        {"metadata": {"\ud800": "\udfff"}},
        {"callback": {"url": "http://127.0.0.1/\ud800"}},
        {"arguments": {**FORM, "\ud800": 1}},
        {"\ud800": 1},
    ):
        async with api.http.post("/v1/asks", json=call | more) as response:
            assert response.status in {201, 422}, (more, await response.text())


@pytest.mark.rule("API-3")
@pytest.mark.parametrize(
    "raw",
    [
        b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
        b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /v1/asks HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
    ],
)
async def test_invalid_http_is_400_and_reveals_no_internals(api: Served, raw: bytes) -> None:
    port = int(api.running.api_url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    async with asyncio.timeout(WAIT):
        body = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert body.startswith((b"HTTP/1.0 400 ", b"HTTP/1.1 400 "))
    assert b"Traceback" not in body


def hostile_body(rng: random.Random) -> bytes:
    """A body that an attacker, a broken client or a confused model might send; never a valid call."""
    kind = rng.randrange(8)
    if kind == 0:
        return rng.randbytes(rng.randrange(2000))
    if kind == 1:
        depth = rng.randrange(1, 5000)
        return b'{"name":"ask_user","arguments":' + b'{"questions":[' * depth
    if kind == 2:
        return json.dumps(
            {"name": "ask_user", "arguments": {"questions": rng.choice(ODD)}}
        ).encode()
    if kind == 3:
        return (
            b'{"name":"ask_user","arguments":{"questions":['
            + b"9" * rng.randrange(1, 200_000)
            + b"]}}"
        )
    if kind == 4:
        text = rng.choice(["\x00", "\ud800", "\u202e", "a", "🂡"]) * rng.randrange(1, 60_000)
        question = {"id": text, "text": text, "answer_type": "text"}
        return json.dumps(
            {"name": "ask_user", "arguments": {"questions": [question, question]}}
        ).encode()
    if kind == 5:
        return b'{"x":"' + b"y" * 1_000_000 + b'"}'
    if kind == 6:
        mutated = bytearray(padded(400))
        for _ in range(rng.randrange(1, 6)):
            mutated[rng.randrange(390)] = rng.randrange(256)
        return bytes(mutated) + b"]"
    schema: Any = rng.choice(
        [
            {"$ref": "http://127.0.0.1:1/x"},
            {"pattern": "(" * 500},
            {"allOf": [{"$ref": "#"}] * 20},
            {"type": rng.choice(ODD)},
            {"enum": "x", "minimum": "y"},
        ]
    )
    question = {"id": "s", "text": "S?", "answer_type": "schema", "schema": schema}
    again = {**question, "when": {"question_id": "none", "equals": 1}}
    return json.dumps({"name": "ask_user", "arguments": {"questions": [question, again]}}).encode()


ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    10**300,
    "",
    "x" * 30_000,
    [],
    [[]],
    [None],
    {},
    {"": ""},
]


def resident_memory() -> int:
    """The resident memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_hostile_bodies_get_a_4xx_and_do_not_grow_memory(api: Served) -> None:
    rng = random.Random(2718)
    seen: set[int] = set()

    async def one() -> None:
        body = hostile_body(rng)
        try:
            async with api.http.post(
                "/v1/asks", data=io.BytesIO(body), headers=JSON_TYPE
            ) as response:
                reply = await response.read()
                seen.add(response.status)
                assert 400 <= response.status < 500, (body[:200], reply[:500])
                assert b"Traceback" not in reply
        except aiohttp.ClientConnectionError:
            assert len(body) > MAX_BODY  # disconnected while it was still sending

    async def some(count: int) -> None:
        for _ in range(count // 10):
            await asyncio.gather(*(one() for _ in range(10)))

    await some(COUNT // 3)
    gc.collect()
    before = await asyncio.to_thread(resident_memory)
    await some(COUNT)
    gc.collect()
    grown = await asyncio.to_thread(resident_memory) - before
    assert seen == {400, 413, 422}
    assert grown < 24 * 1024 * 1024, f"{grown} bytes for {COUNT} bodies"
    assert await api.get("/v1/asks") == (200, {"asks": [], "next": None})
    assert await api.get("/healthz") == (200, {"status": "ok"})
