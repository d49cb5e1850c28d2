"""The fields of an approval request that no message shows, and that still have to be the same for a grant."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, TypeAlias

from pydantic import JsonValue

from answerback.core.form import Option
from answerback.dialects.approvals.approval_request import ApprovalRequest, Json

Path: TypeAlias = tuple[str | int, ...]

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
_OFFERED: Final = frozenset(
    {
        *("always", "allowedDecisions", "allowed_decisions", "args_schema", "availableDecisions"),
        *("inputSchema", "options"),
        *("permissionSuggestions", "permission_suggestions", "proposedExecpolicyAmendment"),
        *("proposedNetworkPolicyAmendments", "review_configs", "unavailableDecisions"),
        *("commandAnalysis", "commandSpans"),
    }
)  # fmt: skip
"""Fields of a request with what the host offers besides, or tells of the command."""


def unseen_fields(call: Json, one: ApprovalRequest) -> JsonValue:
    """Return what a host sent besides what is compared on its own, without what is another one each time."""
    compared = {part.path for part in one.compared}
    return _unseen({key: value for key, value in call.items() if key not in _OFFERED}, (), compared)


def _unseen(value: JsonValue, path: Path, compared: Collection[Path]) -> JsonValue:
    if isinstance(value, list):
        return [_unseen(item, (*path, i), compared) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    return {
        key: _unseen(each, (*path, key), compared)
        for key, each in value.items()
        if key not in _ANOTHER_EACH_TIME and each is not None and (*path, key) not in compared
    }


def sent_options(call: Json, option: Option) -> list[JsonValue]:
    """Return the option as its host sent it, if it sends its options as objects."""
    listed = call.get("options")
    return [
        each
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, dict) and option.value in each.values()
    ]
