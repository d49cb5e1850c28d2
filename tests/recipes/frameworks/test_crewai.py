"""The recipe for CrewAI: the real framework in its own environment, a scripted model."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

from tests.meta.project import RECIPES, ROOT
from tests.recipes.children import Child, child
from tests.recipes.conftest import Person, Served

_START: Final = 120.0
"""Seconds within which CrewAI, which is large, has to be imported; part of that happens at the first flow."""


def crewai(folder: Path, served: Served) -> AbstractAsyncContextManager[Child]:
    """Start a process of the recipe's user."""
    return child(
        ROOT / ".venv" / "crewai" / "bin" / "python",
        Path(__file__).with_name("environments") / "drive_crewai.py",
        RECIPES,
        folder / "flows.db",
        folder=folder,
        environment={
            "ANSWERBACK_URL": served.url,
            "ANSWERBACK_TOKEN": served.token,
            "CREWAI_DISABLE_TELEMETRY": "true",
            "CREWAI_STORAGE_DIR": str(folder),
            "CREWAI_TRACING_ENABLED": "false",
            "OTEL_SDK_DISABLED": "true",
        },
        seconds=_START,
    )


async def start_flow(driver: Child) -> list[str]:
    """Start a flow; return the flow's id and the ask's."""
    status, *more = await driver.call("begin")
    assert status == "ok", more
    found: list[str] = more[0]
    return found


async def test_a_parked_flow_is_resumed_by_another_process_with_a_persons_decision(
    frameworks: None, served: Served, person: Person, tmp_path: Path
) -> None:
    # Start both at once, because starting is slow; the first ends before the second does anything.
    async with crewai(tmp_path, served) as first, crewai(tmp_path, served) as second:
        assert await first.read_json() == ["ready"]
        parked = [await start_flow(first)]
        asked = await person.answers("publish", "")
        parked.append(await start_flow(first))
        await person.answers("discard", "It is not faster.")
        parked.append(await start_flow(first))
        await person.replies("Ask Ada.")
        await first.kill()

        assert await second.read_json() == ["ready"]
        outcomes = [await second.call("go_on", *one) for one in parked]
        flow_id, ask_id = await start_flow(second)
        waiting = asyncio.create_task(second.call("go_on", flow_id, ask_id))
        await person.ends_the_turn()
        outcomes.append(await waiting)
        flow_id, _ = parked[0]
        status, ask_id = await second.call("begin_again", flow_id)
        assert (status, ask_id) == ("ok", (await person.sees()).id)
        await person.answers("discard", "Once was enough.")
        outcomes.append(await second.call("go_on", flow_id, ask_id))
    assert asked.json["metadata"] == {"flow_id": parked[0][0]}
    assert outcomes == [
        ["ok", "Published: Faster, and fewer bugs."],
        ["ok", "Discarded: It is not faster."],
        ["error", "NoDecisionError", "Ask Ada."],
        ["error", "NoDecisionError", "turn_ended"],
        ["ok", "Discarded: Once was enough."],
    ]
