"""Contract tests for posts that a platform carries out after their callers gave up, and posted again."""

from __future__ import annotations

import pytest

from answerback.core.ask import Ask, Destination, Status
from answerback.core.form import Form, Question
from answerback_testing.simulated_people import (
    Capability,
    HasLatePosts,
    HasOwnHistory,
    HasPlaces,
    HasSecondMessages,
    SimulatedPerson,
    requires_capability,
)
from answerback_testing.surface_clicks import answer_elsewhere, answered_values
from answerback_testing.surface_questions import GO, WHY


@requires_capability(Capability.LATE_POSTS)
class LatePostsContract:
    """An ask that was posted twice is decided once, and its second message does not stay."""

    @requires_capability(Capability.OWN_HISTORY)
    @pytest.mark.rule("PLACE-5")
    async def test_a_post_that_is_carried_out_after_it_was_repeated_is_removed(
        self, stage: HasOwnHistory, ada: SimulatedPerson
    ) -> None:
        for place in await _places(stage):
            ask = await _post_late(stage, place, ada, GO, WHY)
            await stage.carry_out_post()
            stage.harness.run_timers()
            ask = await stage.harness.wait_until_shown(ask.id)
            assert stage.count_messages(ask) == 1, place
            await ada.look_at(ask)
            await ada.answer(GO, True)
            assert answered_values(await stage.harness.wait_until_shown(ask.id)) == [True]

    @requires_capability(Capability.OWN_HISTORY)
    @pytest.mark.rule("PLACE-5")
    async def test_a_post_that_is_carried_out_after_a_restart_and_the_end_of_its_ask_is_removed(
        self, stage: HasOwnHistory, ada: SimulatedPerson
    ) -> None:
        for place in await _places(stage):
            ask = await _post_late(stage, place, ada, GO)
            await stage.restart()
            await ada.answer(GO, True)
            await stage.harness.wait_until_shown(ask.id)
            await stage.carry_out_post()
            stage.harness.run_timers()
            ask = await stage.harness.wait_until_shown(ask.id)
            assert ask.status is Status.ANSWERED
            assert stage.count_messages(ask) == 1, place
            await ada.look_at(ask)
            assert not ada.available_actions()

    @requires_capability(Capability.OWN_HISTORY)
    @pytest.mark.rule("PLACE-5")
    async def test_an_ask_whose_message_is_found_stays_open_while_it_cannot_be_edited(
        self, stage: HasOwnHistory, ada: SimulatedPerson
    ) -> None:
        for place in await _places(stage):
            stage.forbid_edits(forbidden=True)
            stage.lose_next_post_result()
            form = Form(questions=(GO, WHY))
            ask = await stage.harness.create_ask(form, place, (ada.user_id,))
            assert (ask.status, stage.count_messages(ask)) == (Status.OPEN, 1), place
            stage.forbid_edits(forbidden=False)
            await answer_elsewhere(stage, ask, ada)
            stage.harness.run_timers()
            ask = await stage.harness.wait_until_shown(ask.id)
            assert (ask.revision, ask.placement.shown_revision) == (2, 2), place
            assert stage.count_messages(ask) == 1, place

    @requires_capability(Capability.SECOND_MESSAGES)
    @pytest.mark.rule("PLACE-5", "SURFACE-11")
    async def test_a_click_on_a_second_message_counts_at_most_once_and_leaves_one_message(
        self, stage: HasLatePosts, ada: HasSecondMessages
    ) -> None:
        clicked = 0
        for place in await _places(stage):
            ask = await _post_late(stage, place, ada, GO, WHY)
            await stage.carry_out_post()
            if not await ada.look_at_second_message(ask):
                continue  # the platform itself posts it only once here
            clicked += 1
            await ada.answer(GO, True)
            await ada.sees_no_second_message(ask)
            ask = await stage.harness.wait_until_shown(ask.id)
            await ada.look_at(ask)
            if not answered_values(ask):  # it was refused
                await ada.answer(GO, True)
            ask = await stage.harness.wait_until_shown(ask.id)
            assert answered_values(ask) == [True], place
        assert clicked, "the capability is declared for nothing"

    @requires_capability(Capability.SECOND_MESSAGES)
    @pytest.mark.rule("PLACE-5", "SURFACE-10")
    async def test_a_click_on_a_second_message_of_an_ended_ask_changes_nothing_and_leaves_one_message(
        self, stage: HasLatePosts, ada: HasSecondMessages
    ) -> None:
        clicked = 0
        for place in await _places(stage):
            ask = await _post_late(stage, place, ada, GO)
            await ada.answer(GO, True)
            ended = await stage.harness.wait_until_shown(ask.id)
            await stage.carry_out_post()
            if not await ada.look_at_second_message(ended):
                continue
            clicked += 1
            await ada.answer(GO, False)
            ask = await stage.harness.wait_until_shown(ask.id)
            assert (answered_values(ask), ask.revision) == ([True], ended.revision), place
            await ada.sees_no_second_message(ask)
        assert clicked, "the capability is declared for nothing"


async def _places(stage: HasLatePosts) -> list[Destination]:
    others = await stage.other_places() if isinstance(stage, HasPlaces) else {}
    return [stage.place, *others.values()]


async def _post_late(
    stage: HasLatePosts, place: Destination, person: SimulatedPerson, *questions: Question
) -> Ask:
    """Create an ask whose first post the platform has yet to carry out; the person looks at the second one."""
    stage.delay_next_post()
    ask = await stage.harness.create_ask(Form(questions=questions), place, (person.user_id,))
    await person.look_at(ask)
    return ask
