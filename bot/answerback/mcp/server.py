"""The MCP server: tools over a backend, bounded waits with progress, and results in words for the model.

It has no transport: `answerback.mcp.endpoint` mounts it. `answerback.mcp.stdio_relay` relays to it.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import anyio
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
)
from pydantic import JsonValue, TypeAdapter, ValidationError

from answerback.core.ask import Status, ToolResult
from answerback.core.errors import (
    CommitUnknownError,
    InvalidCallError,
    StoreError,
    UnreadableRowError,
)
from answerback.core.picture_header import PICTURE_TYPES
from answerback.dialects import ask_user_question
from answerback.dialects.ask_user_question import Limits
from answerback.dialects.call_reader import ArgumentNode, ProblemCollector, did_you_mean
from answerback.dialects.generous_reader import read_call, read_number
from answerback.dialects.registry import render_refusal
from answerback.mcp import tasks, tools
from answerback.mcp.backend import AskBackend, AskJson, AskRefusedError, AskToolCall
from answerback.mcp.tasks import BackendFactory, Context
from answerback.mcp.tool_results import (
    error_result,
    files_meta,
    files_of,
    result_for_ask,
    result_from_dialect,
    text_result,
    waiting_message,
)
from answerback_base import mcp_meta
from answerback_base.retry_text import describe_retry
from answerback_base.version import VERSION

logger = logging.getLogger(__name__)

PROGRESS_INTERVAL: Final = 15.0
"""Seconds between two progress notifications, for a client that asked for them."""
IDEMPOTENCY_KEY: Final = "answerback/idempotency-key"
"""In a request's ``_meta``: repeating the key with the same call returns the first ask.

A host's id of a call is no key, because another call may have it, too. Without a key, a repeated call can join its ask.
"""
_SESSIONS: Final = [each.session for each in mcp_meta.declared() if each.session]
_CALLS: Final = [each.call for each in mcp_meta.declared() if each.call]
_MAX_KEY: Final = 200
_JOIN_IN_CONVERSATION: Final = "mcp"
"""Recognises repeated calls in a conversation that has a name, whoever makes them."""
_INSTRUCTIONS: Final = (
    "Asks people questions where they are (a chat thread or a web page) and returns their typed answers. "
    f"Asking waits a while for the answer; if the result is pending, get the answer with {tools.WAIT}."
)
_NOTHING_NEW: Final = "There are no new answers. Open questions stay open."
_MAX_IMAGE: Final = 1_000_000
"""Bytes of a picture that stands in a result; a larger one is only named."""
_MAX_IMAGES: Final = 4_000_000
"""Bytes of all pictures in a result."""
_ARGUMENTS: Final = TypeAdapter(dict[str, JsonValue])

_REQUEST_CANCELLED: Final = -32800
"""The error that ends the response of a cancelled call, where the SDK sends one."""


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The options that a client's connection sets for its calls."""

    offered: Sequence[tools.AskingTool] = tools.DEFAULT_TOOLS
    """The asking tools that it may use."""
    wait: float = tools.DEFAULT_WAIT
    """Maximum seconds that a call waits."""
    to: str | None = None
    """Where to ask if a call does not say."""
    urgency: str | None = None
    """The urgency of what is asked, if a call does not say it."""
    caller: str | None = None
    """The client's address and name, by which its repeated calls are recognised; None if they are unknown."""
    scope: anyio.CancelScope | None = None
    """Runs the call, so that it can be cancelled; None if the SDK does that."""


OptionsSource = Callable[[Context], CallOptions]
ListTools = Callable[[Context, PaginatedRequestParams], Awaitable[ListToolsResult | tasks.Json]]


def build_mcp_server(
    backend_of: BackendFactory,
    *,
    options_of: OptionsSource = lambda _ctx: CallOptions(),
    progress: float = PROGRESS_INTERVAL,
) -> Server[dict[str, object]]:
    """Build an MCP server.

    Args:
        backend_of: returns the backend for a request.
        options_of: returns the options of a request.
        progress: seconds between two progress notifications.
    """
    calls = _Calls(backend_of, options_of, progress)
    server = new_mcp_server(calls.list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, calls.call_tool)
    tasks.register_tasks(server, backend_of)
    return server


