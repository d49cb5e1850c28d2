"""The bridge to pi's RPC mode: people answer the dialogs of its extensions, and everything else passes through."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Status
from tests.acceptance.forked_process import forked
from tests.meta.project import ROOT
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.agents.bridges.test_bridge_codex import Talk

SELECT: Json = {
    "id": "d1",
    "method": "select",
    "title": "Dangerous command:\n\n  rm -rf build\n\nAllow?",
    "options": ["Yes", "No"],
}
CONFIRM: Json = {"id": "d2", "method": "confirm", "title": "Clear?", "message": "All is lost."}
INPUT: Json = {"id": "d3", "method": "input", "title": "Enter a value", "placeholder": "a port"}
EDITOR: Json = {"id": "d4", "method": "editor", "title": "Edit some text", "prefill": "One\nTwo"}
STATUS: Json = {"id": "d5", "method": "setStatus", "statusKey": "k", "statusText": "Turn 3"}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@asynccontextmanager
async def bridged(url: str, *dialogs: Json) -> AsyncIterator[Talk]:
    """Run the command between this test and the fake."""
    fake = str(ROOT / "tests" / "fakes" / "pi_rpc.py")
    child = await forked(
        *("bridge", "pi", "--url", url, "--to", "web", "--urgency", "high", "--"),
        sys.executable,
        fake,
        json.dumps(dialogs),
        stdin=asyncio.subprocess.PIPE,
    )
    talk = Talk(child)
    try:
        yield talk
    finally:
        assert child.stdin is not None
        child.stdin.close()
        assert await talk.ended() == 0


async def pi_read(talk: Talk) -> Json:
    """The next record that pi read."""
    record = await talk.receive()
    assert record["type"] == "fake_read", record
    read: Json = record["record"]
    return read


@pytest.mark.rule("CONNECT-12")
@pytest.mark.parametrize(
    ("dialog", "value", "expected"),
    [
        (SELECT, "Yes", {"value": "Yes"}),
        (CONFIRM, True, {"confirmed": True}),
        (CONFIRM, False, {"confirmed": False}),
        (INPUT, "8443", {"value": "8443"}),
        (EDITOR, "One", {"value": "One"}),
    ],
)
async def test_people_answer_a_dialog(
    service: Served, dialog: Json, value: Any, expected: Json
) -> None:
    async with bridged(service.url, dialog) as talk:
        ask = await service.newest()
        assert ask.form.questions[0].text == dialog["title"]
        assert (ask.request.conversation, ask.request.urgency) == ("s1", "high")
        assert ask.request.origin.host == "pi"
        await service.act(ask, action="answer", value=value)
        response = {"type": "extension_ui_response", "id": dialog["id"]}
        assert await pi_read(talk) == {**response, **expected}


@pytest.mark.rule("CONNECT-12")
@pytest.mark.parametrize(
    ("dialog", "field", "expected"),
    [(INPUT, "context", "a port"), (EDITOR, "default", "One\nTwo")],
)
async def test_what_people_see_of_a_dialog(
    service: Served, dialog: Json, field: str, expected: str
) -> None:
    async with bridged(service.url, dialog):
        [question] = (await service.newest()).form.questions
    assert getattr(question, field) == expected


@pytest.mark.rule("CONNECT-12")
async def test_a_reply_steers_and_then_cancels(service: Served) -> None:
    async with bridged(service.url, SELECT) as talk:
        await service.act(await service.newest(), action="reply", text="Move it away.")
        steered = await pi_read(talk)
        response = {"type": "extension_ui_response", "id": "d1", "cancelled": True}
        assert await pi_read(talk) == response
    assert steered["type"] == "steer"
    assert steered["message"].endswith("and replied: Move it away.")


@pytest.mark.rule("CONNECT-12")
async def test_end_turn_aborts(service: Served) -> None:
    async with bridged(service.url, SELECT) as talk:
        await service.act(await service.newest(), action="end_turn")
        assert (await pi_read(talk))["cancelled"] is True
        assert (await pi_read(talk))["type"] == "abort"


@pytest.mark.rule("CONNECT-12")
async def test_everything_else_passes_through(service: Served) -> None:
    async with bridged(service.url, STATUS) as talk:
        assert await talk.receive() == {"type": "extension_ui_request", **STATUS}
        prompt = {"id": "c1", "type": "prompt", "message": "Hello"}
        talk.say(prompt)
        assert await pi_read(talk) == prompt


@pytest.mark.rule("CONNECT-12")
async def test_a_dialog_that_pi_has_ended_itself_is_withdrawn(service: Served) -> None:
    async with bridged(service.url, {**SELECT, "timeout": 300}):
        ask = await service.newest()
        with service.running.service.signals.follow(ask.id) as follower:
            while (now := await service.running.service.get(ask.id)) is None or now.open:
                await follower.next_commit()
    assert now.status is Status.WITHDRAWN


@pytest.mark.rule("CONNECT-12")
async def test_a_dialog_that_people_cannot_be_asked_is_for_the_client(service: Served) -> None:
    unusable = {**SELECT, "options": ["Same", "Same"]}
    async with bridged(service.url, unusable) as talk:
        assert await talk.receive() == {"type": "extension_ui_request", **unusable}
        answer = {"type": "extension_ui_response", "id": "d1", "value": "Same"}
        talk.say(answer)
        assert await pi_read(talk) == answer
