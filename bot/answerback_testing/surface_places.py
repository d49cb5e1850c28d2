"""Contract tests for every kind of place: what concerns several people works in each."""

from __future__ import annotations

import pytest

from answerback.core.ask import Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import Form
from answerback.core.walker import Phase
from answerback_testing.simulated_people import (
    Capability,
    HasPlaces,
    SimulatedPerson,
    requires_capability,
)
from answerback_testing.surface_questions import GO
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
