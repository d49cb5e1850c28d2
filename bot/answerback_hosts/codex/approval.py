"""Approval requests of Codex's app server: commands, file changes, tools of MCP servers and more permissions.

Formats: the schema that ``codex app-server generate-json-schema`` writes. Codex 0.169.0 asks about an MCP tool with an
elicitation that has no fields, and describes the call in its ``_meta``.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.form import Option, OptionKind
from answerback.dialects.approvals.approval_request import (
    DECISION,
    AnswersById,
    ApprovalRequest,
    Json,
    Variant,
    kind_of_value,
    mcp_tool_name,
    one_field,
    option_for,
    optional_items,
    options,
    others,
    read_tool_name,
    require_object,
    together,
)
from answerback.dialects.approvals.arguments_markdown import to_json_text
from answerback.dialects.approvals.unseen_fields import HostFields
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import Shape

_HUMAN: Final = options(accept="Allow", decline="Deny")
_COMMAND: Final = options(
    accept="Allow once", acceptForSession="Allow command this session", decline="Deny"
)
_FILE_CHANGE: Final = options(
    accept="Allow once", acceptForSession="Allow edits this session", decline="Deny"
)
_LABELS: Final = {each.value: each.label for each in _COMMAND}
_EXEC: Final = "acceptWithExecpolicyAmendment"
_NETWORK: Final = "applyNetworkPolicyAmendment"
_HIDDEN_FIELDS: Final = (
    *("threadId", "turnId", "itemId", "approvalId", "startedAtMs", "kind"),
    *("availableDecisions", "proposedExecpolicyAmendment", "proposedNetworkPolicyAmendments"),
)
"""Fields to hide: they do not describe the request, or are covered by the options."""


class _Decision(NamedTuple):
    """One decision that Codex accepts, and its option."""

    at: int
    sent: JsonValue
    option: Option


def _decisions(arguments: Json) -> Iterator[_Decision]:
    """Yield the decisions of a command's approval except for cancel, which is End Turn."""
    listed = arguments.get("availableDecisions")
    if not isinstance(listed, list) or _is_human_command(arguments):
        listed = [*_default_decisions(arguments)]
    counts: dict[str, int] = {}
    for i, sent in enumerate(listed):
        if isinstance(sent, str) and sent != "cancel":
            label, kind = _LABELS.get(sent, sent), kind_of_value(sent)
            yield _Decision(i, sent, option_for(sent, label, sent, kind, whole=True))
        elif isinstance(sent, dict) and len(sent) == 1:
            [key] = sent
            counts[key] = counts.get(key, 0) + 1
            value = key if counts[key] == 1 else f"{key}:{counts[key]}"
            label, kind = _amendment_label(key, sent), _amendment_kind(sent)
            option = option_for(
                value, label, sent, kind, whole=True, lasting=kind is OptionKind.DENY
            )
            yield _Decision(i, sent, option)


def _is_human_command(arguments: Json) -> bool:
    """Return whether the command is a person's own: Codex then takes two decisions, whatever it lists."""
    return arguments.get("kind") == "humanCommand"


def _default_decisions(arguments: Json) -> Iterator[JsonValue]:
    if _is_human_command(arguments):
        yield from (each.value for each in _HUMAN)
        return
    yield from (each.value for each in _COMMAND[:2])
    if (prefix := arguments.get("proposedExecpolicyAmendment")) is not None:
        yield {_EXEC: {"execpolicy_amendment": prefix}}
    rules = arguments.get("proposedNetworkPolicyAmendments")
    for rule in rules if isinstance(rules, list) else []:
        yield {_NETWORK: {"network_policy_amendment": rule}}
    yield _COMMAND[2].value


def _amendment_label(key: str, sent: Json) -> str:
    match sent:
        case {
            "acceptWithExecpolicyAmendment": {"execpolicy_amendment": list() as prefix, **more}
        } if not more:
            command = shlex.join(map(str, prefix))
            return f"Allow, and always allow commands that begin with: {command}"
        case {"applyNetworkPolicyAmendment": {"network_policy_amendment": dict() as rule}}:
            if rule.keys() == {"host", "action"} and rule["action"] in ("allow", "deny"):
                return f"Always {rule['action']} the host {rule['host']}"
        case _:
            pass
    return f"{key}: {to_json_text(sent[key])}"


