"""Contract tests for calls that people change before they allow them: with a form, never by a typed message."""

from __future__ import annotations

import json
from typing import Final

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.edited_call import EditableCall
from answerback.core.form import AnswerType, Form, Question
from answerback.core.origin import Origin
from answerback_testing.simulated_people import (
    Capability,
    HasEdits,
    HasTypedAnswers,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_people import read_normalized_text
from answerback_testing.surface_questions import ALLOW, DENY, LABELS

_RUN = Question(
    id="decision", text="Run rm -rf build", answer_type=AnswerType.SELECT, options=(ALLOW, DENY)
)
_FORM = Form(questions=(_RUN,), decided_by_hand=True)
_INPUT = '{"command": "rm -rf build", "timeout": 1.50, "why": "caf\\u00e9"}'
_REQUEST: dict[str, object] = {
    "name": "PermissionRequest",
    "dialect": "approval",
    "arguments": {
        "tool_name": "Bash",
        "tool_input": {"command": "rm -rf build", "timeout": 1.5, "why": "café"},
    },
    "editable": (EditableCall(question_id="decision", arguments=_INPUT),),
}
_PLAN: Final = "# Plan\n\n1. Move the table\n2. Drop the old one"
_SPEC: Final = Question(
    id="decision",
    text="Approve this plan?",
    context=_PLAN,
    answer_type=AnswerType.SELECT,
    options=(ALLOW, DENY),
    plan=True,
)
_ONLY_THE_PLAN: Final[dict[str, object]] = {
    "name": "droid.request_permission",
    "dialect": "approval",
    "arguments": {
        "toolUses": [
            {
                "toolUse": {"name": "ExitSpecMode", "input": {"plan": _PLAN, "title": "Move"}},
                "confirmationType": "exit_spec_mode",
                "details": {"type": "exit_spec_mode", "plan": _PLAN, "title": "Move"},
            }
        ],
        "options": [
            {"value": "proceed_once", "label": "Proceed"},
            {"value": "cancel", "label": "No"},
        ],
    },
    "editable": (EditableCall(question_id="decision", arguments=json.dumps({"plan": _PLAN})),),
}
"""A call whose host takes nothing but another plan."""


class EditsContract:
    """Contract of calls that people may change."""

    @staticmethod
    async def ask_editable(stage: Stage, *people: SimulatedPerson) -> Ask:
        """Show an approval whose call these people may change, who look at it."""
        responders = tuple(each.user_id for each in people)
        ask = await stage.harness.create_ask(_FORM, stage.place, responders, request=_REQUEST)
        for person in people:
            await person.look_at(ask)
        return ask

    @requires_capability(Capability.EDITS)
    @pytest.mark.rule("EDIT-9", "EDIT-4")
    async def test_a_person_allows_a_changed_command_and_everybody_reads_what_was_changed(
        self, stage: Stage, ada: HasEdits, bob: SimulatedPerson
    ) -> None:
        ask = await self.ask_editable(stage, ada, bob)
        assert LABELS.edit_call.casefold() in await read_normalized_text(ada)
        await ada.edit_call(command="rm -rf build/tmp")
        ask = await stage.harness.wait_until_shown(ask.id)
        assert (ask.status, ask.walk.answers[0].value) == (Status.ANSWERED, "allow")
        edited = ask.walk.answers[0].edited
        assert edited is not None
        assert edited.arguments == _INPUT.replace("build", "build/tmp")
        await bob.look_at(ask)
        read = await read_normalized_text(bob, ada)
        assert 'command: "rm -rf build" → "rm -rf build/tmp"' in read
        assert "run rm -rf build/tmp" in read

    @requires_capability(Capability.EDITS)
    @pytest.mark.rule("EDIT-9", "EDIT-11")
    async def test_a_person_approves_a_changed_plan_of_which_the_host_takes_nothing_else(
        self, stage: Stage, ada: HasEdits
    ) -> None:
        form = Form(questions=(_SPEC,), decided_by_hand=True)
        ask = await stage.harness.create_ask(
            form, stage.place, (ada.user_id,), request=_ONLY_THE_PLAN
        )
        await ada.look_at(ask)
        better = _PLAN.replace("Drop", "Keep")
        await ada.edit_call(plan=better)
        ask = await stage.harness.wait_until_shown(ask.id)
        edited = ask.walk.answers[0].edited
        assert edited is not None
        assert json.loads(edited.arguments) == {"plan": better}
        await ada.look_at(ask)
        assert "keep the old one" in await read_normalized_text(ada)

    @requires_capability(Capability.EDITS)
    @pytest.mark.rule("EDIT-9", "EDIT-3")
    async def test_a_wrong_call_is_refused_and_the_question_stays(
        self, stage: Stage, ada: HasEdits
    ) -> None:
        ask = await self.ask_editable(stage, ada)
        assert "timeout" in await ada.edit_call(timeout="[1")
        assert (await stage.harness.wait_until_shown(ask.id)).open

    @requires_capability(Capability.EDITS)
    @pytest.mark.rule("EDIT-9", "EDIT-3")
    async def test_nobody_changes_what_somebody_else_has_decided(
        self, stage: Stage, ada: SimulatedPerson, bob: HasEdits
    ) -> None:
        ask = await self.ask_editable(stage, ada, bob)
        await ada.answer(_RUN, "deny")
        await stage.harness.wait_until_shown(ask.id)
        await bob.edit_call(command="rm -rf build/tmp")
        ask = await stage.harness.wait_until_shown(ask.id)
        assert ask.walk.answers[0].edited is None

    @requires_capability(Capability.EDITS)
    @pytest.mark.rule("EDIT-2")
    async def test_the_person_whose_agent_asks_changes_nothing_that_others_confirm(
        self, stage: Stage, ada: HasEdits, bob: HasEdits
    ) -> None:
        owner = f"{stage.place.surface}:{ada.user_id}"
        form = _FORM.model_copy(update={"confirmation": ConfirmationRule(due=1, requester=owner)})
        ask = await stage.harness.create_ask(
            form,
            stage.place,
            (ada.user_id, bob.user_id),
            request={**_REQUEST, "origin": Origin(owner=owner)},
        )
        for person in (ada, bob):
            await person.look_at(ask)
        await ada.edit_call(command="rm -rf /")
        ask = await stage.harness.wait_until_shown(ask.id)
        assert not ask.walk.answers
        await bob.edit_call(command="rm -rf build/tmp")
        ask = await stage.harness.wait_until_shown(ask.id)
        assert ask.confirming
        assert ask.walk.answers[0].edited is not None

    @requires_capability(Capability.TYPED_ANSWERS)
    @pytest.mark.rule("EDIT-9")
    async def test_no_typed_message_changes_a_call(
        self, stage: Stage, ada: HasTypedAnswers
    ) -> None:
        ask = await self.ask_editable(stage, ada)
        await ada.type_message('{"command": "rm -rf build/tmp"}')
        ask = await stage.harness.wait_until_shown(ask.id)
        assert not any(given.edited or given.value == "allow" for given in ask.walk.answers)

    @pytest.mark.rule("EDIT-1")
    async def test_no_change_is_offered_otherwise(self, stage: Stage, ada: SimulatedPerson) -> None:
        ask = await stage.harness.create_ask(_FORM, stage.place, (ada.user_id,))
        await ada.look_at(ask)
        assert LABELS.edit_call.casefold() not in await read_normalized_text(ada)
