"""Approvals as coding agents ask for them: Claude Code, Copilot CLI, opencode, and any agent that speaks ACP.

Shapes: https://code.claude.com/docs/en/hooks#permissionrequest and
https://agentclientprotocol.com/protocol/tool-calls#requesting-permission.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.answers import format_value
from answerback.core.form import MAX_OPTIONS, Option
from answerback.dialects.approvals.approval_request import (
    DECISION,
    AnswersById,
    ApprovalRequest,
    Json,
    Variant,
    notes,
    option_for,
    optional_items,
    options,
    read_tool_name,
    to_json_text,
)
from answerback.dialects.call_reader import ArgumentNode

# --- hooks: Claude Code's, which is Codex's too, and Copilot CLI's --------------------------------

_ALWAYS: Final = "always:"
_SUGGESTIONS: Final = "permission_suggestions"
_PLACES: Final = {
    "session": "for this session",
    "cliArg": "for this session",
    "localSettings": "in the local settings",
    "projectSettings": "in the project's settings",
    "userSettings": "in the user's settings",
}
_MADE_OF: Final = frozenset({"type", "rules", "behavior", "destination", "mode", "directories"})
"""The fields of a suggestion that its label tells."""


def _read_claude(call: ArgumentNode) -> Sequence[ApprovalRequest]:
    suggested = [
        _suggestion(node, i)
        for i, node in enumerate(optional_items(call, _SUGGESTIONS, "suggestions"), 1)
        if node.is_object()
    ]
    [allow, deny] = options(allow="Allow once", deny="Deny")
    request = ApprovalRequest(
        tool=read_tool_name((call, "tool_name")),
        arguments=call.at("tool_input").value,
        notes=notes(call, "cwd", "mcp_server"),
        options=(allow, *suggested, deny),
    )
    return [request]


def _suggestion(node: ArgumentNode, number: int) -> Option:
    sent = node.value
    label = _suggestion_label(sent) if isinstance(sent, dict) else None
    whole = label is not None and isinstance(sent, dict) and sent.keys() <= _MADE_OF
    text = f"Allow, and {label}" if label else f"Allow, with suggestion {number}"
    return option_for(f"{_ALWAYS}{number}", text, sent, whole=whole)


def _suggestion_label(sent: Json) -> str | None:
    """What a suggestion changes, in words; None for one that is not known."""
    place = _PLACES.get(str(sent.get("destination")))
    match sent:
        case {"type": "addRules", "behavior": "allow" | "deny" | "ask" as behavior, "rules": rules}:
            what = f"always {behavior} {_rules(rules)}"
        case {"type": "removeRules", "behavior": str() as behavior, "rules": rules}:
            what = f"no longer {behavior} {_rules(rules)}"
        case {"type": "setMode", "mode": str() as mode}:
            what = f"switch to the mode {mode}"
        case {"type": "addDirectories", "directories": list() as folders}:
            what = f"open {', '.join(map(str, folders))}"
        case _:
            return None
    return f"{what} {place}" if place else None


def _rules(rules: JsonValue) -> str:
    return ", ".join(map(_rule, rules if isinstance(rules, list) else [rules]))


def _rule(rule: JsonValue) -> str:
    match rule:
        case {"toolName": str() as tool, "ruleContent": str() as content, **rest} if not rest:
            return f"{tool}({content})"
        case {"toolName": str() as tool, **rest} if not rest:
            return tool
    return to_json_text(rule)


def _hook(**decision: JsonValue) -> Json:
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}


def _claude_answered(given: AnswersById, arguments: Json) -> JsonValue:
    decision = str(given[DECISION])
    suggestions = arguments.get(_SUGGESTIONS)
    if decision.startswith(_ALWAYS) and isinstance(suggestions, list):
        chosen = suggestions[int(decision.removeprefix(_ALWAYS)) - 1]
        return _hook(behavior="allow", updatedPermissions=[chosen])
    return _hook(behavior=decision)


def _claude_refused(_given: AnswersById, _arguments: Json, words: str) -> JsonValue:
    return _hook(behavior="deny", message=words)


def _read_copilot(call: ArgumentNode) -> Sequence[ApprovalRequest]:
    request = ApprovalRequest(
        tool=read_tool_name((call, "toolName")),
        arguments=call.at("toolInput").value,
        notes=notes(call, "cwd"),
        options=options(allow="Allow", deny="Deny"),
    )
    return [request]


def _copilot_answered(given: AnswersById, _arguments: Json) -> JsonValue:
    return {"behavior": given[DECISION]}


def _copilot_refused(_given: AnswersById, _arguments: Json, words: str) -> JsonValue:
    return {"behavior": "deny", "message": words}


# --- ACP and opencode -----------------------------------------------------------------------------


_ACP_IDS: Final = frozenset({"type", "toolCall", "toolCallId", "terminalId", "_meta"})


def _read_acp(call: ArgumentNode) -> Sequence[ApprovalRequest]:
    made: list[Option] = []
    for node in call.items("options", least=1, most=MAX_OPTIONS, of="options"):
        if not node.is_object():
            continue
        value, label = node.label("optionId"), node.label("name")
        if value in {option.value for option in made}:
            message = (
                f"{node.name}.optionId {format_value(value)} is there already; ids must differ."
            )
            node.fail("duplicate_option", message, "optionId")
        if value is not None and label is not None:
            made.append(Option(value=value, label=label))
    subject = call.at("subject")
    used = subject.at("toolCall") if subject.has("toolCall") else call.at("toolCall")
    named = [(used, key) for key in ("name", "title", "kind", "toolCallId") if used.has(key)]
    request = ApprovalRequest(
        tool=read_tool_name(*named, (call, "title")),
        arguments=used.at("rawInput").value,
        notes={
            **notes(call, "title", "description"),
            **_subject(subject.value),
            **notes(used, "title", "kind", "locations", "content"),
        },
        options=tuple(made),
    )
    return [request]


def _subject(subject: JsonValue) -> Json:
    """What is to be allowed in version 2, where it is no tool call: a command, say."""
    given = subject if isinstance(subject, dict) else {}
    return {key: value for key, value in given.items() if key not in _ACP_IDS}


def _acp_answered(given: AnswersById, _arguments: Json) -> JsonValue:
    return {"outcome": {"outcome": "selected", "optionId": given[DECISION]}}


def _acp_refused(_given: AnswersById, arguments: Json, _words: str) -> JsonValue:
    offered = arguments["options"]
    for option in offered if isinstance(offered, list) else []:
        if isinstance(option, dict) and option.get("kind") == "reject_once":
            return _acp_answered({DECISION: option["optionId"]}, arguments)
    return {"outcome": {"outcome": "cancelled"}}


def _read_opencode(call: ArgumentNode) -> Sequence[ApprovalRequest]:
    [once, reject] = options(once="Allow once", reject="Deny")
    patterns = [node.value for node in optional_items(call, "always", "patterns")]
    lasting = option_for(
        "always", f"Always allow {', '.join(map(str, patterns))}", patterns, whole=True
    )
    request = ApprovalRequest(
        tool=read_tool_name((call, "permission")),
        arguments=notes(call, "patterns", "metadata") or None,
        options=(once, lasting, reject) if patterns else (once, reject),
    )
    return [request]


def _opencode_answered(given: AnswersById, _arguments: Json) -> JsonValue:
    return {"reply": given[DECISION]}


def _opencode_refused(_given: AnswersById, _arguments: Json, words: str) -> JsonValue:
    return {"reply": "reject", "message": words}


CLAUDE: Final = Variant(_read_claude, _claude_answered, _claude_refused)
COPILOT: Final = Variant(_read_copilot, _copilot_answered, _copilot_refused)
ACP: Final = Variant(_read_acp, _acp_answered, _acp_refused)
OPENCODE: Final = Variant(_read_opencode, _opencode_answered, _opencode_refused)
