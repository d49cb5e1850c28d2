"""``serve`` and ``demo`` as people run them: how they start, what they print, and how they end."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import socket
from pathlib import Path

import aiohttp
import pytest

from answerback.ports.person_key import hash_of
from tests import postgres
from tests.acceptance.forked_process import forked
from tests.acceptance.process import PATIENCE, command, run, serving
from tests.person_keys import read_person_key
from tests.unit.adapters.web.reader import reader

pytestmark = pytest.mark.acceptance

FORM = {"questions": [{"id": "apply", "text": "Apply?", "answer_type": "boolean"}]}


@pytest.mark.rule("WAIT-4", "CLI-1")
async def test_serve_stops_at_once_and_cleanly_while_callers_wait(tmp_path: Path) -> None:
    async with serving(tmp_path) as (process, url), aiohttp.ClientSession(url) as http:
        async with http.post("/v1/asks", json={"name": "ask_user", "arguments": FORM}) as response:
            ask = await response.json()
        waits = [
            asyncio.ensure_future(http.get(f"/v1/asks/{ask['id']}", headers={"Prefer": "wait=300"}))
            for _ in range(20)
        ]
        stream = await http.get(f"/v1/asks/{ask['id']}/events")
        await stream.content.readline()
        await wait_for_callers(http, 21)
        process.signal(signal.SIGTERM)
        for response in await asyncio.gather(*waits):
            assert response.status == 202
            assert await response.json() == ask
        await stream.read()
        code, _, err = await process.ended()
    assert code == 0
    assert "Traceback" not in err
    assert "error" not in err.lower()


@pytest.mark.rule("DATA-5", "CLI-1")
@pytest.mark.parametrize(
    ("user", "spoil", "sentence"),
    [
        (
            "nobody",
            None,
            "the server rejects the user or the password. Check both in `storage.url`",
        ),
        (f"{postgres.GUARDED}:right", None, "the role lacks a privilege. Grant it"),
        (
            postgres.USER,
            "CREATE TABLE answerback_migrations AS SELECT 'tomorrow' AS name",
            "was written by a newer Answerback than this one",
        ),
    ],
)
async def test_serve_ends_with_one_sentence_if_its_database_cannot_be_used(
    postgres_server: postgres.Server, tmp_path: Path, user: str, spoil: str | None, sentence: str
) -> None:
    with postgres_server.database() as name:
        if spoil is not None:
            postgres_server.run(spoil, name)
        variables = {"ANSWERBACK_STORAGE__URL": postgres_server.url(name, user=user)}
        variables["ANSWERBACK_SERVER__PORT"] = "0"
        async with command("serve", folder=tmp_path, environment=variables) as process:
            code, out, err = await process.ended()
    assert (code, out) == (1, "")
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert "right" not in err


@pytest.mark.rule("CLI-1")
async def test_serve_says_that_other_machines_can_reach_it(tmp_path: Path) -> None:
    environment = {
        "ANSWERBACK_SERVER__HOST": "0.0.0.0",
        "ANSWERBACK_AGENTS__CI__TOKEN_HASH": hash_of("ci"),
    }
    async with serving(tmp_path, environment) as (process, url):
        assert url.startswith("http://127.0.0.1:")
        assert await process.line() == "and on every other address of this machine"


async def wait_for_callers(http: aiohttp.ClientSession, count: int) -> None:
    """Return once the given number of callers wait, which only the metric shows from outside."""
    async with asyncio.timeout(PATIENCE):
        while True:
            async with http.get("/metrics") as response:
                if f"answerback_waiters {count}.0" in await response.text():
                    return
            await asyncio.sleep(0.02)


@pytest.mark.rule("AUTH-9")
@pytest.mark.parametrize("stream", ["stdout", "stderr", "neither"])
async def test_serve_prints_the_link_with_the_key_once_and_only_on_a_terminal(
    tmp_path: Path, stream: str
) -> None:
    master, slave = pty.openpty()
    files = {name: (tmp_path / name).open("wb") for name in ("stdout", "stderr")}
    child = await forked(
        "serve",
        folder=tmp_path,
        environment={"ANSWERBACK_SERVER__PORT": "0"},
        stdout=slave if stream == "stdout" else files["stdout"].fileno(),
        stderr=slave if stream == "stderr" else files["stderr"].fileno(),
    )
    os.close(slave)
    shown = b""
    try:
        async with asyncio.timeout(PATIENCE):
            while b"?key=" not in shown and stream != "neither":
                shown += await asyncio.to_thread(os.read, master, 4_096)
            while b"listening on" not in shown + (tmp_path / "stdout").read_bytes():  # noqa: ASYNC110 - a file signals nobody
                await asyncio.sleep(0.02)
        key = read_person_key(tmp_path)
        link = re.findall(rf"http://127\.0\.0\.1:\d+/\?key={key}", shown.decode())
        assert len(link) == (stream != "neither")
        for url in link:
            async with aiohttp.ClientSession() as http, http.get(url) as response:
                assert "Nothing is waiting" in await response.text()
    finally:
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
        os.close(master)
        for file in files.values():
            file.close()
    assert key not in (tmp_path / "stdout").read_text() + (tmp_path / "stderr").read_text()


@pytest.mark.rule("CLI-12")
async def test_serve_reports_a_port_in_use_in_words(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, out, err = await run(
            "serve", folder=tmp_path, environment={"ANSWERBACK_SERVER__PORT": port}
        )
    assert (code, out) == (1, "")
    assert f"Port {port} on 127.0.0.1 is in use" in err
    assert "Traceback" not in err


@pytest.mark.rule("AUTH-5", "CLI-12")
@pytest.mark.parametrize(
    ("environment", "text"),
    [
        ({"ANSWERBACK_SERVER__HOST": "0.0.0.0"}, "answerback token create"),
        ({"ANSWERBACK_SERVER__PROT": "1"}, "did you mean server.port?"),
        ({"ANSWERBACK_STORAGE__URL": "sqlite:///no/such/folder/x.db"}, "there is no directory"),
        ({"ANSWERBACK_DEFAULT_ROUTE": "pager"}, "default_route"),
        ({"ANSWERBACK_ROUTES__A__TO": "pager:1"}, "routes.a.to"),
    ],
)
async def test_serve_with_an_invalid_configuration_says_what_to_do(
    tmp_path: Path, environment: dict[str, str], text: str
) -> None:
    settings = {"ANSWERBACK_SERVER__PORT": "0", **environment}
    code, out, err = await run("serve", folder=tmp_path, environment=settings)
    assert (code, out) == (1, "")
    assert text in " ".join(err.split())
    assert "Traceback" not in err


@pytest.mark.rule("CONFIG-5")
async def test_serve_check_reports_the_configuration_and_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(
        '[routes.deploys]\nto = "slack:C1"\n[slack]\nbot_token = "xoxb-s"\napp_token = "xapp-s"\n'
    )
    code, out, err = await run("serve", "--check", "--config", "my.toml", folder=tmp_path)
    assert (code, out) == (0, "")
    assert "The configuration is valid." in err
    assert "surfaces: web, slack (Socket Mode)" in err
    assert "routes: deploys; default web" in err
    assert "xoxb" not in err
    assert not (tmp_path / "answerback.db").exists()


@pytest.mark.rule("CONFIG-5")
async def test_serve_check_fails_where_serve_would_fail(tmp_path: Path) -> None:
    (tmp_path / "answerback.toml").write_text("[serve]\nport = 1\n")
    code, _, err = await run("serve", "--check", folder=tmp_path)
    assert code == 1
    assert "did you mean server?" in err


# --- demo --------------------------------------------------------------------------------------------


@pytest.mark.rule("CLI-2")
async def test_the_demo_is_walked_on_its_page_and_ends_with_the_tool_result(tmp_path: Path) -> None:
    async with command("demo", "--no-browser", "--port", "0", folder=tmp_path) as process:
        page = await process.line()
        base = "http://" + page.split("/")[2]
        async with reader(base) as person:
            shown = await person.open(page.removeprefix(base))
            for do, entered in (
                ("yes", {}),
                ("answer", {"choice": "1"}),
                ("answer", {"text": "go"}),
            ):
                at = f"{page.rpartition('/')[0].removeprefix(base)}/{shown.action}"
                shown = await person.press(shown, at, do, entered)
                assert shown.status == 200
        code, out, err = await process.ended()
    assert code == 0
    assert json.loads(out)["structured"] == {"apply": True, "env": "production", "note": "go"}
    assert "The ask has ended: answered." in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_demo_ends_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    async with command("demo", "--no-browser", "--port", "0", folder=tmp_path) as process:
        await process.line()
        process.signal(number)
        code, out, err = await process.ended()
    assert (code, out) == (130, "")
    assert "Traceback" not in err


@pytest.mark.rule("DATA-14")
async def test_a_second_service_on_the_same_database_is_refused_whatever_path_names_it(
    tmp_path: Path,
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "answerback.db").symlink_to(tmp_path / "answerback.db")
    async with serving(tmp_path):
        for folder in (tmp_path, other):
            code, out, err = await run(
                "serve", folder=folder, environment={"ANSWERBACK_SERVER__PORT": "0"}
            )
            assert (code != 0, out) == (True, "")
            assert "Another Answerback is running on the database" in err
