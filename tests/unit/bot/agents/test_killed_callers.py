"""Hooks and proxies that are killed: their approvals end, and nobody is offered a decision that reaches no one."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.giving_up import GaveUp
from answerback.service import agent_presence, approval_leases
from answerback.service.agent_presence import LeasePolicy
from answerback_agents.pipe import json_rpc
from answerback_agents.pipe.ask_people import AskClient, Asking, AskOutcome
from answerback_client.blocking_connection import BlockingConnection
from tests.meta.project import PYTHONPATH
from tests.service_support import WAIT
from tests.unit.bot.acp_support import permission, run_editor, selected
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.agents.acp.test_acp_lines import AWAY, Parts, line
from tests.unit.bot.agents.bridges.test_bridge_codex import COMMAND, QUESTION, run_bridge
from tests.unit.bot.hook_support import CLAUDE_PERMISSION


@pytest.fixture
async def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    """A service with short leases."""
    short = LeasePolicy(seconds=2.0, renewal=0.2, notes_departure=False)
    monkeypatch.setitem(agent_presence.POLICIES, True, short)
    monkeypatch.setattr(approval_leases, "CALLER", short)
    async with served(tmp_path) as made:
        yield made


async def renewed(service: Served, ask: Ask) -> None:
    """Wait until the lease would have run out without being renewed."""
    run_out = 2 * agent_presence.POLICIES[True].seconds
    with service.running.service.follow(ask.id) as following:
        async with asyncio.timeout(WAIT):
            while True:
                found = await service.running.service.get(ask.id)
                assert found is not None
                assert found.open
                if (found.attendance.wait_seconds or 0.0) > run_out:
                    return
                await following.next_commit()


async def ended(service: Served, ask: Ask) -> Ask:
    """Return the ask once it has ended."""
    found = await service.running.service.wait(ask.id, WAIT, listens=False)
    assert found is not None
    return found


def gave_up(ask: Ask) -> GaveUp | None:
    return ask.outcome.gave_up if ask.outcome else None


@pytest.mark.rule("LATE-8")
async def test_an_approval_ends_after_its_acp_proxy_was_killed(service: Served) -> None:
    async with run_editor(service.url) as editor:
        await editor.prompt(permission())
        ask = await service.newest()
        await renewed(service, ask)
        editor.process.kill()
        assert gave_up(await ended(service, ask)) is GaveUp.GONE


@pytest.mark.rule("LATE-8")
async def test_an_approval_ends_after_its_codex_bridge_was_killed_and_a_question_does_not(
    service: Served,
) -> None:
    async with run_bridge(service, [COMMAND, QUESTION]) as talk:
        await service.newest(2)
        asks = (await service.running.service.store.asks.page()).rows
        (approval,) = (ask for ask in asks if ask.request.dialect == "approval")
        (question,) = (ask for ask in asks if ask.request.dialect != "approval")
        await renewed(service, approval)
        talk.child.kill()
        await talk.ended()
        assert gave_up(await ended(service, approval)) is GaveUp.GONE
    still = await service.running.service.get(question.id)
    assert still is not None
    assert (still.open, still.request.ends_with_caller) == (True, False)


@pytest.mark.rule("LATE-8")
async def test_an_approval_ends_after_its_hook_was_killed(service: Served) -> None:
    command = [
        sys.executable,
        "-m",
        "answerback_agents.cli.main",
        "hook",
        "claude",
        "--url",
        service.url,
    ]
    hook = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=DEVNULL, env={"PYTHONPATH": PYTHONPATH}
    )
    assert hook.stdin is not None
    hook.stdin.write(json.dumps(CLAUDE_PERMISSION).encode())
    hook.stdin.close()
    ask = await service.newest()
    await renewed(service, ask)
    hook.kill()
    await hook.wait()
    last = await ended(service, ask)
    assert last.status is Status.WITHDRAWN or gave_up(last) is GaveUp.GONE


ALLOWED = {
    "id": "ask_1",
    "status": "answered",
    "source": "human",
    "tool_result": {
        "is_error": False,
        "content": "",
        "structured": {"outcome": {"outcome": "selected", "optionId": "yes"}},
    },
}


@pytest.mark.rule("LATE-7")
@pytest.mark.parametrize("faster", [True, False])
def test_the_acp_proxy_reports_before_it_tells_the_agent_no(faster: bool) -> None:
    """The editor has refused the request, and the service was away while people were asked."""
    reported: list[str] = []

    class People(AskClient):
        def ask(self, asking: Asking, _call: object) -> AskOutcome:
            asking.ask_id = "ask_1"
            parts.proxy.relay_from_editor([json_rpc.encode_message({"id": 7, "error": {}})])
            return AskOutcome(None, "The service was away.")

        def report_no_answer(self, ask_id: str) -> AskOutcome:
            reported.append(ask_id)
            return AskOutcome(ALLOWED if faster else None, "")

        def withdraw(self, *_: object, **__: object) -> None:
            pass

    parts = Parts(People(BlockingConnection(AWAY)))
    parts.proxy.relay_from_agent([line(permission())])
    parts.join()
    assert reported == ["ask_1"]
    (result,) = parts.agent.getvalue().splitlines()
    assert (json.loads(result) == selected("yes")) is faster
    assert parts.warned == ["The service was away."]


@pytest.mark.rule("LATE-7")
async def test_the_acp_client_reports_and_gets_what_people_decided(service: Served) -> None:
    client = AskClient(BlockingConnection(service.url))

    async def submit() -> str:
        body = {
            "name": "PermissionRequest",
            "dialect": "approval",
            "arguments": {"tool_name": "Bash", "tool_input": {"command": "touch a"}},
        }
        async with service.http.post(f"{service.url}/v1/asks", json=body) as response:
            return str((await response.json())["id"])

    first = await submit()
    assert await asyncio.to_thread(client.report_no_answer, first) == AskOutcome(None, "")
    assert gave_up(await ended(service, await service.newest())) is GaveUp.DENIED
    second = await submit()
    await service.act(await service.newest(2), action="answer", value="allow")
    decided = await asyncio.to_thread(client.report_no_answer, second)
    assert decided.ask is not None
    assert (decided.ask["id"], decided.ask["status"]) == (second, "answered")
    assert await asyncio.to_thread(client.report_no_answer, "ask_0") == AskOutcome(None, "")
    away = AskClient(BlockingConnection(AWAY, pause=lambda _seconds: None))
    assert await asyncio.to_thread(away.report_no_answer, second) == AskOutcome(None, "")
