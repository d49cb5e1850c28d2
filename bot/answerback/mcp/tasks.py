"""MCP's tasks extension: for a client that declares it, an ask is a task to poll instead of a call that waits.

The task is the ask: it has the same id and is stored in the database, so it outlives the client and the service. People
answer on our surfaces, so a task never requires input from its client.
https://modelcontextprotocol.io/seps/2663-tasks-extension
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    RequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import JsonValue

from answerback.core.ask import Status
from answerback.core.errors import StoreError
from answerback.mcp.backend import AskBackend, AskJson, AskRefusedError
from answerback.mcp.tool_results import result_for_ask, waiting_message

logger = logging.getLogger(__name__)

EXTENSION: Final = "io.modelcontextprotocol/tasks"
POLL_INTERVAL_MS: Final = 2_000
"""The poll interval suggested to clients: people take longer to answer, and a lookup costs little."""

Context = ServerRequestContext[dict[str, object]]
BackendFactory = Callable[[Context], AskBackend]
AskOperation = Callable[[AskBackend], Awaitable[AskJson | None]]
Json = dict[str, JsonValue]
_REQUIRED: Final[Json] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}


class TaskParams(RequestParams):
    task_id: str


class UpdateParams(TaskParams):
    """A client's responses to a task that required input."""

    input_responses: dict[str, JsonValue]


def client_supports_tasks(ctx: Context) -> bool:
    """Return True if the client supports tasks, which it declares with each request."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    capabilities = ctx.session.client_capabilities
    return EXTENSION in ((capabilities and capabilities.extensions) or {})


def task_created_result(ask: AskJson) -> Json:
    """The result of a call whose open ask continues as a task."""
    return {"resultType": "task", **_task(ask)}


METHODS: Final[Mapping[str, type[TaskParams]]] = {
    "tasks/get": TaskParams,
    "tasks/update": UpdateParams,
    "tasks/cancel": TaskParams,
}
"""The extension's methods, with their parameters."""


def register_tasks(server: Server[dict[str, object]], backend_of: BackendFactory) -> None:
    methods = _Methods(backend_of)
    server.add_request_handler("tasks/get", TaskParams, methods.get)
    server.add_request_handler("tasks/update", UpdateParams, methods.update)
    server.add_request_handler("tasks/cancel", TaskParams, methods.cancel)


@dataclass(frozen=True)
class _Methods:
    backend_of: BackendFactory

    async def get(self, ctx: Context, params: TaskParams) -> Json:
        ask = await self._on_own_ask(ctx, params, lambda backend: backend.get(params.task_id))
        return {"resultType": "complete", **_task(ask)}

    async def update(self, ctx: Context, params: UpdateParams) -> Json:
        """Acknowledge the responses and ignore them, because no task requires input."""
        await self._on_own_ask(
            ctx, params, lambda backend: backend.get(params.task_id, reported=False)
        )
        return {"resultType": "complete"}

    async def cancel(self, ctx: Context, params: TaskParams) -> Json:
        """Withdraw the ask. One that has ended is unchanged, and its outcome still counts as unreported."""
        await self._on_own_ask(
            ctx, params, lambda backend: backend.withdraw(params.task_id, reported=False)
        )
        return {"resultType": "complete"}

    async def _on_own_ask(
        self, ctx: Context, params: TaskParams, operation: AskOperation
    ) -> AskJson:
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
        if not client_supports_tasks(ctx):
            message = f"{ctx.method} requires the client capability {EXTENSION}."
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, message, _REQUIRED)
        try:
            ask = await operation(self.backend_of(ctx))
        except AskRefusedError as refused:
            raise MCPError(INTERNAL_ERROR, refused.result.content) from refused
        except StoreError as error:
            logger.warning("%s failed: %s", ctx.method, error, extra={"action": "task_failed"})
            message = "Answerback's database is failing. The task still exists; try again later."
            raise MCPError(INTERNAL_ERROR, message) from error
        if ask is None:
            raise MCPError(INVALID_PARAMS, f"There is no task {params.task_id[:100]}.")
        return ask


def _task(ask: AskJson) -> Json:
    """A task in the extension's format. ``ttlMs`` is null: it is kept as long as its ask."""
    common: Json = {
        "taskId": ask["id"],
        "createdAt": ask["created_at"],
        "lastUpdatedAt": ask["updated_at"],
        "ttlMs": None,
        "pollIntervalMs": POLL_INTERVAL_MS,
    }
    match ask["status"]:
        case Status.OPEN:
            return {**common, "status": "working", "statusMessage": f"{waiting_message(ask)}."}
        case Status.WITHDRAWN:
            return {**common, "status": "cancelled", "statusMessage": "The ask was withdrawn."}
        case _:
            # A failed ask counts as completed, with an error for the model: "failed" is for protocol errors.
            result = result_for_ask(ask).model_dump(mode="json", by_alias=True, exclude_none=True)
            return {**common, "status": "completed", "result": result}
