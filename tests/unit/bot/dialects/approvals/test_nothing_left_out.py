"""Whatever a host sends about what would run is read by whoever allows it: in every format, and however long it is."""

from __future__ import annotations

import ast
import copy
import inspect
import json
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback.core.errors import InvalidCallError
from answerback.core.form import Form
from answerback.core.grants import Asker, GrantRule, offer_of
from answerback.dialects import registry
from answerback.dialects.approval import VARIANTS, read_tool_call
from answerback.dialects.approvals import file_changes, tool_use
from answerback_base.visible_text import one_line
from tests.unit.bot.approval_support import ARGS, CALLS, FUNCTION, HOSTS, OPTIONS

Json = dict[str, Any]
Path = tuple[str | int, ...]

MORE: Final[dict[str, Json]] = {
    "PermissionRequest": {
        "mcp_server": "shop", "session_id": "s1", "hook_event_name": "PermissionRequest", "cwd": "/w",
        "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
    },
    "permissionRequest": {"hookName": "permissionRequest", "sessionId": "s1", "timestamp": 1, "cwd": "/w"},
    "item/commandExecution/requestApproval": {
        "threadId": "t", "turnId": "t", "itemId": "i", "reason": "Because.",
        "commandActions": [{"type": "unknown", "command": "ls"}],
        "availableDecisions": ["accept", {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["ls"]}}],
    },
    "item/fileChange/requestApproval": {"reason": "Because.", "changes": {"a": {"type": "add", "content": "b"}}},
    "item/permissions/requestApproval": {"reason": "Because.", "cwd": "/w"},
    "mcpServer/elicitation/request": {
        "_meta": {
            "codex_approval_kind": "mcp_tool_call", "tool_name": "delete", "tool_params": ARGS,
            "tool_title": "Delete", "tool_description": "Deletes.", "connector_name": "Shop", "persist": "session",
        },
    },
    "session/request_permission": {
        "sessionId": "s1", "title": "Please", "description": "It is due.", "options": OPTIONS,
        "toolCall": {
            "toolCallId": "c1", "name": "delete", "title": "Delete", "kind": "other", "rawInput": ARGS,
            "status": "pending", "locations": [{"path": "/w/a.txt", "line": 3}],
            "content": [{"type": "content", "content": {"type": "text", "text": "said"}}],
        },
    },
    "droid.request_permission": {
        "toolUses": [
            {"toolUse": {"type": "tool_use", "id": str(n), "name": f"tool{n}", "input": ARGS}, "details": {"a": "b"}}
            for n in range(2)
        ],
    },
    "tool_approval": {"description": "It is due.", "allowed_decisions": ["approve", "reject"], "tool_call_id": "c1"},
    "hitl_request": {
        "action_requests": [{"name": "delete", "args": ARGS, "description": "It is due."}, {"name": "b", "args": ARGS}],
        "review_configs": [{"action_name": "delete", "allowed_decisions": ["approve"]}],
    },
    "tool_approval_item": {
        "tool_name": "delete", "tool_namespace": "shop",
        "raw_item": {
            "type": "function_call", "id": "i", "call_id": "c", "name": "delete", "status": "completed",
            "server_label": "shop", "arguments": '{"path": "a.txt"}', "providerData": {"a": "b"},
        },
    },
    "tool-approval-request": {
        "type": "tool-approval-request", "signature": "s", "reason": "Because.",
        "toolCall": {"type": "tool-call", "toolCallId": "c", "toolName": "delete", "input": ARGS, "title": "Delete"},
    },
    "DeferredToolRequests": {
        "approvals": [{"tool_call_id": "c1", "tool_name": "delete", "args": ARGS, "part_kind": "tool-call"}],
        "metadata": {"c1": {"a": "b"}},
    },
    "adk_request_confirmation": {
        "originalFunctionCall": FUNCTION, "toolConfirmation": {"hint": "Sure?", "payload": {"days": "3"}}
    },
    "permission.asked": {"id": "p", "sessionID": "s", "tool": {"messageID": "m", "callID": "c"}},
    "permission.v2.asked": {"id": "p", "sessionID": "s", "source": {"type": "tool", "callID": "c"}},
    "tools/call": {"changed": "-a\n+b"},
    "exec.approval.requested": {
        "host": "gateway", "nodeId": "n", "resolvedPath": "/bin/ls", "warningText": "Careful.", "env": {"A": "b"},
        "commandArgv": ["ls"], "systemRunPlan": {"argv": ["ls"]}, "sessionKey": "k", "security": "allowlist",
    },
    "plugin.approval.requested": {"pluginId": "mailer", "severity": "warning", "mcpTool": "send", "sessionKey": "k"},
}  # fmt: skip
"""Other fields that hosts send."""
FULL: Final = {
    **{name: CALLS[name] | MORE.get(name, {}) for name in VARIANTS},
}
_ID = "an id, or the format's own name"
_PLACE = "where it is asked; the folder is behind Show in full"
_OFFERED = "which decisions there are: the options show them"
_SAME = "says again what is shown"
HIDDEN: Final[dict[str, dict[str, str]]] = {
    "PermissionRequest": {"session_id": _PLACE, "hook_event_name": _ID, "cwd": _PLACE},
    "permissionRequest": {"hookName": _ID, "sessionId": _PLACE, "cwd": _PLACE},
    "item/commandExecution/requestApproval": {"threadId": _ID, "turnId": _ID, "itemId": _ID},
    "item/fileChange/requestApproval": {"itemId": _ID},
    "item/permissions/requestApproval": {},
    "mcpServer/elicitation/request": {
        "message": _SAME, "_meta/persist": _OFFERED, "_meta/codex_approval_kind": _ID,
        "requestedSchema/type": "there are no fields",
    },
    "session/request_permission": {
        "sessionId": _PLACE, "toolCall/toolCallId": _ID, "toolCall/status": "that it waits",
        "options/0/optionId": _OFFERED, "options/0/kind": _OFFERED,
        "options/1/optionId": _OFFERED, "options/1/kind": _OFFERED,
    },
    "droid.request_permission": {
        **{f"toolUses/{n}/toolUse/{key}": _ID for n in range(2) for key in ("type", "id")},
        "options/0/value": _OFFERED, "options/1/value": _OFFERED,
    },
    "hitl_request": {"review_configs/0/action_name": _OFFERED},
    "tool_approval": {"tool_call_id": _ID},
    "mcp_approval_request": {"type": _ID, "id": _ID},
    "tool_approval_item": {"raw_item/type": _ID, "raw_item/id": _ID, "raw_item/call_id": _ID, "raw_item/status": _ID},
    "tool-approval-request": {
        "type": _ID, "approvalId": _ID, "signature": _ID, "toolCall/type": _ID, "toolCall/toolCallId": _ID,
    },
    "DeferredToolRequests": {"approvals/0/tool_call_id": _ID, "approvals/0/part_kind": _ID},
    "adk_request_confirmation": {"originalFunctionCall/id": _ID},
    "permission.asked": {"id": _ID, "sessionID": _ID, "tool/messageID": _ID, "tool/callID": _ID},
    "permission.v2.asked": {"id": _ID, "sessionID": _ID, "source/type": _ID, "source/callID": _ID},
    "tools/call": {},
    "exec.approval.requested": {
        "sessionKey": _ID, "security": "why it asks", "allowedDecisions/0": _OFFERED, "allowedDecisions/1": _OFFERED,
    },
    "plugin.approval.requested": {"sessionKey": _ID},
    **{each["name"]: each["hidden"] for each in HOSTS if "hidden" in each},
}  # fmt: skip
"""The fields that nobody reads before allowing, and why."""
OPENAI: Final[dict[str, Json]] = {
    "shell": {"type": "shell_call", "action": {"commands": ["ls", "rm -rf /srv"], "timeout_ms": 5}},
    "local_shell": {"type": "local_shell_call", "action": {"command": ["ls"], "env": {"A": "b"}}},
    "apply_patch": {
        "type": "apply_patch_call",
        "operation": {"type": "update_file", "path": "/w/a.py", "diff": "@@\n-a\n+b"},
    },
    "computer": {"type": "computer_call", "action": {"type": "click", "button": "left"}},
    "custom": {"type": "custom_tool_call", "input": "rm -rf /srv"},
    "new": {"type": "new_call", "plan": {"steps": ["rm -rf /srv"]}},
}
"""Tools of OpenAI Agents that have no arguments."""
LONG: Final = "read_" + "a" * 100 + "_THEN_DELETE_ALL_" + "b" * 100 + "_file"


