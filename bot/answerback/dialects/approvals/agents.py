"""Approval requests of coding agents: Claude Code, Copilot CLI, opencode, Factory Droid, and any that speaks ACP.

Formats: https://code.claude.com/docs/en/hooks#permissionrequest and
https://agentclientprotocol.com/protocol/tool-calls#requesting-permission.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pydantic import JsonValue

from answerback.core import headline
from answerback.core.answers import format_value
from answerback.core.form import MAX_OPTIONS, Option, OptionKind
from answerback.core.headline import ToolKind
from answerback.core.option_labels import tell_apart
from answerback.dialects.approvals.approval_request import (
    DECISION,
    LASTING_DENIAL,
    AnswersById,
    ApprovalRequest,
    Json,
    Variant,
    kind_of_value,
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
from answerback.dialects.call_reader import ArgumentNode

# --- hooks: Claude Code's, which Codex also uses, and Copilot CLI's -------------------------------

_ALWAYS: Final = "always:"
_SUGGESTIONS: Final = "permission_suggestions"
_EVENT_FIELDS: Final = (
    *("hook_event_name", "session_id", "transcript_path", "cwd", "prompt_id", "turn_id", "tool_use_id"),
    *("permission_mode", "effort", "model", "agent_id", "agent_type"),
)  # fmt: skip
"""Where and when a hook of Claude Code or Codex is called."""
_COPILOT_EVENT_FIELDS: Final = (
    "hookName",
    "sessionId",
    "timestamp",
    "cwd",
    "permissionSuggestions",
)
_DESTINATIONS: Final = {
    "session": "for this session",
    "cliArg": "for this session",
    "localSettings": "in the local settings",
    "projectSettings": "in the project's settings",
    "userSettings": "in the user's settings",
}
_MODES: Final = {
    "acceptEdits": "accept all further edits",
    "bypassPermissions": "ask for no permission any more",
}
"""What Claude Code's modes do."""
_LABELLED_FIELDS: Final = frozenset(
    {"type", "rules", "behavior", "destination", "mode", "directories"}
)
"""The fields of a suggestion that its label covers."""


