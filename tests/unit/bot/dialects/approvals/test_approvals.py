"""Approvals beyond the vectors: every decision of every host, and the denial if nobody decides."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.actions import Answer, Reply
from answerback.core.ask import request_entry
from answerback.core.errors import InvalidCallError
from answerback.core.form import AnswerType
from answerback.dialects import approval, registry
from tests.unit.bot.approval_support import (
    ARGS,
    CALLS,
    HOSTS,
    OPTIONS,
    Json,
    expired,
    make_ask,
    rendered,
)
from tests.unit.bot.dialect_support import act

ALLOWED_ROOT = {"type": "addDirectories", "directories": ["/w"], "destination": "session"}


def hook(**decision: Any) -> Json:
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}


def response(*, approved: bool, **more: Any) -> Json:
    return {"type": "tool-approval-response", "approvalId": "ap1", "approved": approved} | more


def openai_response(*, approve: bool, **more: Any) -> Json:
    request = {"approval_request_id": "mcpr_1", "approve": approve}
    return {"type": "mcp_approval_response", **request, **more}


def selected(option: str) -> Json:
    return {"outcome": {"outcome": "selected", "optionId": option}}


OPENCLAW = ("exec.approval.requested", "plugin.approval.requested")
CODEX = ("item/commandExecution/requestApproval", "item/fileChange/requestApproval")
ONCE: Json = {"network": {"enabled": True}, "fileSystem": {"write": [None, "/w"]}}
DECISIONS: dict[str, dict[str, Any]] = {
    "PermissionRequest": {"allow": hook(behavior="allow"), "deny": hook(behavior="deny")},
    "permissionRequest": {"allow": {"behavior": "allow"}, "deny": {"behavior": "deny"}},
    **{
        key: {each: {"decision": each} for each in ("accept", "acceptForSession", "decline")}
        for key in CODEX
    },
    "item/permissions/requestApproval": {
        "turn": {"permissions": ONCE, "scope": "turn"},
        "session": {"permissions": ONCE, "scope": "session"},
        "decline": {"permissions": {}, "scope": "turn"},
    },
    "session/request_permission": {"once": selected("once"), "never": selected("never")},
    "mcpServer/elicitation/request": {
        "accept": {"action": "accept", "content": {}},
        "decline": {"action": "decline"},
    },
    "droid.request_permission": {
        each: {"selectedOption": each} for each in ("proceed_once", "cancel")
    },
    "hitl_request": {each: {"decisions": [{"type": each}]} for each in ("approve", "reject")},
    "mcp_approval_request": {
        "approve": openai_response(approve=True),
        "reject": openai_response(approve=False),
    },
    "tool_approval": {"approve": {"type": "approve"}, "reject": {"type": "reject"}},
    "tool_approval_item": {
        "approve": {"approved": True, "always": False},
        "approve_always": {"approved": True, "always": True},
        "reject": {"approved": False, "always": False},
        "reject_always": {"approved": False, "always": True},
    },
    "tool-approval-request": {
        "approve": response(approved=True),
        "reject": response(approved=False),
    },
    "adk_request_confirmation": {"approve": {"confirmed": True}, "reject": {"confirmed": False}},
    "permission.asked": {each: {"reply": each} for each in ("once", "always", "reject")},
    "permission.v2.asked": {each: {"reply": each} for each in ("once", "always", "reject")},
    **{key: {each: {"decision": each} for each in ("allow-once", "deny")} for key in OPENCLAW},
    "tools/call": {each: {"behavior": each} for each in ("allow", "deny")},
    **{each["name"]: each["decisions"] for each in HOSTS if "decisions" in each},
}
WORDS = "not today"
REFUSED: dict[str, Any] = {
    "PermissionRequest": hook(behavior="deny", message=WORDS),
    "permissionRequest": {"behavior": "deny", "message": WORDS},
    **{key: {"decision": "decline"} for key in CODEX},
    "item/permissions/requestApproval": {"permissions": {}, "scope": "turn"},
    "session/request_permission": {"outcome": {"outcome": "cancelled"}},
    "mcpServer/elicitation/request": {"action": "decline"},
    "droid.request_permission": {"selectedOption": "cancel", "comment": WORDS},
    "hitl_request": {"decisions": [{"type": "reject", "message": WORDS}]},
    "mcp_approval_request": openai_response(approve=False, reason=WORDS),
    "tool_approval": {"type": "reject", "message": WORDS},
    "tool_approval_item": {"approved": False, "always": False, "rejection_message": WORDS},
    "tool-approval-request": response(approved=False, reason=WORDS),
    "DeferredToolRequests": {
        "approvals": {
            "c1": {"kind": "tool-denied", "message": WORDS},
            "c2": {"kind": "tool-denied", "message": "The tool call was denied."},
            "c3": {"kind": "tool-denied", "message": "The tool call was denied."},
        }
    },
    "adk_request_confirmation": {"confirmed": False},
    "permission.asked": {"reply": "reject", "message": WORDS},
    "permission.v2.asked": {"reply": "reject", "message": WORDS},
    **{key: {"decision": "deny"} for key in OPENCLAW},
    "tools/call": {"behavior": "deny", "message": WORDS},
    **{each["name"]: each["refused"] for each in HOSTS if "refused" in each},
}


@pytest.mark.rule("APPROVAL-3")
@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, each in DECISIONS.items() for value in each]
)
def test_every_decision_is_rendered_in_the_hosts_format(name: str, value: str) -> None:
    ask = make_ask(name)
    question = ask.form.questions[0]
    assert [option.value for option in question.options] == [*DECISIONS[name]]
    assert rendered(act(ask, Answer(value=value))) == DECISIONS[name][value]


@pytest.mark.rule("APPROVAL-4")
@pytest.mark.parametrize("name", approval.VARIANTS)
def test_ending_an_approval_without_a_decision_denies_it(name: str) -> None:
    """With a reply, without one, and at a deadline."""
    shape = str(REFUSED[name])
    assert rendered(act(make_ask(name), Reply(text=WORDS))) == REFUSED[name]
    ask = make_ask(name)
    assert str(rendered(act(ask, Reply()))) == shape.replace(WORDS, "[cancelled by user]")
    assert str(rendered(expired(ask))) == shape.replace(WORDS, "[no answer: expired]")


@pytest.mark.rule("APPROVAL-1", "APPROVAL-2")
@pytest.mark.parametrize("name", approval.VARIANTS)
def test_nothing_is_preselected_and_the_tool_is_named(name: str) -> None:
    ask = make_ask(name)
    for question in ask.form.questions:
        assert (question.answer_type, question.other) == (AnswerType.SELECT, False)
        assert not question.has_default
        assert question.tool
    assert not ask.form.review
    (entry,) = request_entry(ask, 1)
    assert entry.body["source"] == {"tool": ask.form.questions[0].tool}


def test_an_unknown_approval_name_gets_the_closest_one_suggested() -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("ToolApproval", {}, "approval")
    (problem,) = refused.value.problems
    assert (problem.pointer, problem.code) == ("/name", "unknown_value")
    assert "PermissionRequest" in problem.message


@pytest.mark.parametrize(
    ("suggestion", "label", "description"),
    [
        (ALLOWED_ROOT, "Allow, and open /w for this session", None),
        (
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            "Allow, and accept all further edits for this session",
            None,
        ),
        (
            {
                "type": "addRules",
                "behavior": "allow",
                "destination": "projectSettings",
                "rules": [{"toolName": "Bash", "ruleContent": "git push:*"}, {"toolName": "Read"}],
            },
            "Allow, and always allow Bash(git push:*), Read in the project's settings",
            None,
        ),
        (
            {"type": "removeRules", "behavior": "deny", "destination": "userSettings", "rules": [1]},
            "Allow, and no longer deny 1 in the user's settings",
            None,
        ),
        (
            {"type": "addRules", "behavior": "ask", "destination": "cliArg", "rules": "x", "then": 1},
            'Allow, and always ask "x" for this session',
            '{"type": "addRules", "behavior": "ask", "destination": "cliArg", "rules": "x", "then": 1}',
        ),
        (
            {"type": "replaceRules", "rules": []},
            "Allow, with suggestion 1",
            '{"type": "replaceRules", "rules": []}',
        ),
        (
            {**ALLOWED_ROOT, "destination": "elsewhere"},
            "Allow, with suggestion 1",
            '{"type": "addDirectories", "directories": ["/w"], "destination": "elsewhere"}',
        ),
    ],
)  # fmt: skip
def test_a_suggestion_describes_all_its_changes(
    suggestion: Json, label: str, description: str | None
) -> None:
    ask = make_ask("PermissionRequest", permission_suggestions=[suggestion])
    option = ask.form.questions[0].options[1]
    assert (option.value, option.label, option.description) == ("always:1", label, description)
    allowed = rendered(act(ask, Answer(value="always:1")))
    assert allowed == hook(behavior="allow", updatedPermissions=[suggestion])


def test_a_suggestion_too_long_for_a_label_is_given_in_full_in_the_description() -> None:
    suggestion = {**ALLOWED_ROOT, "directories": ["/w" * 200]}
    option = (
        make_ask("PermissionRequest", permission_suggestions=[suggestion])
        .form.questions[0]
        .options[1]
    )
    assert len(option.label) == 150
    assert option.label.endswith("…")
    assert "/w" * 200 in (option.description or "")


def test_codexs_decisions_are_offered_with_readable_labels() -> None:
    prefix = ["git", "commit -m"]
    sent: list[Any] = [
        {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": prefix}},
        {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": "a.example", "action": "deny"}}},
        {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": "a.example"}}},
        {"acceptTomorrow": {"at": 9}},
        "somethingNew",
    ]  # fmt: skip
    ask = make_ask("item/commandExecution/requestApproval", availableDecisions=sent)
    options = ask.form.questions[0].options
    assert [(option.value, option.label) for option in options] == [
        ("acceptWithExecpolicyAmendment", "Allow, and always allow commands that begin with: git 'commit -m'"),
        (
            "applyNetworkPolicyAmendment:2",
            'applyNetworkPolicyAmendment: {"network_policy_amendment": {"host": "a.example"}}',
        ),
        ("acceptTomorrow", 'acceptTomorrow: {"at": 9}'),
        ("somethingNew", "somethingNew"),
        ("applyNetworkPolicyAmendment", "Always deny the host a.example"),
    ]  # fmt: skip
    [always, denied, *others] = sent
    for option, decision in zip(options, [always, *others, denied], strict=True):
        assert rendered(act(ask, Answer(value=option.value))) == {"decision": decision}


def test_codexs_proposals_are_offered_if_no_decisions_are_listed() -> None:
    name = "item/commandExecution/requestApproval"
    ask = make_ask(name, proposedExecpolicyAmendment=["make"])
    amended = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["make"]}}
    with_rule = act(ask, Answer(value="acceptWithExecpolicyAmendment"))
    assert rendered(with_rule) == {"decision": amended}


def test_acp_names_the_tool_as_well_as_the_request_allows_and_rejects_once() -> None:
    name = "session/request_permission"
    once = {"optionId": "no", "name": "No", "kind": "reject_once"}
    ask = make_ask(
        name, options=[{"optionId": "x", "name": "X"}, *OPTIONS, once, {**once, "optionId": "2"}]
    )
    assert rendered(act(ask, Reply())) == selected("no")
    for call, tool in (
        ({"toolCall": {"toolCallId": "c1", "kind": "edit", "title": "Edit a", "name": "edit"}}, "edit"),
        ({"toolCall": {"toolCallId": "c1", "kind": "edit", "title": "Edit a"}}, "Edit a"),
        ({"toolCall": {"toolCallId": "c1"}}, "c1"),
        ({"toolCall": None, "title": "Run it?", "subject": {"type": "command", "command": "ls"}}, "Run it?"),
        ({"toolCall": None, "title": "T", "subject": {"toolCall": {"title": "Edit b"}}}, "Edit b"),
    ):  # fmt: skip
        assert make_ask(name, **call).form.questions[0].tool == tool
    question = make_ask(
        name, toolCall=None, title="T", subject={"type": "command", "command": "ls", "cwd": "/w"}
    ).form.questions[0]  # fmt: skip
    assert question.text == "Run ls"
    assert question.context == "```\nls\n```\n\n```\ncwd: /w\n```\n\n```\ntitle: T\n```"


def test_pydantic_ais_calls_are_decided_one_by_one() -> None:
    ask = act(make_ask("DeferredToolRequests"), Answer(value="approve"), Reply(text=WORDS))
    assert rendered(ask) == {
        "approvals": {
            "c1": {"kind": "tool-approved"},
            "c2": {"kind": "tool-denied", "message": WORDS},
            "c3": {"kind": "tool-denied", "message": "The tool call was denied."},
        }
    }
    tools = [question.tool for question in ask.form.questions]
    assert tools == ["delete", "copy", "move"]
    recorded = make_ask("DeferredToolRequests", metadata={"c1": {"why": "old"}}).form.questions
    assert "why: old" in (recorded[0].context or "")
    assert recorded[1].context == "```\npath: a.txt\n```"


@pytest.mark.rule("APPROVAL-5")
def test_adk_adds_the_persons_payload_to_an_approval_only() -> None:
    ask = make_ask("adk_request_confirmation", toolConfirmation={"payload": [1]})
    assert rendered(act(ask, Answer(value="approve"), Answer(value=[2]))) == {
        "confirmed": True,
        "payload": [2],
    }
    assert rendered(act(ask, Answer(value="reject"))) == {"confirmed": False}


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        ("PermissionRequest", {"tool_name": None}, [("/tool_name", "required")]),
        (
            "PermissionRequest",
            {"permission_suggestions": [3]},
            [("/permission_suggestions/0", "wrong_type")],
        ),
        ("permissionRequest", {"toolName": 3}, [("/toolName", "wrong_type")]),
        (
            "item/commandExecution/requestApproval",
            {"availableDecisions": ["accept", 3, {}, {"a": 1, "b": 2}]},
            [(f"/availableDecisions/{i}", "wrong_type") for i in (1, 2, 3)],
        ),
        (
            "item/commandExecution/requestApproval",
            {"availableDecisions": ["cancel", "accept", "accept"]},
            [("/availableDecisions/2", "duplicate_option")],
        ),
        (
            "item/commandExecution/requestApproval",
            {"availableDecisions": ["cancel"]},
            [("/availableDecisions", "too_few")],
        ),
        (
            "item/commandExecution/requestApproval",
            {"proposedNetworkPolicyAmendments": "x"},
            [("/proposedNetworkPolicyAmendments", "wrong_type")],
        ),
        ("item/permissions/requestApproval", {"permissions": None}, [("/permissions", "required")]),
        ("item/permissions/requestApproval", {"permissions": 3}, [("/permissions", "wrong_type")]),
        (
            "session/request_permission",
            {"options": [3, {"name": "Yes"}, *OPTIONS, OPTIONS[0]]},
            [
                ("/options/0", "wrong_type"),
                ("/options/1/optionId", "required"),
                ("/options/4/optionId", "duplicate_option"),
            ],
        ),
        ("session/request_permission", {"toolCall": None}, [("/title", "required")]),
        ("tool_approval", {"name": " "}, [("/name", "empty")]),
        (
            "tool_approval",
            {"allowed_decisions": ["approve", "ignore"]},
            [("/allowed_decisions/1", "unknown_value")],
        ),
        ("tool_approval", {"allowed_decisions": []}, [("/allowed_decisions", "too_few")]),
        (
            "tool_approval",
            {"allowed_decisions": ["edit"], "args_schema": {"type": "thing"}},
            [("/args_schema", "invalid_schema")],
        ),
        ("tool_approval_item", {"raw_item": {}}, [("/tool_name", "required")]),
        (
            "tool-approval-request",
            {"approvalId": None, "toolCall": None},
            [("/approvalId", "required"), ("/toolCall", "required")],
        ),
        ("tool-approval-request", {"toolCall": {}}, [("/toolCall/toolName", "required")]),
        (
            "DeferredToolRequests",
            {"approvals": [3, {}, *[{"tool_call_id": "a", "tool_name": "t"}] * 2]},
            [
                ("/approvals/0", "wrong_type"),
                ("/approvals/1/tool_call_id", "required"),
                ("/approvals/1/tool_name", "required"),
                ("/approvals/3/tool_call_id", "duplicate_id"),
            ],
        ),
        ("DeferredToolRequests", {"approvals": []}, [("/approvals", "too_few")]),
        ("adk_request_confirmation", {"originalFunctionCall": 3}, [("/originalFunctionCall", "wrong_type")]),
        ("permission.asked", {"permission": None}, [("/permission", "required")]),
    ],
)  # fmt: skip
def test_an_invalid_request_reports_every_location(
    name: str, more: Json, expected: list[tuple[str, str]]
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call(name, CALLS[name] | more)
    assert sorted((p.pointer, p.code) for p in refused.value.problems) == sorted(expected)


def test_arguments_sent_as_a_json_string_are_shown_parsed() -> None:
    def shown(arguments: Any) -> str | None:
        item = {"name": "delete", "arguments": arguments}
        return make_ask("tool_approval_item", raw_item=item).form.questions[0].context

    assert shown('{"path": "a.txt"}') == shown(ARGS) == "```\npath: a.txt\n```"
    for raw in (
        "{",
        '{"a": 1, "a": 2}',
        '"\\ud800"',
        "[" * 100 + "]" * 100,
        "[" * 5000 + "]" * 5000,
    ):
        assert shown(raw) == f"```\n{raw}\n```"


def test_a_long_tool_name_is_shown_whole_instead_of_rejected() -> None:
    ask = make_ask("session/request_permission", toolCall={"name": "x" * 3000})
    assert ask.form.questions[0].tool == "x" * 3000
    assert f"Use {'x' * 3000}" in (ask.form.questions[0].context or "")
