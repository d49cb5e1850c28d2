"""An example approval request of every host, and asks made from them."""

from __future__ import annotations

from typing import Any

from answerback.core.ask import Ask, Destination, Placement, Reason, Request, Status, end_ask
from answerback.core.walker import start
from answerback.dialects import registry

Json = dict[str, Any]
ARGS: Json = {"path": "a.txt"}
FUNCTION: Json = {"id": "f1", "name": "reimburse", "args": {"amount": 500}}
OPTIONS: list[Json] = [
    {"optionId": "once", "name": "Yes", "kind": "allow_once"},
    {"optionId": "never", "name": "Never", "kind": "reject_always"},
]
CALLS: dict[str, Json] = {
    "PermissionRequest": {"tool_name": "Bash", "tool_input": {"command": "ls"}},
    "permissionRequest": {"toolName": "bash", "toolInput": {"command": "ls"}},
    "item/commandExecution/requestApproval": {"command": "ls", "cwd": "/w", "reason": None},
    "item/fileChange/requestApproval": {"itemId": "i1", "grantRoot": "/w"},
    "item/permissions/requestApproval": {
        "permissions": {"network": {"enabled": True, "hosts": None}, "fileSystem": {"write": [None, "/w"]}}
    },
    "session/request_permission": {"toolCall": {"toolCallId": "c1", "rawInput": ARGS}, "options": OPTIONS},
    "mcpServer/elicitation/request": {
        "serverName": "shop",
        "message": 'Allow the shop MCP server to run tool "delete"?',
        "requestedSchema": {"type": "object", "properties": {}},
        "_meta": {"codex_approval_kind": "mcp_tool_call", "tool_name": "delete", "tool_params": ARGS},
    },
    "droid.request_permission": {
        "toolUses": [{"toolUse": {"type": "tool_use", "id": "t1", "name": "Execute", "input": {"command": "ls"}}}],
        "options": [{"label": "Yes", "value": "proceed_once"}, {"label": "No", "value": "cancel"}],
    },
    "hitl_request": {"action_requests": [{"name": "delete", "args": ARGS}], "review_configs": []},
    "mcp_approval_request": {
        "type": "mcp_approval_request", "id": "mcpr_1", "server_label": "shop", "name": "delete",
        "arguments": '{"path": "a.txt"}',
    },
    "tool_approval": {"name": "delete", "args": ARGS},
    "tool_approval_item": {"raw_item": {"name": "delete", "arguments": '{"path": "a.txt"}'}},
    "tool-approval-request": {"approvalId": "ap1", "toolCall": {"toolName": "delete", "input": ARGS}},
    "DeferredToolRequests": {
        "approvals": [
            {"tool_call_id": key, "tool_name": name, "args": ARGS}
            for key, name in (("c1", "delete"), ("c2", "copy"), ("c3", "move"))
        ]
    },
    "adk_request_confirmation": {"originalFunctionCall": FUNCTION, "toolConfirmation": {"hint": "Sure?"}},
    "permission.asked": {
        "permission": "bash", "patterns": ["ls *"], "always": ["ls *"], "metadata": {"command": "ls -la"}
    },
    "permission.v2.asked": {
        "action": "bash", "resources": ["ls -la"], "save": ["ls *"], "metadata": {"command": "ls -la"}
    },
    "tools/call": {"server": "shop", "name": "delete", "arguments": ARGS},
    "exec.approval.requested": {"command": "ls", "cwd": "/w", "allowedDecisions": ["allow-once", "deny"]},
    "plugin.approval.requested": {"title": "Send it", "description": "A newsletter.", "toolName": "mail"},
}  # fmt: skip
HEADLINES = {
    "mcpServer/elicitation/request": "Call delete on shop",
    "mcp_approval_request": "Call delete on shop",
    "droid.request_permission": "Run ls",
    "tools/call": "Call delete on shop",
    "PermissionRequest": "Run ls",
    "permissionRequest": "Run ls",
    "item/commandExecution/requestApproval": "Run ls",
    "item/fileChange/requestApproval": "Edit files",
    "item/permissions/requestApproval": "Allow network access and writing to /w",
    "adk_request_confirmation": "Use reimburse",
    "permission.asked": "Run ls -la",
    "permission.v2.asked": "Run ls -la",
    "exec.approval.requested": "Run ls",
    "plugin.approval.requested": "Allow: Send it",
}
"""The headlines of the examples; those of the others name the tool and its path."""


def make_ask(name: str, **more: Any) -> Ask:
    """Return an open ask from a host's example request, with other or additional fields."""
    arguments = CALLS[name] | more
    dialect, form, *_ = registry.parse_call(name, arguments)
    assert dialect == "approval"
    return Ask(
        id="ask_1",
        created_at=0,
        updated_at=0,
        request=Request(name=name, dialect=dialect, arguments=arguments, form=form),
        placement=Placement(destination=Destination(surface="web"), responders=("anyone",)),
        walk=start(form),
    )


def expired(ask: Ask) -> Ask:
    """Return the ask after its deadline."""
    return end_ask(ask, Status.EXPIRED, at=1, reason=Reason.EXPIRED).ask


def rendered(ask: Ask) -> Any:
    """Return the structured result that the host gets."""
    result = registry.render_result(ask)
    assert result is not None
    assert not result.is_error
    return result.structured
