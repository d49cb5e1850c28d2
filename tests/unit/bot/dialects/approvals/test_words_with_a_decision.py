"""What a person says with the decision of an approval: who is asked for it, and where the host has a place for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Reason, Status, end_ask
from answerback.core.confirmation import ConfirmationRule
from answerback.dialects.approvals.decision_note import decision_note
from answerback.dialects.owed_note import owed_note
from answerback.service.ask_wire import ask_json
from tests.unit.bot.approval_support import CALLS, TAKE_NOTES
from tests.unit.bot.dialect_support import act, ask_from_call, result

WORDS = "Use the staging token."
TURN = {"threadId": "t1", "turnId": "u1"}


def decided(name: str, kind: str, **more: Any) -> Ask:
    """An approval that a person has decided, with words."""
    ask = ask_from_call(name, {**CALLS[name], **more})
    [question] = [each for each in ask.form.questions if each.id == "decision"]
    value = next(option.value for option in question.options if option.kind == kind)
    return act(ask, Answer(value=value, note=WORDS))


@pytest.mark.rule("APPROVAL-13")
@pytest.mark.parametrize("name", CALLS)
def test_words_are_taken_only_where_they_reach_the_model(name: str) -> None:
    turn = TURN if name.startswith(("item/", "mcpServer/")) else {}
    ask = ask_from_call(name, {**CALLS[name], **turn})
    assert ask.form.questions[0].notes is (name in TAKE_NOTES)


@pytest.mark.rule("APPROVAL-13")
@pytest.mark.parametrize(
    "name", ["item/commandExecution/requestApproval", "mcpServer/elicitation/request"]
)
def test_codex_is_told_nothing_outside_of_a_turn(name: str) -> None:
    assert not ask_from_call(name, CALLS[name]).form.questions[0].notes


@pytest.mark.rule("APPROVAL-13")
@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        (
            "droid.request_permission",
            "allow_once",
            {"selectedOption": "proceed_once", "comment": WORDS},
        ),
        ("droid.request_permission", "deny", {"selectedOption": "cancel", "comment": WORDS}),
        ("permission.asked", "deny", {"reply": "reject", "message": WORDS}),
        ("permissionRequest", "deny", {"behavior": "deny", "message": WORDS}),
    ],
)
def test_the_result_has_the_words_where_its_host_has_a_place_for_them(
    name: str, kind: str, expected: Any
) -> None:
    ask = decided(name, kind)
    assert result(ask)[0] == expected
    assert (decision_note(ask), owed_note(ask)) == (WORDS, None)


@pytest.mark.rule("APPROVAL-13")
def test_claudes_denial_has_them_and_its_permission_owes_them() -> None:
    denied = decided("PermissionRequest", "deny")
    assert result(denied)[0]["hookSpecificOutput"]["decision"] == {
        "behavior": "deny",
        "message": WORDS,
    }
    assert owed_note(denied) is None
    allowed = decided("PermissionRequest", "allow_once")
    assert result(allowed)[0]["hookSpecificOutput"]["decision"] == {"behavior": "allow"}
    assert owed_note(allowed) == WORDS


@pytest.mark.rule("APPROVAL-13")
def test_the_json_has_them_once_they_are_confirmed() -> None:
    assert ask_json(decided("permission.asked", "allow_once"))["note"] == WORDS
    ask = ask_from_call("permission.asked", CALLS["permission.asked"])
    assert ask_json(ask)["note"] is None
    form = ask.form.model_copy(update={"confirmation": ConfirmationRule(due=1)})
    waiting = act(
        replace(ask, request=ask.request.model_copy(update={"form": form})),
        Answer(value="once", note=WORDS),
    )
    assert waiting.open
    assert WORDS not in str(ask_json(waiting))
    assert WORDS not in str(
        ask_json(end_ask(waiting, Status.EXPIRED, at=9.0, reason=Reason.EXPIRED).ask)
    )
