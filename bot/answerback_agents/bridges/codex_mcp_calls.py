"""Which elicitations of Codex ask for permission to call an MCP server's tool: Codex and its servers send them alike.

Codex 0.169.0 asks by an elicitation in the server's name, and describes the call in its ``_meta``. It passes on the
``_meta`` of an elicitation from the server itself, so that a server can write the same. But only Codex announces the
call (``item/started``) that it asks about: what people see is what it announced, and each call is asked about once.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback_agents.pipe.json_rpc import as_object
from answerback_base.strict_json import json_equal

Json = dict[str, JsonValue]

MCP_TOOL_CALL: Final = "mcp_tool_call"
"""The kind of approval that this is about."""


def approval_kind(params: Json) -> JsonValue:
    """Return what kind of approval an elicitation says to be; None if it does not."""
    return as_object(params.get("_meta")).get("codex_approval_kind")


class _McpCall(NamedTuple):
    server: str
    tool: str
    arguments: JsonValue


class McpCalls:
    """The calls in progress that Codex has announced and nobody has been asked about."""

    def __init__(self) -> None:
        self._announced: dict[tuple[str, str], _McpCall] = {}
        """By the ids of their thread and their item."""

    def follow(self, message: Json) -> None:
        """Note what a message from Codex says about a call."""
        match message:
            case {
                "method": "item/started",
                "params": {
                    "threadId": str(thread),
                    "item": {
                        "type": "mcpToolCall",
                        "id": str(item_id),
                        "server": str(server),
                        "tool": str(tool),
                        "arguments": arguments,
                    },
                },
            }:
                self._announced[thread, item_id] = _McpCall(server, tool, arguments)
            case {
                "method": "item/completed",
                "params": {"threadId": str(thread), "item": {"id": str(item_id)}},
            }:
                self._announced.pop((thread, item_id), None)
            case {"method": "turn/completed", "params": {"threadId": str(thread)}}:
                for key in [key for key in self._announced if key[0] == thread]:
                    del self._announced[key]
            case _:
                pass

    def take_approval(self, params: Json) -> Json | None:
        """Return an elicitation with the call that it asks about, as Codex announced it; None if it did not."""
        for (thread, item_id), call in self._announced.items():
            if thread == params.get("threadId") and _is_about(params, call):
                del self._announced[thread, item_id]
                meta: Json = {**as_object(params.get("_meta")), "tool_name": call.tool}
                return {**params, "itemId": item_id, "_meta": meta}
        return None


def _is_about(params: Json, call: _McpCall) -> bool:
    """Whether an elicitation describes an announced call."""
    meta = as_object(params.get("_meta"))
    return (
        call.server == params.get("serverName")
        and meta.get("tool_name", call.tool) == call.tool
        and json_equal(meta.get("tool_params"), call.arguments)
    )
