"""The recipe for curl, run by a shell."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.meta.project import RECIPES
from tests.recipes.conftest import PATIENCE, Person


async def _run(*arguments: str) -> tuple[int, str, str]:
    child = await asyncio.create_subprocess_exec(
        "sh",
        str(RECIPES / "curl.sh"),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            out, err = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    assert child.returncode is not None
    return child.returncode, out.decode(), err.decode()


async def test_curl_prints_the_ask_once_it_has_ended(environment: None, person: Person) -> None:
    (code, out, _), _ = await asyncio.gather(_run("first"), person.answers("8443"))
    ask: dict[str, Any] = json.loads(out)
    assert code == 0
    assert ask["status"] == "answered"
    assert ask["tool_result"]["structured"] == {"answer_type": "text", "answer": "8443"}


async def test_curl_run_again_finds_the_first_ask(environment: None, person: Person) -> None:
    (_, first, _), _ = await asyncio.gather(_run("again"), person.answers("8443"))
    _, second, _ = await _run("again")
    when = {"collected_at": None}  # the first run has collected the answer
    assert json.loads(second) | when == json.loads(first) | when


async def test_curl_stops_when_it_is_unauthorised(
    environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWERBACK_TOKEN", "none-that-is-known")
    code, _, err = await _run("refused")
    assert code == 1
    assert json.loads(err)["status"] == 401
