"""The TypeScript recipes, checked and compiled by tsc: plain fetch, and the real AI SDK with a scripted model."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from answerback_client import AsyncClient
from tests.meta.project import RECIPES
from tests.recipes.children import child
from tests.recipes.conftest import Person, Served, serving
from tests.unit.picture_samples import PNG

_PACKAGE: Final = '{"type": "module"}'
OPTIONS: Final = (
    # `node` runs only files without syntax that has to be transformed
    *("--strict", "--erasableSyntaxOnly", "--skipLibCheck", "--types", "node"),
    *("--target", "es2022", "--module", "nodenext"),
)


@pytest.fixture(scope="session")
def compiled(node_modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the recipes, which tsc compiled without complaint, and their drivers."""
    folder = tmp_path_factory.mktemp("typescript")
    (folder / "package.json").write_text(_PACKAGE)
    (folder / "node_modules").symlink_to(node_modules)
    names = ["answerback.ts", "ai_sdk_approval.ts", "verify_receipt.ts"]
    for name in names:
        (folder / name).write_text((RECIPES / name).read_text())
    command = [str(node_modules / ".bin" / "tsc"), *OPTIONS, *names]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    for driver in Path(__file__).with_name("environments").glob("drive_*.mjs"):
        (folder / driver.name).write_text(driver.read_text())
    return folder


async def run_driver(folder: Path, served: Served, driver: str, *script: str) -> Any:
    """Run a driver and return what it prints."""
    environment = {
        "ANSWERBACK_URL": served.url,
        "ANSWERBACK_TOKEN": served.token,
        "ANSWERBACK_SURFACE_TOKEN": served.people_token,
    }
    command = ("node", driver, *script)
    async with child(*command, folder=folder, environment=environment, seconds=30) as process:
        return await process.read_json()


async def test_plain_fetch_submits_waits_and_acts_once(
    compiled: Path, served: Served, person: Person
) -> None:
    got = await run_driver(compiled, served, "drive_fetch.mjs")
    assert got["asked"]["id"] == got["again"]["id"] == got["ended"]["id"]
    decision = {"behavior": "allow"}
    assert got["ended"]["tool_result"]["structured"]["hookSpecificOutput"]["decision"] == decision
    assert got["repeated"]["tool_result"] == got["acted"]["tool_result"]
    assert "questions" in got["refused"]


@pytest.mark.rule("FILE-4")
async def test_plain_fetch_uploads_a_picture_that_a_question_shows(
    compiled: Path, served: Served, person: Person, tmp_path: Path
) -> None:
    (tmp_path / "plot").write_bytes(PNG)
    running = asyncio.create_task(
        run_driver(compiled, served, "drive_files.mjs", str(tmp_path / "plot"))
    )
    await person.answers(True)
    [file] = (await running)["files"]
    assert (file["name"], file["media_type"], file["alt"]) == (
        "plot & more.png",
        "image/png",
        "A plot",
    )


async def test_the_recipe_as_a_program_leads_to_a_first_answer(
    compiled: Path, served: Served, person: Person
) -> None:
    own = {"ANSWERBACK_URL": served.url, "ANSWERBACK_TOKEN": served.token}
    command = ("node", "answerback.js", "ask")
    async with child(*command, folder=compiled, environment=own, seconds=30) as process:
        await person.answers(True)
        assert await process.read_json() == {"answer_type": "boolean", "answer": True}


async def test_an_approved_call_runs_and_a_denial_carries_the_persons_words(
    compiled: Path, served: Served, person: Person
) -> None:
    running = asyncio.create_task(
        run_driver(compiled, served, "drive_ai_sdk.mjs", "7,8,9", "Done.")
    )
    asked = await person.sees()
    assert asked.prompt is not None
    assert "release" in str(asked.prompt["text"])
    assert 'version: "7"' in str(asked.prompt["context"])
    await person.answers("approve")
    await person.replies("After lunch.")
    await person.answers("reject")
    got = await running
    assert got["text"] == "Done."
    outputs = [one["output"] for one in got["results"] if one["type"] == "tool-result"]
    assert outputs == [
        {"type": "text", "value": "Version 7 is out."},
        {"type": "execution-denied", "reason": "After lunch."},
        {"type": "execution-denied"},
    ]


async def test_a_later_run_is_decided_anew_although_its_call_has_the_same_id(
    compiled: Path, served: Served, person: Person
) -> None:
    for decision in ("approve", "reject"):
        got, _ = await asyncio.gather(
            run_driver(compiled, served, "drive_ai_sdk.mjs", "11", "Done."),
            person.answers(decision),
        )
        [output] = [one["output"] for one in got["results"] if one["type"] == "tool-result"]
        assert (output["type"] == "text") == (decision == "approve")


@pytest.mark.rule("EDIT-10")
async def test_a_call_that_a_person_changed_runs_as_changed(
    compiled: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    route = '[routes.web]\nto = "web"\nresponders = ["U7"]\nedit = true\n'
    with serving(tmp_path_factory.mktemp("editing"), before=route) as editing:
        running = asyncio.create_task(
            run_driver(compiled, editing, "drive_ai_sdk.mjs", "7", "Done.")
        )
        async with AsyncClient(editing.url, editing.people_token) as front:
            await Person(front).act("answer", value="approve", edited={"version": "8"})
        got = await running
    [output] = [one["output"] for one in got["results"] if one["type"] == "tool-result"]
    assert output == {"type": "text", "value": "Version 8 is out."}


async def test_end_turn_runs_nothing_and_does_not_call_the_model(
    compiled: Path, served: Served, person: Person
) -> None:
    got, _ = await asyncio.gather(
        run_driver(compiled, served, "drive_ai_sdk.mjs", "10", "never"), person.ends_the_turn()
    )
    assert (got["text"], got["left"]) == (None, 1)
    assert got["results"] == []
