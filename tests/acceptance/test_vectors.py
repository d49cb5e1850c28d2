"""A third of each tool's test vectors over HTTP, against the real process on PostgreSQL; with `MATRIX=whole`, all.

All run in this process, on SQLite (`tests.unit.bot.service.test_vectors_in_process`).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests import matrix, vectors
from tests.acceptance.process import serving
from tests.person_keys import bearer
from tests.postgres import Server

pytestmark = [pytest.mark.acceptance, pytest.mark.asyncio(loop_scope="module")]

# The cases are JSON documents of many shapes, used as read.
Case = dict[str, Any]
CASES = [
    pytest.param(case, id=f"{dialect}: {case['title']}")
    for dialect, path in vectors.ALL
    for case in matrix.every(3, json.loads(path.read_text()))
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http(
    postgres_server: Server, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[aiohttp.ClientSession]:
    folder = tmp_path_factory.mktemp("vectors")
    with postgres_server.borrow_database() as database:
        environment = {"ANSWERBACK_STORAGE__URL": postgres_server.url(database)}
        async with (
            serving(folder, environment) as (_, url),
            aiohttp.ClientSession(url, headers=bearer(folder)) as session,
        ):
            yield session


@pytest.mark.rule("CONFIG-10")
@pytest.mark.parametrize("case", CASES)
async def test_vector(case: Case, http: aiohttp.ClientSession) -> None:
    async with http.post("/v1/asks", json={**case["call"], "to": "web"}) as response:
        body = await response.json(content_type=None)
        if "invalid" in case:
            assert response.status == 422
            assert_refused(case, body)
            return
        assert response.status == 201, body
    assert_prompt(case.get("first_prompt", {}), body)
    for step in case.get("steps", []):
        body = await act(http, body, step)
    assert_end(case["end"], body)


def assert_refused(case: Case, body: Case) -> None:
    found = [{key: error[key] for key in ("pointer", "code")} for error in body["errors"]]
    assert found == [{key: e[key] for key in ("pointer", "code")} for e in case["invalid"]]
    assert all(error["message"] for error in body["errors"])
    result = body["tool_result"]
    if case["call"]["name"] == "question" and case["invalid"][0]["pointer"] == "/questions":
        # This tool promises words, not an error, for a call without questions, in its usual result shape.
        assert result == {
            "content": "Error: No questions provided",
            "structured": {"questions": [], "answers": [], "cancelled": True},
            "is_error": False,
        }
        return
    assert result["is_error"]
    assert result["structured"] == {"errors": body["errors"]}
    assert result["content"] == "\n".join(error["message"] for error in body["errors"])


def assert_prompt(expected: Case, ask: Case) -> None:
    prompt = ask["prompt"]
    assert {field: prompt[field] for field in expected} == expected


async def act(http: aiohttp.ClientSession, before: Case, step: Case) -> Case:
    path = f"/v1/asks/{before['id']}"
    async with http.post(f"{path}/actions", json=step["do"]) as response:
        body = await response.json(content_type=None)
        assert response.status == step["http"], body
    async with http.get(path) as response:
        ask: Case = await response.json()
    if step["http"] == 200:
        assert body == ask
        assert ask["revision"] == before["revision"] + 1
    else:
        assert ask == before
        assert body.get("errors") or step["http"] != 422
    assert_prompt(step.get("prompt", {}), ask)
    return ask


def assert_end(expected: Case, ask: Case) -> None:
    assert ask["status"] == expected["status"]
    assert ask["end_turn"] == (expected["status"] == "turn_ended")
    if ask["status"] == "open":
        return
    assert ask["prompt"] is None
    result = ask["tool_result"]
    if "structured" in expected:
        assert (result and result["structured"]) == expected["structured"]
    if "content" in expected:
        assert result["content"] == expected["content"]
