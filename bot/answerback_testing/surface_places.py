"""Contract tests for every kind of place: what concerns several people works in each."""

from __future__ import annotations

import pytest

from answerback.core.ask import Ask, Destination, Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import Form
from answerback.core.walker import Phase
from answerback_testing.simulated_people import (
    Capability,
    HasModals,
    HasPlaces,
    HasTypedAnswers,
    SimulatedPerson,
    requires_capability,
)
from answerback_testing.surface_clicks import answered_values
from answerback_testing.surface_questions import GO, LABELS, WHY
from answerback_testing.surface_walks import assert_sees


@requires_capability(Capability.PLACES)
class PlacesContract:
    """Threads, forums and topics, besides the place of all other tests and direct messages."""

    @pytest.mark.rule("HANDOVER-1", "HANDOVER-7", "CONFIRM-1", "CONFIRM-2")
    async def test_an_ask_is_handed_over_answered_and_confirmed_in_each_kind_of_place(
        self, stage: HasPlaces, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        places = await stage.other_places()
        assert places, "the capability is declared for nothing"
        for kind, place in places.items():
            form = Form(questions=(GO,), confirmation=ConfirmationRule(due=1))
            request = {"allowed_recipients": (ada.user_id, bob.user_id)}
            ask = await stage.harness.create_ask(form, place, (ada.user_id,), request=request)
            await ada.look_at(ask)
            await ada.hand_over(bob)
            ask = await stage.harness.wait_until_shown(ask.id)
            assert ask.placement.responders == (ada.user_id, bob.user_id), kind
            await assert_sees(bob, ask)
            await bob.answer(GO, True)
            ask = await stage.harness.wait_until_shown(ask.id)
            assert ask.walk.phase is Phase.CONFIRMATION, kind
            await assert_sees(ada, ask)
            await ada.confirm()
            ask = await stage.harness.wait_until_shown(ask.id)
            assert ask.status is Status.ANSWERED, kind
            assert [vote.by.user_id for vote in ask.walk.votes] == [ada.user_id], kind

    @requires_capability(Capability.MODALS)
    @requires_capability(Capability.TYPED_ANSWERS)
    @pytest.mark.rule("TYPED-1", "TYPED-9")
    async def test_a_mention_in_a_thread_is_for_its_question_whatever_is_being_entered_elsewhere(
        self, stage: HasPlaces, ada: HasTypedAnswers
    ) -> None:
        assert isinstance(ada, HasModals)
        for thread in await _threads(stage):
            here = await _ask_why(stage, thread, ada)
            elsewhere = await _ask_why(stage, stage.place, ada)
            await ada.look_at(elsewhere)
            assert await ada.open_modal()
            assert await ada.mention_bot("because", thread)
            answers = [
                answered_values(await stage.harness.wait_until_shown(ask.id))
                for ask in (elsewhere, here)
            ]
            assert answers == [[], ["because"]], thread

    @requires_capability(Capability.TYPED_ANSWERS)
    @pytest.mark.rule("TYPED-9")
    @pytest.mark.parametrize("count", [9, 10])
    async def test_a_mention_in_a_channel_counts_all_its_questions_however_many_threads_have(
        self, stage: HasPlaces, ada: HasTypedAnswers, count: int
    ) -> None:
        for number, thread in enumerate(await _threads(stage), 1):
            places = [stage.place] * 2 + [thread] * count
            asks = [await _ask_why(stage, place, ada) for place in places]
            assert not await ada.mention_bot("because", stage.place)
            refusal = (await ada.refusals(number))[-1]
            assert LABELS.which_one.partition(".")[0] in refusal, thread
            for ask in asks:
                assert answered_values(await stage.harness.read_stored(ask.id)) == []


async def _threads(stage: HasPlaces) -> list[Destination]:
    """Return a new thread of each kind in the channel of the stage's own place."""
    places = await stage.other_places()
    return [place for place in places.values() if place.channel == stage.place.channel]


async def _ask_why(stage: HasPlaces, place: Destination, responder: SimulatedPerson) -> Ask:
    """Create an ask for a text at a place."""
    form = Form(questions=(WHY,))
    return await stage.harness.create_ask(form, place, (responder.user_id,))