def new_mcp_server(list_tools: ListTools) -> Server[dict[str, object]]:
    """Make a server that says what ours says of itself, and lists tools."""
    server: Server[dict[str, object]] = Server(
        "answerback",
        version=VERSION,
        title="Answerback",
        instructions=_INSTRUCTIONS,
        # No argument of our tools is also sent as a header. Otherwise the SDK lists all tools before each call.
        get_tool_input_schema=lambda _name: None,
    )
    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.extensions[tasks.EXTENSION] = {}
    return server


def define_tools(
    offered: Sequence[tools.AskingTool], wait: float, enabled: Collection[str] | None = None
) -> ListToolsResult:
    """Define the tools for a client.

    Args:
        offered: the asking tools.
        wait: maximum seconds that a call waits.
        enabled: the dialects that a call may have; None: any.
    """
    definitions = [
        tool.definition(tool.dialects if enabled is None else enabled, wait) for tool in offered
    ]
    return ListToolsResult(tools=[*filter(None, definitions), *tools.follow_up_tools(wait)])


@dataclass(frozen=True)
class _Calls:
    backend_of: BackendFactory
    options_of: OptionsSource
    progress: float

    async def list_tools(self, ctx: Context, _params: PaginatedRequestParams) -> ListToolsResult:
        """List the tools that are offered and enabled."""
        options = self.options_of(ctx)
        dialects = {dialect for tool in options.offered for dialect in tool.dialects}
        enabled = await self.backend_of(ctx).enabled(dialects)
        return define_tools(options.offered, options.wait, enabled)

    async def call_tool(
        self, ctx: Context, params: CallToolRequestParams
    ) -> CallToolResult | tasks.Json:
        """Run one tool call.

        Raises:
            MCPError: there is no such tool, or the client has cancelled the call.
        """
        options = self.options_of(ctx)
        _check_name(params.name, options)
        with options.scope or anyio.CancelScope():
            return await self._call_or_explain(ctx, params, options)
        raise MCPError(_REQUEST_CANCELLED, "Request cancelled")

    async def _call_or_explain(
        self, ctx: Context, params: CallToolRequestParams, options: CallOptions
    ) -> CallToolResult | tasks.Json:
        """Run a tool call; errors are returned as results for the model."""
        try:
            arguments = _ARGUMENTS.validate_python(params.arguments or {})
            return await self._call(ctx, params.name, arguments, options)
        except AskRefusedError as refused:
            return result_from_dialect(refused.result)
        except (_BadArgumentError, ValidationError) as error:
            return error_result(f"{params.name}: {error}")
        except CommitUnknownError:
            return error_result(
                "Answerback's database failed, and this may or may not have been saved. Tell the user before you"
                " ask again."
            )
        except UnreadableRowError as error:
            return error_result(str(error))
        except StoreError:
            return error_result(
                "Answerback's database is failing; nothing was changed. Try again later."
            )

    async def _call(
        self, ctx: Context, name: str, arguments: dict[str, JsonValue], options: CallOptions
    ) -> CallToolResult | tasks.Json:
        backend = self.backend_of(ctx)
        for tool in options.offered:
            if tool.name == name:
                return await self._ask(ctx, backend, tool, arguments, options)
        if name == tools.CHECK:
            return await _check_answers(ctx, backend, arguments)
        ask_id = arguments.pop("ask_id", None)
        if not isinstance(ask_id, str) or not ask_id:
            raise _BadArgumentError("ask_id is missing: pass the ask_id from a pending result.")
        if name == tools.WAIT:
            seconds = _wait_seconds(arguments, options)
            _refuse_extra(arguments)
            ask = await backend.get(ask_id)
            if ask is not None and ask["status"] == Status.OPEN:
                ask = await self._wait(ctx, backend, ask, seconds)
        else:
            ask = await _start_operation(backend, name, ask_id, arguments)
        return (
            error_result(f"There is no ask with the id {ask_id[:100]}.")
            if ask is None
            else await _result(backend, ask)
        )

    async def _ask(
        self,
        ctx: Context,
        backend: AskBackend,
        tool: tools.AskingTool,
        arguments: dict[str, JsonValue],
        options: CallOptions,
    ) -> CallToolResult | tasks.Json:
        seconds = _wait_seconds(arguments, options)
        meta: Mapping[str, object] = ctx.meta or {}
        key = find_key(meta)
        as_task = tasks.client_supports_tasks(ctx)
        conversation = _conversation(ctx, arguments)
        asking = AskToolCall(
            name=tool.name,
            dialect=tool.dialect,
            to=arguments.pop("to", None) or options.to,
            mode=_mode(arguments),
            urgency=arguments.pop("urgency", None) or options.urgency,
            conversation=conversation,
            files=arguments.pop("files", None),
            join=options.caller if conversation is None else _JOIN_IN_CONVERSATION,
            arguments=arguments,
            key=f"mcp:{key}" if key else None,
            tool_call_id=_first_text(meta, _CALLS),
            clarifies=not as_task,  # a task's model only waits for the result, and cannot be asked anything meanwhile
        )
        if tool.limits is not None:
            _check_limits(tool, tool.limits, arguments)
        ask = await backend.submit(asking)
        if ask["interim_result"] is not None:
            return result_from_dialect(ToolResult.model_validate(ask["interim_result"]))
        if ask["status"] == Status.OPEN:
            # A task's client polls for the result, so it counts as waiting, and this call does not wait.
            ask = await self._wait(ctx, backend, ask, 0.0 if as_task else seconds)
            if as_task and ask["status"] == Status.OPEN:
                return tasks.task_created_result(ask)
        return await _result(backend, ask)

    async def _wait(
        self, ctx: Context, backend: AskBackend, ask: AskJson, seconds: float
    ) -> AskJson:
        progress = None
        if (ctx.meta or {}).get("progress_token") is not None:
            progress = asyncio.create_task(self._report_progress(ctx, ask, seconds))
        try:
            return await backend.wait(str(ask["id"]), seconds) or ask
        except StoreError as error:
            # The ask is stored, and a later call returns its answer.
            extra = {"action": "wait_failed", "ask_id": str(ask["id"])}
            logger.warning("A wait ended early: %s", error, extra=extra)
            return ask
        finally:
            if progress is not None:
                progress.cancel()
                await asyncio.gather(progress, return_exceptions=True)

    async def _report_progress(self, ctx: Context, ask: AskJson, seconds: float) -> None:
        """Report progress until cancelled, first at once: it names the ask, in case the connection is lost."""
        waited = 0.0
        message = waiting_message(ask)
        while True:
            await ctx.session.report_progress(waited, seconds, message)
            await asyncio.sleep(self.progress)
            waited += self.progress


