"""The commands as people run them: as child processes, with their output and exit codes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import tomllib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.acceptance.agents import eventually
from tests.acceptance.process import PATIENCE, Process, command, run, serving
from tests.person_keys import bearer, read_person_key
from tests.ports import free_port

pytestmark = [pytest.mark.acceptance, pytest.mark.asyncio(loop_scope="module")]

FORM = {"questions": [{"id": "apply", "text": "Apply?", "answer_type": "boolean", "default": True}]}
WRONG = {"questions": [{"id": "a", "text": "A?"}, {"id": "a", "text": "", "answer_type": "text"}]}


@dataclass(frozen=True)
class Service:
    """A running service that the module's tests share."""

    url: str
    http: aiohttp.ClientSession
    folder: Path

    async def newest(self, besides: set[str]) -> dict[str, Any]:
        """Return the ask that was created besides the known ones."""
        async with asyncio.timeout(PATIENCE):
            while True:
                async with self.http.get("/v1/asks?status=open") as response:
                    asks: list[dict[str, Any]] = (await response.json())["asks"]
                fresh = [ask for ask in asks if ask["id"] not in besides]
                if fresh:
                    return fresh[0]
                await asyncio.sleep(0.05)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "answerback.toml").write_text(
        '[inquiry]\nurl = "http://127.0.0.1:1/"\n[tools.ask_user.questions.fixed]\nanswer = 5\n'
    )
    async with (
        serving(folder) as (_, url),
        aiohttp.ClientSession(url, headers=bearer(folder)) as http,
    ):
        yield Service(url, http, folder)


def form(folder: Path, value: object) -> str:
    path = folder / "form.json"
    path.write_text(json.dumps(value))
    return str(path)


# --- key -------------------------------------------------------------------------------------------


async def status_of_action(service: Service, ask_id: str, key: str) -> int:
    path, headers = f"/v1/asks/{ask_id}/actions", {"Authorization": f"Bearer {key}"}
    async with service.http.post(path, json={"action": "end_turn"}, headers=headers) as response:
        return response.status


