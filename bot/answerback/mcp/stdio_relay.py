"""``answerback mcp``: an MCP server on standard input and output that relays to the service's ``/mcp``.

It answers by itself what a client needs before it can call anything, whether or not the service is running: the
handshake, pings, and a list of the tools. Every call of a tool is the service's to answer. An ask outlives this
program, its client, and a restart of the service.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import aiohttp
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import NAME_BEARING_METHODS, encode_header_value
from mcp_types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    CancelledNotificationParams,
    ListToolsResult,
    PaginatedRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from answerback.mcp import tasks
from answerback.mcp.backend import PATH
from answerback.mcp.cancellation import CANCELLED, SESSION_HEADER, new_session_id
from answerback.mcp.messages import InputLines
from answerback.mcp.server import IDEMPOTENCY_KEY, define_tools, find_key, new_mcp_server
from answerback.mcp.tasks import Context
from answerback.mcp.tool_results import FILES_META, error_result
from answerback.mcp.tools import DEFAULT_WAIT, parse_asking_tools
from answerback_agents.pipe.json_rpc import as_object
from answerback_agents.pipe.saved_files import fetch_and_save, remove_old_files, with_paths
from answerback_client import ClientError, TooManyAsksError, UnauthorizedError, UnreachableError
from answerback_client.connection import ServiceConnection, check_response, parse_response
from answerback_client.folder_pictures import FolderPictures, find_pictures, upload_pictures
from answerback_client.retries import Retries

logger = logging.getLogger(__name__)

Json = dict[str, Any]

_PATIENCE: Final = 20.0
"""Seconds for which a call is tried again while the service is down."""
_CANCEL_TIMEOUT: Final = 5.0
MAX_MESSAGE: Final = 8 * 2**20
"""Bytes of a message: the largest form that the service accepts stays far below."""
_LIST_TIMEOUT: Final = 10.0
_UPLOAD_TIMEOUT: Final = 60.0
_EVENT_STREAM: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class RelayOptions:
    """The query of the service's ``/mcp``."""

    tools: str | None = None
    """The asking tools to offer, as `parse_asking_tools` takes them."""
    wait: float = DEFAULT_WAIT
    """Maximum seconds that a call waits for an answer."""
    to: str | None = None
    """Where to ask if a call does not say."""
    urgency: str | None = None
    """The urgency of what is asked, if a call does not say it."""
    folder: Path | None = None
    """The folder of the client's session, from which questions may show pictures; None: none may."""

    def query(self, wait: float) -> str:
        fields = {"tools": self.tools, "wait": f"{wait:g}", "to": self.to, "urgency": self.urgency}
        return urlencode({name: value for name, value in fields.items() if value is not None})


async def serve_on_streams(url: str, token: str | None, options: RelayOptions) -> None:
    """Serve one client on standard input and output, until it ends them."""
    await asyncio.to_thread(remove_old_files)
    connection = ServiceConnection(url, token)
    try:
        server = build_relay(connection, options)
        lines = InputLines()
        async with stdio_server(lines) as (incoming, outgoing):  # type: ignore[arg-type]  # it is only iterated
            lines.answer = outgoing.send
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await connection.close()


def build_relay(
    connection: ServiceConnection, options: RelayOptions, patience: float = _PATIENCE
) -> Server[dict[str, object]]:
    """Build the MCP server for one client.

    Args:
        patience: seconds for which a call is tried again while the service is down.
    """
    relay = _Relay(connection, options, patience)
    server = new_mcp_server(relay.list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, relay.call_tool)
    for method, params in tasks.METHODS.items():
        server.add_request_handler(method, params, relay.call_task_method)
    server.add_notification_handler(CANCELLED, CancelledNotificationParams, relay.cancel)
    return server


