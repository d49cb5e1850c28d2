"""`answerback connect --sign-in`, and the operator's list and removal of what people have connected."""

from __future__ import annotations

import asyncio
import json
import platform
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from typer.testing import CliRunner, Result

from answerback_agents.cli import main, sign_in
from answerback_teams import oauth, sign_ins
from tests.fakes.receiver import WAIT
from tests.unit.bot.api.conftest import Json, Serve
from tests.unit.bot.api.test_oauth import anns_key, connect, onboarding, page, post

__all__ = ["anns_key"]


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, main.app, arguments)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and polls that follow each other closely."""
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for module in (oauth, sign_ins):
        monkeypatch.setattr(module, "INTERVAL", 0.01)
    monkeypatch.setattr(sign_in, "SLOWER", 0.01)
    monkeypatch.setattr(platform, "node", lambda: "Ann's laptop…")
    monkeypatch.delenv("ANSWERBACK_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
async def said(monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[str]:
    """The lines of the command, as it prints them."""
    lines: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(
        sign_in, "say", lambda line: loop.call_soon_threadsafe(lines.put_nowait, line)
    )
    return lines


@pytest.mark.rule("ONBOARD-12")
async def test_a_person_connects_their_agent_and_its_token_is_theirs_alone(
    serve: Serve, anns_key: str, said: asyncio.Queue[str], home: Path
) -> None:
    async with onboarding(serve) as api, asyncio.timeout(WAIT):
        url = api.running.api_url
        running = asyncio.create_task(
            run("connect", "claude", "--sign-in", "--yes", "--url", f"{url}/")
        )
        assert await said.get() == (
            f"Open {url}/device where you are signed in, and type this code:"
        )
        code = (await said.get()).strip()
        assert await said.get() == f"Or type in a chat with Answerback: /answerback connect {code}"
        address = await page(api, anns_key)
        shown = await post(api, address, do="look_up", code=code)
        assert "It says it runs on “Ann-s laptop”." in shown
        sign_in_id = shown.partition('name="id" value="')[2].partition('"')[0]
        await post(api, address, do="approve", id=sign_in_id)
        done = await running
        assert done.exit_code == 0, done.output
        (file,) = (home / "XDG_STATE_HOME" / "answerback").iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert f". {file}" in done.output
        export, _, token = file.read_text().strip().partition("=")
        assert export == "export ANSWERBACK_TOKEN"
        assert token not in done.output
        settings = (home / "CLAUDE_CONFIG_DIR" / "settings.json").read_text()
        assert "hook claude" in settings, "the command reads the variable"
        assert token not in settings
        api.tokens["hers"] = token
        await api.asked(to="team", headers=api.bearer("hers"))


@pytest.mark.rule("ONBOARD-12")
@pytest.mark.parametrize("more", ["--print", "--remove"])
async def test_signing_in_goes_with_connecting_alone(more: str) -> None:
    done = await run("connect", "claude", "--sign-in", more)
    assert done.exit_code == 2
    assert "--sign-in goes with neither" in done.output


@pytest.mark.rule("ONBOARD-12")
async def test_a_token_never_travels_in_the_clear(home: Path) -> None:
    done = await run("connect", "claude", "--sign-in", "--yes", "--url", "http://ask.example.com")
    assert done.exit_code == 2
    assert "is not encrypted" in done.output
    assert "Use https://" in done.output
    assert not (home / "CLAUDE_CONFIG_DIR").exists()


@asynccontextmanager
async def answering(
    metadata: Callable[[str], Json] | None, *answers: tuple[int, Json] | str
) -> AsyncIterator[str]:
    """Serve metadata and then these answers, in order; a text is sent as it is."""
    left = list(answers)

    async def announce(request: web.Request) -> web.Response:
        if metadata is None:
            raise web.HTTPNotFound
        return web.json_response(metadata(f"http://{request.host}"))

    async def answer(_request: web.Request) -> web.Response:
        given = left.pop(0)
        if given == "hang up":
            assert _request.transport is not None
            _request.transport.abort()
            return web.Response()
        if isinstance(given, str):
            return web.Response(text=given)
        status, body = given
        return web.json_response(body, status=status, headers={"Retry-After": "0.01"})

    app = web.Application()
    app.router.add_get("/.well-known/oauth-authorization-server", announce)
    app.router.add_post("/call", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert runner.addresses
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def own(url: str) -> Json:
    return {
        "issuer": url,
        "device_authorization_endpoint": f"{url}/call",
        "token_endpoint": f"{url}/call",
    }


BEGUN: tuple[int, Json] = (
    200,
    {
        "device_code": "d",
        "user_code": "BCDF-GHJK",
        "verification_uri": "https://ask.example.com/device",
        "interval": 0.01,
        "expires_in": 60,
    },
)
PENDING: tuple[int, Json] = (400, {"error": "authorization_pending"})
SHORT: tuple[int, Json] = (200, {**BEGUN[1], "expires_in": "soon"})


@pytest.mark.rule("ONBOARD-12")
@pytest.mark.parametrize(
    ("metadata", "answers", "message"),
    [
        (None, (), "people cannot connect agents here"),
        (lambda url: {**own(url), "issuer": "https://x.example"}, (), "calls itself https://x"),
        (lambda url: {**own(url), "token_endpoint": "https://x.example/t"}, (), "nothing was sent"),
        (lambda url: {"issuer": url}, (), "nothing was sent"),
        (own, ("hang up",), "cannot be reached"),
        (own, ("junk",), "does not answer as an Answerback"),
        (own, ((400, {"error": "x", "error_description": "No \x1b[2J"}),), "refused it: No"),
        (own, (BEGUN, (400, {"error": "access_denied"})), "It was denied"),
        (own, (BEGUN, (400, {"error": "expired_token"})), "Nobody approved it in time"),
        (own, (BEGUN, PENDING, (400, {"error": "invalid_grant"})), "used already"),
        (own, ((200, {**BEGUN[1], "expires_in": 0}), PENDING), "Nobody approved it in time"),
        (own, ((200, {"device_code": "d"}),), "does not answer as an Answerback"),
        (own, (BEGUN, (200, {"token": "ab_token"})), "does not answer as an Answerback"),
        (own, ((400, {"error": ["x"], "error_description": {}}),), "refused it: {}"),
        (own, (BEGUN, (400, {"error": ["x"]})), "refused it: ['x']"),
        (own, (BEGUN, (200, {"access_token": None})), "does not answer as an Answerback"),
        (own, ((200, {**BEGUN[1], "device_code": None}),), "does not answer as an Answerback"),
        (own, (BEGUN, (200, {"access_token": "ab; touch /tmp/x"})), "nothing was saved"),
    ],
)
async def test_what_keeps_an_agent_from_a_token_is_said(
    home: Path, metadata: Callable[[str], Json] | None, answers: tuple[Any, ...], message: str
) -> None:
    async with answering(metadata, *answers) as url:
        done = await run("connect", "claude", "--sign-in", "--yes", "--url", url)
    assert done.exit_code == 1, done.output
    assert message in done.output
    assert "\x1b[2J" not in done.output
    assert "Traceback" not in done.output
    assert "Connected." not in done.output
    for written in ("XDG_STATE_HOME", "CLAUDE_CONFIG_DIR"):
        assert not (home / written).exists(), "nothing is written before a person has approved it"


@pytest.mark.rule("ONBOARD-12")
async def test_it_waits_while_many_sign_in_slows_down_and_survives_an_outage(home: Path) -> None:
    busy, slower = (429, {"error": "slow_down"}), (400, {"error": "slow_down"})
    issued = (200, {"access_token": "ab_token"})
    async with answering(own, busy, SHORT, PENDING, slower, "hang up", "502", issued) as url:
        done = await run(
            *("connect", "claude", "--sign-in", "--yes", "--url", url, "--token-env", "MINE")
        )
    assert done.exit_code == 0, done.output
    (file,) = (home / "XDG_STATE_HOME" / "answerback").iterdir()
    assert file.read_text() == "export MINE=ab_token\n"


def test_names_are_sent_as_the_service_takes_them() -> None:
    assert sign_in.latin("  Zoë's Mac…") == "Zo-s Mac"
    assert sign_in.latin("…") == "unknown"
    assert len(sign_in.latin("x" * 99)) == 40


@pytest.mark.rule("ONBOARD-8")
async def test_the_operator_lists_and_removes_agents_by_command(
    serve: Serve, anns_key: str, home: Path
) -> None:
    async with onboarding(serve) as api:
        port = api.running.api_url.rpartition(":")[2]
        (home / "answerback.toml").write_text(
            f'server.port = {port}\nstorage.url = "sqlite:///asks.db"\n[onboarding]\nowners = "anyone"\n'
        )
        empty = await run("token", "list")
        assert "There are no agents yet." in empty.output
        issued = await connect(api, anns_key)
        listed = await run("token", "list")
        assert f"{issued['agent']}  Claude Code on laptop  from 127.0.0.1  of ann" in listed.output
        (row,) = json.loads((await run("token", "list", "--json")).stdout)
        assert (row["name"], row["owner"]["user_id"]) == (issued["agent"], "ann")
        missing = await run("token", "revoke", "nobody")
        assert (
            missing.exit_code,
            "Nobody has connected an agent named nobody" in missing.output,
        ) == (1, True)
        removed = await run("token", "revoke", issued["agent"], "--json")
        assert json.loads(removed.stdout) == {"name": issued["agent"], "revoked": True, "left": []}
        assert (await run("token", "revoke", issued["agent"])).exit_code == 1
        again = await connect(api, anns_key)
        assert (await run("token", "revoke", again["agent"])).exit_code == 0
        assert json.loads((await run("token", "list", "--json")).stdout) == []


@pytest.mark.rule("ONBOARD-8")
async def test_people_list_and_remove_their_own_agents_over_the_api(
    serve: Serve, anns_key: str
) -> None:
    roles = {"ci": "agent", "console": "surface"}
    async with onboarding(serve, roles=roles) as api:
        issued = await connect(api, anns_key)
        hers = {"Authorization": f"Bearer {anns_key}"}
        for headers in (hers, api.person):
            _, found = await api.get("/v1/agents", **headers)
            assert [each["name"] for each in found["agents"]] == [issued["agent"]]
            assert "token" not in json.dumps(found)
        for who, status in (("ci", 403), ("console", 403)):
            assert (await api.get("/v1/agents", **api.bearer(who)))[0] == status
        path = f"/v1/agents/{issued['agent']}"
        async with api.http.delete(path, headers=hers) as response:
            assert (response.status, (await response.json())["agents"]) == (200, [])
        async with api.http.delete(path, headers=hers) as response:
            assert response.status == 404
    async with serve() as api:
        assert (await api.get("/v1/agents", **api.person)) == (200, {"agents": []})
        async with api.http.delete("/v1/agents/x", headers=api.person) as response:
            assert response.status == 404
