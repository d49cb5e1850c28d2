"""What a host sends with an approval request and no message shows, which still has to be the same for a grant."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.dialects.approvals.approval_request import ApprovalRequest, Json
from answerback.dialects.approvals.arguments_markdown import parse_json_arguments

_ANOTHER_EACH_TIME: Final = frozenset(
    {
        *("id", "approvalId", "callID", "callId", "call_id", "itemId", "messageID", "prompt_id", "runId"),
        *("sessionID", "sessionId", "sessionKey", "session_id", "terminalId", "threadId", "toolCallId"),
        *("tool_call_id", "tool_use_id", "turnId", "turn_id", "agent_id", "transcript_path"),
        *("timestamp", "startedAtMs", "traceparent", "tracestate"),
        *("signature", "thoughtSignature", "thought_signature"),
    }
)  # fmt: skip
"""Ids, times and signatures."""
_USE: Final = frozenset(
    {
        *("name", "permission", "server", "toolName", "tool_name"),
        *("args", "arguments", "input", "rawInput", "toolInput", "tool_input"),
    }
)
"""Fields with the tool, its server and the arguments, which are compared on their own."""
_OFFERED: Final = frozenset(
    {
        *("always", "allowedDecisions", "allowed_decisions", "args_schema", "availableDecisions", "options"),
        *("permissionSuggestions", "permission_suggestions", "proposedExecpolicyAmendment"),
        *("proposedNetworkPolicyAmendments", "review_configs", "unavailableDecisions"),
        *("commandAnalysis", "commandSpans"),
    }
)  # fmt: skip
"""Fields of a request with what the host offers besides, or tells of the command."""


def unseen_fields(call: Json, one: ApprovalRequest) -> JsonValue:
    """Return what a host sent besides what is compared on its own, without what is another one each time."""
    return _unseen({key: value for key, value in call.items() if key not in _OFFERED}, one)


def _unseen(value: JsonValue, one: ApprovalRequest) -> JsonValue:
    if isinstance(value, list):
        return [_unseen(item, one) for item in value]
    if not isinstance(value, dict):
        return value
    places = (one.arguments, one.notes, *one.notes.values())
    seen = [each for each in places if isinstance(each, dict | list)]
    return {
        key: _unseen(each, one)
        for key, each in value.items()
        if key not in _ANOTHER_EACH_TIME
        and each is not None
        and not any(each is part for part in seen)
        and not any(each is part.get(key) for part in seen if isinstance(part, dict))
        and not (
            key in _USE and parse_json_arguments(each) in (one.tool, one.server, one.arguments)
        )
    }
