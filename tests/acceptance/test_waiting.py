"""``answerback wait`` and ``ask`` as real processes, with a service that is killed and one that says nothing."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import aiohttp
import pytest

from tests.acceptance.agents import eventually
from tests.acceptance.process import command, serving
from tests.acceptance.test_commands import FORM, form
from tests.person_keys import bearer
from tests.ports import free_port

pytestmark = pytest.mark.acceptance


@pytest.mark.rule("CLI-13")
async def test_wait_continues_across_a_restart_of_the_service(tmp_path: Path) -> None:
    environment = {"ANSWERBACK_SERVER__PORT": str(free_port())}
    call = {"name": "ask_user", "arguments": FORM}
    async with (
        serving(tmp_path, environment) as (first, url),
        aiohttp.ClientSession(url, headers=bearer(tmp_path)) as http,
    ):
        async with http.post("/v1/asks", json=call) as response:
            ask_id = (await response.json())["id"]
        async with command("wait", ask_id, "--url", url, folder=tmp_path) as waiting:

            async def waited_for() -> bool:
                async with http.get("/metrics") as response:
                    return "\nanswerback_waiters 1" in await response.text()

            await eventually(waited_for)
            first.signal(signal.SIGKILL)
            await first.ended()
            async with serving(tmp_path, environment):
                action = {"action": "answer", "value": True}
                async with http.post(f"/v1/asks/{ask_id}/actions", json=action) as response:
                    assert response.status == 200
                code, out, _ = await waiting.ended()
    assert (code, json.loads(out)["structured"]) == (0, {"apply": True})


async def test_an_ask_interrupted_before_it_knows_the_id_says_where_to_look(
    tmp_path: Path,
) -> None:
    asked = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        asked.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        url = f"http://{host}:{port}"
        async with command("ask", form(tmp_path, FORM), "--url", url, folder=tmp_path) as process:
            await asked.wait()
            process.signal(signal.SIGINT)
            code, _, err = await process.ended()
    assert code == 130
    assert "`answerback list` shows the open asks" in err
    assert "Traceback" not in err
