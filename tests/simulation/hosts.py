"""Agents whose hosts ask for them: by the MCP SDK's own client, and by Claude Code's hook over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import aiohttp
from mcp_types import CallToolResult, TextContent

from answerback.mcp.server import IDEMPOTENCY_KEY
from answerback_client.async_client import AsyncClient
from answerback_client.errors import UnreachableError
from answerback_client.models import Ask, EndedError
from tests.mcp_clients import mcp_client
from tests.simulation.evidence import Evidence, Json, Plan, Told
from tests.simulation.loop import SimulatedLoop
from tests.simulation.service import API_URL, TOKEN

MCP: Final = "MCP"
HOOK: Final = "hook"
_SHARE: Final = 0.7
"""The share of the seeds in which an agent asks in each of these ways."""
_LONGEST: Final = 7_200.0
"""Seconds after which an agent withdraws what nobody has answered: neither call has a deadline."""
_PAUSES: Final = (5.0, 120.0)
"""The least and the most seconds until an agent does the next thing, or tries again."""
_CERTAIN: Final = 45.0
"""Seconds without trouble, before which a response was certainly read."""
_EVENTS: Final = 4
"""The events after the end of an ask, answered without trouble, of which one must bring its outcome."""


def choose_ways(plans: Sequence[Plan], rng: random.Random) -> None:
    """Let one ask of the seed go by MCP, and one by a hook, as chance decides."""
    everybody = frozenset[str]().union(*(plan.responders for plan in plans))
    for way in (MCP, HOOK):
        questions = [
            p for p in plans if p.way is None and p.body["name"] == "ask_user" and not p.due
        ]
        if rng.random() < _SHARE and questions:
            plan = rng.choice(questions)
            plan.way, plan.has_webhook, plan.withdraws, plan.pictures = way, False, True, ()
            plan.responders = everybody
            arguments = plan.body["arguments"]
            plan.body = {"name": "ask_user", "arguments": arguments, "to": "ops"}
            if way == HOOK:
                plan.body |= {"name": "AskUserQuestion", "arguments": _as_in_claude(arguments)}


def _as_in_claude(arguments: Json) -> Json:
    """Return the questions as Claude Code asks them: each has options."""
    options = [{"label": each, "description": f"It is {each}"} for each in ("red", "green")]
    return {
        "questions": [
            {
                "question": each["text"],
                "header": each["id"],
                "options": options,
                "multiSelect": False,
            }
            for each in arguments["questions"]
        ]
    }


class Hosts:
    """Asks for agents.

    Args:
        is_certain: whether nothing went wrong since a time.
    """

    def __init__(
        self,
        loop: SimulatedLoop,
        rng: random.Random,
        evidence: Evidence,
        is_certain: Callable[[float], bool],
    ) -> None:
        self._loop = loop
        self._rng = rng
        self._evidence = evidence
        self._is_certain = is_certain

    async def ask(self, client: AsyncClient, plan: Plan) -> Ask:
        """Ask, and return the ask once it has ended and its agent knows how."""
        while True:
            try:
                by = self._ask_by_mcp if plan.way == MCP else self._ask_by_hook
                if (ask := await by(client, plan)) is not None:
                    return ask
            except UnreachableError:
                pass
            except Exception as error:  # noqa: BLE001 - the SDK's client raises groups of whatever went wrong
                self._loop.machine.note(f"{plan.key} by {plan.way}: {type(error).__name__}")
            await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(self._rng.uniform(*_PAUSES))

    async def _find(self, client: AsyncClient, plan: Plan) -> Ask | None:
        """Return the ask of a conversation, which is called after the plan.

        It is read from a list: a client that fetches an outcome by its id has it from then on.
        """
        page: Any = await client.call("GET", "/v1/asks?limit=100")
        for each in page["asks"]:
            if each["conversation"] == plan.key:
                return Ask.of(each)
        return None

    async def _withdraw_if_late(self, client: AsyncClient, plan: Plan, ask_id: str) -> None:
        if self._loop.time() > plan.at + _LONGEST:
            with contextlib.suppress(EndedError):
                await client.withdraw(ask_id)

    def _tell(self, plan: Plan, result: Told) -> None:
        self._loop.machine.note(f"{plan.key} by {plan.way} is told: {result.text}")
        self._evidence.results.setdefault(plan.key, []).append(result)

    # --- MCP ---

    async def _ask_by_mcp(self, client: AsyncClient, plan: Plan) -> Ask | None:
        url = f"{API_URL}/mcp?wait={self._rng.choice([5, 50])}"
        arguments = {**plan.body["arguments"], "to": plan.body["to"], "conversation": plan.key}
        meta: Any = {IDEMPOTENCY_KEY: plan.key}
        async with mcp_client(url, TOKEN) as mcp:
            async with asyncio.timeout(plan.patience):  # a host that gives up closes the stream
                result = await mcp.call_tool(plan.body["name"], arguments, meta=meta)
                while (ask_id := _pending(result)) is not None:
                    await self._withdraw_if_late(client, plan, ask_id)
                    result = await mcp.call_tool("wait_for_answer", {"ask_id": ask_id})
            now = self._loop.time()
            self._tell(plan, Told(now, _text(result), by_call=True))
            await asyncio.sleep(self._rng.uniform(1, 2))
            late = await mcp.call_tool("check_answers", {"conversation": plan.key})
        if (ask := await self._find(client, plan)) is not None:
            self._judge_repeated(plan, ask, now, json.dumps(late.structured_content))
        return ask

    def _judge_repeated(self, plan: Plan, ask: Ask, told_at: float, late: str) -> None:
        """Judge what comes after an outcome that was told."""
        # What a call does not tell, such as files, comes later: FILE-52.
        if ask.id in late and not ask.json["answer_files"] and self._is_certain(told_at - _CERTAIN):
            self._evidence.broken.append(
                f"LATE: {plan.key} was told its outcome twice by {plan.way}"
            )

    # --- Claude Code's hook ---

    async def _ask_by_hook(self, client: AsyncClient, plan: Plan) -> Ask | None:
        async with aiohttp.ClientSession(API_URL, headers=_bearer()) as http:
            answer = await self._post(http, plan, plan.patience or 590.0)
            decided = answer.get("hookSpecificOutput", answer)
            text, now = json.dumps(answer), self._loop.time()
            is_told = "Nobody answered within" not in text and "was stopped before" not in text
            if is_told:
                self._tell(plan, Told(now, text, by_call=True))
                self._evidence.allowed[plan.key] = decided.get("permissionDecision") == "allow"
            return await self._go_on(client, http, plan, now if is_told else None)

    async def _go_on(
        self, client: AsyncClient, http: aiohttp.ClientSession, plan: Plan, told_at: float | None
    ) -> Ask | None:
        """Go on with the session until its agent knows how the ask has ended."""
        after = 0
        while True:
            await self._pause()
            began = self._loop.time()
            ask = await self._find(client, plan)
            if ask is None:
                return None  # the call did not arrive
            context = json.dumps(await self._post(http, plan, None))
            if told_at is not None:
                if not ask.open:
                    self._judge_repeated(plan, ask, told_at, context)
                    return ask
                continue  # the answer came, and is committed
            if ask.id in context:
                self._tell(plan, Told(began, context, by_call=False))
                told_at = self._loop.time()
            elif ask.open:
                await self._withdraw_if_late(client, plan, ask.id)
            elif self._is_certain(began - _CERTAIN):
                after += 1
                if after == _EVENTS:
                    self._evidence.broken.append(f"LATE: the outcome of {plan.key} never came")
                    return ask

    async def _post(self, http: aiohttp.ClientSession, plan: Plan, seconds: float | None) -> Json:
        """Send an event: the call, which waits for so many seconds, or what the person writes next."""
        event: Json = {"session_id": plan.key, "cwd": "/work", "permission_mode": "default"}
        if seconds is None:
            query, more = "", {"hook_event_name": "UserPromptSubmit", "prompt": "Go on"}
        else:
            query = f"&wait={seconds:.0f}"
            more = {
                "hook_event_name": "PreToolUse",
                "tool_name": plan.body["name"],
                "tool_use_id": f"toolu_{plan.key}",
                "tool_input": plan.body["arguments"],
            }
        timeout = aiohttp.ClientTimeout(total=(seconds or 0) + 30)
        path = f"/hooks/claude?to={plan.body['to']}{query}"
        async with http.post(path, json=event | more, timeout=timeout) as response:
            response.raise_for_status()
            answer: Json = await response.json() if response.status == 200 else {}
            return answer


def _bearer() -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKEN}"}


def _pending(result: CallToolResult) -> str | None:
    """Return the id of the ask that a result is still waiting for."""
    data: Any = result.structured_content or {}
    return data.get("ask_id") if data.get("status") == "pending" else None


def _text(result: CallToolResult) -> str:
    return "\n".join(each.text for each in result.content if isinstance(each, TextContent))


def count_judged(evidence: Evidence) -> int:
    """Return the number of outcomes that were told by a host."""
    return sum(len(each) for each in evidence.results.values())


def _late(evidence: Evidence) -> Iterator[str]:
    """LATE: what a host's call is told is the outcome; what came too late comes with what its agent does next."""
    for key, ask_id in evidence.by_plan():
        stored, results = evidence.asks.get(ask_id), evidence.results.get(key, ())
        if evidence.plans[key].way is None or stored is None or stored["erased_at"] is not None:
            continue
        for each in results:
            for said in _must_be_told(stored):
                if json.dumps(said)[1:-1] not in each.text and said not in each.text:
                    yield f"LATE: {key} was told {each.text!r}, and not {said!r}"
        if evidence.allowed.get(key) and stored["status"] != "answered":
            yield f"LATE: the hook of {key} allowed, and it is {stored['status']}"


def _must_be_told(stored: Json) -> Iterator[str]:
    """Yield what the model must read of how an ask ended."""
    if stored["status"] == "answered":
        yield from (each for each in stored["answers"].values() if isinstance(each, str))
    elif stored["reply"]:
        yield stored["reply"]


CHECKS: Final = (_late,)
