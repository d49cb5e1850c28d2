"""A running service reloads its configuration on SIGHUP, and logs what happens to asks, with ids and no contents."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.ports.person_key import hash_of
from tests.acceptance.process import PATIENCE, Process, run, serving
from tests.fakes.receiver import receiving
from tests.unit.bot.outbox_support import SECRET

pytestmark = pytest.mark.acceptance

QUESTION = {"id": "apply", "text": "Apply the secret plan?", "answer_type": "boolean"}


async def next_log_line(process: Process, action: str) -> dict[str, Any]:
    """Return the log's next line about this action."""
    assert process.child.stderr is not None
    async with asyncio.timeout(PATIENCE):
        while True:
            line = await process.child.stderr.readline()
            assert line, "the process has ended"
            assert b"secret" not in line.replace(b"callback_secret", b"")
            if line.startswith(b"{") and (found := json.loads(line)).get("action") == action:
                return dict(found)


def configure(folder: Path, *names: str, more: str = "") -> None:
    """Write a configuration with these agents, whose tokens are their names."""
    tables = (
        f'[agents.{name}]\ntoken_hash = "{hash_of(name)}"\ncallback_secret = "{SECRET}"\n'
        for name in names
    )
    (folder / "answerback.toml").write_text(more + "".join(tables))


async def status(url: str, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{url}/v1/asks", headers=headers) as response,
    ):
        return response.status


@pytest.mark.rule("CLI-16")
async def test_agents_come_and_go_without_a_restart(tmp_path: Path) -> None:
    configure(tmp_path, "ann", "bob")
    async with serving(tmp_path) as (process, url):
        assert (await next_log_line(process, "started"))["address"] == url
        assert [await status(url, name) for name in ("ann", "bob", "cleo")] == [200, 200, 401]
        configure(tmp_path, "ann", "cleo", more="[slack]\nresponders = ['U1']\n")
        process.signal(signal.SIGHUP)
        await next_log_line(process, "reloaded")
        assert "slack" in (await next_log_line(process, "restart_needed"))["event"]
        assert [await status(url, name) for name in ("ann", "bob", "cleo")] == [200, 401, 200]
        (tmp_path / "answerback.toml").write_text("[agents.dan]\ncolour = 'red'\n")
        process.signal(signal.SIGHUP)
        assert "colour" in (await next_log_line(process, "reload_refused"))["event"]
        assert [await status(url, name) for name in ("ann", "dan")] == [200, 401]
        configure(tmp_path)
        process.signal(signal.SIGHUP)
        assert "agents" in (await next_log_line(process, "restart_needed"))["event"]
        assert [await status(url, name) for name in ("ann", "dan")] == [401, 401]


@pytest.mark.rule("CLI-14")
async def test_a_token_is_revoked_without_a_restart(tmp_path: Path) -> None:
    comment = "# the one of the release\n"
    configure(tmp_path, "ann", "bob", more=f"{comment}default_route = 'web'\n\n")
    before = (tmp_path / "answerback.toml").read_text()
    async with serving(tmp_path) as (process, url):
        await next_log_line(process, "started")
        code, _, output = await run("token", "revoke", "bob", folder=tmp_path)
        assert code == 0, output
        await next_log_line(process, "agents_reloaded")
        assert [await status(url, name) for name in ("ann", "bob")] == [200, 401]
        assert before.startswith((tmp_path / "answerback.toml").read_text().rstrip("\n"))
        (tmp_path / "answerback.toml").write_text("[agents.ann]\ncolour = 'red'\n")
        assert "colour" in (await next_log_line(process, "reload_refused"))["event"]
        configure(tmp_path, "ann")
        await next_log_line(process, "agents_reloaded")
        _, _, output = await run("token", "revoke", "ann", folder=tmp_path)
        assert "the last agent" in output
        assert "agents" in (await next_log_line(process, "restart_needed"))["event"]
        assert [await status(url, name) for name in ("ann", "bob")] == [401, 401]


@pytest.mark.rule("CONFIG-9")
async def test_the_log_has_a_line_for_everything_that_happens_to_an_ask(tmp_path: Path) -> None:
    configure(tmp_path, "ann")
    async with receiving() as receiver, serving(tmp_path) as (process, url):
        headers = {"Authorization": "Bearer ann"}
        async with aiohttp.ClientSession(url, headers=headers) as http:
            body = {
                "name": "ask_user",
                "arguments": {"questions": [QUESTION]},
                "callback": {"url": receiver.url},
            }
            async with http.post("/v1/asks", json=body) as response:
                ask = (await response.json())["id"]
            line = await next_log_line(process, "submitted")
            assert (line["ask_id"], line["agent"], line["surface"]) == (ask, "ann", "web")
            async with http.delete(f"/v1/asks/{ask}"):
                pass
            assert (await next_log_line(process, "withdrawn"))["ask_id"] == ask
            assert (await next_log_line(process, "delivery"))["ask_id"] == ask
