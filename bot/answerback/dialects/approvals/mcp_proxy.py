"""Approval requests of `answerback mcp-proxy`: its client wants to call a tool of a server.

The server is named as the proxy's policy names it. Nothing else comes from the server itself, but the change of a
tool's definition, which is shown as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from answerback.dialects.approvals.approval_request import (
    DECISION,
    AnswersById,
    ApprovalRequest,
    Editable,
    EditsById,
    Json,
    one_field,
    options,
    others,
    read_tool_name,
)
from answerback.dialects.approvals.arguments_markdown import Block
from answerback.dialects.call_reader import ArgumentNode

_CHANGED: Final = "changed"
_SCHEMA: Final = "inputSchema"
"""The schema of the tool, as its server lists it. An edited call has to fit it; nobody reads it."""


def _read_proxy(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    changed = call.text(_CHANGED) if call.has(_CHANGED) else None
    title = "**The server has changed this tool since a call of it was allowed:**"
    yield ApprovalRequest(
        tool=read_tool_name((call, "name")),
        server=call.label("server"),
        arguments=call.at("arguments").value,
        compared=(call.at("arguments"),),
        editable=Editable((call.at("arguments"),), schema=call.at(_SCHEMA).value),
        notes=others(call, "server", "name", "arguments", _CHANGED, _SCHEMA),
        lead=() if changed is None else (Block(title, changed, "diff"),),
        options=options(allow="Allow once", deny="Deny"),
    )


def _edited(_answers: AnswersById, _arguments: Json, edits: EditsById) -> JsonValue:
    return {"behavior": "allow", "arguments": edits[DECISION]}


MCP_PROXY: Final = one_field(_read_proxy, "behavior", "deny", reason="message")._replace(
    render_edited=_edited
)
