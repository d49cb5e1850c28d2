"""Messages with the decision of an approval: who is asked for one, and where the host has a place for it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Reason, Status, end_ask
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import NoteReach
from answerback.dialects.approvals.decision_note import decision_note
from answerback.dialects.owed_note import owed_note
from answerback.service.ask_wire import ask_json
from tests.unit.bot.approval_support import CALLS, TAKE_NOTES
from tests.unit.bot.dialect_support import act, ask_from_call, result
from tests.unit.cases import read_case

WORDS = "Use the staging token."
TURN = {"threadId": "t1", "turnId": "u1"}


def decided(name: str, kind: str, **more: Any) -> Ask:
    """An approval that a person has decided, with words."""
    ask = ask_from_call(name, {**CALLS[name], **more})
    [question] = [each for each in ask.form.questions if each.id == "decision"]
    value = next(option.value for option in question.options if option.kind == kind)
    return act(ask, Answer(value=value, note=WORDS))


def all_decided(name: str, kind: str) -> Ask:
    """An approval with each of its uses of tools decided alike, with words."""
    ask = ask_from_call(name, CALLS[name])
    while (question := ask.question) is not None:
        value = next(option.value for option in question.options if option.kind == kind)
        ask = act(ask, Answer(value=value, note=WORDS))
    return ask


@pytest.mark.rule("APPROVAL-13")
@pytest.mark.parametrize("name", CALLS)
def test_every_decision_takes_words_and_says_when_the_model_reads_them(name: str) -> None:
    turn = TURN if name.startswith(("item/", "mcpServer/")) else {}
    ask = ask_from_call(name, {**CALLS[name], **turn})
    for question in ask.form.questions:
        assert question.notes is question.is_approval
    reads_all = ask.form.questions[0].note_reach is NoteReach.ALWAYS
    assert reads_all is (name in TAKE_NOTES)


@pytest.mark.rule("APPROVAL-13")
@pytest.mark.parametrize("name", [name for name in CALLS if name not in TAKE_NOTES])
@pytest.mark.parametrize("kind", ["allow_once", "deny"])
def test_the_result_has_words_exactly_where_people_read_that_the_model_reads_them(
    name: str, kind: str
) -> None:
    ask = all_decided(name, kind)
    reach = ask.form.questions[0].note_reach
    assert reach is not NoteReach.ALWAYS
    is_read = reach is NoteReach.DENIED and kind == "deny"
    assert (WORDS in json.dumps(result(ask)[0])) is is_read
    assert WORDS in str(ask_json(ask)["note"])
    assert [each.note for each in ask.walk.answers] == [WORDS] * len(ask.walk.answers)


@pytest.mark.rule("APPROVAL-13")
def test_in_a_batch_each_action_has_its_own_words() -> None:
    call = CALLS["hitl_request"]
    ask = ask_from_call("hitl_request", {**call, "action_requests": call["action_requests"] * 3})
    for value, note in (("reject", "Not this."), ("approve", "This."), ("reject", None)):
        ask = act(ask, Answer(value=value, note=note))
    first, *rest = result(ask)[0]["decisions"]
    assert first == {"type": "reject", "message": "Not this."}
    assert rest == [{"type": "approve"}, {"type": "reject"}]
    assert ask_json(ask)["note"] == "Not this.\n\nThis."


@pytest.mark.rule("APPROVAL-13")
@pytest.mark.parametrize(
    "name", ["item/commandExecution/requestApproval", "mcpServer/elicitation/request"]
)
def test_codex_is_told_nothing_outside_of_a_turn(name: str) -> None:
    reach = ask_from_call(name, CALLS[name]).form.questions[0].note_reach
    assert reach is NoteReach.NEVER


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
def test_droids_permission_has_the_words_that_were_refused_before() -> None:
    case = read_case("allow-with-a-note")["input"]
    name, action = case["ask"]["name"], case["action"]
    ask = ask_from_call(name, CALLS[name])
    allowed = act(ask, Answer(value=action["value"], note=action["note"]))
    assert result(allowed)[0] == {"selectedOption": action["value"], "comment": action["note"]}


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
