"""The MCP server: its tools over a backend, bounded waits with progress, and results in words for the model.

Owns no transport: `answerback.mcp.endpoint` mounts it, `answerback mcp` runs it on standard input and output.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from mcp.server import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from pydantic import JsonValue, TypeAdapter, ValidationError

from answerback.core.ask import Status, ToolResult
from answerback.core.errors import CommitUnknownError, StoreError, UnreadableRowError
from answerback.mcp import tasks, tools
from answerback.mcp.backend import AskBackend, AskJson, AskRefusedError, AskToolCall
from answerback.mcp.tasks import BackendFactory, Context
from answerback.mcp.tool_results import (
    error_result,
    result_for_ask,
    result_from_dialect,
    text_result,
    waiting_message,
)
from answerback.version import VERSION

logger = logging.getLogger(__name__)

PROGRESS_INTERVAL: Final = 15.0
"""Seconds between two words of progress, for a client that asked for them."""
IDEMPOTENCY_KEY: Final = "answerback/idempotency-key"
"""In a request's ``_meta``: the same key with the same call finds the first ask."""
CLAUDE_TOOL_USE: Final = "claudecode/toolUseId"
"""In a request's ``_meta``, from Claude Code: the id of the model's tool call."""
CODEX_SESSION: Final = "sessionId"
"""In a request's ``_meta``, from Codex: the session, by which its hooks and its app server call a conversation."""
CODEX_CALL: Final = "callId"
"""In a request's ``_meta``, from Codex: the id of the model's tool call."""
_MAX_KEY: Final = 200
_INSTRUCTIONS: Final = (
    "Puts questions to people where they are (a chat thread or a web page) and returns their typed answers. "
    f"Asking waits a while for the answer; a result that is pending is fetched with {tools.WAIT}."
)
_NOTHING_NEW: Final = "There are no new answers. Questions that are open stay open."
_ARGUMENTS: Final = TypeAdapter(dict[str, JsonValue])

ToolsOf = Callable[[Context], Sequence[tools.AskingTool]]


def build_mcp_server(
    backend_of: BackendFactory,
    *,
    offered: ToolsOf = lambda _ctx: tools.DEFAULT_TOOLS,
    progress: float = PROGRESS_INTERVAL,
) -> Server[dict[str, object]]:
    """An MCP server.

    Args:
        backend_of: the backend for who sent a request.
        offered: the asking tools that a request may use.
        progress: seconds between two words of progress.
    """
    calls = _Calls(backend_of, offered, progress)
    server: Server[dict[str, object]] = Server(
        "answerback",
        version=VERSION,
        title="Answerback",
        instructions=_INSTRUCTIONS,
        on_list_tools=calls.list_tools,
    )
    server.add_request_handler("tools/call", CallToolRequestParams, calls.call_tool)
    tasks.register_tasks(server, backend_of)
    return server