@dataclass(eq=False)
class _Relay:
    connection: ServiceConnection
    options: RelayOptions
    patience: float
    _session: str | None = None
    """The id by which the service knows which calls are this client's. It accepts any, and keeps none."""
    _cancelling: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def list_tools(
        self, ctx: Context, _params: PaginatedRequestParams
    ) -> ListToolsResult | Json:
        """List the service's tools; while it is down, all that we know: a call can say so, a missing tool could not."""
        try:
            return await self._exchange(ctx, _Progress(), self.options.wait, _LIST_TIMEOUT)
        except ClientError:
            offered = parse_asking_tools(self.options.tools)
            return define_tools(offered, self.options.wait)

    async def call_tool(
        self, ctx: Context, _params: CallToolRequestParams
    ) -> CallToolResult | Json:
        """Relay a call of a tool; what keeps it from the service is explained to the model."""
        try:
            return await self._relay(ctx)
        except ClientError as error:
            return error_result(_describe_error(error))

    async def call_task_method(self, ctx: Context, _params: BaseModel) -> Json:
        """Relay a request about a task."""
        try:
            return await self._relay(ctx)
        except ClientError as error:
            raise MCPError(INTERNAL_ERROR, _describe_error(error)) from error

    async def cancel(self, ctx: Context, _params: CancelledNotificationParams) -> None:
        """Tell the service that the client has cancelled a call, as the two may cross.

        The SDK has ended the call if it was in progress, and with it the connection.
        """
        message = {"jsonrpc": "2.0", "method": CANCELLED, "params": ctx.params}
        async with self._cancelling:
            try:
                async with self.connection.request(
                    "POST", PATH, body=message, headers=self._headers(ctx), timeout=_CANCEL_TIMEOUT
                ) as response:
                    await response.read()
            except ClientError as error:
                logger.warning("The answer of a cancelled call may be lost: %s", error)

    async def _relay(self, ctx: Context) -> Json:
        """Relay a request, again and again while the service is down: a repeated call finds its ask by the key.

        Raises:
            MCPError: the service's error.
            ClientError: the service is still down, or refuses the request.
        """
        async with self._cancelling:  # what was cancelled before is undone first
            pass
        return await self._with_saved_files(await self._relay_until_done(ctx))

    async def _relay_until_done(self, ctx: Context) -> Json:
        ctx, began, retries = _with_key(ctx), time.monotonic(), Retries(self.patience)
        found, uploaded = await self._find_pictures(ctx), dict[str, str]()
        while True:
            waited = time.monotonic() - began
            left = max(0.0, self.options.wait - waited)
            progress = _Progress(waited, retries if left else None)
            try:
                kept = await upload_pictures(found, self._store, uploaded)
                sent = _with_pictures(ctx, kept, uploaded)
                return await self._exchange(sent, progress, left, left + self.patience)
            except (UnreachableError, TooManyAsksError) as error:
                await asyncio.sleep(retries.pause_after(error, changes=True))

    async def _with_saved_files(self, result: Json) -> Json:
        """Save the files that people sent, and name their paths in the texts of a result."""
        listed = as_object(result.get("_meta")).get(FILES_META)
        content = result.get("content")
        if not isinstance(listed, list) or not isinstance(content, list):
            return result
        sent = [each for each in listed if isinstance(each, dict)]
        files: list[Json] = []
        for conversation in dict.fromkeys(str(each.get("conversation")) for each in sent):
            own = [each for each in sent if str(each.get("conversation")) == conversation]
            files += await fetch_and_save(own, conversation, self._fetch)
        blocks = [
            {**each, "text": with_paths(str(each.get("text")), files)}
            if as_object(each).get("type") == "text"
            else each
            for each in content
        ]
        return {**result, "content": blocks, "_meta": {**result["_meta"], FILES_META: files}}

    async def _fetch(self, file_id: str) -> bytes:
        async with self.connection.request(
            "GET", f"/v1/files/{quote(file_id, safe='')}", headers={}, timeout=_UPLOAD_TIMEOUT
        ) as response:
            data = await response.read()
            check_response(response, self.connection.url, data)
            return data

    async def _find_pictures(self, ctx: Context) -> FolderPictures:
        """Return the pictures of the folder that a question shows."""
        params = ctx.params or {}
        arguments = as_object(params.get("arguments"))
        asking = {tool.name for tool in parse_asking_tools(self.options.tools)}
        if self.options.folder is None or params.get("name") not in asking:
            return FolderPictures(arguments, {})
        return await asyncio.to_thread(
            find_pictures, arguments, self.options.folder, _names(arguments)
        )

    async def _store(self, name: str, data: bytes) -> Json:
        path = f"/v1/files?{urlencode({'name': name})}"
        headers = {"Content-Type": "application/octet-stream"}
        async with self.connection.request(
            "POST", path, body=data, headers=headers, timeout=_UPLOAD_TIMEOUT
        ) as response:
            return parse_response(response, self.connection.url, await response.read())

    async def _exchange(
        self, ctx: Context, progress: _Progress, wait: float, timeout: float
    ) -> Json:
        """Send a request to the service once, and return its result.

        Args:
            wait: maximum seconds that the service waits for an answer.
            timeout: seconds after which the service counts as down.
        """
        path = f"{PATH}?{self.options.query(wait)}"
        message = {
            "jsonrpc": "2.0",
            "id": ctx.request_id,
            "method": ctx.method,
            "params": {**(ctx.params or {})},
        }
        async with self.connection.request(
            "POST", path, body=message, headers=self._headers(ctx), timeout=timeout
        ) as response:
            if response.content_type != _EVENT_STREAM:
                return _result_in(response, self.connection.url, await response.read())
            try:
                async for answer in read_messages(response, self.connection.url):
                    if answer.get("id") == ctx.request_id:
                        return _result_of(answer)
                    if answer.get("method") == "notifications/progress":
                        await progress.report(ctx, answer["params"])
            finally:
                progress.note_end()
        raise UnreachableError(
            f"Answerback at {self.connection.url} ended a call without a result."
        )

    def _headers(self, ctx: Context) -> dict[str, str]:
        """The headers that the protocol wants, some of which repeat what is in the message.

        https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
        """
        if self._session is None:
            client = ctx.session.client_params
            name = None if client is None else client.client_info.name
            self._session = new_session_id({"clientInfo": {"name": name}})
        headers = {
            "Accept": f"application/json, {_EVENT_STREAM}",
            "MCP-Protocol-Version": ctx.protocol_version,
            SESSION_HEADER: self._session,
        }
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            headers["Mcp-Method"] = ctx.method
            name = (ctx.params or {}).get(NAME_BEARING_METHODS.get(ctx.method, ""))
            if isinstance(name, str):
                headers["Mcp-Name"] = encode_header_value(name)
        return headers