def _amendment_kind(sent: Json) -> OptionKind:
    match sent:
        case {"acceptWithExecpolicyAmendment": _}:
            return OptionKind.ALLOW_ALWAYS
        case {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"action": "allow"}}}:
            return OptionKind.ALLOW_ALWAYS
        case {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"action": "deny"}}}:
            return OptionKind.DENY
        case _:
            return OptionKind.OTHER


def _read_command(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    arguments = call.value if isinstance(call.value, dict) else {}
    if _is_human_command(arguments):
        yield replace(_request(call, "commandExecution", _HUMAN), takes_grants=False)
        return
    for node in optional_items(call, "availableDecisions", "decisions"):
        if not isinstance(node.value, str) and not (
            isinstance(node.value, dict) and len(node.value) == 1
        ):
            node.wrong_type("a decision: a string, or an object with one key")
    optional_items(call, "proposedNetworkPolicyAmendments", "rules")
    listed = call.at("availableDecisions")
    by_value: dict[str, Option] = {}
    for each in _decisions(arguments):
        if by_value.setdefault(each.option.value, each.option) is not each.option:
            node = listed.at(each.at)
            node.fail("duplicate_option", f"{node.name} is already used; decisions must be unique.")
    if not by_value and not call.problems.found:
        listed.fail("too_few", f"{listed.name} must have a decision other than cancel.")
    yield _request(call, "commandExecution", tuple(by_value.values()))


def _shown_fields(call: ArgumentNode) -> Json:
    local = ("environmentId",) if call.at("environmentId").value == "local" else ()
    return others(call, *_HIDDEN_FIELDS, *local)


def _request(call: ArgumentNode, tool: str, offered: tuple[Option, ...]) -> ApprovalRequest:
    shown = _shown_fields(call)
    command = {"command": shown.pop("command")} if "command" in shown else None
    return ApprovalRequest(
        tool=tool,
        arguments=command,
        notes=shown,
        options=offered,
        compared=(call.at("command"),),
        takes_note=_has_turn(call),
    )


def _has_turn(call: ArgumentNode) -> bool:
    """Return True if the call belongs to a turn, which the bridge can steer with a person's message."""
    return isinstance(call.at("turnId").value, str)


def _command_decision(answers: AnswersById, arguments: Json) -> JsonValue:
    sent = {each.option.value: each.sent for each in _decisions(arguments)}
    return {"decision": sent[str(answers[DECISION])]}


def _read_file_change(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    request = _request(call, "fileChange", _FILE_CHANGE)
    yield replace(request, nothing_known=not request.notes)


# --- tools of MCP servers -------------------------------------------------------------------------

_PERSIST: Final = {"session": "Allow tool this session", "always": "Always allow this tool"}
"""The options of Codex that are remembered, by how long: as far as it offers them."""


_ELICITATION_FIELDS: Final = (
    *("threadId", "turnId", "serverName", "mode", "message", "requestedSchema", "_meta"),
)
_META_FIELDS: Final = (
    *("codex_approval_kind", "persist", "tool_name", "tool_params", "tool_params_display"),
    *("source", "connector_description"),
)
"""Fields that the headline, the options or the context show already, and what stands for the arguments elsewhere."""


def _read_mcp_tool(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    meta = call.at("_meta")
    persist = meta.at("persist").value
    offered = persist if isinstance(persist, list) else [persist]
    labels = {each: label for each, label in _PERSIST.items() if each in offered}
    tool = read_tool_name((meta, "tool_name"), (meta, "tool_title"), (call, "message"))
    server = call.label("serverName")
    yield ApprovalRequest(
        tool=tool,
        server=server,
        full_name=mcp_tool_name(server, tool),
        arguments=meta.at("tool_params").value,
        compared=(meta.at("tool_params"),),
        notes=together(others(call, *_ELICITATION_FIELDS), _meta=others(meta, *_META_FIELDS)),
        options=options(accept="Allow once", **labels, decline="Deny"),
        takes_note=_has_turn(call),
    )


def _mcp_tool_decision(answers: AnswersById, _arguments: Json) -> JsonValue:
    decision = answers[DECISION]
    if decision == "decline":
        return {"action": "decline"}
    persist: Json = {"_meta": {"persist": decision}} if decision in _PERSIST else {}
    return {"action": "accept", "content": {}, **persist}


# --- more permissions: what Codex's sandbox would let the agent do for a turn or a session -----------

_DENIED: Final[Json] = {"permissions": {}, "scope": "turn"}
_OTHER: Final = "other permissions"
_ACCESS: Final = {"read": "reading", "write": "writing to", "deny": "no access to"}
_SPECIAL: Final = {
    "root": "all files",
    "minimal": "the system's basic files",
    "project_roots": "the project",
    "tmpdir": "the folder for temporary files",
    "slash_tmp": "/tmp",
}


def _read_permissions(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    wanted = require_object(call, "permissions").value
    offered = options(turn="Allow for this turn", session="Allow for this session", decline="Deny")
    yield ApprovalRequest(
        tool="permissions",
        headline=f"Allow {_describe_permissions(wanted if isinstance(wanted, dict) else {})}",
        notes=_shown_fields(call),
        options=offered,
        takes_note=_has_turn(call),
    )


def _describe_permissions(wanted: Json) -> str:
    """Return what is wanted, in words; whatever is not understood counts as other permissions."""
    parts = list(dict.fromkeys(_parts(wanted)))
    *most, last = parts or ["no further permissions"]
    return f"{', '.join(most)} and {last}" if most else last


def _parts(wanted: Json) -> Iterator[str]:
    files = wanted.get("fileSystem")
    match wanted.get("network"):
        case {"enabled": True, **rest} if not any(rest.values()):
            yield "network access"
        case None | {"enabled": False | None}:
            pass
        case _:
            yield _OTHER
    if isinstance(files, dict):
        yield from _file_parts(files)
    elif files is not None:
        yield _OTHER
    if any(value for key, value in wanted.items() if key not in {"network", "fileSystem"}):
        yield _OTHER


def _file_parts(files: Json) -> Iterator[str]:
    for key, value in files.items():
        match key, value:
            case _, None:
                pass
            case "read" | "write", [*paths]:
                yield from (
                    f"{_ACCESS[key]} {path}" if isinstance(path, str) else _OTHER
                    for path in paths
                    if path is not None
                )
            case "entries", [*entries]:
                yield from map(_entry, entries)
            case "globScanMaxDepth", int():
                pass  # how far patterns are searched
            case _:
                yield _OTHER


def _entry(entry: JsonValue) -> str:
    match entry:
        case {"access": "read" | "write" | "deny" as access, "path": dict() as place}:
            name = _place(place)
            return f"{_ACCESS[access]} {name}" if name else _OTHER
        case _:
            return _OTHER


def _place(place: Json) -> str | None:
    match place:
        case {"type": "path", "path": str(name)} | {"type": "glob_pattern", "pattern": str(name)}:
            return name
        case {"type": "special", "value": {"kind": "unknown", "path": str(name), **rest}}:
            return _with_subpath(name, rest.get("subpath"))
        case {"type": "special", "value": {"kind": str(kind), **rest}} if kind in _SPECIAL:
            return _with_subpath(_SPECIAL[kind], rest.get("subpath"))
        case _:
            return None


def _with_subpath(name: str, subpath: object) -> str:
    return f"{name}/{subpath}" if subpath else name


def _permissions_decision(answers: AnswersById, arguments: Json) -> JsonValue:
    scope = answers[DECISION]
    if scope == "decline":
        return _DENIED
    return {"permissions": _without_nulls(arguments["permissions"]), "scope": scope}


def _without_nulls(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


_ELICITATION: Final = "mcpServer/elicitation/request"
"""A name that usually stands for an elicitation."""
VARIANTS: Final[Mapping[str, Variant]] = {
    "item/commandExecution/requestApproval": Variant(
        _read_command, _command_decision, lambda *_: {"decision": "decline"}
    ),
    "item/fileChange/requestApproval": one_field(_read_file_change, "decision", "decline"),
    "item/permissions/requestApproval": Variant(
        _read_permissions, _permissions_decision, lambda *_: _DENIED
    ),
    _ELICITATION: Variant(_read_mcp_tool, _mcp_tool_decision, lambda *_: {"action": "decline"}),
}
SHAPES: Final = {_ELICITATION: Shape(at=("_meta", "codex_approval_kind"), says="mcp_tool_call")}
"""The shapes of these calls, where the name alone does not tell them."""
HOST_FIELDS: Final = HostFields(
    ("threadId", "turnId", "itemId", "startedAtMs"),
    ("availableDecisions", "proposedExecpolicyAmendment", "proposedNetworkPolicyAmendments"),
)