UNREAD: Final[dict[str, dict[str, str]]] = {
    "mcpServer/elicitation/request": {
        "requestedSchema": "there are no fields",
        "requestedSchema/properties": "a field would make it another question",
    },
    "session/request_permission": {"options/0": _OFFERED, "options/1": _OFFERED},
    "droid.request_permission": {"options/0": _OFFERED, "options/1": _OFFERED},
    "hitl_request": {"review_configs/0": _OFFERED},
    "DeferredToolRequests": {"metadata": "it is about no call that is asked about"},
    "permission.asked": {"tool": _ID},
    "permission.v2.asked": {"source": _ID},
}
"""The objects whose unknown fields nobody reads, and why."""


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each text."""
    if isinstance(value, str):
        yield path
    parts = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in parts:
        yield from leaves(part, (*path, key))


def objects(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each object."""
    if isinstance(value, dict):
        yield path
    parts = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in parts:
        yield from objects(part, (*path, key))


def value_at(call: Json, path: Path) -> Any:
    """Return the value at a path of a call."""
    node: Any = call
    for key in path:
        node = node[key]
    return node


def replaced(call: Json, path: Path, new: Any) -> Json:
    """Return a call with another value at a path."""
    changed = copy.deepcopy(call)
    value_at(changed, path[:-1])[path[-1]] = new
    return changed


