"""The MCP tools over the HTTP API of a running service, for clients that start a program in place of using HTTP.

An ask outlives this program, its client, and a restart of the service.
"""

from __future__ import annotations

import asyncio
import logging
import platform
from collections.abc import Collection
from typing import Final

from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import CancelledNotificationParams, RequestId
from pydantic import JsonValue

from answerback.core.ask import Status, ToolResult
from answerback.core.clarification import CLARIFY
from answerback.mcp.backend import (
    AskJson,
    AskRefusedError,
    AskToolCall,
    LateAnswerBatch,
    explanation_refused,
)
from answerback.mcp.cancellation import CANCELLED
from answerback.mcp.server import CallOptions, OptionsSource, build_mcp_server
from answerback.mcp.tasks import Context
from answerback_client import (
    AsyncClient,
    ClientError,
    EndedError,
    InvalidCallError,
    NotFoundError,
    StillOpenError,
    UnauthorizedError,
    UnreachableError,
)

logger = logging.getLogger(__name__)

_CANCELLABLE_CALLS: Final = 100
"""The latest calls, which a cancellation may cross."""
_PATIENCE: Final = 20.0
"""Seconds for which calls to a service that is down are retried within one tool call."""


async def serve_on_streams(
    url: str, token: str | None, to: str | None, options: CallOptions
) -> None:
    """Serve one client on standard input and output, until it ends them."""

    def options_of(ctx: Context) -> CallOptions:
        return CallOptions(options.offered, options.wait, caller=_caller(ctx))

    async with AsyncClient(url, token, patience=_PATIENCE) as client:
        server = build_bridge(client, to, options_of)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


def build_bridge(
    client: AsyncClient, to: str | None, options_of: OptionsSource
) -> Server[dict[str, object]]:
    """Build the MCP server for one client: what a call has reported is undone if it is cancelled.

    The SDK cancels a call in progress; its result, and a cancellation that crosses it, are our concern.
    """
    reported = ReportedOutcomes(client)

    async def cancelled(_ctx: Context, params: CancelledNotificationParams) -> None:
        await reported.undo(params.request_id)

    server = build_mcp_server(
        lambda ctx: ClientBackend(client, to, reported, ctx.request_id),
        options_of=options_of,
    )
    server.add_notification_handler(CANCELLED, CancelledNotificationParams, cancelled)
    return server


class ReportedOutcomes:
    """The asks whose outcomes the latest calls have reported, so that a cancelled call's can become late answers."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._calls: dict[str, list[str]] = {}
        self._undoing = asyncio.Lock()

    def add(self, request_id: RequestId | None, ask_id: str) -> None:
        """Note that a call reports the outcome of an ask."""
        self._calls.setdefault(str(request_id), []).append(ask_id)
        if len(self._calls) > _CANCELLABLE_CALLS:
            del self._calls[next(iter(self._calls))]

    async def undo(self, request_id: RequestId | None) -> None:
        """Return what a cancelled call has reported."""
        async with self._undoing:
            for ask_id in self._calls.pop(str(request_id), []):
                try:
                    await self._client.call("POST", f"/v1/asks/{ask_id}/undelivered")
                except ClientError as error:
                    logger.warning("The answer of a cancelled call is lost: %s", error)

    async def settle(self) -> None:
        """Return once everything is undone that was cancelled."""
        async with self._undoing:
            pass


def _caller(ctx: Context) -> str | None:
    """The client's machine and name."""
    params = ctx.session.client_params
    return None if params is None else f"{platform.node()} {params.client_info.name[:100]}"


