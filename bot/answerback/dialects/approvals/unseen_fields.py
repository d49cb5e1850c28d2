"""The fields of an approval request that no message shows, and that still have to be the same for a grant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import ModuleType
from typing import Final, NamedTuple, TypeAlias

from pydantic import JsonValue

from answerback.core.form import Option
from answerback.dialects.approvals.approval_request import ApprovalRequest, Json

Path: TypeAlias = tuple[str | int, ...]

_ANOTHER_EACH_TIME: Final = frozenset(
    {
        *("id", "approvalId", "callId", "call_id", "toolCallId", "tool_call_id", "tool_use_id"),
        *("sessionId", "session_id", "terminalId", "turn_id", "agent_id", "transcript_path"),
        *("timestamp", "traceparent", "tracestate"),
        *("signature", "thoughtSignature", "thought_signature"),
    }
)  # fmt: skip
"""Ids, times and signatures of any host."""
_OFFERED: Final = frozenset(
    {"allowed_decisions", "args_schema", "inputSchema", "options", "review_configs"}
)
"""Fields of a request with what a host offers besides, or tells of the tool."""


class HostFields(NamedTuple):
    """The fields of one host's requests that need not be the same for a grant: its object `HOST_FIELDS`."""

    another_each_time: tuple[str, ...] = ()
    """Ids and times, wherever they stand in a request."""
    offered: tuple[str, ...] = ()
    """The host's other offers, and what it tells of the command."""


def fields_by_request(parts: Iterable[ModuleType]) -> Mapping[str, HostFields]:
    """Return what the hosts' parts declare, by the names of their requests."""
    declaring = (part for part in parts if hasattr(part, "HOST_FIELDS"))
    return {name: part.HOST_FIELDS for part in declaring for name in part.VARIANTS}


def read_unseen(call: Json, one: ApprovalRequest, host: HostFields | None) -> JsonValue:
    """Return what a host sent besides what is compared on its own, without what is another one each time."""
    host = host or HostFields()
    skipped = {part.path for part in one.compared}
    skipped |= {(key,) for key in (*_OFFERED, *host.offered)}
    return _unseen(call, (), skipped, _ANOTHER_EACH_TIME | {*host.another_each_time})


def _unseen(
    value: JsonValue, path: Path, skipped: Collection[Path], names: Collection[str]
) -> JsonValue:
    if isinstance(value, list):
        return [_unseen(item, (*path, i), skipped, names) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    return {
        key: _unseen(each, (*path, key), skipped, names)
        for key, each in value.items()
        if key not in names and each is not None and (*path, key) not in skipped
    }


def sent_options(call: Json, option: Option) -> list[JsonValue]:
    """Return the option as its host sent it, if it sends its options as objects."""
    listed = call.get("options")
    return [
        each
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, dict) and option.value in each.values()
    ]