def read(name: str, call: Json) -> Form | None:
    """Return the form of a call; None if nobody is asked."""
    try:
        return registry.parse_call(name, call).form
    except InvalidCallError:
        return None


def said(form: Form) -> str:
    """Return all that people read before they decide."""
    return "\n".join(
        text or ""
        for question in form.questions
        for text in (
            question.text,
            question.context,
            *(part for option in question.options for part in (option.label, option.description)),
        )
    )


def is_said(value: str, form: Form) -> bool:
    """Return True if people read a text, on one line or as JSON, which may be within JSON."""
    quoted = json.dumps(value, ensure_ascii=False)[1:-1]
    everything = one_line(said(form))
    return any(one_line(text) in everything for text in (value, quoted, json.dumps(quoted)[1:-1]))


def pointer(path: Path) -> str:
    return "/".join(map(str, path))


def shown_id(each: str | Path) -> str:
    return each if isinstance(each, str) else pointer(each) or "itself"


def read_with(name: str, path: Path) -> bool:
    """Return True if a call is asked about with another text at a path."""
    return read(name, replaced(FULL[name], path, "other")) is not None


TEXTS: Final = [(name, path) for name, call in FULL.items() for path in leaves(call)]
OBJECTS: Final = [(name, path) for name, call in FULL.items() for path in objects(call)]
OPEN: Final = [
    (name, path)
    for name, path in TEXTS
    if pointer(path) not in HIDDEN[name] and read_with(name, path)
]
"""Where a host may say anything that people read."""


def test_every_format_is_in_the_table() -> None:
    assert HIDDEN.keys() == VARIANTS.keys()
    for name, hidden in HIDDEN.items():
        assert hidden.keys() <= {pointer(path) for each, path in TEXTS if each == name}, name


