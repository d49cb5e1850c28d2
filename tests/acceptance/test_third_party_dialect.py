"""A dialect written by somebody else is installed: its own tests pass, and people walk its form over the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.acceptance import third_party
from tests.acceptance.process import serving
from tests.meta.project import ROOT
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
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path on which Python finds the example and our packages."""
    return third_party.install(EXAMPLE, tmp_path_factory.mktemp("third-party-dialect"))


@pytest.mark.rule("PLUGIN-4", "PLUGIN-5")
def test_it_meets_the_contract_of_every_dialect(path: str, tmp_path: Path) -> None:
    assert " passed" in third_party.run_tests(EXAMPLE, tmp_path, path)


@pytest.mark.rule("PLUGIN-5", "WALK-7")
async def test_its_form_with_a_review_and_conditions_is_walked_over_the_api(
    path: str, tmp_path: Path
) -> None:
    async with (
        serving(tmp_path, {"PYTHONPATH": path}) as (_, url),
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
