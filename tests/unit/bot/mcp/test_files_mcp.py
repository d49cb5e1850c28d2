"""Files in the calls of the MCP tools: in the call itself, and from the folder of the session over standard input."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from answerback.core.actions import Answer, Reply
from answerback.core.ask import Ask
from answerback.mcp.stdio_relay import RelayOptions, build_relay
from answerback.ports.person_key import operator
from answerback.ports.surface import Actor
from answerback.service.submission_request import Route
from answerback_agents.pipe.saved_files import files_folder
from answerback_client.connection import ServiceConnection
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.mcp.test_mcp import client, relayed, text
from tests.unit.picture_samples import GIF, PNG

ROUTES = {
    "ops": Route(to="web", responders=("operator",)),
    "open": Route(to="web", responders="anyone"),
}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path, routes=ROUTES, default_route="ops") as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a session, with a picture and a file that only calls itself one."""
    made = tmp_path / "project"
    (made / "shots").mkdir(parents=True)
    (made / "shots" / "plot.png").write_bytes(PNG)
    (made / "secret.png").write_text("AWS_SECRET=1")
    return made


@asynccontextmanager
async def in_folder(service: Served, folder: Path) -> AsyncIterator[Client]:
    """A client of what `answerback mcp` runs in a folder."""
    connection = ServiceConnection(service.url, None)
    try:
        relay = build_relay(connection, RelayOptions(folder=folder))
        async with Client(relay) as made:
            yield made
    finally:
        await connection.close()


async def asked(mcp: Client, service: Served, **arguments: Any) -> Ask:
    """Ask, and answer yes; return what was asked."""
    call = {"question": "Better?", "answer_type": "boolean", **arguments}
    calling = asyncio.create_task(mcp.call_tool("ask_user", call))
    ask = await service.newest()
    await service.act(ask, action="answer", value=True)
    result = await calling
    assert not result.is_error, text(result)
    return ask


@pytest.mark.rule("FILE-41")
@pytest.mark.parametrize("way", [client, relayed], ids=["http", "stdio"])
async def test_a_call_brings_files(service: Served, way: Any) -> None:
    data = base64.b64encode(PNG).decode()
    files = [{"name": "plot.png", "data": data, "alt": "A plot"}]
    async with way(service if way is client else service.url) as mcp:
        ask = await asked(mcp, service, context="![Plot](file:plot.png)", files=files)
    [file] = ask.request.files
    assert (file.name, file.alt, (file.width, file.height)) == ("plot.png", "A plot", (1, 1))
    assert "files" not in ask.request.arguments


@pytest.mark.rule("FILE-41")
async def test_a_file_that_is_none_is_explained_to_the_model(service: Served) -> None:
    async with client(service) as mcp:
        call = {"question": "Better?", "answer_type": "boolean"}
        for files in ([{"name": "x.png", "data": "?"}], [{"id": "file_0"}], "x.png"):
            result = await mcp.call_tool("ask_user", {**call, "files": files})
            assert result.is_error
            assert "file" in text(result)


@pytest.mark.rule("FILE-40")
async def test_a_picture_of_the_folder_is_shown_where_the_context_says(
    service: Served, folder: Path
) -> None:
    async with in_folder(service, folder) as mcp:
        ask = await asked(mcp, service, context="Look:\n\n![Plot](shots/plot.png)")
    [file] = ask.request.files
    assert (file.name, file.media_type) == ("shots-plot.png", "image/png")
    assert file.alt == "shots/plot.png, 1 kB"
    [question] = ask.form.questions
    assert question.context == "Look:\n\n![Plot (shots/plot.png, 1 kB)](file:shots-plot.png)"
    async with service.http.get(f"{service.url}/v1/files/{file.id}") as response:
        assert await response.read() == PNG


@pytest.mark.rule("FILE-40")
async def test_what_is_no_picture_leaves_the_question_as_it_was(
    service: Served, folder: Path
) -> None:
    context = "![a](secret.png) ![b](../asks.db) ![c](https://example.com/c.png)"
    async with in_folder(service, folder) as mcp:
        ask = await asked(mcp, service, context=context)
    assert ask.request.files == ()
    assert ask.form.questions[0].context == context


@pytest.mark.rule("FILE-40")
async def test_where_anyone_may_answer_no_picture_of_the_folder_is_shown(
    service: Served, folder: Path
) -> None:
    data = base64.b64encode(PNG).decode()
    own = [{"name": "own.png", "data": data}]
    async with in_folder(service, folder) as mcp:
        ask = await asked(mcp, service, to="open", context="![Plot](shots/plot.png)", files=own)
    assert [each.name for each in ask.request.files] == ["own.png"]


@pytest.mark.rule("FILE-40")
async def test_a_picture_that_the_service_refuses_leaves_the_rest(
    service: Served, folder: Path
) -> None:
    (folder / "broken.png").write_bytes(PNG[:20])
    async with in_folder(service, folder) as mcp:
        ask = await asked(mcp, service, context="![a](broken.png) ![b](shots/plot.png)")
    assert [each.name for each in ask.request.files] == ["shots-plot.png"]
    assert str(ask.form.questions[0].context).startswith("![a](broken.png) ![b (")


@pytest.mark.rule("FILE-18")
@pytest.mark.parametrize("way", [client, relayed], ids=["http", "stdio"])
async def test_a_result_has_small_pictures_that_people_sent_and_names_the_other_files(
    service: Served, way: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    running, ada = service.running.service, operator("web")
    large = PNG + bytes(1_000_000)
    async with way(service if way is client else service.url) as mcp:
        call = {"question": "Why?", "answer_type": "text"}
        calling = asyncio.create_task(mcp.call_tool("ask_user", call))
        ask = await service.newest()
        files = [
            await running.people_files.take(name, data, ada)
            for name, data in (("photo.png", PNG), ("notes.txt", b"x"), ("big.gif", GIF + large))
        ]
        big = await running.people_files.take("big.bin", large[4:], ada)
        reply = Reply(text="See the photo", files=(*files, big))
        await running.act(ask.id, reply, Actor(ada))
        result = await calling
    said, named, *images = result.content
    assert "See the photo" in said.text
    places = [f"GET /v1/files/{each.id} returns it." for each in (*files, big)]
    if way is relayed:
        folder, names = files_folder(), (".png", ".txt", ".gif", ".bin")
        ids = (each.id for each in (*files, big))
        saved = [next(folder.glob(f"*/{i}{end}")) for i, end in zip(ids, names, strict=True)]
        places = [f"it is saved at {path}" for path in saved]
    assert named.text.splitlines() == [
        f'The user sent the file "{each.name}": {place}'
        for each, place in zip((*files, big), places, strict=True)
    ]
    assert [(each.type, each.mime_type, base64.b64decode(each.data)) for each in images] == [
        ("image", "image/png", PNG), ("image", "image/gif", GIF),
    ]  # fmt: skip


@pytest.mark.rule("FILE-18")
async def test_a_late_answer_names_its_files(service: Served) -> None:
    running, ada = service.running.service, operator("web")
    async with client(service) as mcp:
        call = {"question": "Why?", "answer_type": "text", "mode": "async"}
        await mcp.call_tool("ask_user", call)
        ask = await service.newest()
        file = await running.people_files.take("photo.png", PNG, ada)
        await running.act(ask.id, Answer(value="See", files=(file,)), Actor(ada))
        late = await mcp.call_tool("check_answers", {})
    assert f"GET /v1/files/{file.id}" in text(late)