@pytest.mark.rule("APPROVAL-2", "APPROVAL-6")
@pytest.mark.parametrize(("name", "path"), TEXTS, ids=shown_id)
def test_every_text_is_read_however_long_it_is(name: str, path: Path) -> None:
    form = read(name, replaced(FULL[name], path, LONG))
    # One that is refused is allowed by nobody.
    assert form is None or is_said(LONG, form) is (pointer(path) not in HIDDEN[name])


@pytest.mark.rule("APPROVAL-2")
@pytest.mark.parametrize(("name", "path"), OBJECTS, ids=shown_id)
def test_a_field_that_nobody_knows_is_read(name: str, path: Path) -> None:
    form = read(name, replaced(FULL[name], (*path, "unknown"), LONG))
    assert form is None or is_said(LONG, form) is (pointer(path) not in UNREAD.get(name, {}))


@pytest.mark.rule("APPROVAL-2", "APPROVAL-6")
@given(
    st.sampled_from(OPEN),
    st.text(st.sampled_from('ab …`"\\*_\u200b\u202e\n\t—'), min_size=1, max_size=300),
)
def test_every_text_is_read_however_odd_it_is(at: tuple[str, Path], text: str) -> None:
    name, path = at
    form = read(name, replaced(FULL[name], path, text))
    assert form is None or is_said(text, form)


@pytest.mark.rule("APPROVAL-2", "GRANT-2")
@pytest.mark.parametrize(
    ("name", "server", "tool"),
    [
        ("mcpServer/elicitation/request", ("serverName",), ("_meta", "tool_name")),
        ("mcp_approval_request", ("server_label",), ("name",)),
    ],
    ids=["codex", "openai"],
)
def test_a_server_whose_name_ends_like_a_separator_is_told_from_another(
    name: str, server: Path, tool: Path
) -> None:
    calls = [
        replaced(replaced(FULL[name], server, its), tool, other)
        for its, other in (("a_", "b"), ("a", "_b"))
    ]
    titles = [form.questions[0].text for call in calls if (form := read(name, call))]
    assert titles == ["Call b on a_", "Call _b on a"]
    uses = [read_tool_call(name, call) for call in calls]
    assert [use and (use.server, use.tool) for use in uses] == [("a_", "b"), ("a", "_b")]


@pytest.mark.rule("APPROVAL-2")
@pytest.mark.parametrize(("name", "path"), OBJECTS, ids=shown_id)
def test_fields_of_two_objects_with_one_name_are_both_read(name: str, path: Path) -> None:
    if path and pointer(path) not in UNREAD.get(name, {}):
        both = replaced(replaced(FULL[name], ("same",), "FIRST"), (*path, "same"), "SECOND")
        form = read(name, both)
        assert form is None or all(is_said(each, form) for each in ("FIRST", "SECOND"))


@pytest.mark.rule("APPROVAL-9")
def test_no_detail_of_droid_takes_the_place_of_a_tools_arguments() -> None:
    uses = [
        {"toolUse": {"name": name, "input": {"x": name}}, "details": {"said": name}}
        for name in ("a", "details")
    ]
    form = read("droid.request_permission", FULL["droid.request_permission"] | {"toolUses": uses})
    assert form is not None
    assert is_said("details:\n    x: details", form)
    assert is_said("details:\n    said: details", form)


@pytest.mark.rule("APPROVAL-2", "APPROVAL-6")
@pytest.mark.parametrize(
    ("tool", "headline"),
    [
        ("shell", "Run ls and 1 more line"),
        ("local_shell", "Run ls"),
        ("apply_patch", "Edit a.py (+1 −1)"),
        ("computer", "Use computer"),
        ("custom", "Use custom"),
        ("new", "Use new"),
    ],
)
def test_a_tool_of_openai_agents_without_arguments_says_what_it_would_do(
    tool: str, headline: str
) -> None:
    call: Json = {"tool_name": tool, "raw_item": {**OPENAI[tool], "call_id": "c"}}
    form = read("tool_approval_item", call)
    assert form is not None
    assert form.questions[0].text == headline
    for path in leaves(OPENAI[tool]):
        if path != ("type",):
            changed = read("tool_approval_item", replaced(call, ("raw_item", *path), LONG))
            assert changed is not None
            assert is_said(LONG, changed), path


