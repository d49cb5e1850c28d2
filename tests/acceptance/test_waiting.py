"""``answerback wait`` as a real process, beside a service that is killed and started anew."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import aiohttp
import pytest

from tests.acceptance.agents import eventually
from tests.acceptance.process import command, serving
from tests.acceptance.test_commands import FORM, free_port
from tests.keys import bearer

pytestmark = pytest.mark.acceptance


@pytest.mark.rule("CLI-13")
async def test_wait_goes_on_over_a_restart_of_the_service(tmp_path: Path) -> None:
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
