"""Hooks, proxies and bridges take an Allow from a person's grant, and from nothing else that is no person's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest

from answerback.core.walker import Source
from answerback_agents.bridges.ask_people import Request, RequestAsker, is_machine_made
from answerback_agents.pipe.ask_people import AskOutcome, Call
from answerback_agents.pipe.exchange import answer_event
from answerback_agents.pipe.json_rpc import parse_message, without_nulls
from answerback_base.strict_json import dump_as_written
from answerback_client import AsyncClient
from answerback_client.blocking_connection import BlockingConnection
from answerback_client.models import Ask
from tests.unit.bot.api.conftest import Serve, Served, serve
from tests.unit.bot.api.test_grants import act, record, route
from tests.unit.bot.hooks.test_claude_hooks_permission import get_decision, permission

__all__ = ["serve"]
pytestmark = pytest.mark.rule("GRANT-5")
BY_PEOPLE = {Source.HUMAN, Source.GRANT}


async def test_a_hook_hands_on_what_a_grant_allows(serve: Serve) -> None:
    roles = {"ci": "agent", "console": "surface"}
    async with serve(roles, routes={"ops": route()}, default_route="ops") as api:

        async def hook(command: str) -> dict[str, Any]:
            event = permission(tool_input={"command": command, "description": "x"})
            path, headers = "/hooks/claude?wait=0.2", api.bearer("ci")
            async with api.http.post(path, json=event, headers=headers) as response:
                assert response.status == 200, await response.text()
                answer: dict[str, Any] = await response.json()
                return answer

        assert get_decision(await hook("make test"))["behavior"] == "deny"
        event = permission(tool_input={"command": "make test"})
        body = {
            "name": "PermissionRequest",
            # As the hook hands it on.
            "arguments": {name: event[name] for name in ("tool_name", "tool_input", "cwd")},
            "to": "ops",
            "origin": {"folder": "/srv/a/project"},
        }
        async with api.http.post("/v1/asks", json=body, headers=api.bearer("ci")) as response:
            ask = await response.json()
        grant = {"match": "command", "minutes": 15, "uses": 1}
        status, _ = await act(api, ask, action="answer", value="allow", grant=grant)
        assert status == 200
        assert get_decision(await hook("make test")) == {"behavior": "allow"}
        assert get_decision(await hook("make test"))["behavior"] == "deny", "it is used up"
        assert await record(api, ask)


@pytest.mark.parametrize("source", Source)
def test_only_people_and_their_grants_decide(source: Source) -> None:
    body: dict[str, Any] = {"id": "ask_1", "status": "answered", "source": source.value}
    assert AskOutcome(body).is_decided is (source in BY_PEOPLE)
    ask = Ask.of(
        {
            **body,
            "revision": 2, "tool_result": None, "end_turn": False, "reply": None, "answers": {},
            "prompt": None, "thread": None,
        }
    )  # fmt: skip
    assert ask.by_person is (source in BY_PEOPLE)
    assert is_machine_made(ask) is (source not in BY_PEOPLE)


NUMBER: Final = "1.5000000000000000000001"
LINE: Final = (
    b'{"hook_event_name": "PermissionRequest", "session_id": "s", "cwd": "/srv/a", '
    b'"tool_name": "mcp__shop__delete", "tool_input": {"n": %b}}'
)
PassOn = Callable[[Served, bytes], Awaitable[None]]


def _service(api: Served) -> BlockingConnection:
    return BlockingConnection(api.running.api_url, api.tokens["ci"])


async def _hook(api: Served, line: bytes) -> None:
    event = parse_message(line)
    await asyncio.to_thread(answer_event, "codex", event, _service(api), "ops", 0.1)


async def _proxy(api: Served, line: bytes) -> None:
    call = Call("PermissionRequest", "approval", parse_message(line), None)
    origin = {"folder": "/srv/a"}
    body = {**without_nulls(call._asdict()), "to": "ops", "origin": origin}
    await asyncio.to_thread(_service(api).call, "POST", "/v1/asks", dump_as_written(body).encode())


async def _bridge(api: Served, line: bytes) -> None:
    request = Request(
        f"r{len(line)}", "PermissionRequest", "approval", {**parse_message(line)}, None
    )
    request = request._replace(folder="/srv/a")
    service = _service(api)
    async with AsyncClient(service.url, token=service.token) as client:
        gone = asyncio.Event()
        gone.set()
        asker = RequestAsker(client, {"bridge": "test"}, "ops")
        assert await asker.ask_and_wait(request, gone) is None


@pytest.mark.rule("GRANT-2")
@pytest.mark.parametrize("pass_on", [_hook, _proxy, _bridge])
async def test_numbers_reach_the_service_as_their_host_wrote_them(
    serve: Serve, pass_on: PassOn
) -> None:
    async with serve({"ci": "agent"}, routes={"ops": route()}, default_route="ops") as api:
        found = []
        for number in (b"1.5", NUMBER.encode()):
            await pass_on(api, LINE % number)
            [ask, *_] = (await api.get("/v1/asks", **api.person))[1]["asks"]
            stored = await api.running.service.get(ask["id"])
            assert stored is not None
            found.append(stored.request.grants is not None)
        assert found == [True, False]