def _read_claude(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    suggested = [
        _suggestion(node, i)
        for i, node in enumerate(optional_items(call, _SUGGESTIONS, "suggestions"), 1)
        if node.is_object()
    ]
    [allow, deny] = options(allow="Allow once", deny="Deny")
    yield ApprovalRequest(
        tool=read_tool_name((call, "tool_name")),
        arguments=call.at("tool_input").value,
        compared=(call.at("tool_input"),),
        notes=others(call, "tool_name", "tool_input", _SUGGESTIONS, *_EVENT_FIELDS),
        options=(allow, *suggested, deny),
    )


def _suggestion(node: ArgumentNode, number: int) -> Option:
    sent = node.value
    label = _suggestion_label(sent) if isinstance(sent, dict) else None
    whole = label is not None and isinstance(sent, dict) and sent.keys() <= _LABELLED_FIELDS
    text = f"Allow, and {label}" if label else f"Allow, with suggestion {number}"
    return option_for(f"{_ALWAYS}{number}", text, sent, _suggestion_kind(sent), whole=whole)


def _suggestion_kind(sent: JsonValue) -> OptionKind:
    """Return what a suggestion does besides allowing this use."""
    match sent:
        case {"type": "addRules", "behavior": "allow"} | {"type": "setMode" | "addDirectories"}:
            return OptionKind.ALLOW_ALWAYS
        case _:
            return OptionKind.OTHER


def _suggestion_label(sent: Json) -> str | None:
    """Describe what a suggestion changes; None if its kind is unknown."""
    destination = _DESTINATIONS.get(str(sent.get("destination")))
    match sent:
        case {"type": "addRules", "behavior": "allow" | "deny" | "ask" as behavior, "rules": rules}:
            change = f"always {behavior} {_rules(rules)}"
        case {"type": "removeRules", "behavior": str() as behavior, "rules": rules}:
            change = f"no longer {behavior} {_rules(rules)}"
        case {"type": "setMode", "mode": str() as mode}:
            change = _MODES.get(mode) or f"switch to the mode {mode}"
        case {"type": "addDirectories", "directories": list() as folders}:
            change = f"open {', '.join(map(str, folders))}"
        case _:
            return None
    return f"{change} {destination}" if destination else None


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


def _claude_decision(answers: AnswersById, arguments: Json) -> JsonValue:
    decision = str(answers[DECISION])
    suggestions = arguments.get(_SUGGESTIONS)
    if decision.startswith(_ALWAYS) and isinstance(suggestions, list):
        chosen = suggestions[int(decision.removeprefix(_ALWAYS)) - 1]
        return _hook(behavior="allow", updatedPermissions=[chosen])
    return _hook(behavior=decision)


def _claude_no_decision(_answers: AnswersById, _arguments: Json, reason: str) -> JsonValue:
    return _hook(behavior="deny", message=reason)


def _read_copilot(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    name = read_tool_name((call, "toolName"))
    server, _, tool = name.rpartition("/")
    if headline.kind_of(name) is not ToolKind.OTHER:
        server, tool = "", name  # a slash may also belong to a known name
    yield ApprovalRequest(
        tool=tool,
        server=server or None,
        arguments=call.at("toolInput").value,
        compared=(call.at("toolInput"),),
        notes=others(call, "toolName", "toolInput", *_COPILOT_EVENT_FIELDS),
        options=options(allow="Allow", deny="Deny"),
    )


# --- ACP and opencode -----------------------------------------------------------------------------


_ACP_KINDS: Final = {
    "allow_once": "allow once",
    "allow_always": "always allow",
    "reject_once": "deny once",
    "reject_always": "always deny",
}
_KINDS: Final = {
    "allow_once": OptionKind.ALLOW_ONCE,
    "allow_always": OptionKind.ALLOW_ALWAYS,
    "reject_once": OptionKind.DENY,
    "reject_always": OptionKind.DENY,
}
_ACP_IDS: Final = ("type", "toolCall", "toolCallId", "terminalId", "_meta")
_ACP_REQUEST: Final = ("sessionId", "options", "toolCall", "subject", "_meta")
_ACP_TOOL_CALL: Final = ("toolCallId", "name", "status", "_meta")
"""Fields of a tool call that do not describe it, and its name."""
_ACP_EDIT: Final = ("title", "locations", "content")
"""Fields of a tool call that are compared with the file that it changes."""


def _read_options(
    call: ArgumentNode, value_key: str, label_key: str
) -> list[tuple[Option, JsonValue]]:
    """Read the host's options, each with its kind. Their values must be unique."""
    offered: dict[str, tuple[Option, JsonValue]] = {}
    for node in call.items("options", min_items=1, max_items=MAX_OPTIONS, noun="options"):
        if not node.is_object():
            continue
        value, label = node.label(value_key), node.label(label_key)
        if value in offered:
            message = f"{node.name}.{value_key} {format_value(value)} is already used; ids must be unique."
            node.fail("duplicate_option", message, value_key)
        if value is not None and label is not None:
            kind = node.at("kind").value
            option = Option(
                value=value,
                label=label,
                kind=_KINDS.get(str(kind), kind_of_value(value)),
                lasting=LASTING_DENIAL in (kind, value),
            )
            offered[value] = option, kind
    return [*offered.values()]


def _read_acp(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    offered = _read_options(call, "optionId", "name")
    subject = call.at("subject")
    tool_call = subject.at("toolCall") if subject.has("toolCall") else call.at("toolCall")
    name_fields = [
        (tool_call, key) for key in ("name", "title", "kind", "toolCallId") if tool_call.has(key)
    ]
    own = others(subject, *_ACP_IDS)  # of version 2, which is not a tool call but, say, a command
    yield ApprovalRequest(
        tool=read_tool_name(*name_fields, (call, "title")),
        arguments=own or tool_call.at("rawInput").value,
        compared=(
            *(subject.at(key) for key in own),
            *(tool_call.at(key) for key in (*_ACP_EDIT, "rawInput") if not own),
        ),
        acp_kind="execute" if subject.has("command") else tool_call.at("kind").value,
        notes=together(
            others(call, *_ACP_REQUEST),
            toolCall=others(tool_call, *_ACP_TOOL_CALL, *(() if own else ("rawInput",))),
        ),
        options=tuple(_with_kinds(offered)),
    )


def _with_kinds(options: Sequence[tuple[Option, JsonValue]]) -> Iterator[Option]:
    """Yield the options, saying what kind they are: those that look alike, and those that hold for good unsaid."""
    labels = [option.label for option, _ in options]
    for (option, kind), shown in zip(options, tell_apart(labels), strict=True):
        said = _ACP_KINDS.get(str(kind), "")
        unsaid = "always" in said and "always" not in option.label.casefold()
        if said and (unsaid or shown != option.label):
            yield option.model_copy(update={"label": f"{option.label} ({said})"})
        else:
            yield option


def _acp_decision(answers: AnswersById, _arguments: Json) -> JsonValue:
    return {"outcome": {"outcome": "selected", "optionId": answers[DECISION]}}


def _acp_no_decision(_answers: AnswersById, arguments: Json, _reason: str) -> JsonValue:
    offered: Any = arguments["options"]
    for option in offered:
        if option.get("kind") == "reject_once":
            return _acp_decision({DECISION: option["optionId"]}, arguments)
    return {"outcome": {"outcome": "cancelled"}}


def _read_opencode(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    [once, reject] = options(once="Allow once", reject="Deny")
    patterns = [node.value for node in optional_items(call, "always", "patterns")]
    label = f"Always allow {', '.join(map(str, patterns))} until opencode ends"
    always = option_for("always", label, patterns, OptionKind.ALLOW_ALWAYS, whole=True)
    yield ApprovalRequest(
        tool=read_tool_name((call, "permission")),
        arguments=call.at("metadata").value,
        compared=(call.at("metadata"),),
        notes=others(call, "permission", "metadata", "always", "id", "sessionID", "tool"),
        options=(once, always, reject) if patterns else (once, reject),
    )


# --- Factory Droid --------------------------------------------------------------------------------


_TOOL_USE: Final = ("type", "id", "name", "input")


def _read_droid(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    """Read a request about one or several uses of tools, which are decided together."""
    uses: list[tuple[ArgumentNode, Json]] = []
    tools: list[str] = []
    for node in call.items("toolUses", min_items=1, max_items=MAX_OPTIONS, noun="uses"):
        use = require_object(node, "toolUse") if node.is_object() else node
        tools.append(read_tool_name((use, "name")))
        said = together(
            others(node, "toolUse", "confirmationType"), toolUse=others(use, *_TOOL_USE)
        )
        uses.append((use.at("input"), said))
    several: list[JsonValue] = [
        part
        for tool, (given, said) in zip(tools, uses, strict=True)
        for part in ({tool: given.value}, said)
        if part
    ]
    [(arguments, details), *_] = uses or [(call.at("toolUses"), {})]
    is_one = len(uses) <= 1
    yield ApprovalRequest(
        tool=", ".join(dict.fromkeys(tools)),
        arguments=arguments.value if is_one else several,
        compared=(arguments,) if is_one else (),
        notes=together(others(call, "toolUses", "options"), toolUses=details if is_one else {}),
        options=tuple(option for option, _ in _read_options(call, "value", "label")),
    )


DROID: Final = one_field(_read_droid, "selectedOption", "cancel", reason="comment")
CLAUDE: Final = Variant(_read_claude, _claude_decision, _claude_no_decision)
COPILOT: Final = one_field(_read_copilot, "behavior", "deny", reason="message")
ACP: Final = Variant(_read_acp, _acp_decision, _acp_no_decision)
OPENCODE: Final = one_field(_read_opencode, "reply", "reject", reason="message")