@dataclass(frozen=True, slots=True)
class _Progress:
    """Passes on what the service reports while a call waits."""

    waited: float = 0.0
    """Seconds that earlier tries of the call have waited: progress never goes back."""
    retries: Retries | None = None
    """The tries of the call, for as long as it may wait; later a service that ends each of them is given up."""

    def note_end(self) -> None:
        """Note that the service was there until now: if it has gone, it has the whole patience to return."""
        if self.retries is not None:
            self.retries.renew()

    async def report(self, ctx: Context, params: Json) -> None:
        await ctx.session.report_progress(
            self.waited + params["progress"], params.get("total"), params.get("message")
        )


def _with_key(ctx: Context) -> Context:
    """Give a call of a tool a key, unless it has one that can be used, so that a repeated call finds its ask."""
    meta = {**((ctx.params or {}).get("_meta") or {})}
    if ctx.method != "tools/call" or find_key(meta) is not None:
        return ctx
    meta[IDEMPOTENCY_KEY] = secrets.token_hex(16)
    return replace(ctx, params={**(ctx.params or {}), "_meta": meta})


def _names(arguments: Json) -> frozenset[str]:
    """Return the names of the files that a call has."""
    files = arguments.get("files")
    listed = files if isinstance(files, list) else []
    return frozenset(str(as_object(each).get("name")) for each in listed)


def _with_pictures(ctx: Context, found: FolderPictures, uploaded: Mapping[str, str]) -> Context:
    """Add uploaded pictures to a call whose texts show them."""
    if not found.pictures:
        return ctx
    arguments = found.referring()
    arguments["files"] = [*(arguments.get("files") or []), *found.references(uploaded)]
    return replace(ctx, params={**(ctx.params or {}), "arguments": arguments})


def _result_in(response: aiohttp.ClientResponse, url: str, raw: bytes) -> Json:
    """Return the result in a response that is no stream.

    Raises:
        MCPError: the response is an error of the protocol.
        ClientError: the service refused the request before it was one of the protocol.
    """
    try:
        answer = json.loads(raw)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and answer.get("jsonrpc") == "2.0":
        return _result_of(answer)
    parse_response(response, url, raw)
    raise _foreign(url)


def _result_of(answer: Json) -> Json:
    """Return the result in the answer to a request.

    Raises:
        MCPError: the answer is an error.
    """
    error = answer.get("error")
    if isinstance(error, dict):
        raise MCPError(error["code"], error["message"], error.get("data"))
    result: Json = answer["result"]
    return result


async def read_messages(response: aiohttp.ClientResponse, url: str) -> AsyncIterator[Json]:
    """Yield the messages of a stream: https://html.spec.whatwg.org/multipage/server-sent-events.html."""
    data, rest = b"", b""
    async for chunk in response.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        if len(data) + len(rest) > MAX_MESSAGE:
            raise _foreign(url)
        for line in lines:
            name, _, value = line.rstrip(b"\r").partition(b":")
            if name == b"data":
                data += value
            elif not name and data:  # an empty line ends an event
                try:
                    message = json.loads(data)
                except (ValueError, RecursionError):
                    raise _foreign(url) from None
                data = b""
                yield message


def _foreign(url: str) -> ClientError:
    return ClientError(f"The server at {url} is not Answerback: its /mcp does not answer as MCP.")


def _describe_error(error: ClientError) -> str:
    if isinstance(error, UnreachableError):
        return (
            f"{error} The user has to start it with `answerback serve`. Existing asks are not lost."
        )
    if isinstance(error, UnauthorizedError):
        return f"{error} The user has to set ANSWERBACK_TOKEN to the agent's token and restart this MCP server."
    return str(error)
