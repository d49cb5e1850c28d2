"""The recipes for Google ADK: the real framework in its own environment, a scripted model."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import pytest

from answerback_client import RefusedError
from tests.meta.project import RECIPES, ROOT
from tests.recipes.children import Child, child
from tests.recipes.conftest import Person, Served

_START: Final = 120.0
"""Seconds within which ADK, which is large, has to be imported."""


def adk(
    folder: Path, served: Served, driver: str = "drive_adk.py"
) -> AbstractAsyncContextManager[Child]:
    """Start a process of the recipe's user."""
    return child(
        ROOT / ".venv" / "adk" / "bin" / "python",
        Path(__file__).with_name("environments") / driver,
        RECIPES,
        folder / "sessions.db",
        folder=folder,
        environment={
            "ANSWERBACK_URL": served.url,
            "ANSWERBACK_TOKEN": served.token,
            "OTEL_SDK_DISABLED": "true",
            "PYTHONPATH": str(ROOT / "bot"),
        },
        seconds=_START,
    )


async def test_people_confirm_reject_and_end_the_turn_even_after_the_process_died(
    frameworks: None, served: Served, person: Person, tmp_path: Path
) -> None:
    # Start both at once, because starting is slow; the first ends before the second does anything.
    async with adk(tmp_path, served) as first, adk(tmp_path, served) as second:
        assert await first.read_json() == "ready"
        running = asyncio.create_task(first.call("both", False, ["7", "8"], "Done."))
        asked = await person.sees()
        assert asked.prompt is not None
        assert "release" in str(asked.prompt["text"])
        assert 'version: "7"' in str(asked.prompt["context"])
        await person.answers("approve")
        await person.answers("reject")
        text, received = await running
        assert text == "Done."
        assert [part["function_response"]["response"] for part in received[-1]] == [
            {"released": "7"},
            {"error": "This tool call is rejected."},
        ]

        script = (["7"], "A pity.", "Then I wait.")  # asked anew, with the id of the first call
        running = asyncio.create_task(first.call("reply", False, *script))
        await person.replies("After lunch.")
        text, received = await running
        assert text == "Then I wait."
        assert "This tool call is rejected." in str(received[-2])
        assert received[-1] == [{"text": "After lunch."}]

        running = asyncio.create_task(first.call("parked", False, ["10"]))
        asked = await person.sees()
        running.cancel()
        await first.kill()

        assert await second.read_json() == "ready"
        running = asyncio.create_task(second.call("parked", True))
        ended = await person.ends_the_turn()
        assert (await running, ended.id) == ([None, []], asked.id)
        text, received = await second.call("parked", False, "Never mind.")
        assert text == "Never mind."
        assert "released" not in str(received)


async def test_people_give_a_workflow_its_input_even_after_the_process_died(
    frameworks: None, served: Served, person: Person, tmp_path: Path
) -> None:
    person = Person(person.front, _START)
    async with adk(tmp_path, served, "drive_adk_input.py") as first:
        running = asyncio.create_task(first.call("typed", "version 7"))
        asked = await person.sees()
        assert asked.prompt is not None
        assert "When do we do this: version 7?" in str(asked.prompt["text"])
        assert "the release candidate" in str(asked.prompt["context"])
        with pytest.raises(RefusedError):
            await person.answers({"day": "Monday", "hosts": "three"})
        running.cancel()
    await person.answers({"day": "Monday", "hosts": 3})
    async with adk(tmp_path, served, "drive_adk_input.py") as second:
        running = asyncio.create_task(second.call("typed", None))
        asked = await person.sees()
        assert asked.prompt is not None
        assert asked.prompt["text"] == "Who watches 3 hosts on Monday?"
        await person.answers("Kim")
        assert await running == "Kim watches the release."

        output, _ = await asyncio.gather(second.call("ended", "version 8"), person.ends_the_turn())
        assert output is None
