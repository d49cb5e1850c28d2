"""An extension written by somebody else is installed: its own tests pass, and a service writes its file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.acceptance import process, third_party
from tests.acceptance.process import serving
from tests.meta.project import ROOT
from tests.person_keys import bearer
from tests.service_support import WAIT

EXAMPLE = ROOT / "docs" / "examples" / "outcomefile"
MOST_LINES = 150

pytestmark = [pytest.mark.acceptance, pytest.mark.long]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path on which Python finds the example and our packages."""
    return third_party.install(EXAMPLE, tmp_path_factory.mktemp("third-party-extension"))


def test_it_is_short() -> None:
    files = (EXAMPLE / "outcomefile").glob("*.py")
    assert sum(len(file.read_text("utf-8").splitlines()) for file in files) <= MOST_LINES


@pytest.mark.rule("PLUGIN-8")
def test_it_meets_the_contract_of_every_extension(path: str, tmp_path: Path) -> None:
    out = third_party.run_tests(EXAMPLE, tmp_path, path, "-p", "pytest_asyncio.plugin")
    assert " passed" in out


@pytest.mark.rule("PLUGIN-8", "PLUGIN-9", "CLI-32")
async def test_each_outcome_is_in_its_file_once_and_its_command_prints_it(
    path: str, tmp_path: Path
) -> None:
    file = tmp_path / "outcomes.jsonl"
    environment = {"PYTHONPATH": path, "ANSWERBACK_OUTCOMEFILE__PATH": str(file)}
    async with (
        serving(tmp_path, environment) as (_, url),
        aiohttp.ClientSession(url, headers=bearer(tmp_path)) as http,
    ):
        call = {"name": "ask_user", "arguments": {"question": "Go?", "answer_type": "boolean"}}
        asked = []
        for _ in range(2):
            async with http.post("/v1/asks", json=call) as response:
                ask: dict[str, Any] = await response.json()
            assert response.status == 201, ask
            action = {"action": "answer", "value": True}
            async with http.post(f"/v1/asks/{ask['id']}/actions", json=action) as done:
                assert done.status == 200, await done.text()
            asked.append(ask["id"])
        async with asyncio.timeout(WAIT):
            while not file.exists() or len(file.read_text("utf-8").splitlines()) < 2:  # noqa: ASYNC110 - a file signals nothing
                await asyncio.sleep(0.01)
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [line["outcome"]["ask"] for line in lines] == asked
    assert {line["outcome"]["status"] for line in lines} == {"answered"}
    code, out, err = await process.run(
        *("follow", str(file), "--no-wait"), folder=tmp_path, environment=environment
    )
    assert (code, out.splitlines()) == (0, [f"{ask_id} answered" for ask_id in asked]), err
    missing = {**environment, "ANSWERBACK_OUTCOMEFILE__PATH": str(tmp_path / "gone" / "file")}
    code, out, err = await process.run("doctor", folder=tmp_path, environment=missing)
    assert code == 1
    assert "there is no folder" in out + err
