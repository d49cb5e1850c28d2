"""Approval requests of Codex's app server that have rules of their own."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.actions import Answer
from tests.unit.bot.approval_support import make_ask, rendered
from tests.unit.bot.dialect_support import act


@pytest.mark.rule("APPROVAL-1")
@pytest.mark.parametrize(
    "listed",
    [
        None,
        ["acceptForSession", {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["rm"]}}],
        ["cancel"],
        ["accept", "accept", 7],
        "accept",
    ],
)
def test_a_persons_own_command_is_accepted_or_declined_whatever_codex_lists(listed: Any) -> None:
    name = "item/commandExecution/requestApproval"
    ask = make_ask(
        name,
        proposedExecpolicyAmendment=["make"],
        kind="humanCommand",
        availableDecisions=listed,
    )
    options = ask.form.questions[0].options
    assert [(option.value, option.label) for option in options] == [
        ("accept", "Allow"),
        ("decline", "Deny"),
    ]
    for option in options:
        assert rendered(act(ask, Answer(value=option.value))) == {"decision": option.value}