@pytest.mark.rule("CLI-9")
async def test_key_prints_the_key_alone_and_rotate_replaces_it_in_the_running_service(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as (process, url), aiohttp.ClientSession(url) as http:
        service = Service(url, http, tmp_path)
        async with http.post("/v1/asks", json={"name": "ask_user", "arguments": FORM}) as response:
            ask_id = (await response.json())["id"]
        code, out, err = await run("key", folder=tmp_path)
        old = read_person_key(tmp_path)
        assert (code, out, err) == (0, f"{old}\n", "")
        code, out, err = await run("key", "rotate", folder=tmp_path)
        new = read_person_key(tmp_path)
        assert (code, out) == (0, f"{new}\n")
        assert new != old
        assert old not in err
        assert await status_of_action(service, ask_id, old) == 401
        assert await status_of_action(service, ask_id, new) == 200
        process.signal(signal.SIGTERM)
        code, out, err = await process.ended()
    assert code == 0
    for key in (old, new):
        assert key not in out + err


@pytest.mark.parametrize("arguments", [("key",), ("key", "rotate")])
async def test_key_reports_that_no_service_ever_ran_here(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, out, err = await run(*arguments, folder=tmp_path)
    assert (code, out) == (1, "")
    assert f"There is no key at {tmp_path / 'answerback.db.key'}" in err
    assert list(tmp_path.iterdir()) == []


# --- ask -------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def asking(
    service: Service, folder: Path, *arguments: str, call: object = FORM
) -> AsyncIterator[tuple[Process, dict[str, Any]]]:
    async with service.http.get("/v1/asks") as response:
        known = {ask["id"] for ask in (await response.json())["asks"]}
    async with command(
        "ask", form(folder, call), "--url", service.url, *arguments, folder=folder
    ) as process:
        yield process, await service.newest(known)


@pytest.mark.rule("CLI-3")
@pytest.mark.parametrize(
    ("action", "code", "output"),
    [
        ({"action": "answer", "value": True}, 0, '"apply": true'),
        ({"action": "reply", "text": "later"}, 3, '"reply": "later"'),
        ({"action": "end_turn"}, 4, "null"),
    ],
)
async def test_ask_prints_the_tool_result_and_its_exit_status_says_how_the_ask_ended(
    service: Service, tmp_path: Path, action: dict[str, Any], code: int, output: str
) -> None:
    async with asking(service, tmp_path) as (process, ask):
        async with service.http.post(f"/v1/asks/{ask['id']}/actions", json=action) as response:
            assert response.status == 200
        exit_code, out, err = await process.ended()
    assert exit_code == code
    assert output in out
    result = json.loads(out)
    assert result is None or result.keys() == {"content", "structured", "is_error"}
    assert ask["id"] in err
    assert ask["thread"]["url"] in err


@pytest.mark.rule("CLI-3")
async def test_ask_exits_with_6_when_the_ask_is_withdrawn(service: Service, tmp_path: Path) -> None:
    async with asking(service, tmp_path) as (process, ask):
        async with service.http.delete(f"/v1/asks/{ask['id']}") as response:
            assert response.status == 200
        code, out, _ = await process.ended()
    assert code == 6
    assert json.loads(out)["structured"]["reason"] == "withdrawn"


@pytest.mark.rule("CLI-3")
async def test_ask_exits_with_5_when_nobody_answers_in_time(
    service: Service, tmp_path: Path
) -> None:
    call = {"name": "ask_user", "arguments": FORM, "expires_in": 0.2}
    code, out, _ = await run("ask", form(tmp_path, call), "--url", service.url, folder=tmp_path)
    assert code == 5
    assert json.loads(out)["structured"]["reason"] == "expired"


@pytest.mark.rule("CLI-3")
async def test_ask_exits_with_7_when_it_cannot_be_asked(service: Service, tmp_path: Path) -> None:
    fixed = {"questions": [{"id": "fixed", "text": "F?", "answer_type": "boolean"}]}
    code, out, _ = await run("ask", form(tmp_path, fixed), "--url", service.url, folder=tmp_path)
    assert code == 7
    assert json.loads(out)["is_error"]
    assert "tools.ask_user.questions.fixed" in out


@pytest.mark.rule("CLI-3")
async def test_ask_exits_with_2_and_prints_every_mistake_when_the_form_is_invalid(
    service: Service, tmp_path: Path
) -> None:
    code, out, err = await run("ask", form(tmp_path, WRONG), "--url", service.url, folder=tmp_path)
    assert code == 2
    pointers = ["/questions/0/answer_type", "/questions/1/id", "/questions/1/text"]
    assert [one["pointer"] for one in json.loads(out)["structured"]["errors"]] == pointers
    assert all(pointer in err for pointer in pointers)


async def test_ask_leaves_the_ask_open_when_its_wait_is_over(
    service: Service, tmp_path: Path
) -> None:
    async with asking(service, tmp_path, "--wait", "1") as (process, ask):
        code, out, err = await process.ended()
    assert (code, out) == (8, "")
    assert f"{ask['id']} stays open" in err


async def test_ask_reads_a_form_from_standard_input_and_prints_only_the_content(
    service: Service, tmp_path: Path
) -> None:
    async with asking(service, tmp_path, "--content", "--to", "web") as (process, ask):
        action = {"action": "answer", "value": False}
        async with service.http.post(f"/v1/asks/{ask['id']}/actions", json=action):
            pass
        code, out, _ = await process.ended()
    assert (code, json.loads(out)) == (0, {"apply": False})


async def test_an_interrupted_ask_says_that_the_ask_stays_open(
    service: Service, tmp_path: Path
) -> None:
    async with asking(service, tmp_path) as (process, ask):
        assert process.child.stderr is not None
        assert f"{ask['id']}: asked at" in (await process.child.stderr.readline()).decode()
        process.signal(signal.SIGINT)
        code, _, err = await process.ended()
    assert code == 130
    assert f"{ask['id']} stays open" in err
    assert "Traceback" not in err


async def test_ask_keeps_waiting_across_a_restart_of_the_service(tmp_path: Path) -> None:
    port = free_port()
    environment = {"ANSWERBACK_SERVER__PORT": str(port)}
    async with (
        serving(tmp_path, environment) as (first, url),
        aiohttp.ClientSession(url, headers=bearer(tmp_path)) as http,
    ):
        service = Service(url, http, tmp_path)
        async with asking(service, tmp_path) as (asker, ask):
            assert asker.child.stderr is not None
            assert b"asked at" in await asker.child.stderr.readline()
            first.signal(signal.SIGKILL)
            await first.ended()
            async with serving(tmp_path, environment):
                action = {"action": "answer", "value": True}
                async with http.post(f"/v1/asks/{ask['id']}/actions", json=action) as response:
                    assert response.status == 200
                code, out, _ = await asker.ended()
    assert (code, json.loads(out)["structured"]) == (0, {"apply": True})


@pytest.mark.rule("CLI-12")
@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("http://127.0.0.1:1", "Cannot reach Answerback at http://127.0.0.1:1"),
        ("nonsense", "nonsense is not a valid Answerback address"),
    ],
)
async def test_ask_without_a_service_says_how_to_start_one(
    tmp_path: Path, url: str, text: str
) -> None:
    code, out, err = await run("ask", form(tmp_path, FORM), "--url", url, folder=tmp_path)
    assert (code, out) == (1, "")
    assert text in err
    assert "Traceback" not in err


