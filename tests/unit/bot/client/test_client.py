"""The client against the real service: answers, errors as types, and waits that outlive either side."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

import answerback_client
from answerback.cli.export import command
from answerback.core.actions import Answer
from answerback.core.person import Person
from answerback.ports.surface import Actor
from answerback.runtime.config import ServerSettings
from answerback_client import (
    Ask,
    AsyncClient,
    Client,
    ClientError,
    EndedError,
    InvalidCallError,
    NotFoundError,
    Origin,
    RefusedError,
    StaleError,
    StillOpenError,
    UnauthorizedError,
    WebhookError,
    verify_webhook,
)
from answerback_webhooks.sender import signature_headers
from tests.ports import free_port
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.outbox_support import SECRET
from tests.unit.picture_samples import PNG

GO: dict[str, Any] = {"question": "Deploy?", "answer_type": "boolean"}


@pytest.mark.rule("CLIENT-1")
async def test_asking_returns_the_ended_ask_with_its_tool_result(
    service: Served, client: AsyncClient
) -> None:
    origin = {"folder": "/srv/shop"}
    asking = asyncio.create_task(
        client.ask("ask_user", GO, to="web", metadata={"n": 1}, origin=origin)
    )
    ask = await service.newest()
    await service.act(ask, action="answer", value=True)
    done = await asking
    assert (done.id, done.status, done.open) == (ask.id, "answered", False)
    assert done.tool_result is not None
    assert done.tool_result.structured == {"answer_type": "boolean", "answer": True}
    assert done.json["metadata"] == {"n": 1}
    assert done.url is not None
    assert done.url.startswith(f"{service.url}/a/{ask.id}.")
    assert done.by_person
    assert (done.headline, done.confirmed_by) == (GO["question"], ())
    assert done.origin == Origin(label="Assistant", project="shop", folder="/srv/shop")


async def test_a_default_at_a_deadline_is_not_a_persons_answer(
    service: Served, client: AsyncClient
) -> None:
    asked = await client.submit_body(
        {"name": "ask_user", "arguments": {**GO, "default": True}, "on_expiry": "defaults"}
    )
    assert not asked.by_person
    await service.running.service.expire(asked.id)
    done = await client.get(asked.id)
    assert done.status == "answered"
    assert not done.by_person


async def test_end_turn_has_no_tool_result_and_says_so(
    service: Served, client: AsyncClient
) -> None:
    asking = asyncio.create_task(client.ask("ask_user", GO))
    await service.act(await service.newest(), action="end_turn")
    done = await asking
    assert (done.status, done.end_turn, done.tool_result) == ("turn_ended", True, None)


async def test_a_wait_that_times_out_leaves_an_open_ask_to_wait_for_again(
    service: Served, client: AsyncClient
) -> None:
    with pytest.raises(StillOpenError) as over:
        await client.ask("ask_user", GO, timeout=2.0)  # enough to submit it
    ask = over.value.ask
    assert ask.open
    assert ask.prompt is not None
    waiting = asyncio.create_task(client.wait(ask.id))
    stored = await service.newest()
    await service.wait_for_waiters(stored)
    await service.act(stored, action="answer", value=False)
    assert (await waiting).answers == {"answer": False}


async def test_the_same_key_from_a_new_process_finds_the_first_ask(
    service: Served, client: AsyncClient
) -> None:
    first = await client.submit("ask_user", GO, key="toolu_1")
    async with AsyncClient(service.url) as restarted:
        asking = asyncio.create_task(restarted.ask("ask_user", GO, key="toolu_1"))
        await service.act(await service.newest(), action="answer", value=True)
        assert (await asking).id == first.id
    with pytest.raises(InvalidCallError, match="new key"):
        await client.submit("ask_user", {"question": "Other?"}, key="toolu_1")


@pytest.mark.rule("CLIENT-1")
async def test_a_waiting_client_survives_a_restart_of_the_service(
    tmp_path: Path,
) -> None:
    port = free_port()
    async with served(tmp_path, server=ServerSettings(port=port)) as first:
        client = AsyncClient(first.url, patience=WAIT)
        asking = asyncio.create_task(client.ask("ask_user", GO))
        ask = await first.newest()
        await first.wait_for_waiters(ask)
    assert not asking.done()
    async with served(tmp_path, server=ServerSettings(port=port)) as second:
        await second.wait_for_waiters(ask)
        await second.act(ask, action="answer", value=True)
        assert (await asking).id == ask.id
    await client.close()


async def test_refusals_have_their_own_error_types(service: Served, client: AsyncClient) -> None:
    with pytest.raises(InvalidCallError) as invalid:
        await client.ask("ask_user", {"questions": []})
    assert invalid.value.tool_result is not None
    assert "at least 1" in invalid.value.tool_result.content
    assert invalid.value.status == 422
    with pytest.raises(NotFoundError):
        await client.wait("ask_0")
    with pytest.raises(NotFoundError):
        await client.get("../healthz")
    with pytest.raises(RefusedError):
        await client.call("POST", "/healthz")
    ask = await client.submit("ask_user", GO)
    with pytest.raises(StaleError) as stale:
        await client.act(ask.id, {"action": "reply"}, revision=ask.revision + 1)
    assert stale.value.ask.id == ask.id
    with pytest.raises(InvalidCallError, match="Not an answer"):
        await client.act(ask.id, {"action": "answer", "value": "no boolean"})
    assert [one.id for one in await client.open_asks()] == [ask.id]
    with pytest.raises(RefusedError, match="nothing was erased") as conflict:
        await client.call("POST", f"/v1/asks/{ask.id}/erase")
    assert (type(conflict.value), conflict.value.status) == (RefusedError, 409)
    withdrawn = await client.withdraw(ask.id)
    assert withdrawn.status == "withdrawn"
    with pytest.raises(EndedError) as ended:
        await client.withdraw(ask.id)
    assert ended.value.ask.status == "withdrawn"
    with pytest.raises(EndedError):
        await client.act(ask.id, {"action": "reply"})


async def test_a_wrong_token_is_reported_at_once(tmp_path: Path) -> None:
    async with served(tmp_path, {"ci": "agent"}) as service:
        for token in (None, "ab_wrong"):
            async with AsyncClient(service.url, token) as client:
                with pytest.raises(UnauthorizedError):
                    await client.submit("ask_user", GO)
        async with AsyncClient(service.url, service.tokens["ci"]) as client:
            ask = await client.submit("ask_user", GO)
            with pytest.raises(UnauthorizedError):
                await client.act(ask.id, {"action": "answer", "value": True})


@pytest.mark.parametrize("url", ["nonsense", "ftp://example.com", "http://"])
async def test_an_invalid_address_is_explained(url: str) -> None:
    for token in (None, "ab_1"):
        async with AsyncClient(url, token, patience=0.1) as client:
            with pytest.raises(ClientError):
                await client.submit("ask_user", GO)


async def test_a_server_that_is_not_answerback_is_recognised() -> None:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<h1>Hello</h1>")

    async def other(_: web.Request) -> web.Response:
        return web.json_response({"hello": "world"})

    async def moved(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    app = web.Application()
    app.router.add_get("/v1/asks/page", page)
    app.router.add_get("/v1/asks/other", other)
    app.router.add_get("/v1/asks/moved", moved)
    async with TestServer(app) as server, AsyncClient(str(server.make_url(""))) as client:
        for ask_id in ("page", "other", "moved"):
            with pytest.raises(ClientError, match=r"not (from )?Answerback"):
                await client.get(ask_id)


async def test_server_errors_are_waited_out(service: Served) -> None:
    calls = 0
    ask_json: dict[str, Any] = {}

    async def flaky(_: web.Request) -> web.Response:
        nonlocal calls
        calls += 1
        if calls < 3:
            return web.Response(status=503, text="starting")
        return web.json_response(ask_json, status=201)

    async with AsyncClient(service.url) as real:
        ask_json = (await real.submit("ask_user", GO)).json
    app = web.Application()
    app.router.add_post("/v1/asks", flaky)
    async with (
        TestServer(app) as server,
        AsyncClient(str(server.make_url("")), patience=WAIT) as client,
    ):
        assert (await client.submit("ask_user", GO)).id == ask_json["id"]
    assert calls == 3


async def test_the_blocking_client_works_in_a_thread_and_next_to_a_running_loop(
    service: Served,
) -> None:
    gave_up = threading.Event()

    def work() -> tuple[Ask, Ask, Ask]:
        with Client(service.url, patience=1.0) as client:
            with pytest.raises(StillOpenError) as over:
                client.ask("ask_user", GO, timeout=2.0)  # enough to submit it
            ask = client.get(over.value.ask.id)
            gave_up.set()
            done = client.wait(ask.id, timeout=WAIT)
            with pytest.raises(EndedError):
                client.add_context(ask.id, "Too late.")
            other = client.withdraw(client.submit("ask_user", GO).id)
        client.close()
        return ask, done, other

    working = asyncio.create_task(asyncio.to_thread(work))
    ask = await service.newest()
    await asyncio.to_thread(gave_up.wait, WAIT)
    await service.act(ask, action="answer", value=True)
    first, done, withdrawn = await working
    assert first.open
    assert (done.id, done.status) == (ask.id, "answered")
    assert withdrawn.status == "withdrawn"


async def test_the_blocking_client_acts_too_and_has_every_method(service: Served) -> None:
    methods = {name for name in vars(AsyncClient) if not name.startswith("_")}
    assert {"act", "call"} <= methods - {"submit_body"} <= set(vars(Client))

    def act() -> None:
        with Client(service.url) as agent, Client(service.url, service.key) as person:
            asked = agent.submit("ask_user", GO)
            assert [ask.id for ask in agent.open_asks()] == [asked.id]
            person.act(asked.id, {"action": "answer", "value": True}, revision=1)
            assert agent.call("GET", f"/v1/asks/{asked.id}")["status"] == "answered"
            with pytest.raises(InvalidCallError):
                person.retry(asked.id)

    await asyncio.to_thread(act)


@pytest.mark.rule("CLIENT-2")
def test_a_signed_body_that_is_not_our_event_is_refused() -> None:
    for body in ('{"type":"x"}', "[]", '{"type":"x","data":{"id":1}}'):
        headers = signature_headers("msg_1", body, time.time(), [SECRET])
        with pytest.raises(WebhookError, match="not from Answerback"):
            verify_webhook(body, headers, [SECRET])
    with pytest.raises(WebhookError, match="five minutes"):
        verify_webhook("{}", signature_headers("msg_1", "{}", time.time() - 600, [SECRET]), SECRET)
    with pytest.raises(WebhookError):
        verify_webhook("{}", {}, SECRET)


@pytest.mark.rule("CLIENT-4")
def test_the_package_exports_these_names_and_no_others() -> None:
    exported = [
        "Answers",
        "Ask",
        "AskedBackError",
        "AsyncClient",
        "Client",
        "ClientError",
        "EndedError",
        "Envelope",
        "Event",
        "InvalidCallError",
        "NotFoundError",
        "Origin",
        "RefusedError",
        "Retry",
        "StaleError",
        "StillOpenError",
        "TooManyAsksError",
        "ToolResult",
        "UnauthorizedError",
        "UnreachableError",
        "WebhookError",
        "verify_webhook",
    ]
    assert answerback_client.__all__ == exported
    assert dir(answerback_client) == exported
    for name in exported:
        assert getattr(answerback_client, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Conection'"):
        answerback_client.Conection  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.rule("CLIENT-4")
def test_a_program_that_has_to_start_fast_imports_neither_aiohttp_nor_pydantic() -> None:
    code = "import sys, answerback_client.blocking_connection; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert {"answerback_client.blocking_connection"} <= {*loaded}
    assert {"aiohttp", "pydantic", "asyncio", "typing_extensions"}.isdisjoint(loaded)


async def test_a_given_session_is_used_and_left_open(service: Served) -> None:
    async with aiohttp.ClientSession() as http:
        async with AsyncClient(service.url, http=http) as client:
            ask = await client.submit("ask_user", GO)
        assert not http.closed
        async with AsyncClient(service.url, http=http) as client:
            assert (await client.get(ask.id)).open


async def test_a_wait_of_zero_seconds_returns_the_current_state(client: AsyncClient) -> None:
    ask = await client.submit("ask_user", GO)
    with pytest.raises(StillOpenError):
        await client.wait(ask.id, timeout=0)
    await client.withdraw(ask.id)
    assert (await client.wait(ask.id, timeout=0)).status == "withdrawn"


@pytest.mark.usefixtures("signals")
def test_ctrl_c_cancels_the_blocking_clients_call_and_it_can_be_closed() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a program of its own
    hung_up: list[bytes] = []

    def interrupt() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65_536)  # the call is running, and never answered
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            hung_up.append(connection.recv(1))

    with socket.create_server(("127.0.0.1", 0)) as server:
        person = threading.Thread(target=interrupt)
        person.start()
        client = Client(f"http://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(KeyboardInterrupt):
            client.get("ask_1")
        person.join(WAIT)
        client.close()
    assert hung_up == [b""]


def test_calls_in_other_threads_fail_once_the_blocking_client_is_closed() -> None:
    failed = threading.Event()

    def wait(blocking: Client) -> None:
        with pytest.raises(ClientError, match="closed"):
            blocking.wait("ask_1")
        failed.set()

    with socket.create_server(("127.0.0.1", 0)) as server:
        client = Client(f"http://127.0.0.1:{server.getsockname()[1]}")
        threading.Thread(target=wait, args=[client], daemon=True).start()
        connection, _ = server.accept()
        with connection:
            connection.recv(65_536)  # the call is running, and never answered
            client.close()
            assert failed.wait(WAIT)


def test_a_blocking_client_that_is_closed_says_so() -> None:
    client = Client("http://127.0.0.1:1")
    client.close()
    client.close()
    with pytest.raises(ClientError, match="is closed"):
        client.wait("ask_1")


@pytest.mark.rule("FILE-10")
async def test_an_ask_shows_files_that_the_client_uploads(service: Served, tmp_path: Path) -> None:
    path = tmp_path / "before.png"
    path.write_bytes(PNG)
    async with AsyncClient(service.url) as answerback:
        uploaded = await answerback.upload(b"x,y", name="times.csv", alt="The times")
        ask = await answerback.submit("ask_user", GO, to="web", files=[path, uploaded], key="k")
        assert [(each["name"], each["alt"]) for each in ask.files] == [
            ("before.png", None),
            ("times.csv", "The times"),
        ]
        assert await answerback.file(str(ask.files[0]["id"])) == PNG
        assert await answerback.file(str(ask.files[1]["id"])) == b"x,y"
        again = await answerback.submit(
            "ask_user", GO, to="web", files=[str(path), uploaded], key="k"
        )
        assert again.id == ask.id
        with pytest.raises(NotFoundError):
            await answerback.file("file_none")
        with pytest.raises(RefusedError, match="10 MiB"):
            await answerback.upload(b"x" * (10 * 1024 * 1024 + 1))
        with pytest.raises(FileNotFoundError):
            await answerback.submit("ask_user", GO, to="web", files=[tmp_path / "none.png"])


@pytest.mark.rule("FILE-40")
async def test_pictures_of_a_folder_that_a_question_shows_are_uploaded(
    service: Served, tmp_path: Path
) -> None:
    (tmp_path / "shots").mkdir()
    (tmp_path / "shots" / "before.png").write_bytes(PNG)
    call = {**GO, "context": "![Before](shots/before.png) ![No](shots/none.png)"}
    to_us: Any = {"to": "web", "responders": ["web:operator"]}
    async with AsyncClient(service.url) as answerback:
        ask = await answerback.submit("ask_user", call, folder=tmp_path, key="k", **to_us)
        [file] = ask.files
        assert (file["name"], file["alt"]) == ("shots-before.png", "shots/before.png, 1 kB")
        assert await answerback.file(str(file["id"])) == PNG
        again = await answerback.submit("ask_user", call, folder=tmp_path, key="k", **to_us)
        assert again.id == ask.id
        assert (await answerback.submit("ask_user", call, **to_us)).files == ()


@pytest.mark.rule("FILE-40")
async def test_a_permission_prompt_shows_no_picture_of_a_folder(
    service: Served, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    call: Any = {"tool_name": "Note", "tool_input": {"context": "![x](a.png)"}}
    async with AsyncClient(service.url) as answerback:
        with pytest.raises(InvalidCallError) as refused:
            await answerback.submit("PermissionRequest", call, dialect="approval", folder=tmp_path)
        assert "shows no pictures of the agent's folder" in str(refused.value.explanation)
        ask = await answerback.submit("PermissionRequest", call, dialect="approval")
        assert ask.files == ()


@pytest.mark.rule("FILE-10")
async def test_an_export_saves_the_files_below_their_asks(
    service: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with AsyncClient(service.url) as answerback:
        sent = await answerback.upload(PNG, name="../before.png")
        ask = await answerback.submit("ask_user", GO, to="web", files=[sent])
    config = tmp_path / "answerback.toml"
    config.write_text("")
    export = partial(command, files=tmp_path / "out", url=service.url, config=config)
    await asyncio.to_thread(export)
    assert '"end"' in capsys.readouterr().out
    [saved] = (tmp_path / "out").rglob("*.png")
    assert saved == tmp_path / "out" / ask.id / f"{sent['id']}-before.png"
    assert saved.read_bytes() == PNG


@pytest.mark.rule("FILE-17", "FILE-10")
async def test_what_people_sent_is_fetched_and_exported_like_what_agents_send(
    service: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    running, ada = service.running.service, Person(surface="web", user_id="ada")
    async with AsyncClient(service.url) as answerback:
        form: Any = {"questions": [{"id": "why", "text": "Why?", "answer_type": "text"}]}
        ask = await answerback.submit("ask_user", form, to="web")
        file = await running.people_files.take("photo.png", PNG, ada)
        await running.act(ask.id, Answer(value="See", files=(file,)), Actor(ada))
        ask = await answerback.get(ask.id)
        [sent] = ask.answer_files
        assert (sent["name"], sent["question_id"], sent["id"]) == ("photo.png", "why", file.id)
        assert await answerback.file(file.id) == PNG
    config = tmp_path / "answerback.toml"
    config.write_text("")
    await asyncio.to_thread(
        partial(command, files=tmp_path / "out", url=service.url, config=config)
    )
    capsys.readouterr()
    [saved] = (tmp_path / "out").rglob("*.png")
    assert saved.read_bytes() == PNG
