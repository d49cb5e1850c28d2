"""Contract tests for handing an ask over to another person."""

from __future__ import annotations

import pytest

from answerback.core.ask import ANYONE, Ask, Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import Form
from answerback.core.handing_over import HandOver
from answerback.core.people import account_id
from answerback.core.person import Person
from answerback.core.walker import Phase
from answerback.ports.surface import Acted, Actor, Rejected, SupportsPeople
from answerback_testing.other_surface import list_people
from answerback_testing.simulated_people import (
    Capability,
    HasPrivateNotes,
    HasReminders,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_people import read_normalized_text
from answerback_testing.surface_questions import GO, LABELS, WHERE
from answerback_testing.surface_walks import assert_sees


class HandOversContract:
    """A responder gives an ask to another person, within the list of its route."""

    @pytest.mark.rule("HANDOVER-1", "HANDOVER-5", "HANDOVER-7")
    async def test_the_other_person_can_answer_then_and_the_giver_still(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        ask = await _asked(stage, Form(questions=(GO, WHERE)), ada, bob)
        assert ada.available_actions() == {"hand_over", "reply", "end_turn"}
        await ada.hand_over(bob)
        handed = await stage.harness.wait_until_shown(ask.id)
        assert (handed.placement.responders, handed.question) == ((ada.user_id, bob.user_id), GO)
        [line] = await stage.harness.service.record(ask.id)
        assert line.entry.kind == "handed_over"
        assert line.entry.by is not None
        assert (line.entry.by.user_id, line.entry.body["to"]) == (ada.user_id, bob.user_id)
        await assert_sees(bob, handed)
        read = await read_normalized_text(bob, ada, bob)
        # A surface that looks nobody up, such as a page, names people by the names that they sign in with.
        looks_up = isinstance(stage.harness.service.surfaces[stage.place.surface], SupportsPeople)
        name = bob.name if looks_up else bob.user_id
        assert LABELS.handed_over_to.format(to=name, by=ada.name).casefold() in read
        await bob.answer(GO, True)
        answered = await stage.harness.wait_until_shown(ask.id)
        assert answered.question == WHERE
        await assert_sees(ada, answered)
        await ada.answer(WHERE, "p")
        done = await stage.harness.wait_until_shown(ask.id)
        assert (done.status, [given.by and given.by.user_id for given in done.walk.answers]) == (
            Status.ANSWERED,
            [bob.user_id, ada.user_id],
        )
        await assert_sees(bob, done)
        assert bob.available_actions() == set()

    @pytest.mark.rule("HANDOVER-2")
    async def test_nobody_beyond_the_routes_list_gets_it(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        ask = await _asked(stage, Form(questions=(GO,)), ada, bob)
        cy = await stage.add_person("Cy")
        said = await ada.hand_over(cy)
        if isinstance(ada, HasPrivateNotes):
            assert "the route does not list them" in said
        after = await stage.harness.wait_until_shown(ask.id)
        assert (after.placement.responders, after.revision) == (
            ask.placement.responders,
            ask.revision,
        )

    @pytest.mark.rule("HANDOVER-2")
    async def test_anybody_whom_the_platform_knows_gets_it_where_anyone_may_answer(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        form, request = Form(questions=(GO,)), {"allowed_recipients": (ANYONE,)}
        ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,), request=request)
        service, surface = stage.harness.service, stage.place.surface
        giver = Actor(Person(surface=surface, user_id=ada.user_id, name=ada.name))
        nobody = await service.act(ask.id, HandOver(to=f"{bob.user_id}0"), giver)
        assert isinstance(nobody, Rejected)
        knows = isinstance(service.surfaces[surface], SupportsPeople)
        why = "not_a_person" if knows else "responders_forbidden"
        assert [each.code for each in nobody.problems] == [why]
        account = f"{surface}:{bob.user_id}"
        with list_people(stage.harness, {} if knows else {"bob": (account,)}):
            await ada.look_at(ask)
            await ada.hand_over(bob)
            handed = await stage.harness.wait_until_shown(ask.id)
        assert handed.placement.responders == (ada.user_id, bob.user_id)

    @pytest.mark.rule("HANDOVER-1")
    async def test_a_hand_over_from_an_old_copy_changes_nothing(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        cy = await stage.add_person("Cy")
        ask = await _asked(stage, Form(questions=(GO,)), ada, bob, cy)
        for person in (bob, cy):
            await ada.hand_over(person)
        after = await stage.harness.wait_until_shown(ask.id)
        assert (after.placement.responders, after.revision) == (
            (ada.user_id, bob.user_id),
            ask.revision + 1,
        )

    @pytest.mark.rule("HANDOVER-1", "HANDOVER-7")
    async def test_a_review_is_handed_over(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        ask = await _asked(stage, Form(questions=(GO, WHERE), review=True), ada, bob)
        for question, value in ((GO, True), (WHERE, "p")):
            await ada.look_at(ask)
            await ada.answer(question, value)
            ask = await stage.harness.wait_until_shown(ask.id)
        await ada.look_at(ask)
        await ada.hand_over(bob)
        ask = await stage.harness.wait_until_shown(ask.id)
        assert ask.walk.phase is Phase.REVIEW
        await assert_sees(bob, ask)
        await bob.submit()
        assert (await stage.harness.wait_until_shown(ask.id)).status is Status.ANSWERED

    @pytest.mark.rule("HANDOVER-3", "HANDOVER-7")
    async def test_a_confirmation_is_handed_over(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        form = Form(questions=(GO,), confirmation=ConfirmationRule(due=1))
        ask = await _asked(stage, form, ada, bob)
        await ada.answer(GO, True)
        ask = await stage.harness.wait_until_shown(ask.id)
        await ada.look_at(ask)
        shown = {"confirm", "object", "back", "end_turn", "hand_over"}
        assert ada.available_actions() | {"confirm"} == shown
        await ada.hand_over(bob)
        ask = await stage.harness.wait_until_shown(ask.id)
        assert ask.walk.phase is Phase.CONFIRMATION
        await assert_sees(bob, ask)
        await bob.confirm()
        done = await stage.harness.wait_until_shown(ask.id)
        assert (done.status, [vote.by.user_id for vote in done.walk.votes]) == (
            Status.ANSWERED,
            [bob.user_id],
        )

    @pytest.mark.rule("AWAY-4")
    async def test_people_read_that_those_who_are_left_stand_in_for_each_other(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        form = Form(questions=(GO,), confirmation=ConfirmationRule(due=1))
        ask = await _asked(stage, form, ada, bob)
        absent = Person(surface=stage.place.surface, user_id=ada.user_id)
        action = HandOver(to=bob.user_id, stands_in=(account_id(absent),))
        assert isinstance(await stage.harness.service.act(ask.id, action, Actor(absent)), Acted)
        await bob.look_at(await stage.harness.wait_until_shown(ask.id))
        await bob.answer(GO, True)
        ask = await stage.harness.wait_until_shown(ask.id)
        assert ask.confirming
        await bob.look_at(ask)
        assert LABELS.confirm_stand_ins.casefold() in await read_normalized_text(bob)

    @pytest.mark.rule("HANDOVER-4")
    @requires_capability(Capability.REMINDERS)
    async def test_the_other_person_is_told(
        self, stage: Stage, ada: SimulatedPerson, bob: HasReminders
    ) -> None:
        ask = await _asked(stage, Form(questions=(GO,)), ada, bob)
        await ada.hand_over(bob)
        ask = await stage.harness.wait_until_shown(ask.id)
        await bob.look_at(ask)
        before = await bob.count_reminders(0)
        for _ in range(2):  # posted once
            await stage.harness.remind(ask, ask.schedule.reminders_done_before)
        assert await bob.count_reminders(before + 1) == before + 1


async def _asked(stage: Stage, form: Form, ada: SimulatedPerson, *others: SimulatedPerson) -> Ask:
    """Return an ask that Ada may answer and has looked at, on a route that lists others too."""
    request = {"allowed_recipients": (ada.user_id, *(each.user_id for each in others))}
    ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,), request=request)
    await ada.look_at(ask)
    return ask
