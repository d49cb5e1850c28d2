"""An example approval request of every host, and asks made from them."""

from __future__ import annotations

import json
from typing import Any

from answerback.core.ask import Ask, Destination, Placement, Reason, Request, Status, end_ask
from answerback.core.walker import start
from answerback.dialects import registry
from tests.meta.project import ROOT

Json = dict[str, Any]
ARGS: Json = {"path": "a.txt"}
FUNCTION: Json = {"id": "f1", "name": "reimburse", "args": {"amount": 500}}
OPTIONS: list[Json] = [
    {"optionId": "once", "name": "Yes", "kind": "allow_once"},
    {"optionId": "never", "name": "Never", "kind": "reject_always"},
]
HOSTS: list[Json] = [
    each
    for file in sorted((ROOT / "bot/answerback_hosts").glob("*/recorded/approvals.json"))
    for each in json.loads(file.read_text("utf-8"))
]
"""The examples of the hosts: each with its headline, whether it takes a note, and unless the tables of the tests have
them, what each decision and a refusal in words results in, and which texts nobody reads before allowing, and why;
``more`` has further requests of the same name.
"""
TAKE_NOTES = {"session/request_permission"} | {each["name"] for each in HOSTS if each["takes_note"]}
CALLS: dict[str, Json] = {
    "session/request_permission": {"toolCall": {"toolCallId": "c1", "rawInput": ARGS}, "options": OPTIONS},
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
    "tools/call": {"server": "shop", "name": "delete", "arguments": ARGS},
    **{each["name"]: each["arguments"] for each in HOSTS},
}  # fmt: skip
HEADLINES = {
    "mcp_approval_request": "Call delete on shop",
    "tools/call": "Call delete on shop",
    "adk_request_confirmation": "Use reimburse",
    **{each["name"]: each["headline"] for each in HOSTS},
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
