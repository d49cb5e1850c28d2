"""Pictures in what an agent says of a tool call reach people as files of the ask."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback_agents.acp import image_blocks
from answerback_agents.acp.image_blocks import take_pictures
from tests.unit.bot.acp_support import Editor, permission, run_editor
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hook_support import value
from tests.unit.picture_samples import JPEG, PNG

pytestmark = pytest.mark.rule("FILE-42")


def picture(data: bytes, media_type: str = "image/png") -> Json:
    """A block of content that is a picture."""
    encoded = base64.b64encode(data).decode()
    inner = {"type": "image", "mimeType": media_type, "data": encoded}
    return {"type": "content", "content": inner}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.fixture
async def editor(service: Served) -> AsyncIterator[Editor]:
    async with run_editor(service.url) as made:
        yield made


async def test_pictures_larger_than_a_call_reach_people_as_files(
    service: Served, editor: Editor
) -> None:
    large = PNG + bytes(500_000)
    request = permission()
    request["params"]["toolCall"]["content"] = [picture(large), picture(JPEG, "image/jpeg")]
    await editor.prompt(request)
    assert await editor.next() == request, "the editor gets it byte for byte"
    ask = await service.newest()
    assert [(each.name, each.media_type, each.bytes) for each in ask.request.files] == [
        ("picture-1.png", "image/png", len(large)),
        ("picture-2.jpeg", "image/jpeg", len(JPEG)),
    ]
    assert len(json.dumps(ask.request.arguments)) < 2_000
    assert "picture-1.png, 500 kB" in str(ask.form.questions[0].context)
    await service.act(ask, **value("yes"))


async def test_a_picture_that_the_service_refuses_holds_up_no_prompt(
    service: Served, editor: Editor
) -> None:
    request = permission()
    request["params"]["toolCall"]["content"] = [picture(b""), picture(PNG)]
    await editor.prompt(request)
    await editor.next()
    ask = await service.newest()
    assert [each.name for each in ask.request.files] == ["picture-2.png"]
    assert "picture-1.png" in str(ask.form.questions[0].context)


ODD: dict[str, Any] = {
    "no content": None,
    "no list": "text",
    "no block": [7],
    "text": [{"type": "content", "content": {"type": "text", "text": "a"}}],
    "a link": [{"type": "content", "content": {"type": "image", "uri": "https://example.com"}}],
    "elsewhere": [{"type": "diff", "content": {"type": "image", "data": "AAAA"}}],
}


@pytest.mark.parametrize("content", ODD)
def test_anything_else_stays_as_it_is(content: str) -> None:
    call = {"toolCallId": "c", "content": ODD[content]}
    assert take_pictures(call) == (call, ())


def test_what_is_no_picture_or_too_much_is_said_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(image_blocks, "MAX_BYTES", 2 * len(PNG))
    broken = picture(PNG)
    broken["content"]["data"] = "?"
    blocks = [broken, *(picture(PNG) for _ in range(3)), picture(PNG, "../x")]
    call, files = take_pictures({"content": blocks})
    assert [each.name for each in files] == ["picture-1.png", "picture-2.png"]
    assert [each["content"]["data"] for each in call["content"]] == [
        "a picture of 1 characters, which is not base64",
        "picture-1.png, 1 kB",
        "picture-2.png, 1 kB",
        "a picture of 1 kB, which is too much to show",
        "a picture of 1 kB, which is too much to show",
    ]


def test_no_more_files_are_taken_than_an_ask_may_have() -> None:
    _, files = take_pictures({"content": [picture(PNG) for _ in range(12)]})
    assert len(files) == 10
