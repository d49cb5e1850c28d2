"""The recipe for Mastra: the real package, in its own environment, checked and compiled by tsc."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from pydantic import JsonValue

from answerback_client import RefusedError
from tests.meta.project import RECIPES, ROOT
from tests.recipes.children import Child, child
from tests.recipes.conftest import PATIENCE, Person, Served
from tests.recipes.test_typescript import OPTIONS

_NAMES = ("answerback.ts", "mastra_suspend.ts")


@pytest.fixture(scope="module")
def compiled(
    node_modules: Path, frameworks: None, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with the recipe, which tsc compiled without complaint, and its driver."""
    folder = tmp_path_factory.mktemp("mastra")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node_modules").symlink_to(ROOT / ".venv" / "mastra" / "node_modules")
    for name in _NAMES:
        (folder / name).write_text((RECIPES / name).read_text())
    driver = Path(__file__).with_name("environments") / "drive_mastra.mjs"
    (folder / driver.name).write_text(driver.read_text())
    types = ("--typeRoots", str(node_modules / "@types"))
    command = [str(node_modules / ".bin" / "tsc"), *OPTIONS, *types, *_NAMES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return folder


def process(folder: Path, served: Served, *arguments: str) -> AbstractAsyncContextManager[Child]:
    """Start a process of the recipe's user."""
    return child(
        *("node", "drive_mastra.mjs", *arguments),
        folder=folder,
        environment={
            "ANSWERBACK_URL": served.url,
            "ANSWERBACK_TOKEN": served.token,
            "MASTRA_TELEMETRY_DISABLED": "1",
        },
        seconds=PATIENCE,
    )


async def test_people_resume_a_suspended_run_even_after_the_process_died(
    compiled: Path, served: Served, person: Person, tmp_path: Path
) -> None:
    run = (str(tmp_path / "runs.db"), "run-7")
    async with process(compiled, served, *run, "7"):
        asked = await person.sees()
        assert asked.prompt is not None
        assert "When do we release version 7?" in str(asked.prompt["text"])
        with pytest.raises(RefusedError):
            await person.answers({"day": "Monday", "hosts": 0})
    await person.answers({"day": "Monday", "hosts": 3})
    async with process(compiled, served, *run) as second:
        assert await second.read_json() == {"day": "Monday", "hosts": 3}


async def test_a_run_that_is_started_again_under_the_same_name_is_asked_anew(
    compiled: Path, served: Served, person: Person, tmp_path: Path
) -> None:
    for hosts in (3, 4):
        async with process(compiled, served, str(tmp_path / "runs.db"), "run-9", "9") as started:
            answer: dict[str, JsonValue] = {"day": "Monday", "hosts": hosts}
            got, _ = await asyncio.gather(started.read_json(), person.answers(answer))
            assert got == answer


async def test_end_turn_leaves_a_run_suspended(
    compiled: Path, served: Served, person: Person, tmp_path: Path
) -> None:
    run = (str(tmp_path / "runs.db"), "run-8")
    for version in (["8"], []):
        async with process(compiled, served, *run, *version) as started:
            if version:
                printed, _ = await asyncio.gather(started.read_json(), person.ends_the_turn())
                assert printed is None
            else:
                assert await started.read_json() is None
