"""The effect of each option of a permission prompt, for every host, in the order in which people see them."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.form import OptionKind
from answerback.core.intents import decide_in_batch
from answerback.core.refusals import NO_SUCH_OPTION
from answerback.dialects.approval import VARIANTS
from answerback.service.ask_wire import ask_json
from tests.unit.bot.approval_support import CALLS, make_ask

ONCE, ALWAYS, OTHER, DENY = "allow_once", "allow_always", "other", "deny"
DIRECTORY = {"type": "addDirectories", "directories": ["/srv"], "destination": "session"}
DENYING = {"type": "addRules", "behavior": "deny", "rules": [], "destination": "session"}
NETWORK = {"host": "a.example"}
MORE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "PermissionRequest": ({"permission_suggestions": [DENYING, DIRECTORY]}, [ONCE, ALWAYS, OTHER, DENY]),
    "item/commandExecution/requestApproval": (
        {
            "availableDecisions": [
                {"applyNetworkPolicyAmendment": {"network_policy_amendment": {**NETWORK, "action": "deny"}}},
                "decline",
                {"applyNetworkPolicyAmendment": {"network_policy_amendment": {**NETWORK, "action": "allow"}}},
                {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["ls"]}},
                "later",
                {"acceptTomorrow": {}},
                "accept",
            ]
        },
        [ONCE, ALWAYS, ALWAYS, OTHER, OTHER, DENY, DENY],
    ),
    "session/request_permission": (
        {
            "options": [
                {"optionId": str(n), "name": str(n), "kind": kind}
                for n, kind in enumerate(("reject_always", "allow_always", "new", "reject_once", "allow_once"))
            ]
        },
        [ONCE, ALWAYS, OTHER, DENY, DENY],
    ),
    "permission.asked": ({"always": ["ls *"]}, [ONCE, ALWAYS, DENY]),
    "exec.approval.requested": ({"allowedDecisions": ["allow-once", "allow-always"]}, [ONCE, ALWAYS, DENY]),
    "plugin.approval.requested": ({}, [ONCE, DENY]),
    "tool_approval_item": ({}, [ONCE, ALWAYS, DENY, DENY]),
    "item/permissions/requestApproval": ({}, [ONCE, ALWAYS, DENY]),
    "tool_approval": ({"allowed_decisions": ["reject", "edit", "respond", "approve"]}, [ONCE, OTHER, OTHER, DENY]),
}  # fmt: skip


@pytest.mark.rule("APPROVAL-10")
@pytest.mark.parametrize("name", VARIANTS)
def test_allowing_comes_first_and_every_host_can_be_told_no(name: str) -> None:
    options = make_ask(name).form.questions[0].options
    kinds = [each.kind for each in options]
    assert kinds[0] is OptionKind.ALLOW_ONCE
    assert kinds[-1] is OptionKind.DENY


@pytest.mark.rule("APPROVAL-10")
@pytest.mark.parametrize("name", MORE)
def test_options_say_in_the_api_what_they_do(name: str) -> None:
    more, expected = MORE[name]
    prompt: Any = ask_json(make_ask(name, **more))["prompt"]
    options = prompt["options"]
    assert [each["kind"] for each in options] == expected


@pytest.mark.rule("APPROVAL-10")
def test_what_holds_for_longer_says_for_what_and_how_long() -> None:
    label = make_ask("permission.asked").form.questions[0].options[1].label
    assert label == "Always allow ls * until opencode ends"
    assert CALLS["permission.asked"]["always"] == ["ls *"]


@pytest.mark.rule("BATCH-8")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("item/commandExecution/requestApproval", "decline"),
        ("session/request_permission", "3"),
        ("tool_approval_item", "reject"),
    ],
)
def test_what_is_denied_in_a_list_is_denied_once(name: str, value: str) -> None:
    denied = decide_in_batch(make_ask(name, **MORE[name][0]), allow=False)
    assert denied == Answer(value=value)


@pytest.mark.rule("BATCH-8")
def test_what_can_only_be_denied_for_good_is_not_denied_in_a_list() -> None:
    assert decide_in_batch(make_ask("session/request_permission"), allow=False) is NO_SUCH_OPTION