class ClientBackend:
    """A backend for the MCP tools that uses a service's HTTP API.

    Args:
        to: where to ask if the call does not say.
        reported: gets the asks whose outcomes the service has reported.
        request_id: the call's.
    """

    def __init__(
        self,
        client: AsyncClient,
        to: str | None = None,
        reported: ReportedOutcomes | None = None,
        request_id: RequestId | None = None,
    ) -> None:
        self._client = client
        self._to = to
        self._reported = reported or ReportedOutcomes(client)
        self._request_id = request_id

    def _report(self, ask: AskJson) -> AskJson:
        if ask["status"] != Status.OPEN:
            self._reported.add(self._request_id, str(ask["id"]))
        return ask

    async def enabled(self, dialects: Collection[str]) -> Collection[str]:
        """The given dialects that the service offers."""

        async def offers(dialect: str) -> bool:
            try:
                tools = await self._client.call("GET", f"/v1/tools?dialect={dialect}")
            except ClientError:
                return True  # the service is down: a call explains that in words, a missing tool would not
            return bool(tools.get("tools"))

        ordered = sorted(dialects)
        offered = await asyncio.gather(*map(offers, ordered))
        return {dialect for dialect, yes in zip(ordered, offered, strict=True) if yes}

    async def submit(self, asking: AskToolCall) -> AskJson:
        """Submit an ask."""
        await self._reported.settle()
        envelope: dict[str, JsonValue] = {
            "to": asking.to if asking.to is not None else self._to,
            "dialect": asking.dialect,
            "tool_call_id": asking.tool_call_id,
            "mode": asking.mode,
            "conversation": asking.conversation,
            "join": asking.join,
        }
        envelope["accepts"] = [CLARIFY] if asking.clarifies else None
        extra = {name: value for name, value in envelope.items() if value is not None}
        body: dict[str, JsonValue] = {"name": asking.name, "arguments": asking.arguments, **extra}
        try:
            return self._report((await self._client.submit_body(body, key=asking.key)).json)
        except InvalidCallError as error:
            result = error.tool_result
            refusal = result and ToolResult(
                content=result.content, structured=result.structured, is_error=result.is_error
            )
            raise AskRefusedError(refusal or _error_result(str(error))) from error
        except ClientError as error:
            raise AskRefusedError(_error_result(_describe_error(error))) from error

    async def get(self, ask_id: str, *, reported: bool = True) -> AskJson | None:
        """The current state of an ask; None if there is no such ask."""
        try:
            return self._report((await self._client.get(ask_id)).json)
        except NotFoundError:
            return None
        except ClientError as error:
            raise AskRefusedError(_error_result(_describe_error(error))) from error

    async def wait(self, ask_id: str, seconds: float) -> AskJson | None:
        """Wait until the ask has ended or the time is up; None if the service is down by then."""
        try:
            async with asyncio.timeout(seconds + _PATIENCE):
                return self._report((await self._client.wait(ask_id, timeout=seconds)).json)
        except StillOpenError as error:
            return error.ask.json
        except (TimeoutError, UnreachableError, NotFoundError):
            return None
        except ClientError as error:
            raise AskRefusedError(_error_result(_describe_error(error))) from error

    async def explain(self, ask_id: str, text: str) -> AskJson | None:
        """Show an explanation below the ask's question; returns the ask, which may already have ended."""
        try:
            return (await self._client.add_context(ask_id, text)).json
        except EndedError as error:
            return self._report(error.ask.json)
        except NotFoundError:
            return None
        except InvalidCallError as error:
            raise explanation_refused(error.messages) from error
        except ClientError as error:
            raise AskRefusedError(_error_result(_describe_error(error))) from error

    async def withdraw(self, ask_id: str, *, reported: bool = True) -> AskJson | None:
        """Withdraw the ask; returns it, though it may have ended before."""
        try:
            return (await self._client.withdraw(ask_id)).json
        except EndedError as error:
            return self._report(error.ask.json)
        except NotFoundError:
            return None
        except ClientError as error:
            raise AskRefusedError(_error_result(_describe_error(error))) from error

    async def late(self, conversation: str | None, after: int | None) -> LateAnswerBatch:
        """The late answers that the agent has not received; asks without a conversation are the default."""
        await self._reported.settle()
        try:
            answers = await self._client.answers(conversation or "", after=after)
        except ClientError as error:
            raise AskRefusedError(_error_result(_describe_error(error))) from error
        for retry in answers.retries:
            self._reported.add(self._request_id, retry.ask_id)
        outcomes = [self._report(ask.json) for ask in answers.asks]
        return LateAnswerBatch([*outcomes, *(each.json for each in answers.retries)], answers.next)


def _describe_error(error: ClientError) -> str:
    if isinstance(error, UnreachableError):
        return (
            f"{error} The user has to start it with `answerback serve`. Existing asks are not lost."
        )
    if isinstance(error, UnauthorizedError):
        return f"{error} The user has to set ANSWERBACK_TOKEN to the agent's token and restart this MCP server."
    return str(error)


def _error_result(text: str) -> ToolResult:
    return ToolResult(content=text, structured={"error": text}, is_error=True)
