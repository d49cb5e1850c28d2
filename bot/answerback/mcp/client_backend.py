"""The MCP tools over the HTTP API of a running service, for clients that start a program in place of using HTTP.

An ask outlives this program, its client, and a restart of the service.
"""

from __future__ import annotations

import asyncio
import logging
import platform
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import Final

from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import CancelledNotificationParams, RequestId

from answerback.core.ask import Status, ToolResult
from answerback.mcp.backend import (
    AskBackend,
    AskJson,
    AskRefusedError,
    AskToolCall,
    LateAnswerBatch,
)
from answerback.mcp.cancellation import CANCELLED
from answerback.mcp.messages import InputLines
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


async def serve_on_streams(url: str, token: str | None, options: CallOptions) -> None:
    """Serve one client on standard input and output, until it ends them."""
    async with AsyncClient(url, token, patience=_PATIENCE) as client:
        server = build_bridge(client, lambda ctx: replace(options, caller=_caller(ctx)))
        lines = InputLines()
        async with stdio_server(lines) as (incoming, outgoing):  # type: ignore[arg-type]  # it is only iterated
            lines.answer = outgoing.send
            await server.run(incoming, outgoing, server.create_initialization_options())


def build_bridge(client: AsyncClient, options_of: OptionsSource) -> Server[dict[str, object]]:
    """Build the MCP server for one client: what a call has reported is undone if it is cancelled.

    The SDK cancels a call in progress; its result, and a cancellation that crosses it, are our concern.
    """
    reported = ReportedOutcomes(client)

    async def cancelled(_ctx: Context, params: CancelledNotificationParams) -> None:
        await reported.undo(params.request_id)

    server = build_mcp_server(
        lambda ctx: ClientBackend(client, reported, ctx.request_id),
        options_of=options_of,
    )
    server.add_notification_handler(CANCELLED, CancelledNotificationParams, cancelled)
    return server


class ReportedOutcomes:
    """The asks whose outcomes the latest calls have reported, so that a cancelled call's can become late answers."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._calls: dict[str, set[str]] = {}
        self._undoing = asyncio.Lock()

    def add(self, request_id: RequestId | None, ask_id: str) -> None:
        """Note that a call reports the outcome of an ask."""
        self._calls.setdefault(str(request_id), set()).add(ask_id)
        if len(self._calls) > _CANCELLABLE_CALLS:
            del self._calls[next(iter(self._calls))]

    def discard(self, request_id: RequestId | None, ask_id: str) -> None:
        """Note that a call reports an ask as open after all."""
        self._calls.get(str(request_id), set()).discard(ask_id)

    def has(self, ask_id: str, besides: RequestId | None) -> bool:
        return any(ask_id in ids for call, ids in self._calls.items() if call != str(besides))

    async def undo(self, request_id: RequestId | None) -> None:
        """Return what a cancelled call has reported."""
        async with self._undoing:
            for ask_id in self._calls.pop(str(request_id), set()):
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


@asynccontextmanager
async def _refusals() -> AsyncIterator[None]:
    """Tell the model why a call failed."""
    try:
        yield
    except ClientError as error:
        raise AskRefusedError(_describe_error(error)) from error


class ClientBackend(AskBackend):
    """A backend for the MCP tools that uses a service's HTTP API.

    Args:
        reported: gets the asks whose outcomes the service has reported.
        request_id: the call's.
    """

    def __init__(
        self,
        client: AsyncClient,
        reported: ReportedOutcomes | None = None,
        request_id: RequestId | None = None,
    ) -> None:
        self._client = client
        self._reported = reported or ReportedOutcomes(client)
        self._request_id = request_id

    def _report(self, ask: AskJson) -> AskJson:
        is_open = ask["status"] == Status.OPEN
        note = self._reported.discard if is_open else self._reported.add
        note(self._request_id, str(ask["id"]))
        return ask

    async def enabled(self, dialects: Collection[str]) -> Collection[str]:
        async def offers(dialect: str) -> bool:
            try:
                tools = await self._client.call("GET", f"/v1/tools?dialect={dialect}")
            except ClientError:
                return True  # the service is down: a call explains that in words, a missing tool would not
            return bool(tools.get("tools"))

        ordered = sorted(dialects)
        offered = await asyncio.gather(*map(offers, ordered))
        return {dialect for dialect, yes in zip(ordered, offered, strict=True) if yes}

    @_refusals()
    async def submit(self, asking: AskToolCall) -> AskJson:
        await self._reported.settle()
        try:
            ask = await self._client.submit_body(asking.body(), key=asking.key)
        except InvalidCallError as error:
            result = error.tool_result and ToolResult.model_validate(asdict(error.tool_result))
            raise AskRefusedError(result or str(error)) from error
        return self._report(ask.json)

    @_refusals()
    async def get(self, ask_id: str, *, reported: bool = True) -> AskJson | None:
        self._reported.add(self._request_id, ask_id)  # a cancellation may cross the response
        try:
            ask = self._report((await self._client.get(ask_id)).json)
        except NotFoundError:
            return None
        return ask if reported else await self._return_unreported(ask)

    @_refusals()
    async def wait(self, ask_id: str, seconds: float) -> AskJson | None:
        """Wait as `AskBackend.wait` says; None also if the service is down by then."""
        self._reported.add(self._request_id, ask_id)  # a cancellation may cross the response
        try:
            async with asyncio.timeout(seconds + _PATIENCE):
                return self._report((await self._client.wait(ask_id, timeout=seconds)).json)
        except StillOpenError as error:
            return self._report(error.ask.json)
        except (TimeoutError, UnreachableError, NotFoundError):
            return None

    @_refusals()
    async def explain(self, ask_id: str, text: str) -> AskJson | None:
        try:
            return (await self._client.add_context(ask_id, text)).json
        except EndedError as error:
            return self._report(error.ask.json)
        except NotFoundError:
            return None
        except InvalidCallError as error:
            raise AskRefusedError("\n".join(error.messages)) from error

    @_refusals()
    async def withdraw(self, ask_id: str, *, reported: bool = True) -> AskJson | None:
        try:
            return (await self._client.withdraw(ask_id)).json
        except EndedError as error:
            ended = error.ask.json
            return self._report(ended) if reported else await self._return_unreported(ended)
        except NotFoundError:
            return None

    async def _return_unreported(self, ask: AskJson) -> AskJson:
        """Make an outcome late again that a response has brought here, unless the agent had it before."""
        ask_id = str(ask["id"])
        had = ask["collected_at"] is not None or self._reported.has(ask_id, self._request_id)
        if ask["status"] != Status.OPEN and not had:
            await self._client.call("POST", f"/v1/asks/{ask_id}/undelivered")
            self._reported.discard(self._request_id, ask_id)
        return ask

    @_refusals()
    async def late(self, conversation: str | None, after: int | None) -> LateAnswerBatch:
        await self._reported.settle()
        answers = await self._client.answers(conversation or "", after=after)
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
