"""Approval requests of `answerback mcp-proxy`: an MCP client wants to call a tool of a server.

The server is named as the proxy's policy names it. Nothing else about it comes from the server itself, but the change
of a tool's definition, which is shown as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from answerback.dialects.approvals.approval_request import (
    ApprovalRequest,
    notes,
    one_field,
    options,
    read_tool_name,
)
from answerback.dialects.approvals.arguments_markdown import Block
from answerback.dialects.call_reader import ArgumentNode

_CHANGED: Final = "changed"
_LONG_NAME: Final = 80


def _read(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    changed = call.text(_CHANGED) if call.has(_CHANGED) else None
    title = "**The server has changed this tool since a call of it was allowed:**"
    tool = read_tool_name((call, "name"))
    yield ApprovalRequest(
        tool=tool,
        # A headline may shorten a long name.
        notes=notes(call, "name") if len(tool) > _LONG_NAME else {},
        server=call.label("server"),
        arguments=call.at("arguments").value,
        lead=() if changed is None else (Block(title, changed, "diff"),),
        options=options(allow="Allow once", deny="Deny"),
    )


MCP_PROXY: Final = one_field(_read, "behavior", "deny", reason="message")
