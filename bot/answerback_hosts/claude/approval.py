"""Approval requests of Claude Code, which its hooks and its SDK send.

Format: https://code.claude.com/docs/en/hooks#permissionrequest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import JsonValue

from answerback.core import headline
from answerback.core.form import Option, OptionKind
from answerback.dialects.approvals.approval_request import (
    DECISION,
    AnswersById,
    ApprovalRequest,
    Editable,
    EditsById,
    Json,
    Variant,
    option_for,
    optional_items,
    options,
    others,
    read_tool_name,
)
from answerback.dialects.approvals.arguments_markdown import Block, to_json_text
from answerback.dialects.approvals.unseen_fields import HostFields
from answerback.dialects.call_reader import ArgumentNode

_ALWAYS: Final = "always:"
_SUGGESTIONS: Final = "permission_suggestions"
_EVENT_FIELDS: Final = (
    *("hook_event_name", "session_id", "transcript_path", "cwd", "prompt_id", "turn_id", "tool_use_id"),
    *("permission_mode", "effort", "model", "agent_id", "agent_type"),
)  # fmt: skip
"""Where and when a hook of Claude Code or Codex is called."""
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
"""The effects of Claude Code's modes."""
_LABELLED_FIELDS: Final = frozenset(
    {"type", "rules", "behavior", "destination", "mode", "directories"}
)
"""The fields of a suggestion that its label covers."""


_PLAN_TOOL: Final = "ExitPlanMode"
_PLAN_SOURCE: Final = "plan_source"
_FROM_TRANSCRIPT: Final = "transcript"
_LAST_MESSAGE: Final = "**Last message of the session; it may not be the plan**"
_IN_ITS_OWN_WINDOW: Final = (
    "**Claude Code may ask for this again in its own window. If it does, only an answer there "
    "counts.**"
)
"""Of a tool whose server marks it as `anthropic/requiresUserInteraction`, it takes no permission from a hook, and
suggests no rule that would allow it: what release 2.1.332 does.
"""
_SENTENCES: Final = ("title", "description")
_NO_RULES: Final = ("suppress_always_allow_rule", "suppressAlwaysAllowRule")
_DEFAULT_NO: Final = ("default_to_no", "defaultToNo")
"""Fields with the context of a permission that a program with the SDK can pass on, as its language writes them."""
_DENIAL_SUGGESTED: Final = "**Claude Code suggests to deny this.**"
_ACCEPT_EDITS: Final = "accept_edits"
_PLAN_MODES: Final = {_ACCEPT_EDITS: "acceptEdits", "allow": "default"}
"""The modes in which Claude Code goes on after a plan, by what people choose. Without one, it would be the mode of
before the plan.
"""


def _read_claude(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    suggested = [
        _suggestion(node, i)
        for i, node in enumerate(optional_items(call, _SUGGESTIONS, "suggestions"), 1)
        if node.is_object()
    ]
    if _is_set(call, _NO_RULES):
        suggested = [each for each in suggested if each.kind is not OptionKind.ALLOW_ALWAYS]
    tool, arguments = read_tool_name((call, "tool_name")), call.at("tool_input").value
    [allow, deny] = options(allow="Allow once", deny="Deny")
    offered, nothing_known = (allow, *suggested, deny), False
    lead = [Block("", _DENIAL_SUGGESTED, None)] if _is_set(call, _DEFAULT_NO) else []
    if tool == _PLAN_TOOL:
        offered = _plan_options(suggested)
        plan = arguments.get("plan") if isinstance(arguments, dict) else None
        nothing_known = not (isinstance(plan, str) and plan.strip())
        if call.at(_PLAN_SOURCE).value == _FROM_TRANSCRIPT and not nothing_known:
            lead.append(Block("", _LAST_MESSAGE, None))
    elif headline.mcp_tool(tool) is not None and call.at(_SUGGESTIONS).value == []:
        lead.append(Block("", _IN_ITS_OWN_WINDOW, None))
    title, said = (call.at(key).value for key in _SENTENCES)
    name = () if title else ("tool_name",)  # a title may stand in its place
    known = (*name, "tool_input", _SUGGESTIONS, _PLAN_SOURCE, *_NO_RULES, *_DEFAULT_NO)
    yield ApprovalRequest(
        tool=tool,
        arguments=arguments,
        compared=(call.at("tool_input"),),
        editable=Editable((call.at("tool_input"),)),
        notes=others(call, *known, *_SENTENCES, *_EVENT_FIELDS),
        options=offered,
        lead=tuple(lead),
        title=title if isinstance(title, str) else None,
        said=(said,) if isinstance(said, str) else (),
        nothing_known=nothing_known,
        takes_note=True,  # the hook delivers it with the next event that takes context
    )


def _is_set(call: ArgumentNode, names: Sequence[str]) -> bool:
    return any(call.at(name).value is True for name in names)


def _plan_options(suggested: Sequence[Option]) -> tuple[Option, ...]:
    """Return the choices of Claude Code's own window about a plan."""
    labels = {"allow": "Approve, and ask about each edit", "deny": "Keep planning"}
    [each, deny] = options(**labels)
    accept = Option(
        value=_ACCEPT_EDITS, label="Approve, and accept edits", kind=OptionKind.ALLOW_ALWAYS
    )
    return (each, accept, *suggested, deny)


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
    if arguments.get("tool_name") == _PLAN_TOOL and decision != "deny":
        return _plan_approval(decision, arguments)
    suggestions = arguments.get(_SUGGESTIONS)
    if decision.startswith(_ALWAYS) and isinstance(suggestions, list):
        chosen = suggestions[int(decision.removeprefix(_ALWAYS)) - 1]
        return _hook(behavior="allow", updatedPermissions=[chosen])
    return _hook(behavior=decision)


def _claude_edited(answers: AnswersById, arguments: Json, edits: EditsById) -> JsonValue:
    """Allow a call with other arguments, which Claude Code then uses in place of its own."""
    edited = edits[DECISION]
    if arguments.get("tool_name") == _PLAN_TOOL:
        return _plan_approval(str(answers[DECISION]), {**arguments, "tool_input": edited})
    return _hook(behavior="allow", updatedInput=edited)


def _plan_approval(decision: str, arguments: Json) -> JsonValue:
    """Approve a plan, with the plan that people saw: an approval without it has no effect."""
    change: JsonValue
    if decision in _PLAN_MODES:
        change = {"type": "setMode", "mode": _PLAN_MODES[decision], "destination": "session"}
    else:
        suggestions: Any = arguments[_SUGGESTIONS]
        change = suggestions[int(decision.removeprefix(_ALWAYS)) - 1]
    plan = arguments.get("tool_input") or {}
    return _hook(behavior="allow", updatedInput=plan, updatedPermissions=[change])


def _claude_no_decision(_answers: AnswersById, _arguments: Json, reason: str) -> JsonValue:
    return _hook(behavior="deny", message=reason)


def _with_notes(result: Json, notes: AnswersById) -> Json:
    """Only a denial has a message."""
    match result:
        case {"hookSpecificOutput": {"decision": {"behavior": "deny"}}}:
            return _hook(behavior="deny", message=notes[DECISION])
        case _:
            return result


VARIANTS: Final[Mapping[str, Variant]] = {
    "PermissionRequest": Variant(
        _read_claude, _claude_decision, _claude_no_decision, _with_notes, _claude_edited
    ),
}
HOST_FIELDS: Final = HostFields(("prompt_id",), ("permission_suggestions",))
