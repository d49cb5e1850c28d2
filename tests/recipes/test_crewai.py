"""The recipe for CrewAI: the real framework in an environment of its own, a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.meta.project import RECIPES, ROOT
from tests.recipes.conftest import Person, Served

_START: Final = 60.0
"""Seconds within which CrewAI has to be imported, some of it at the first flow; it is large."""


class Driver:
    """A process with CrewAI in it that runs the recipe."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self._child = child

    async def starts(self) -> None:
        """Returns once it can be told something."""
        assert await self.told(_START) == ["ready"]

    async def dies(self) -> None:
        """Kills it, if it has not been yet."""
        if self._child.returncode is None:
            self._child.kill()
            await self._child.communicate()

    async def does(self, *what: str) -> list[Any]:
        """Has it call one of the recipe's functions; what came of it."""
        assert self._child.stdin is not None
        self._child.stdin.write(f"{json.dumps(what)}\n".encode())
        return await self.told(_START)

    async def begins(self) -> list[str]:
        """Has it start a flow; the flow's id and the ask's."""
        status, *more = await self.does("begin")
        assert status == "ok", more
        found: list[str] = more[0]
        return found

    async def told(self, seconds: float) -> list[Any]:
        """The next thing it says."""
        assert self._child.stdout is not None
        async with asyncio.timeout(seconds):
            line = await self._child.stdout.readline()
        assert line, "the process has ended"
        said: list[Any] = json.loads(line)
        return said


@asynccontextmanager
async def crewai(folder: Path, served: Served) -> AsyncIterator[Driver]:
    """A process of the recipe's user, starting."""
    child = await asyncio.create_subprocess_exec(
        str(ROOT / ".venv" / "crewai" / "bin" / "python"),
        str(Path(__file__).with_name("environments") / "drive_crewai.py"),
        str(RECIPES),
        str(folder / "flows.db"),
        cwd=folder,
        env={
            "ANSWERBACK_URL": served.url,
            "ANSWERBACK_TOKEN": served.token,
            "CREWAI_DISABLE_TELEMETRY": "true",
            "CREWAI_STORAGE_DIR": str(folder),
            "CREWAI_TRACING_ENABLED": "false",
            "HOME": str(folder),
            "OTEL_SDK_DISABLED": "true",
            "PATH": "/usr/bin:/bin",
        },
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    driver = Driver(child)
    try:
        yield driver
    finally:
        await driver.dies()


@pytest.mark.timeout(180)
async def test_a_flow_is_parked_and_taken_up_by_another_process_with_a_persons_decision(
    environments: None, served: Served, person: Person, tmp_path: Path
) -> None:
    # Both at once, for their start takes long; the first is gone before the second does anything.
    async with crewai(tmp_path, served) as first, crewai(tmp_path, served) as second:
        await first.starts()
        parked = [await first.begins()]
        asked = await person.answers("publish", "")
        parked.append(await first.begins())
        await person.answers("discard", "It is not faster.")
        parked.append(await first.begins())
        await person.replies("Ask Ada.")
        await first.dies()

        await second.starts()
        outcomes = [await second.does("go_on", *one) for one in parked]
        flow_id, ask_id = await second.begins()
        waiting = asyncio.create_task(second.does("go_on", flow_id, ask_id))
        await person.ends_the_turn()
        outcomes.append(await waiting)
    assert asked.json["metadata"] == {"flow_id": parked[0][0]}
    assert outcomes == [
        ["ok", "Published: Faster, and fewer bugs."],
        ["ok", "Discarded: It is not faster."],
        ["error", "NoDecisionError", "Ask Ada."],
        ["error", "NoDecisionError", "turn_ended"],
    ]
