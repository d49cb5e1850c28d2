"""Limits on agents' asks: the configuration's limits, how a refusal is told, and how callers wait."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.core.errors import DeclinedCallError
from answerback.dialects.registry import render_refusal
from answerback.ports.settings_tables import LimitSettings
from answerback.ports.store_values import AskLimits
from answerback.runtime.config_file import load_settings
from answerback.runtime.from_settings import build_agent_tokens, build_anonymous_limits
from answerback.service import ask_limits
from answerback.service.submission_request import Agent
from answerback_agents.bridges.ask_people import Request, RequestAsker
from answerback_agents.pipe import exchange
from answerback_agents.pipe.ask_people import AskClient, Asking, Call
from answerback_client import AsyncClient, RefusedError, TooManyAsksError
from answerback_client.blocking_connection import BlockingConnection
from tests.service_support import WAIT, ask_user
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.conftest import Parts
from tests.unit.bot.hook_support import CLAUDE_PERMISSION, CODEX_PERMISSION, GEMINI, piped
from tests.unit.bot.hooks.test_claude_hooks import asking, decision, hook
from tests.unit.bot.hooks.test_claude_hooks_permission import permission

ONE_OPEN = LimitSettings(open_asks=1)
CALL: dict[str, Any] = {"question": "Go?", "answer_type": "boolean"}


def limits_of(tmp_path: Path, text: str) -> tuple[AskLimits, AskLimits]:
    """Return the limits of an agent with a token, and those without one."""
    file = tmp_path / "limits.toml"
    agent = f"[agents.coder]\ntoken_hash = 'sha256:{'0' * 64}'\n"
    file.write_text(agent + text)
    settings = load_settings(file)
    found = build_agent_tokens(settings)._agents
    return next(iter(found.values())).limits, build_anonymous_limits(settings)


@pytest.mark.rule("LIMIT-2")
def test_an_agent_with_a_token_has_the_defaults_and_others_have_none(tmp_path: Path) -> None:
    agent, anonymous = limits_of(tmp_path, "")
    assert agent == AskLimits(60, 200, 20, 30)
    assert anonymous == AskLimits(0, 0, 0, 0)


@pytest.mark.rule("LIMIT-2")
def test_each_limit_is_the_agents_else_that_of_all_else_the_default(tmp_path: Path) -> None:
    own = (
        "[agents.coder.limits]\nasks_per_minute = 7\n[limits]\nasks_per_minute = 5\nopen_asks = 0\n"
    )
    agent, anonymous = limits_of(tmp_path, own)
    assert agent == AskLimits(7, 0, 20, 30)
    assert anonymous == AskLimits(5, 0, 0, 0)


@pytest.mark.rule("LIMIT-3")
@pytest.mark.parametrize(
    ("limits", "text", "retry_after"),
    [
        (AskLimits(asks_per_minute=1), "Wait 60 seconds", 60),
        (AskLimits(open_asks=1), "wait for people at the same time", 10),
        (AskLimits(open_asks_per_conversation=1), "wait for people in one conversation", 10),
    ],
)
async def test_the_model_is_told_to_wait_or_to_ask_together(
    parts: Parts, limits: AskLimits, text: str, retry_after: int
) -> None:
    service, agent = parts.service(), Agent("coder", limits=limits)
    reached: list[tuple[str, str]] = []
    service.hooks.limited.listen(lambda name, limit: reached.append((name, limit)))
    call = ask_user(conversation="c")
    first = await service.submit(call, agent=agent, idempotency_key="k", digest="d")
    with pytest.raises(DeclinedCallError) as refused:
        await service.submit(call, agent=agent)
    error, result = refused.value, render_refusal(refused.value)
    assert (error.status, error.retry_after) == (429, retry_after)
    assert [problem.code for problem in error.problems] == ["too_many_asks"]
    assert result.is_error
    assert text in result.content
    assert "together in one call" in result.content
    assert [name for name, _ in reached] == ["coder"]
    again = await service.submit(call, agent=agent, idempotency_key="k", digest="d")
    assert (again.ask.id, again.created) == (first.ask.id, False)


@pytest.mark.rule("LIMIT-2")
async def test_calls_that_are_refused_for_another_reason_do_not_count(parts: Parts) -> None:
    service, agent = parts.service(), Agent("coder", limits=AskLimits(asks_per_minute=1))
    for _ in range(3):
        with pytest.raises(DeclinedCallError):
            await service.submit(ask_user(to="pager:1"), agent=agent)
    assert (await service.submit(ask_user(), agent=agent)).created


@pytest.mark.rule("LIMIT-3", "LIMIT-4")
async def test_a_refusal_is_a_429_that_says_when_to_try_again(tmp_path: Path) -> None:
    async with (
        served(tmp_path, limits=ONE_OPEN) as service,
        AsyncClient(service.url, patience=1.0) as hasty,
    ):
        first = await hasty.submit("ask_user", CALL)
        with pytest.raises(TooManyAsksError) as refused:
            await hasty.submit("ask_user", CALL)
        assert refused.value.retry_after == 10.0
        assert refused.value.status == 429
        body = {"name": "ask_user", "arguments": CALL}
        async with (
            aiohttp.ClientSession() as http,
            http.post(f"{service.url}/v1/asks", json=body) as response,
        ):
            assert (response.status, response.headers["Retry-After"]) == (429, "10")
            reply = await response.json()
        assert reply["tool_result"]["is_error"]
        async with (
            aiohttp.ClientSession() as http,
            http.get(f"{service.url}/metrics") as response,
        ):
            assert 'limit="open_asks"} 2.0' in await response.text()
        await hasty.withdraw(first.id)
        assert (await hasty.submit("ask_user", CALL)).open


# --- callers that wait ---------------------------------------------------------------------------


@dataclass
class Full:
    """A service whose one open ask keeps others from being asked, and an event for the first refusal."""

    service: Served
    first: str
    refused: asyncio.Event

    async def make_room(self) -> None:
        """Withdraw the open ask once another was refused."""
        async with asyncio.timeout(WAIT):
            await self.refused.wait()
        async with self.service.http.delete(f"{self.service.url}/v1/asks/{self.first}") as done:
            assert done.status == 200


@pytest.fixture
def retry_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_limits, "_RETRY_OPEN", 0)


@pytest.fixture
async def full(tmp_path: Path) -> AsyncIterator[Full]:
    async with served(tmp_path, limits=ONE_OPEN) as service:
        body = {"name": "ask_user", "arguments": CALL}
        async with service.http.post(f"{service.url}/v1/asks", json=body) as response:
            first = await response.json()
        refused = asyncio.Event()
        service.running.service.hooks.limited.listen(lambda _agent, _limit: refused.set())
        yield Full(service, first["id"], refused)


@pytest.mark.rule("LIMIT-4")
@pytest.mark.usefixtures("retry_at_once")
async def test_a_client_asks_again_until_there_is_room(full: Full) -> None:
    async with AsyncClient(full.service.url, patience=WAIT) as client:
        submitting = asyncio.create_task(client.submit("ask_user", CALL))
        await full.make_room()
        async with asyncio.timeout(WAIT):
            assert (await submitting).open


@pytest.mark.rule("LIMIT-4")
@pytest.mark.usefixtures("retry_at_once")
async def test_a_proxy_asks_again_until_there_is_room(full: Full) -> None:
    calls = BlockingConnection(full.service.url)
    body = json.dumps({"name": "ask_user", "arguments": CALL}).encode()
    submitting = asyncio.create_task(
        asyncio.to_thread(calls.call, "POST", "/v1/asks", body, patience=WAIT)
    )
    await full.make_room()
    async with asyncio.timeout(WAIT):
        assert (await submitting).status == 201


@pytest.mark.rule("LIMIT-4")
async def test_a_proxy_gives_up_when_its_patience_ends(full: Full) -> None:
    body = json.dumps({"name": "ask_user", "arguments": CALL}).encode()
    with pytest.raises(RefusedError, match="together in one call"):
        await asyncio.to_thread(
            BlockingConnection(full.service.url).call, "POST", "/v1/asks", body, patience=1.0
        )


@pytest.mark.rule("LIMIT-4")
@pytest.mark.usefixtures("retry_at_once")
async def test_a_hook_asks_again_until_there_is_room(full: Full) -> None:
    waiting = asyncio.create_task(hook(full.service, asking()))
    await full.make_room()
    ask = await full.service.newest(2)
    await full.service.act(ask, action="answer", value="Vue")
    async with asyncio.timeout(WAIT):
        assert decision(await waiting)[0] == "allow"


@pytest.mark.rule("LIMIT-4")
async def test_a_hook_denies_when_its_time_is_up(full: Full) -> None:
    denied, why = decision(await hook(full.service, asking(), "?wait=1"))
    assert denied == "deny"
    assert "together in one call" in why


PIPED = pytest.mark.parametrize(
    ("agent", "event"),
    [("claude", CLAUDE_PERMISSION), ("codex", CODEX_PERMISSION), ("gemini", GEMINI)],
)


@pytest.mark.rule("LIMIT-4")
@PIPED
async def test_a_command_hook_asks_again_for_longer_than_a_long_poll(
    full: Full, monkeypatch: pytest.MonkeyPatch, agent: str, event: Json
) -> None:
    monkeypatch.setattr(exchange, "LONG_POLL", 0.2)
    running = asyncio.create_task(asyncio.to_thread(piped, agent, event, full.service.url))
    for _ in range(3):  # each in a long poll of its own
        async with asyncio.timeout(WAIT):
            await full.refused.wait()
        full.refused.clear()
        assert not running.done()
    full.refused.set()
    await full.make_room()
    await full.service.act(await full.service.newest(2), action="reply", text="Not now.")
    async with asyncio.timeout(WAIT):
        assert "Not now." in str(await running)


@pytest.mark.rule("LIMIT-4")
@PIPED
async def test_a_command_hook_denies_when_its_time_is_up(
    full: Full, agent: str, event: Json
) -> None:
    began = time.monotonic()
    result = await asyncio.to_thread(piped, agent, event, full.service.url, wait=0.5)
    assert "together in one call" in str(result)
    assert time.monotonic() - began >= 0.5


@pytest.mark.rule("LIMIT-4")
@pytest.mark.usefixtures("retry_at_once")
async def test_a_bridge_asks_again_until_there_is_room(full: Full) -> None:
    async with AsyncClient(full.service.url, patience=math.inf) as client:
        request = Request("r1", "ask_user", "single", CALL, "thread-1")
        asker = RequestAsker(client, {"bridge": "codex"}, None)
        waiting = asyncio.create_task(asker.ask_and_wait(request, asyncio.Event()))
        await full.make_room()
        await full.service.act(await full.service.newest(2), action="answer", value=True)
        async with asyncio.timeout(WAIT):
            ended = await waiting
    assert ended is not None
    assert ended.status == "answered"


def acp_client(full: Full, pause: Callable[[float], None]) -> AskClient:
    """Return the client of an ACP proxy whose patience is far shorter than it may have to wait."""
    return AskClient(BlockingConnection(full.service.url, pause=pause), patience=0.0)


ACP_CALL = Call("ask_user", "single", CALL, "session-1")


@pytest.mark.rule("LIMIT-4")
async def test_an_acp_proxy_asks_again_until_there_is_room(full: Full) -> None:
    pauses: list[float] = []
    room = threading.Event()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        room.wait(WAIT)

    waiting = asyncio.create_task(
        asyncio.to_thread(acp_client(full, pause).ask, Asking(), ACP_CALL)
    )
    await full.make_room()
    room.set()
    await full.service.act(await full.service.newest(2), action="answer", value=True)
    async with asyncio.timeout(WAIT):
        ended = (await waiting).ask
    assert ended is not None
    assert (ended["status"], pauses) == ("answered", [10.0])


@pytest.mark.rule("LIMIT-4")
@pytest.mark.usefixtures("retry_at_once")
async def test_an_acp_proxy_stops_asking_once_nobody_needs_the_answer(full: Full) -> None:
    asking, pauses = Asking(), iter([False, True])
    client = acp_client(full, lambda _: asking.over.set() if next(pauses) else None)
    outcome = await asyncio.to_thread(client.ask, asking, ACP_CALL)
    assert outcome.ask is None
    assert "together in one call" in outcome.message


@pytest.mark.rule("LIMIT-4")
@pytest.mark.usefixtures("retry_at_once")
async def test_a_hook_whose_host_has_gone_asks_nobody_later(full: Full) -> None:
    waiting = asyncio.create_task(hook(full.service, permission()))
    async with asyncio.timeout(WAIT):
        await full.refused.wait()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await full.make_room()
    store = full.service.running.service.store
    async with asyncio.timeout(WAIT):  # what was being submitted when the host went is withdrawn
        while True:
            page = await store.asks.page()
            if not any(ask.open for ask in page.rows):
                return
            await asyncio.sleep(0.02)
