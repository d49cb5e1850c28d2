"""A service that is stopped or killed, and away for a while: nothing that waits for a permission tells its host."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import aiohttp
import pytest

from tests.acceptance.agents import eventually
from tests.acceptance.forked_process import Child
from tests.acceptance.process import PATIENCE, serving
from tests.fakes.opencode import Opencode
from tests.person_keys import bearer
from tests.ports import free_port
from tests.unit.bot.acp_support import permission, run_editor, selected, withdrawn
from tests.unit.bot.agent_support import Json
from tests.unit.bot.agents.bridges.test_bridge_codex import COMMAND, run_bridge
from tests.unit.bot.agents.bridges.test_bridge_opencode import (
    PERMISSION,
    PERMISSION_ID,
    bridging,
    faked,
    next_answer,
)
from tests.unit.bot.hook_support import (
    CLAUDE_PERMISSION,
    CODEX_PERMISSION,
    COPILOT,
    GEMINI,
    decision_answer,
)
from tests.unit.bot.hooks.test_command_hooks_in_trouble import spawned
from tests.unit.bot.mcp_proxy_support import call, encode, run_client

pytestmark = [pytest.mark.acceptance, pytest.mark.long]

HOOKS: Final = {
    "claude": (CLAUDE_PERMISSION, decision_answer(CLAUDE_PERMISSION, "allow")),
    "codex": (CODEX_PERMISSION, decision_answer(CODEX_PERMISSION, "allow")),
    "gemini": (GEMINI, {"decision": "allow"}),
    "copilot": (COPILOT, {"behavior": "allow"}),
}
AWAY: Final = 3.0
"""Seconds for which the service is away; how long hooks and proxies wait is tested by itself."""


async def allow_all(http: aiohttp.ClientSession, count: int) -> None:
    """Allow all open asks as a person, once there are so many."""
    found: list[Json] = []

    async def are_there() -> bool:
        async with http.get("/v1/asks?status=open&limit=50") as response:
            found[:] = (await response.json())["asks"]
        return len(found) == count

    await eventually(are_there)
    for ask in found:
        once = [each for each in ask["prompt"]["options"] if each["kind"] == "allow_once"]
        action = {"action": "answer", "value": once[0]["value"]}
        async with http.post(f"/v1/asks/{ask['id']}/actions", json=action) as response:
            assert response.status == 200, await response.text()


async def printed(hook: Child) -> Any:
    async with asyncio.timeout(PATIENCE):
        out, err = await hook.communicate()
    assert err == b""
    return json.loads(out)


@pytest.mark.rule("CONNECT-10")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_what_waits_when_the_service_ends_is_allowed_once_it_is_back(
    tmp_path: Path, number: signal.Signals
) -> None:
    environment = {"ANSWERBACK_SERVER__PORT": str(free_port())}
    async with AsyncExitStack() as stack:
        first, url = await stack.enter_async_context(serving(tmp_path, environment))
        http = await stack.enter_async_context(aiohttp.ClientSession(url, headers=bearer(tmp_path)))
        hooks = {
            name: await spawned(json.dumps(event).encode(), name, "--url", url)
            for name, (event, _) in HOOKS.items()
        }
        editor = await stack.enter_async_context(run_editor(url))
        await editor.prompt(permission())
        await editor.next()
        client = await stack.enter_async_context(run_client(url, tmp_path))
        line = await client.send(call())
        at: Any = SimpleNamespace(url=url)
        codex = await stack.enter_async_context(run_bridge(at, [COMMAND]))

        opencode = await stack.enter_async_context(faked(Opencode()))
        await stack.enter_async_context(bridging(at, opencode))
        await opencode.ask(PERMISSION)

        async def all_wait() -> bool:
            async with http.get("/metrics") as response:
                return f"\nanswerback_waiters {len(HOOKS) + 4}" in await response.text()

        await eventually(all_wait)
        assert editor.process.stdout is not None
        to_editor = asyncio.create_task(editor.process.stdout.readline())
        stack.callback(to_editor.cancel)
        first.signal(number)
        await first.ended()
        late = await spawned(json.dumps(COPILOT).encode(), "copilot", "--url", url)
        await asyncio.sleep(AWAY)  # nothing may happen in this time
        await stack.enter_async_context(serving(tmp_path, environment))
        assert not to_editor.done(), to_editor.result()
        await allow_all(http, len(HOOKS) + 5)
        for name, (_, answer) in HOOKS.items():
            assert await printed(hooks[name]) == answer
        assert await printed(late) == HOOKS["copilot"][1]
        # Two threads write to the editor: its prompt is withdrawn before or after the agent repeats the answer.
        received = [json.loads(await asyncio.wait_for(to_editor, PATIENCE)), await editor.next()]
        received.remove(withdrawn())
        assert json.loads(received[0]["params"]["line"]) == selected("yes")
        assert await client.received_line() == encode(json.loads(line))
        assert (await codex.read())["result"] == {"decision": "accept"}
        path, reply = await next_answer(opencode)
        assert (path, reply["reply"]) == (f"/permission/{PERMISSION_ID}/reply", "once")
