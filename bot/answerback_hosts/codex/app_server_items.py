"""The changes and calls that Codex announces (``item/started``) before it asks for permission, and what it asks about.

Its requests do not hold all that people have to see. A request about files names an item's id alone. To call an MCP
server's tool Codex 0.169.0 asks by an elicitation in the server's name, and describes the call in its ``_meta``. It
passes on the ``_meta`` of an elicitation from the server itself, so that a server can write the same. But only Codex
announces the call: what people see is what it announced, and each call is asked about once.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback_agents.pipe.json_rpc import as_object
from answerback_base.strict_json import json_equal

Json = dict[str, JsonValue]

MCP_TOOL_CALL: Final = "mcp_tool_call"
"""The kind of approval that an elicitation about a call of an MCP server's tool is."""


def approval_kind(params: Json) -> JsonValue:
    """Return what kind of approval an elicitation says to be; None if it does not."""
    return as_object(params.get("_meta")).get("codex_approval_kind")


class AnnouncedItems:
    """The changes of files and the calls of MCP servers' tools that Codex has begun and not completed."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str], Json] = {}
        """The items by the ids of their thread and their own."""

    def follow(self, message: Json) -> None:
        """Note what a message from Codex says about an item."""
        match message:
            case {
                "method": "item/started",
                "params": {"threadId": str(thread), "item": dict() as item},
            } if _is_asked_about(item):
                self._items[thread, str(item["id"])] = item
            case {
                "method": "item/completed",
                "params": {"threadId": str(thread), "item": {"id": str(item_id)}},
            }:
                self._items.pop((thread, item_id), None)
            case {"method": "turn/completed", "params": {"threadId": str(thread)}}:
                for key in [key for key in self._items if key[0] == thread]:
                    del self._items[key]
            case _:
                pass

    def with_changes(self, params: Json) -> Json:
        """Return a request with the changes that it is about, as far as Codex has announced them."""
        thread, item_id = params.get("threadId"), params.get("itemId")
        if not isinstance(thread, str) or not isinstance(item_id, str) or "changes" in params:
            return params
        item = self._items.get((thread, item_id), {})
        return {**params, "changes": item["changes"]} if "changes" in item else params

    def take_mcp_approval(self, params: Json) -> Json | None:
        """Return an elicitation with the call that it asks about, as Codex announced it; None if it did not."""
        for (thread, item_id), item in self._items.items():
            if thread == params.get("threadId") and _is_about(params, item):
                del self._items[thread, item_id]
                meta: Json = {**as_object(params.get("_meta")), "tool_name": item["tool"]}
                return {**params, "itemId": item_id, "_meta": meta}
        return None


def _is_asked_about(item: Json) -> bool:
    """Return True if Codex may ask for permission for an item of this shape."""
    match item:
        case {"type": "fileChange", "id": str(), "changes": list()}:
            return True
        case {"type": "mcpToolCall", "id": str(), "server": str(), "tool": str()}:
            return "arguments" in item
        case _:
            return False


def _is_about(params: Json, item: Json) -> bool:
    """Return True if an elicitation describes an announced call."""
    meta = as_object(params.get("_meta"))
    return (
        item["type"] == "mcpToolCall"
        and item["server"] == params.get("serverName")
        and meta.get("tool_name", item["tool"]) == item["tool"]
        and json_equal(meta.get("tool_params"), item["arguments"])
    )