@pytest.mark.rule("APPROVAL-2", "APPROVAL-6")
@pytest.mark.parametrize(
    ("operation", "headline", "context"),
    [
        (
            {"type": "create_file", "diff": "+a\n+b"},
            "Create a.py (2 lines)",
            "`/w/a.py`\n\n```diff\n+a\n+b\n```",
        ),
        (
            {"type": "update_file", "diff": "@@\n-a\n+b"},
            "Edit a.py (+1 −1)",
            "`/w/a.py`\n\n```diff\n@@\n-a\n+b\n```",
        ),
        ({"type": "delete_file"}, "Delete a.py", "`/w/a.py`"),
    ],
)
def test_a_patch_of_openai_agents_is_shown_under_its_path(
    operation: Json, headline: str, context: str
) -> None:
    item = {"type": "apply_patch_call", "operation": {"path": "/w/a.py", **operation}}
    form = read("tool_approval_item", {"tool_name": "apply_patch", "raw_item": item})
    assert form is not None
    assert (form.questions[0].text, form.questions[0].context) == (headline, context)


def test_an_item_without_a_name_is_named_by_its_type() -> None:
    form = read("tool_approval_item", {"raw_item": OPENAI["shell"]})
    assert form is not None
    assert (
        form.questions[0].context
        == "```\nls\n```\n\n```\nrm -rf /srv\n```\n\n```\ntimeout_ms: 5\n```"
    )


PROMPTS: Final = [
    *FULL.items(),
    *((each["name"], call) for each in HOSTS for call in each.get("more", ())),
]


@cache
def field_names(module: ModuleType) -> frozenset[str]:
    """Return all texts in a module that can be the name of a field."""
    constants = (
        node.value
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Constant)
    )
    return frozenset(text for text in constants if isinstance(text, str) and text.isidentifier())


def names_read(name: str) -> frozenset[str]:
    """Return the names by which a prompt of a host is read and shown."""
    own = inspect.getmodule(VARIANTS[name].read)
    assert own is not None
    return frozenset().union(*map(field_names, (own, tool_use, file_changes)))


def scopes(name: str, call: Json) -> set[str]:
    """Return what the grants that a call offers compare."""
    use = read_tool_call(name, call)
    asker = Asker("Claude Code", None, "/w", "default")
    offer = offer_of(GrantRule(prefixes=("ls",)), asker, use) if use else None
    return {each.scope for each in offer.matches} if offer else set()


@pytest.mark.rule("APPROVAL-2", "GRANT-2")
@pytest.mark.parametrize(
    ("name", "call", "path"),
    [
        (name, call, path)
        for name, call in PROMPTS
        for path in leaves(call)
        if isinstance(path[-1], str) and pointer(path) not in HIDDEN[name]
    ],
    ids=lambda each: "" if isinstance(each, dict) else shown_id(each),
)
def test_no_field_takes_the_place_of_another(name: str, call: Json, path: Path) -> None:
    *above, key = path
    other = replaced(call, path, LONG)
    if read(name, other) is None:
        return
    compared = scopes(name, call) - scopes(name, other)
    text = value_at(call, path)
    for field in names_read(name) - value_at(call, (*above,)).keys():
        for surplus in (text, {key: text}):
            changed = replaced(other, (*above, field), surplus)
            if (form := read(name, changed)) is not None:
                assert is_said(LONG, form), field
                assert not (compared and compared & scopes(name, changed)), field
