"""Exporting JSON lines through the API and the command, and erasing with the command."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from contextlib import nullcontext
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic import TypeAdapter
from typer.testing import CliRunner, Result

from answerback.api import export
from answerback.cli import erase
from answerback.core.ask import Ask
from answerback.core.errors import UnreadableRowError
from answerback.ports.store import Decision, Write
from answerback.ports.store_values import Delivery, push_queue
from answerback.service.ask_wire import AskBody
from answerback.service.record_wire import DeliveryBody, EntryBody
from answerback_agents.cli import main
from answerback_storage.sqlite.database import SqliteAsks
from tests.unit.bot.api.conftest import Json, Serve, Served
from tests.unit.bot.api.test_deliveries import SECRET, ended_ask


async def export_lines(
    api: Served, headers: dict[str, str] | None = None, **query: str
) -> list[Json]:
    """The lines of an export."""
    async with api.http.get("/v1/export", headers=headers, params=query) as response:
        assert (response.status, response.content_type) == (200, "application/x-ndjson")
        return [json.loads(line) for line in (await response.read()).splitlines()]


async def run_command(*arguments: str) -> Result:
    """Run a command in a thread, next to the service in this process."""
    return await asyncio.to_thread(CliRunner().invoke, main.app, list(arguments))


@pytest.mark.rule("API-19")
async def test_an_export_has_asks_with_their_records_and_deliveries_page_by_page(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "ASKS_PER_PAGE", 2)
    monkeypatch.setattr(export, "ROWS_PER_PAGE", 2)
    async with serve(callbacks=SECRET) as api:
        asks = [await ended_ask(api) for _ in range(5)]
        *lines, end = await export_lines(api)
        result = [
            TypeAdapter(AskBody).validate_python(one["ask"])
            for one in lines
            if one["type"] == "ask"
        ]
        assert [ask["id"] for ask in result] == [ask["id"] for ask in reversed(asks)]
        assert lines[0]["call"]["name"] == "ask_user"
        assert lines[0]["call"]["arguments"]["questions"][0]["id"] == "apply"
        entries = [one for one in lines if one["type"] == "entry"]
        assert {one["ask_id"] for one in entries} == {ask["id"] for ask in asks}
        for one in entries:
            TypeAdapter(EntryBody).validate_python(one["entry"])
        deliveries = [
            TypeAdapter(DeliveryBody).validate_python(one["delivery"])
            for one in lines
            if one["type"] == "delivery"
        ]
        assert len(deliveries) == 5
        counted = {"ask": 5, "entry": len(entries), "delivery": 5}
        assert end == {"type": "end", "lines": counted}
        assert "whsec_" not in repr(lines)


async def test_an_export_has_no_notifications(api: Served) -> None:
    asks, push = api.running.service.store.asks, push_queue("ask", "browser")
    address = "https://push.example/secret"
    row = Delivery("p", push, "push.send", address, "@ann", "{}", api.running.service.clock.now())

    def decide(ask: Ask | None) -> Decision[None]:
        assert ask is not None
        return Decision(Write(ask, deliveries=(row,)), None)

    await asks.change((await api.asked())["id"], decide)
    *lines, end = await export_lines(api)
    assert address not in repr(lines)
    assert end["lines"]["delivery"] == 0


@pytest.mark.rule("API-19", "AUTH-3")
async def test_an_agent_exports_its_own_asks_and_an_operator_everything(serve: Serve) -> None:
    async with serve(roles={"ci": "agent", "other": "agent", "console": "surface"}) as api:
        ask = await api.asked(headers=api.bearer("ci"))
        for headers, found in (
            (api.bearer("ci"), [ask["id"]]),
            (api.bearer("other"), []),
            (api.bearer("console"), [ask["id"]]),
            (api.person, [ask["id"]]),
        ):
            lines = await export_lines(api, headers)
            assert [one["ask"]["id"] for one in lines if one["type"] == "ask"] == found
        assert (await api.get("/v1/export"))[0] == 401


@pytest.mark.rule("API-19")
async def test_an_export_follows_the_changes(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "ROWS_PER_PAGE", 2)
    async with serve(roles={"ci": "agent", "other": "agent", "console": "surface"}) as api:
        first, second = [await api.asked(headers=api.bearer("ci")) for _ in range(2)]
        await api.asked(headers=api.bearer("other"))
        lines = await export_lines(api, api.bearer("ci"), since="")
        assert [one["ask"]["id"] for one in lines if one["type"] == "ask"] == [
            first["id"],
            second["id"],
        ]
        assert lines[-1]["lines"]["entry"] == 2
        cursor = lines[-1]["next"]
        await api.http.delete(f"/v1/asks/{first['id']}", headers=api.bearer("ci"))
        ask, *entries, end = await export_lines(api, api.bearer("console"), since=cursor)
        assert (ask["ask"]["id"], ask["ask"]["status"]) == (first["id"], "withdrawn")
        assert [one["entry"]["type"] for one in entries] == ["request", "response", "ended"]
        await api.http.post(f"/v1/asks/{first['id']}/erase", headers=api.bearer("console"))
        erased, *_, last = await export_lines(api, api.bearer("console"), since=end["next"])
        assert erased["ask"]["erased_at"] is not None
        assert await export_lines(api, api.bearer("console"), since=last["next"]) == [
            {"type": "end", "next": last["next"], "lines": {"ask": 0, "entry": 0, "delivery": 0}}
        ]
        status, problem = await api.get("/v1/export?since=nothing", **api.bearer("ci"))
        assert (status, "start over" in problem["detail"]) == (400, True)


@pytest.mark.rule("API-19", "DATA-12")
async def test_an_export_of_changes_skips_an_ask_that_cannot_be_read(
    api: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, other = await api.asked(), await api.asked()
    get = SqliteAsks.get

    async def read(asks: SqliteAsks, ask_id: str) -> Ask | None:
        if ask_id == broken["id"]:
            raise UnreadableRowError("This version cannot read it.")
        return await get(asks, ask_id)

    monkeypatch.setattr(SqliteAsks, "get", read)
    lines = await export_lines(api, api.person, since="")
    assert [one["ask"]["id"] for one in lines if one["type"] == "ask"] == [other["id"]]
    assert "is skipped" in caplog.text


@pytest.mark.rule("API-18", "API-19", "CLI-19")
async def test_the_commands_export_and_erase(api: Served, tmp_path: Path) -> None:
    ask, still_open = await api.asked(), await api.asked()
    await api.http.delete(f"/v1/asks/{ask['id']}")
    service = ("--url", api.running.api_url, "--token", api.person["Authorization"].split()[1])
    done = await run_command("export", *service)
    assert done.exit_code == 0
    assert json.loads(done.stdout.splitlines()[-1])["lines"]["ask"] == 2
    done = await run_command("export", "--since", "", *service)
    end = json.loads(done.stdout.splitlines()[-1])
    assert end["lines"]["ask"] == 2
    done = await run_command("export", "--since", end["next"], *service)
    assert json.loads(done.stdout)["lines"]["ask"] == 0
    done = await run_command("erase", ask["id"], *service)
    assert (done.exit_code, "Add --yes" in done.stderr) == (2, True)
    done = await run_command("erase", ask["id"], still_open["id"], "--yes", *service)
    assert done.exit_code == 1
    assert f"{ask['id']}: erased." in done.stderr
    assert f"{still_open['id']}: People can still answer it" in done.stderr
    assert (await api.get(f"/v1/asks/{ask['id']}"))[1]["erased_at"] is not None
    done = await run_command("erase", ask["id"], "--yes", *service)
    assert done.exit_code == 0


@pytest.mark.rule("FILE-10", "CLI-19")
@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("plan.pdf", "plan.pdf"),
        ("漢" * 96 + ".pdf", "漢" * 71 + ".pdf"),  # 72 would have 256 bytes with the id
        ("😀" * 100, "😀" * 54),
        ("a." + "漢" * 98, "a." + "漢" * 71),
    ],
    ids=["short", "long", "no ending", "long ending"],
)
async def test_an_exports_files_are_saved_whatever_their_names(
    api: Served, tmp_path: Path, name: str, saved: str
) -> None:
    data = b64encode(b"bytes").decode()
    ask = await api.asked(files=[{"name": name, "data": data}])
    [file] = ask["files"]
    assert file["name"] == name
    service = ("--url", api.running.api_url, "--token", api.person["Authorization"].split()[1])
    done = await run_command("export", "--files", str(tmp_path), *service)
    assert (done.exit_code, done.exception) == (0, None)
    [path] = (tmp_path / ask["id"]).iterdir()
    assert (path.name, path.read_bytes()) == (f"{file['id']}-{saved}", b"bytes")


@pytest.mark.rule("CLI-12")
async def test_an_export_says_which_file_it_could_not_save(api: Served, tmp_path: Path) -> None:
    ask = await api.asked(files=[{"name": "a.txt", "data": b64encode(b"bytes").decode()}])
    (tmp_path / ask["id"]).write_text("in the way")
    service = ("--url", api.running.api_url, "--token", api.person["Authorization"].split()[1])
    done = await run_command("export", "--files", str(tmp_path), *service)
    assert (done.exit_code, isinstance(done.exception, SystemExit)) == (1, True)
    assert f"Cannot write {tmp_path / ask['id']}/{ask['files'][0]['id']}-a.txt: " in done.stderr
    assert "export again" in done.stderr


async def test_the_commands_report_errors(serve: Serve, tmp_path: Path) -> None:
    start = "Start one with `answerback serve`, or name it with --url."
    nobody = ("--url", "http://127.0.0.1:1", "--token")
    for token in ("t", "abk_t"):
        done = await run_command("export", *nobody, token)
        assert (done.exit_code, done.stderr.endswith(f"{start}\n")) == (1, True)
        assert done.stderr.startswith("Cannot reach Answerback at http://127.0.0.1:1")
    done = await run_command("erase", "ask_1", "--yes", *nobody, "t")
    assert (done.exit_code, "http://127.0.0.1:1" in done.stderr) == (1, True)
    async with serve(roles={"ci": "agent"}) as api:
        done = await run_command("export", "--url", api.running.api_url, "--token", "wrong")
        assert (done.exit_code, "No agent has this token" in done.stderr) == (1, True)
        wrong = ("--url", api.running.api_url, "--token", "abk_wrong")
        done = await run_command("export", *wrong)
        assert (done.exit_code, "refused the export" in done.stderr) == (1, True)


@pytest.mark.rule("CLI-19")
@pytest.mark.parametrize("cut", [False, True])
async def test_an_interrupted_export_is_recognised(cut: bool) -> None:
    async def broken(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type": "ask"}\n')
        if cut and request.transport is not None:
            request.transport.close()
        return response

    app = web.Application()
    app.router.add_get("/v1/export", broken)
    async with TestServer(app) as server:
        done = await run_command("export", "--url", str(server.make_url("")), "--token", "abk_t")
    assert (done.exit_code, "incomplete" in done.stderr) == (1, True)


@pytest.mark.parametrize("confirmed", [True, False])
def test_erasing_is_confirmed_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, confirmed: bool
) -> None:
    asked: list[str] = []

    def confirm(question: str, *, err: bool) -> bool:
        asked.append(question)
        return err and confirmed

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", confirm)
    monkeypatch.setattr("answerback_agents.cli.api_client.call_service", lambda *_: [])
    with pytest.raises(SystemExit) if not confirmed else nullcontext():
        erase.command(["ask_1", "ask_2"], url="http://127.0.0.1:1", token="t")
    assert asked == ["Permanently erase what was written in 2 asks?"]


@pytest.mark.rule("CLI-18")
async def test_erasing_can_report_its_results_as_json(api: Served) -> None:
    ask, still_open = await api.asked(), await api.asked()
    await api.http.delete(f"/v1/asks/{ask['id']}")
    key = api.person["Authorization"].removeprefix("Bearer ")
    service = ("--yes", "--json", "--url", api.running.api_url, "--token", key)
    done = await run_command("erase", ask["id"], still_open["id"], *service)
    first, second = json.loads(done.stdout)
    assert first == {"id": ask["id"], "erased": True, "refused": None, "remains": []}
    assert (second["id"], second["erased"], done.exit_code) == (still_open["id"], False, 1)
