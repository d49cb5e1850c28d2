"""Contract tests for an ask that moves to a platform that is down: where it was, it still counts."""

from __future__ import annotations

import pytest

from answerback.core.ask import Ask, Escalation, Status
from answerback.core.escalation import escalate
from answerback.core.form import Form, Question
from answerback_testing.other_surface import ELSEWHERE, add_other_surface
from answerback_testing.simulated_people import (
    Capability,
    HasTypedAnswers,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_questions import GO, WHERE, WHY
from answerback_testing.surface_walks import assert_sees


class MovesContract:
    """People can act on the message of an ask until there is another one."""

    @pytest.mark.rule("MOVE-4")
    @pytest.mark.parametrize(
        ("question", "value"), [(GO, True), (WHY, "so")], ids=["choice", "text"]
    )
    async def test_what_is_done_where_it_was_counts_while_the_new_platform_is_down(
        self,
        stage: Stage,
        ada: SimulatedPerson,
        bob: SimulatedPerson,
        question: Question,
        value: bool | str,
    ) -> None:
        with add_other_surface(stage.harness, is_down=True):
            ask = await _escalated(stage, ada, Form(questions=(question, WHERE)))
            await bob.look_at(ask)
            await bob.answer(question, value)
            latest = await stage.harness.read_stored(ask.id)
            assert (latest.placement.destination, latest.walk) == (ELSEWHERE, ask.walk), (
                "Bob may not answer"
            )
            await ada.look_at(ask)
            await ada.answer(question, value)
            back = await stage.harness.wait_until_shown(ask.id)
            assert (back.question, back.placement.destination) == (WHERE, ask.placement.destination)
            assert (
                back.placement.message,
                back.placement.responders,
                back.placement.place_before,
            ) == (
                ask.placement.message,
                ask.placement.responders,
                None,
            )
            await assert_sees(ada, back)
            await ada.answer(WHERE, "p")
            done = await stage.harness.wait_until_shown(ask.id)
            assert done.status is Status.ANSWERED
            bodies = [line.entry.body for line in await stage.harness.service.record(ask.id)]
            [returned] = [body for body in bodies if "returned_from" in body]
            assert returned["returned_from"] == {"surface": "elsewhere", "channel": "C9"}

    @pytest.mark.rule("MOVE-4")
    @requires_capability(Capability.TYPED_ANSWERS)
    async def test_what_is_typed_where_it_was_counts_while_the_new_platform_is_down(
        self, stage: Stage, ada: HasTypedAnswers
    ) -> None:
        with add_other_surface(stage.harness, is_down=True):
            ask = await _escalated(stage, ada, Form(questions=(WHY,)))
            assert await ada.type_message("so")
            done = await stage.harness.wait_until_shown(ask.id)
            assert (done.status, done.placement.destination) == (
                Status.ANSWERED,
                ask.placement.destination,
            )


async def _escalated(stage: Stage, ada: SimulatedPerson, form: Form) -> Ask:
    """Return an ask as Ada sees it, which has since been escalated to a platform that is down."""
    escalation = Escalation(after=1.0, to=ELSEWHERE, responders=("boss",))
    ask = await stage.harness.create_ask(
        form, stage.place, (ada.user_id,), request={"escalation": escalation}
    )
    await ada.look_at(ask)
    await stage.harness.service.update(ask.id, escalate)
    moving = await stage.harness.read_stored(ask.id)
    assert moving.placement.destination == ELSEWHERE
    return ask
