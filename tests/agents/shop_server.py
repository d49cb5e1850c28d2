"""An MCP server on stdio with a tool for each thing that a host asks people about.

It speaks 2025-11-25, in which a server asks in the middle of a call: the official SDK does so only in that version, and
negotiates a newer one with hosts that have it.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
FORM: Json = {
    "type": "object",
    "properties": {"seat": TEXT, "meal": {"type": "boolean"}},
    "required": ["seat", "meal"],
}


def tool(name: str, about: str, *fields: str, **more: Any) -> Json:
    """Return the definition of a tool."""
    properties = dict.fromkeys(fields, TEXT)
    schema = {"type": "object", "properties": properties, "required": [*fields]}
    return {"name": name, "description": about, "inputSchema": schema, **more}


TOOLS = [
    tool("drop_rows", "Write down what was dropped.", "path", "text"),
    tool(
        "drop_table",
        "Write down that a table was dropped.",
        "path",
        _meta={"anthropic/requiresUserInteraction": True},
    ),
    tool("book", "Ask for a seat by a form."),
    tool("pay", "Send the user to an address."),
]
ASKS: Json = {
    "book": {"mode": "form", "message": "Which seat?", "requestedSchema": FORM},
    "pay": {
        "mode": "url",
        "message": "Pay the invoice",
        "url": "https://pay.example.com/x?e=e1",
    },
}


IDS = itertools.count(1)


def say(message: Json) -> None:
    """Send a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def result(request_id: object, text: str) -> None:
    """Answer a call with a text."""
    say({"id": request_id, "result": {"content": [{"type": "text", "text": text}]}})


def call(request: Json) -> None:
    """Do what a call says, or ask first."""
    name, given = request["params"]["name"], request["params"].get("arguments") or {}
    if name in ASKS:
        say(
            {
                "id": f"{name}:{json.dumps(request['id'])}",
                "method": "elicitation/create",
                "params": ask(name),
            }
        )
        return
    Path(given["path"]).write_text(given.get("text", "dropped"))
    result(request["id"], f"Dropped: {given.get('text')}")


def ask(name: str) -> Json:
    """Return what the user is asked; each link has an id of its own."""
    asked = ASKS[name]
    return {**asked, "elicitationId": str(next(IDS))} if asked["mode"] == "url" else asked


def answered(message: Json) -> None:
    """End a call whose user has answered."""
    name, _, request_id = str(message["id"]).partition(":")
    given = message.get("result") or {"action": message.get("error")}
    result(json.loads(request_id), f"{name}: {given['action']} {json.dumps(given.get('content'))}")


for line in sys.stdin:
    received: Json = json.loads(line)
    match received.get("method"):
        case "initialize":
            info = {"name": "shop", "version": "1"}
            about = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
            say({"id": received["id"], "result": about})
        case "tools/list":
            say({"id": received["id"], "result": {"tools": TOOLS}})
        case "tools/call":
            call(received)
        case None if "id" in received:
            answered(received)
        case _ if "id" in received:
            say({"id": received["id"], "result": {}})
        case _:
            pass