class _Calls:
    """The handlers of the server's requests."""

    def __init__(self, backend_of: BackendFactory, offered: ToolsOf, progress: float) -> None:
        self._backend_of = backend_of
        self._offered = offered
        self._progress = progress

    async def list_tools(
        self, ctx: Context, _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """The tools that are offered and enabled."""
        offered = self._offered(ctx)
        dialects = {dialect for tool in offered for dialect in tool.dialects}
        enabled = await self._backend_of(ctx).enabled(dialects)
        found = [tool.definition(enabled) for tool in offered]
        return ListToolsResult(tools=[*filter(None, found), *tools.follow_up_tools()])

    async def call_tool(
        self, ctx: Context, params: CallToolRequestParams
    ) -> CallToolResult | tasks.Json:
        """One call; what is wrong with it is a result for the model too."""
        try:
            arguments = _ARGUMENTS.validate_python(params.arguments or {})
            return await self._call(ctx, params.name, arguments)
        except AskRefusedError as refused:
            return result_from_dialect(refused.result)
        except (_BadArgumentError, ValidationError) as error:
            return error_result(f"{params.name}: {error}")
        except CommitUnknownError:
            return error_result(
                "Answerback's database failed, and it is not known whether this was saved. Tell the user before you"
                " ask again."
            )
        except UnreadableRowError as error:
            return error_result(str(error))
        except StoreError:
            return error_result(
                "Answerback's database is failing; nothing was changed. Try again later."
            )

    async def _call(
        self, ctx: Context, name: str, arguments: dict[str, JsonValue]
    ) -> CallToolResult | tasks.Json:
        backend = self._backend_of(ctx)
        for tool in self._offered(ctx):
            if tool.name == name:
                return await self._ask(ctx, backend, tool, arguments)
        if name == tools.CHECK:
            return await _late(ctx, backend, arguments)
        ask_id = arguments.pop("ask_id", None)
        if not isinstance(ask_id, str) or not ask_id:
            raise _BadArgumentError("ask_id is missing: the id that a pending result named.")
        if name == tools.WAIT:
            seconds = _wait_seconds(arguments)
            _nothing_else(arguments)
            ask = await backend.get(ask_id)
            if ask is not None and ask["status"] == Status.OPEN:
                ask = await self._wait(ctx, backend, ask, seconds)
        elif (done := _of_ask(backend, name, ask_id, arguments)) is not None:
            ask = await done
        else:
            return error_result(f"There is no tool {name[:100]}.")
        return (
            error_result(f"There is no ask {ask_id[:100]}.") if ask is None else result_for_ask(ask)
        )

    async def _ask(
        self,
        ctx: Context,
        backend: AskBackend,
        tool: tools.AskingTool,
        arguments: dict[str, JsonValue],
    ) -> CallToolResult | tasks.Json:
        seconds = _wait_seconds(arguments)
        meta: Mapping[str, object] = ctx.meta or {}
        tool_use = _text(meta.get(CLAUDE_TOOL_USE))
        key = _text(meta.get(IDEMPOTENCY_KEY)) or tool_use
        as_task = tasks.client_supports_tasks(ctx)
        asking = AskToolCall(
            name=tool.name,
            dialect=tool.dialect,
            to=arguments.pop("to", None),
            mode=_mode(arguments),
            conversation=_conversation(ctx, arguments),
            arguments=arguments,
            key=f"mcp:{key}" if key else None,
            tool_call_id=tool_use or _text(meta.get(CODEX_CALL)),
            clarifies=not as_task,  # its model waits for the task alone, and cannot be asked meanwhile
        )
        ask = await backend.submit(asking)
        if ask["interim_result"] is not None:
            return result_from_dialect(ToolResult.model_validate(ask["interim_result"]))
        if ask["status"] == Status.OPEN:
            # The client of a task comes back for it: it counts as one that waits, and this call does not.
            ask = await self._wait(ctx, backend, ask, 0.0 if as_task else seconds)
            if as_task and ask["status"] == Status.OPEN:
                return tasks.task_created_result(ask)
        return result_for_ask(ask)

    async def _wait(
        self, ctx: Context, backend: AskBackend, ask: AskJson, seconds: float
    ) -> AskJson:
        telling = None
        if (ctx.meta or {}).get("progress_token") is not None:
            telling = asyncio.create_task(self._tell(ctx, ask, seconds))
        try:
            return await backend.wait(str(ask["id"]), seconds) or ask
        except StoreError as error:
            # The ask is there, and its answer comes with a later call.
            extra = {"action": "wait_failed", "ask_id": str(ask["id"])}
            logger.warning("A wait ends early: %s", error, extra=extra)
            return ask
        finally:
            if telling is not None:
                telling.cancel()
                await asyncio.gather(telling, return_exceptions=True)

    async def _tell(self, ctx: Context, ask: AskJson, seconds: float) -> None:
        """Words of progress until cancelled, the first at once: they name the ask, should the line be lost."""
        waited = 0.0
        words = waiting_message(ask)
        while True:
            await ctx.session.report_progress(waited, seconds, words)
            await asyncio.sleep(self._progress)
            waited += self._progress


def _conversation(ctx: Context, arguments: dict[str, JsonValue]) -> JsonValue:
    """The conversation that the model names, else the session that its host names."""
    named = arguments.pop("conversation", None)
    return _text((ctx.meta or {}).get(CODEX_SESSION)) if named is None else named


def _of_ask(
    backend: AskBackend, name: str, ask_id: str, arguments: dict[str, JsonValue]
) -> Awaitable[AskJson | None] | None:
    """What a tool that names an ask does with it, without waiting; None where there is no such tool."""
    text = arguments.pop("text", None) if name == tools.ADD_CONTEXT else ""
    if not isinstance(text, str):
        raise _BadArgumentError("text is missing: the explanation.")
    match name:
        case tools.GET:
            _nothing_else(arguments)
            return backend.get(ask_id)
        case tools.WITHDRAW:
            _nothing_else(arguments)
            return backend.withdraw(ask_id)
        case tools.ADD_CONTEXT:
            _nothing_else(arguments)
            return backend.explain(ask_id, text)
        case _:
            return None


async def _late(
    ctx: Context, backend: AskBackend, arguments: dict[str, JsonValue]
) -> CallToolResult:
    """The answers that came late, in words and as data."""
    conversation, after = _conversation(ctx, arguments), arguments.pop("after", None)
    if conversation is not None and not (isinstance(conversation, str) and conversation):
        raise _BadArgumentError("conversation is the name of a conversation.")
    if after is not None and (isinstance(after, bool) or not isinstance(after, int) or after < 0):
        raise _BadArgumentError("after is the `next` of an earlier result, a number.")
    _nothing_else(arguments)
    late = await backend.late(conversation, after)
    words = [str(ask["message"]) for ask in late.answers]
    answers: list[JsonValue] = [_answer(ask) for ask in late.answers]
    structured: JsonValue = {"answers": answers, "next": late.next}
    return text_result("\n\n".join(words) or _NOTHING_NEW, structured)


def _answer(ask: AskJson) -> dict[str, JsonValue]:
    result = ask["tool_result"]
    given = result["structured"] if isinstance(result, dict) else None
    named = {name: ask[name] for name in ("status", "tool_call_id", "end_turn", "message")}
    return {"ask_id": ask["id"], **named, "structured": given}


class _BadArgumentError(Exception):
    """An argument is none that the tool takes; in words for the model."""


def _wait_seconds(arguments: dict[str, JsonValue]) -> float:
    seconds = arguments.pop("wait_seconds", None)
    if seconds is None:
        return tools.DEFAULT_WAIT
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or math.isnan(seconds):
        raise _BadArgumentError("wait_seconds is a number of seconds.")
    return min(max(float(seconds), 0.0), tools.LONGEST_WAIT)


def _mode(arguments: dict[str, JsonValue]) -> JsonValue:
    """Whether the model waits; an elicitation has a mode of its own."""
    return arguments.pop("mode") if arguments.get("mode") in tools.MODES else None


def _nothing_else(arguments: dict[str, JsonValue]) -> None:
    if arguments:
        names = ", ".join(name[:100] for name in arguments)
        raise _BadArgumentError(f"{names} is no argument of this tool.")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _MAX_KEY else None