# --- serve, demo -------------------------------------------------------------------------------------


@pytest.mark.rule("CLI-1")
async def test_serve_prints_the_public_listeners_address_and_stops_on_sigterm(
    tmp_path: Path,
) -> None:
    _, out, _ = await run("token", "create", "ci", folder=tmp_path)
    (tmp_path / "answerback.toml").write_text(out.partition("\n")[2])
    async with serving(tmp_path, {"ANSWERBACK_PUBLIC__PORT": "0"}) as (process, url):
        public = (await process.line()).removeprefix("public on ")
        async with aiohttp.ClientSession() as http:
            for base, status in ((url, 200), (public, 404)):
                async with http.get(f"{base}/healthz") as response:
                    assert response.status == status
        process.signal(signal.SIGTERM)
        code, _, _ = await process.ended()
    assert code == 0


async def test_the_demo_opens_its_page_in_the_browser_and_can_be_interrupted(
    tmp_path: Path,
) -> None:
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.new && mv {opened}.new {opened}\n')
    browser.chmod(0o755)
    environment = {"DISPLAY": ":0", "BROWSER": f"{browser} %s"}
    async with command("demo", "--port", "0", folder=tmp_path, environment=environment) as process:
        address = await process.line()

        async def seen() -> bool:
            return opened.exists()

        await eventually(seen)
        process.signal(signal.SIGINT)
        code, out, err = await process.ended()
    assert opened.read_text() == address
    assert (code, out) == (130, "")
    assert "Traceback" not in err


async def test_the_reader_of_the_output_may_close_the_pipe(tmp_path: Path) -> None:
    async with command("manifest", "slack", folder=tmp_path) as process:
        assert process.child.stdout is not None
        process.child.stdout._transport.close()  # type: ignore[attr-defined] # the read end of its pipe
        code, _, err = await process.ended()
    assert (code, err) == (1, "")


# --- check, token, help ------------------------------------------------------------------------------


@pytest.mark.rule("CLI-5")
async def test_check_accepts_a_form_and_names_its_dialect(tmp_path: Path) -> None:
    code, out, err = await run("check", form(tmp_path, FORM), folder=tmp_path)
    assert (code, out) == (0, "")
    assert "is valid: 1 question, dialect ask_user" in err


@pytest.mark.rule("CLI-5")
async def test_check_names_every_mistake_with_its_pointer(tmp_path: Path) -> None:
    code, out, err = await run("check", form(tmp_path, WRONG), folder=tmp_path)
    assert code == 2
    assert [line.split(": ")[:2] for line in out.splitlines()] == [
        ["/questions/0/answer_type", "required"],
        ["/questions/1/id", "duplicate_id"],
        ["/questions/1/text", "empty"],
    ]
    assert "3 errors" in err


@pytest.mark.rule("CLI-12")
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('{"questions": [', "line 1, column 16"),
        ("[1]", "is not a JSON object"),
        ("x" * 300_000, "larger than 256 KiB"),
    ],
)
async def test_check_says_why_a_file_is_not_a_form(tmp_path: Path, content: str, text: str) -> None:
    (tmp_path / "form.json").write_text(content)
    code, _, err = await run("check", "form.json", folder=tmp_path)
    assert code == 2
    assert text in " ".join(err.split())


@pytest.mark.rule("CLI-12")
async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    code, _, err = await run("check", "nowhere.json", folder=tmp_path)
    assert code == 2
    assert "Cannot read nowhere.json" in err


@pytest.mark.rule("CLI-9")
async def test_a_newly_created_token_is_accepted_by_the_service(tmp_path: Path) -> None:
    code, out, _ = await run("token", "create", "ci", folder=tmp_path)
    assert code == 0
    token, _, toml = out.partition("\n")
    assert tomllib.loads(toml)["agents"]["ci"]["role"] == "agent"
    assert token not in toml
    (tmp_path / "answerback.toml").write_text(toml)
    async with serving(tmp_path) as (process, url), aiohttp.ClientSession(url) as http:
        async with http.get("/v1/asks") as response:
            assert response.status == 401
        headers = {"Authorization": f"Bearer {token}"}
        async with http.get("/v1/asks", headers=headers) as response:
            assert response.status == 200
        wrong = await run(
            *("ask", form(tmp_path, FORM), "--url", url, "--token", "ab_no"), folder=tmp_path
        )
        assert wrong[0] == 1
        assert "No agent has this token" in " ".join(wrong[2].split())
        process.signal(signal.SIGTERM)
        _, _, err = await process.ended()
    assert token not in err


async def test_a_token_for_an_invalid_name_is_refused(tmp_path: Path) -> None:
    code, _, err = await run("token", "create", "no name", folder=tmp_path)
    assert code == 2
    assert "is not a valid agent name" in err
