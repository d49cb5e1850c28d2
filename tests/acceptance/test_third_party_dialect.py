"""A dialect written by somebody else is installed: its own tests pass, and people walk its form over the API."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.acceptance.process import serving
from tests.meta.project import PYTHONPATH, ROOT
from tests.person_keys import bearer

EXAMPLE = ROOT / "docs" / "examples" / "releaseplan"
STEPS = [
    {"key": "target", "question": "Where to?", "choices": ["staging", "production"]},
    {
        "key": "canary",
        "question": "Canary first?",
        "choices": ["yes", "no"],
        "only_if": "target=production",
    },
    {"key": "note", "question": "Announce it?", "choices": ["yes", "no"]},
]

pytestmark = [pytest.mark.acceptance, pytest.mark.long]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages with the example in it."""
    folder = tmp_path_factory.mktemp("third-party-dialect")
    source = shutil.copytree(EXAMPLE, folder / "source")
    install = ["install", "-qq", "--no-index", "--no-deps", "--no-build-isolation"]
    target = folder / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", *install, "--target", str(target), str(source)],
        check=True,
        timeout=250,
    )
    return target


def _path(site: Path) -> str:
    return os.pathsep.join((str(site), PYTHONPATH))


@pytest.mark.rule("PLUGIN-4", "PLUGIN-5")
def test_it_meets_the_contract_of_every_dialect(site: Path, tmp_path: Path) -> None:
    tests = shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(tests)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": _path(site), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@pytest.mark.rule("PLUGIN-5", "WALK-7")
async def test_its_form_with_a_review_and_conditions_is_walked_over_the_api(
    site: Path, tmp_path: Path
) -> None:
    async with (
        serving(tmp_path, {"PYTHONPATH": _path(site)}) as (_, url),
        aiohttp.ClientSession(url, headers=bearer(tmp_path)) as http,
    ):
        async with http.get("/v1/tools", params={"dialect": "releaseplan"}) as listed:
            assert [tool["name"] for tool in (await listed.json())["tools"]] == ["release_plan"]
        call = {"name": "release_plan", "arguments": {"steps": STEPS}, "to": "web"}
        async with http.post("/v1/asks", json=call) as response:
            ask: dict[str, Any] = await response.json()
        assert (response.status, ask["dialect"]) == (201, "releaseplan")

        async def act(**action: Any) -> dict[str, Any]:
            async with http.post(f"/v1/asks/{ask['id']}/actions", json=action) as done:
                body: dict[str, Any] = await done.json()
                assert done.status == 200, body
                return body

        await act(action="answer", value="production")
        assert (await act(action="answer", value="yes"))["prompt"]["question_id"] == "note"
        assert (await act(action="back"))["prompt"]["prefill"] == "yes"
        await act(action="answer", value="yes")
        assert (await act(action="answer", value="no"))["prompt"]["kind"] == "review"

        await act(action="edit", question_id="target")
        skipped = await act(action="answer", value="staging")
        assert skipped["prompt"]["kind"] == "review"
        assert "canary" not in skipped["answers"]

        await act(action="edit", question_id="target")
        back = await act(action="answer", value="production")
        assert (back["prompt"]["question_id"], back["prompt"]["prefill"]) == ("canary", "yes")
        await act(action="answer", value="yes")
        ended = await act(action="submit")
    plan = {"target": "production", "canary": "yes", "note": "no"}
    assert ended["tool_result"]["structured"] == {"plan": plan}
