"""Pictures of the session's folder that a question of Claude Code shows, which its hook uploads."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.service.submission_request import Route
from answerback_agents.pipe.exchange import answer_event
from answerback_client.blocking_connection import BlockingConnection
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hooks.test_claude_hooks import QUESTIONS, asking
from tests.unit.bot.hooks.test_claude_hooks_permission import permission
from tests.unit.picture_samples import PNG

pytestmark = pytest.mark.rule("FILE-40")
REFERENCE = "![Wide](wide.png)"
SHOWN = "![Wide (wide.png, 1 kB)](file:wide.png)"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    route = Route(to="web", responders=("operator",))
    async with served(tmp_path, routes={"ops": route}, default_route="ops") as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "wide.png").write_bytes(PNG)
    return made


def question(folder: Path) -> Json:
    """A question of Claude Code whose first option has a picture as preview."""
    questions = copy.deepcopy(QUESTIONS)
    questions[0]["options"][0]["preview"] = f"It is “wide”:\n\n{REFERENCE}"
    return {**asking(questions=questions), "cwd": str(folder)}


async def hooked(service: Served, event: Json, *, uploads: bool = True) -> Json:
    """Return the answer that the hook prints for Claude Code."""
    calls = BlockingConnection(service.url)
    raw = json.dumps(event).encode()
    answer = await asyncio.to_thread(
        answer_event, "claude", event, calls, wait=WAIT, raw=raw, uploads=uploads
    )
    printed: Json = json.loads(answer.printed() or "{}")
    return printed


async def test_a_preview_shows_a_picture_and_claude_code_gets_its_own_text_back(
    service: Served, folder: Path
) -> None:
    event = question(folder)
    waiting = asyncio.create_task(hooked(service, event))
    ask = await service.newest()
    [file] = ask.request.files
    assert (file.name, file.media_type) == ("wide.png", "image/png")
    [option, _] = ask.form.questions[0].options
    assert str(option.preview).endswith(SHOWN)
    await service.act(ask, action="answer", value="React")
    decided = (await waiting)["hookSpecificOutput"]
    assert decided["permissionDecision"] == "allow"
    assert decided["updatedInput"]["questions"] == event["tool_input"]["questions"]


@pytest.mark.parametrize("place", ["tool_input", "elsewhere"])
async def test_a_prompt_for_permission_shows_and_uploads_nothing(
    service: Served, folder: Path, place: str
) -> None:
    event = {**permission("Bash"), "cwd": str(folder)}
    (event if place == "elsewhere" else event["tool_input"])["context"] = REFERENCE
    waiting = asyncio.create_task(hooked(service, event))
    ask = await service.newest()
    assert ask.request.files == ()
    await service.act(ask, action="answer", value="deny")
    await waiting
    assert SHOWN not in str(ask.request.arguments)


async def test_a_hook_that_may_not_upload_shows_the_text_alone(
    service: Served, folder: Path
) -> None:
    waiting = asyncio.create_task(hooked(service, question(folder), uploads=False))
    ask = await service.newest()
    assert ask.request.files == ()
    assert str(ask.form.questions[0].options[0].preview).endswith(REFERENCE)
    await service.act(ask, action="answer", value="React")
    await waiting


async def test_pictures_that_the_service_refuses_hold_up_no_question(
    service: Served, folder: Path
) -> None:
    (folder / "wide.png").write_bytes(PNG[:20])
    waiting = asyncio.create_task(hooked(service, question(folder)))
    ask = await service.newest()
    assert ask.request.files == ()
    assert str(ask.form.questions[0].options[0].preview).endswith(REFERENCE)
    await service.act(ask, action="answer", value="React")
    await waiting