def _check_limits(tool: tools.AskingTool, limits: Limits, arguments: dict[str, JsonValue]) -> None:
    """Check a call against the limits that our own definition of its tool states.

    Raises:
        AskRefusedError: it is beyond them.
    """
    strict = read_call(tool.name, arguments, tool.dialect).arguments
    problems = ProblemCollector(strict, tool.name)
    ask_user_question.read_form(ArgumentNode(strict, problems), limits)
    if problems.count:
        error = InvalidCallError(tool.name, problems.in_document_order())
        raise AskRefusedError(render_refusal(error))


def _conversation(ctx: Context, arguments: dict[str, JsonValue]) -> JsonValue:
    """The conversation that the model names, or else the session that its host names."""
    named = arguments.pop("conversation", None)
    return _first_text(ctx.meta or {}, _SESSIONS) if named is None else named


def _check_name(name: str, options: CallOptions) -> None:
    """Refuse a tool that does not exist, as the protocol wants it, whatever its arguments.

    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling
    """
    follow_up = [tool.name for tool in tools.follow_up_tools()]
    names = [*(tool.name for tool in options.offered), *follow_up]
    if name not in names:
        suggestion = did_you_mean(name, names)
        message = f"There is no tool {name[:100]}{suggestion}. The tools are: {', '.join(names)}."
        raise MCPError(INVALID_PARAMS, message)


