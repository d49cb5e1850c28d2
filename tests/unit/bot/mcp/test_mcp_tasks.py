"""The tasks extension with the official client, which lacks models for it; they are defined here, after its schema."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    Request,
    RequestParams,
    Result,
)
from pydantic import ConfigDict

from answerback.core.ask import Reason
from answerback.core.clarification import can_ask_back
from answerback.core.errors import StoreError
from answerback.mcp.backend import AskBackend
from answerback.mcp.server import IDEMPOTENCY_KEY, build_mcp_server
from answerback.mcp.tasks import EXTENSION, POLL_INTERVAL_MS
from answerback.service.agent_requests import Callers
from tests.mcp_clients import mcp_client
from tests.unit.bot.agent_support import Served, nobody, run_to_completion, served
from tests.unit.bot.mcp.test_mcp import AWAY, GO, client, relayed, text

METHODS: Final = ("tasks/get", "tasks/update", "tasks/cancel")


class Task(Result):
    """A task as `tasks/get` returns it."""

    model_config = ConfigDict(extra="forbid")
    result_type: Literal["complete"]
    task_id: str
    status: Literal["working", "completed", "cancelled"]
    status_message: str | None = None
    created_at: str
    last_updated_at: str
    ttl_ms: int | None
    poll_interval_ms: int
    result: CallToolResult | None = None


class Created(Task):
    """A task as `tools/call` returns it."""

    result_type: Literal["task"]  # type: ignore[assignment]


class Acknowledged(Result):
    """The result of the other methods: empty."""

    model_config = ConfigDict(extra="forbid")
    result_type: Literal["complete"]


class Params(RequestParams):
    """The parameters of the three methods."""

    task_id: str
    input_responses: dict[str, Any] | None = None


class TaskRequest(Request[Params, str]):
    """A request of the extension, with its routing header."""

    name_param = "taskId"
    params: Params


class Tasks(ClientExtension):
    """The declaration of a client that supports tasks."""

    identifier = EXTENSION

    def claims(self) -> Sequence[ResultClaim[Created]]:
        return [ResultClaim(result_type="task", model=Created, resolve=self._unused)]

    async def _unused(self, created: Created, context: ClaimContext) -> CallToolResult:
        raise AssertionError("the tests take the task itself")


@asynccontextmanager
async def tasks_client(service: Served, token: str | None = None) -> AsyncIterator[Client]:
    """A client that supports tasks."""
    async with mcp_client(f"{service.url}/mcp", token, extensions=[Tasks()]) as made:
        yield made


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def create_task(mcp: Client, arguments: dict[str, Any] = GO, **more: Any) -> Created:
    """Call a tool, and return the task."""
    made = await mcp.session.call_tool("ask_user", arguments, allow_claimed=True, **more)
    assert isinstance(made, Created), made
    return made


async def get_task(mcp: Client, task_id: str) -> Task:
    """Get the current task."""
    request = TaskRequest(method="tasks/get", params=Params(task_id=task_id))
    return await mcp.session.send_request(request, Task)


async def check_acknowledged(mcp: Client, method: str, task_id: str) -> None:
    """Send a request, and check that it is acknowledged."""
    responses = {"nobody": {"action": "cancel"}} if method == "tasks/update" else None
    params = Params(task_id=task_id, input_responses=responses)
    await mcp.session.send_request(TaskRequest(method=method, params=params), Acknowledged)


async def check_refused(mcp: Client, method: str, task_id: str) -> MCPError:
    """Send a request that is refused for this client."""
    requesting = (
        get_task(mcp, task_id)
        if method == "tasks/get"
        else check_acknowledged(mcp, method, task_id)
    )
    with pytest.raises(MCPError) as found:
        await requesting
    return found.value


@pytest.mark.rule("MCP-12")
async def test_an_ask_becomes_a_task_at_once_and_its_answer_the_tasks_result(
    service: Served,
) -> None:
    async with tasks_client(service) as mcp:
        assert (mcp.server_capabilities.extensions or {})[EXTENSION] == {}
        created = await create_task(mcp)
        ask = await service.newest()
        assert (created.task_id, created.status, created.ttl_ms) == (ask.id, "working", None)
        assert created.poll_interval_ms == POLL_INTERVAL_MS
        assert not can_ask_back(ask), "its model waits for the result alone"
        assert ask.id in (created.status_message or "")
        working = await get_task(mcp, ask.id)
        same = created.model_dump(exclude={"result_type", "meta"})
        assert working.model_dump(exclude={"result_type", "meta"}) == same
        # No input was required, so nothing changes.
        await check_acknowledged(mcp, "tasks/update", ask.id)
        assert await get_task(mcp, ask.id) == working
        await service.act(ask, action="answer", value=True)
        completed = await get_task(mcp, ask.id)
        again = await get_task(mcp, ask.id)
    assert completed == again
    assert (completed.status, completed.created_at) == ("completed", created.created_at)
    assert completed.last_updated_at >= created.last_updated_at
    assert completed.result is not None
    assert completed.result.structured_content == {"answer_type": "boolean", "answer": True}
    assert json.loads(text(completed.result)) == completed.result.structured_content


@pytest.mark.rule("MCP-12")
@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ({"action": "reply", "text": "Use staging."}, {"reply": "Use staging."}),
        ({"action": "end_turn"}, {"end_turn": True}),
    ],
)
async def test_a_task_is_completed_however_a_person_ends_the_ask(
    service: Served, action: dict[str, Any], expected: dict[str, Any]
) -> None:
    async with tasks_client(service) as mcp:
        created = await create_task(mcp)
        await service.act(await service.newest(), **action)
        completed = await get_task(mcp, created.task_id)
    assert completed.status == "completed"
    assert completed.result is not None
    assert expected.items() <= completed.result.structured_content.items()


@pytest.mark.rule("MCP-12")
async def test_cancelling_a_task_withdraws_its_ask_and_repeating_it_changes_nothing(
    service: Served,
) -> None:
    async with tasks_client(service) as mcp:
        created = await create_task(mcp)
        for _ in range(2):
            await check_acknowledged(mcp, "tasks/cancel", created.task_id)
            assert (await get_task(mcp, created.task_id)).status == "cancelled"
    assert (await service.newest()).status == "withdrawn"


@pytest.mark.rule("MCP-12", "LATE-1")
@pytest.mark.parametrize("method", ["tasks/cancel", "tasks/update"])
async def test_an_answer_given_during_an_acknowledgement_is_not_lost(
    service: Served, method: str
) -> None:
    async with tasks_client(service) as mcp:
        created = await create_task(mcp)
        await service.act(await service.newest(), action="answer", value=True)
        await check_acknowledged(mcp, method, created.task_id)
        late = await mcp.call_tool("check_answers", {})
        assert [one["ask_id"] for one in late.structured_content["answers"]] == [created.task_id]
        assert (await get_task(mcp, created.task_id)).status == "completed"


@pytest.mark.rule("MCP-12", "LATE-1")
@pytest.mark.parametrize("method", ["tasks/cancel", "tasks/update"])
async def test_an_acknowledgement_reports_no_outcome_and_revives_none_through_the_relay(
    service: Served, method: str
) -> None:
    async with relayed(service.url, extensions=[Tasks()]) as mcp:
        created = await create_task(mcp)
        await service.act(await service.newest(), action="answer", value=True)
        for _ in range(2):
            await check_acknowledged(mcp, method, created.task_id)
        late = await mcp.call_tool("check_answers", {})
        assert [one["ask_id"] for one in late.structured_content["answers"]] == [created.task_id]
        assert (await get_task(mcp, created.task_id)).status == "completed"
        await check_acknowledged(mcp, method, created.task_id)
        assert (await mcp.call_tool("check_answers", {})).structured_content["answers"] == []
    async with relayed(service.url, extensions=[Tasks()]) as mcp:  # which was restarted
        await check_acknowledged(mcp, method, created.task_id)
        assert (await mcp.call_tool("check_answers", {})).structured_content["answers"] == []


@pytest.mark.rule("MCP-12", "LATE-1")
async def test_an_outcome_reported_by_a_task_is_not_reported_again(service: Served) -> None:
    async with tasks_client(service) as mcp:
        created = await create_task(mcp)
        await service.act(await service.newest(), action="answer", value=True)
        await get_task(mcp, created.task_id)
        late = await mcp.call_tool("check_answers", {})
    assert late.structured_content["answers"] == []


@pytest.mark.rule("MCP-9", "MCP-12")
async def test_repeating_a_call_returns_the_same_task_and_later_its_result(
    service: Served,
) -> None:
    meta: Any = {IDEMPOTENCY_KEY: "call-1"}
    async with tasks_client(service) as mcp:
        first = await create_task(mcp, meta=meta)
        assert (await create_task(mcp, meta=meta)).task_id == first.task_id
        await service.act(await service.newest(), action="answer", value=True)
        result = await mcp.call_tool("ask_user", GO, meta=meta)
    assert result.structured_content == {"answer_type": "boolean", "answer": True}


@pytest.mark.rule("MCP-5", "MCP-12")
async def test_a_call_that_asks_nobody_does_not_become_a_task(service: Served) -> None:
    async with tasks_client(service) as mcp:
        result = await mcp.call_tool("ask_user", {"questions": []})
    assert result.is_error


@pytest.mark.rule("MCP-13")
@pytest.mark.parametrize("method", METHODS)
async def test_a_client_that_does_not_declare_tasks_gets_no_task(
    service: Served, method: str
) -> None:
    async with client(service) as mcp:
        pending = await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0})
        assert pending.structured_content["status"] == "pending"
        error = await check_refused(mcp, method, pending.structured_content["ask_id"])
    assert error.code == MISSING_REQUIRED_CLIENT_CAPABILITY
    assert error.data == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
    assert (await service.newest()).open


@pytest.mark.rule("MCP-13")
@pytest.mark.parametrize("method", METHODS)
async def test_older_protocol_revisions_have_no_tasks(service: Served, method: str) -> None:
    async with client(service, "legacy") as mcp:
        pending = await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0})
        error = await check_refused(mcp, method, pending.structured_content["ask_id"])
    assert error.code == METHOD_NOT_FOUND


@pytest.mark.rule("MCP-4", "MCP-12")
@pytest.mark.parametrize("method", METHODS)
async def test_a_task_belongs_to_its_agent(tmp_path: Path, method: str) -> None:
    async with served(tmp_path, {"one": "agent", "two": "agent", "front": "surface"}) as service:
        tokens = service.tokens
        async with tasks_client(service, tokens["one"]) as one:
            created = await create_task(one, {**GO, "to": "web"})
        async with tasks_client(service, tokens["two"]) as two:
            error = await check_refused(two, method, created.task_id)
            unknown = await check_refused(two, method, "ask_0")
        assert (error.code, unknown.code) == (INVALID_PARAMS, INVALID_PARAMS)
        assert error.message == f"There is no task {created.task_id}."
        assert (await service.newest()).open


@pytest.mark.rule("MCP-8", "MCP-12")
async def test_the_relay_supports_tasks_too(service: Served) -> None:
    async with relayed(service.url, extensions=[Tasks()]) as mcp:
        created = await create_task(mcp)
        await check_acknowledged(mcp, "tasks/update", created.task_id)
        assert (await get_task(mcp, created.task_id)).status == "working"
        await service.act(await service.newest(), action="answer", value=True)
        assert (await get_task(mcp, created.task_id)).status == "completed"
        other = await create_task(mcp)
        await check_acknowledged(mcp, "tasks/cancel", other.task_id)
        assert (await get_task(mcp, other.task_id)).status == "cancelled"
        assert (await check_refused(mcp, "tasks/get", "ask_0")).code == INVALID_PARAMS
    async with relayed(AWAY, extensions=[Tasks()]) as mcp:
        error = await check_refused(mcp, "tasks/get", created.task_id)
    assert error.code == INTERNAL_ERROR
    assert "answerback serve" in error.message


@pytest.mark.rule("MCP-12")
async def test_a_task_survives_a_failing_database(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> Any:
        raise StoreError("disk")

    backend = AskBackend(service.running.service, Callers(nobody, run_to_completion), None)
    async with Client(build_mcp_server(lambda _: backend), extensions=[Tasks()]) as mcp:
        created = await create_task(mcp)
        with monkeypatch.context() as failing:
            failing.setattr(service.running.service.store.asks, "get", broken)
            error = await check_refused(mcp, "tasks/get", created.task_id)
        assert (await get_task(mcp, created.task_id)).status == "working"
    assert error.code == INTERNAL_ERROR
    assert "The task still exists" in error.message


@pytest.mark.rule("MCP-12")
async def test_a_client_with_a_task_counts_as_waiting_from_the_start(service: Served) -> None:
    async with tasks_client(service) as mcp:
        await create_task(mcp)
    ask = await service.newest()
    assert service.running.service.presence.has_waiter(ask.id)


@pytest.mark.rule("MCP-12", "SUBMIT-16")
async def test_an_async_call_does_not_become_a_task(service: Served) -> None:
    async with tasks_client(service) as mcp:
        result = await mcp.call_tool("ask_user", {**GO, "mode": "async"})
    assert not result.is_error
    assert "check_answers" in text(result)
    assert (await service.newest()).open


@pytest.mark.rule("MCP-12")
@pytest.mark.parametrize("failed", [False, True], ids=["expired", "failed"])
async def test_an_expired_or_failed_ask_is_a_completed_task_too(
    service: Served, failed: bool
) -> None:
    async with tasks_client(service) as mcp:
        created = await create_task(mcp)
        if failed:
            expected = "The channel is gone."
            await service.running.service.fail(created.task_id, Reason.BACKEND_ERROR, expected)
        else:
            await service.running.service.expire(created.task_id)
        completed = await get_task(mcp, created.task_id)
    assert completed.status == "completed"  # "failed" is for protocol errors
    assert completed.result is not None
    assert completed.result.is_error is failed
