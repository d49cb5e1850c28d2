"""Approvals as Codex's app server asks for them: commands, changes of files, permissions.

Shapes: the schema that ``codex app-server generate-json-schema`` writes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.form import Option
from answerback.dialects.approvals.approval_request import (
    DECISION,
    AnswersById,
    ApprovalRequest,
    Json,
    Variant,
    option_for,
    optional_items,
    options,
    require_object,
    to_json_text,
)
from answerback.dialects.call_reader import ArgumentNode

_HUMAN: Final = options(accept="Allow", decline="Deny")
_SESSION: Final = options(accept="Allow once", acceptForSession="Allow for this session")
_DECLINE: Final = options(decline="Deny")
_LABELS: Final = {each.value: each.label for each in (*_SESSION, *_DECLINE)}
_EXEC: Final = "acceptWithExecpolicyAmendment"
_NETWORK: Final = "applyNetworkPolicyAmendment"
_IDS: Final = frozenset(
    {
        "threadId", "turnId", "itemId", "approvalId", "startedAtMs", "environmentId", "kind",
        "availableDecisions", "proposedExecpolicyAmendment", "proposedNetworkPolicyAmendments",
    }
)  # fmt: skip
"""Fields that say nothing of what is to be allowed, or what the options say."""


class _Decision(NamedTuple):
    """One decision that Codex takes, and the option that stands for it."""

    at: int
    sent: JsonValue
    option: Option


def _decisions(arguments: Json) -> Iterator[_Decision]:
    """The decisions of a command's approval; all but Cancel, which is End Turn."""
    listed = arguments.get("availableDecisions")
    if not isinstance(listed, list):
        listed = [*_usual(arguments)]
    counts: dict[str, int] = {}
    for i, sent in enumerate(listed):
        if isinstance(sent, str) and sent != "cancel":
            yield _Decision(i, sent, option_for(sent, _LABELS.get(sent, sent), sent, whole=True))
        elif isinstance(sent, dict) and len(sent) == 1:
            [key] = sent
            counts[key] = counts.get(key, 0) + 1
            value = key if counts[key] == 1 else f"{key}:{counts[key]}"
            yield _Decision(i, sent, option_for(value, _amended(key, sent), sent, whole=True))


def _usual(arguments: Json) -> Iterator[JsonValue]:
    if arguments.get("kind") == "humanCommand":
        yield from (each.value for each in _HUMAN)
        return
    yield from (each.value for each in _SESSION)
    if (prefix := arguments.get("proposedExecpolicyAmendment")) is not None:
        yield {_EXEC: {"execpolicy_amendment": prefix}}
    rules = arguments.get("proposedNetworkPolicyAmendments")
    for rule in rules if isinstance(rules, list) else []:
        yield {_NETWORK: {"network_policy_amendment": rule}}
    yield from (each.value for each in _DECLINE)


def _amended(key: str, sent: Json) -> str:
    """The label of a decision with an amendment."""
    match sent:
        case {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": list() as prefix}}:
            words = shlex.join(map(str, prefix))
            return f"Allow, and always allow commands that begin with: {words}"
        case {"applyNetworkPolicyAmendment": {"network_policy_amendment": dict() as rule}}:
            if rule.keys() == {"host", "action"} and rule["action"] in ("allow", "deny"):
                return f"Always {rule['action']} the host {rule['host']}"
        case _:
            pass
    return f"{key}: {to_json_text(sent[key])}"


def _read_command(call: ArgumentNode) -> Sequence[ApprovalRequest]:
    arguments = call.value if isinstance(call.value, dict) else {}
    for node in optional_items(call, "availableDecisions", "decisions"):
        if not isinstance(node.value, str) and not (
            isinstance(node.value, dict) and len(node.value) == 1
        ):
            node.wrong_type("a decision: a string, or an object with one key")
    optional_items(call, "proposedNetworkPolicyAmendments", "rules")
    listed = call.at("availableDecisions")
    made: dict[str, Option] = {}
    for each in _decisions(arguments):
        if made.setdefault(each.option.value, each.option) is not each.option:
            node = listed.at(each.at)
            node.fail("duplicate_option", f"{node.name} is there already; decisions must differ.")
    if not made and not call.problems.found:
        listed.fail("too_few", f"{listed.name} must have a decision beside cancel.")
    return [_codex(call, "commandExecution", tuple(made.values()))]


def _codex(call: ArgumentNode, tool: str, made: tuple[Option, ...]) -> ApprovalRequest:
    given = call.value if isinstance(call.value, dict) else {}
    shown: Json = {
        key: value for key, value in given.items() if key not in _IDS and value is not None
    }
    return ApprovalRequest(tool=tool, arguments=shown or None, options=made)


def _command_answered(given: AnswersById, arguments: Json) -> JsonValue:
    sent = {each.option.value: each.sent for each in _decisions(arguments)}
    return {"decision": sent[str(given[DECISION])]}


def _read_file_change(call: ArgumentNode) -> Sequence[ApprovalRequest]:
    return [_codex(call, "fileChange", (*_SESSION, *_DECLINE))]


def _decision_answered(given: AnswersById, _arguments: Json) -> JsonValue:
    return {"decision": given[DECISION]}


def _declined(_given: AnswersById, _arguments: Json, _words: str) -> JsonValue:
    return {"decision": "decline"}


def _read_permissions(call: ArgumentNode) -> Sequence[ApprovalRequest]:
    require_object(call, "permissions")
    offered = options(turn="Allow for this turn", session="Allow for this session", decline="Deny")
    return [_codex(call, "permissions", offered)]


def _permissions_answered(given: AnswersById, arguments: Json) -> JsonValue:
    scope = given[DECISION]
    if scope == "decline":
        return _NO_PERMISSIONS
    return {"permissions": _without_nulls(arguments["permissions"]), "scope": scope}


_NO_PERMISSIONS: Final[Json] = {"permissions": {}, "scope": "turn"}


def _without_nulls(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _permissions_refused(_given: AnswersById, _arguments: Json, _words: str) -> JsonValue:
    return _NO_PERMISSIONS


COMMAND: Final = Variant(_read_command, _command_answered, _declined)
FILE_CHANGE: Final = Variant(_read_file_change, _decision_answered, _declined)
PERMISSIONS: Final = Variant(_read_permissions, _permissions_answered, _permissions_refused)