def _start_operation(
    backend: AskBackend, name: str, ask_id: str, arguments: dict[str, JsonValue]
) -> Awaitable[AskJson | None]:
    """Start the operation of a tool on an ask, without waiting for people."""
    text = arguments.pop("text", None) if name == tools.ADD_CONTEXT else ""
    if not isinstance(text, str):
        raise _BadArgumentError("text is missing: pass the explanation.")
    _refuse_extra(arguments)
    match name:
        case tools.GET:
            return backend.get(ask_id)
        case tools.WITHDRAW:
            return backend.withdraw(ask_id)
        case _:
            return backend.explain(ask_id, text)


async def _check_answers(
    ctx: Context, backend: AskBackend, arguments: dict[str, JsonValue]
) -> CallToolResult:
    """The tool `check_answers`: the late answers, as text and data."""
    conversation, after = _conversation(ctx, arguments), read_number(arguments.pop("after", None))
    if conversation is not None and not (isinstance(conversation, str) and conversation):
        raise _BadArgumentError("conversation must be the name of a conversation.")
    if after is not None and (isinstance(after, bool) or not isinstance(after, int) or after < 0):
        raise _BadArgumentError("after must be a number, the `next` of an earlier result.")
    _refuse_extra(arguments)
    late = await backend.late(conversation, after)
    messages = [_message(answer) for answer in late.answers]
    answers: list[JsonValue] = [_answer(ask) for ask in late.answers]
    structured: JsonValue = {"answers": answers, "next": late.next}
    result = text_result("\n\n".join(messages) or _NOTHING_NEW, structured)
    result.meta = files_meta(late.answers)
    return result


async def _result(backend: AskBackend, ask: AskJson) -> CallToolResult:
    """Return the result of a call, with the pictures that people sent as images, as far as they are small."""
    result, left = result_for_ask(ask), _MAX_IMAGES
    for file in files_of(ask) if ask["status"] != Status.OPEN else ():
        size, media_type = file["bytes"], str(file["media_type"])
        if not isinstance(size, int) or size > min(_MAX_IMAGE, left):
            continue
        if media_type in PICTURE_TYPES and (data := await backend.read_file(str(file["id"]))):
            encoded = base64.b64encode(data).decode()
            result.content.append(ImageContent(data=encoded, mime_type=media_type))
            left -= size
    return result


def _message(answer: AskJson) -> str:
    if answer["kind"] == "outcome":
        return str(answer["message"])
    text = answer["text"]
    return describe_retry(str(answer["headline"]), None if text is None else str(text))


def _answer(ask: AskJson) -> dict[str, JsonValue]:
    if ask["kind"] != "outcome":
        return {**ask}
    result = ask["tool_result"]
    structured = result["structured"] if isinstance(result, dict) else None
    fields = {name: ask[name] for name in ("kind", "status", "tool_call_id", "end_turn", "message")}
    return {"ask_id": ask["id"], **fields, "structured": structured}


class _BadArgumentError(Exception):
    """An argument is invalid or unknown; the message is for the model."""


def _wait_seconds(arguments: dict[str, JsonValue], options: CallOptions) -> float:
    seconds = read_number(arguments.pop("wait_seconds", None))
    if seconds is None:
        return options.wait
    # An integer may be too large for a float.
    is_nan = isinstance(seconds, float) and math.isnan(seconds)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or is_nan:
        raise _BadArgumentError("wait_seconds must be a number of seconds.")
    return float(min(max(seconds, 0.0), options.wait))


def _mode(arguments: dict[str, JsonValue]) -> JsonValue:
    """Take the mode out of the arguments, unless it is an elicitation's mode."""
    return arguments.pop("mode") if arguments.get("mode") in tools.MODES else None


def _refuse_extra(arguments: dict[str, JsonValue]) -> None:
    if arguments:
        names = ", ".join(name[:100] for name in arguments)
        raise _BadArgumentError(f"this tool has no argument named {names}.")


def find_key(meta: Mapping[str, object]) -> str | None:
    """Return the idempotency key of a request, if it has one that can be used."""
    return _first_text(meta, (IDEMPOTENCY_KEY,))


def _first_text(meta: Mapping[str, object], fields: Iterable[str]) -> str | None:
    """Return the first of these fields that is a text of a usable length."""
    for field in fields:
        value = meta.get(field)
        if isinstance(value, str) and 0 < len(value) <= _MAX_KEY:
            return value
    return None
