"""Contract tests for what is asked in a direct message: it moves with a hand over, and others confirm it elsewhere."""

from __future__ import annotations

import pytest

from answerback.core.ask import Ask, Destination, Escalation, OtherAccount, Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.confirmer_copies import as_copy, places_to_remind
from answerback.core.escalation import escalate
from answerback.core.form import Form
from answerback.core.walker import Phase
from answerback_testing.simulated_people import (
    Capability,
    HasDirectMessages,
    HasReminders,
    SimulatedPerson,
    requires_capability,
)
from answerback_testing.surface_people import read_normalized_text
from answerback_testing.surface_questions import GO, LABELS, WHY
from answerback_testing.surface_walks import assert_sees


@requires_capability(Capability.DIRECT_MESSAGES)
class DirectMessagesContract:
    """Contract of direct messages: an ask in one is its person's, and moves with a hand over."""

    @pytest.mark.rule("HANDOVER-6", "MOVE-1")
    async def test_what_is_handed_over_in_a_direct_message_moves_to_the_other_person(
        self, stage: HasDirectMessages
    ) -> None:
        ada, bob = [await stage.add_person_alone(name) for name in ("Ada", "Bob")]
        ask = await _asked_alone(stage, Form(questions=(GO,)), ada, bob)
        await ada.hand_over(bob)
        moved = await stage.harness.wait_until_shown(ask.id)
        assert moved.placement.destination.user == bob.user_id
        await assert_sees(bob, moved)
        await bob.answer(GO, True)
        done = await stage.harness.wait_until_shown(ask.id)
        assert (done.status, done.placement.place_before, done.to_retire) == (
            Status.ANSWERED,
            None,
            None,
        )

    @pytest.mark.rule("MOVE-1", "MOVE-2")
    async def test_what_is_handed_over_to_somebody_unreachable_stays_and_the_giver_is_told(
        self, stage: HasDirectMessages
    ) -> None:
        ada = await stage.add_person_alone("Ada")
        bob = await stage.add_person_alone("Bob", reachable=False)
        ask = await _asked_alone(stage, Form(questions=(GO,)), ada, bob)
        await ada.hand_over(bob)
        back = await stage.harness.wait_until_shown(ask.id)
        assert (back.open, back.placement.destination, back.placement.message) == (
            True,
            ask.placement.destination,
            ask.placement.message,
        )
        assert (back.placement.responders, back.placement.place_before) == ((ada.user_id,), None)
        await assert_sees(ada, back)
        if isinstance(ada, HasReminders):
            before = await ada.count_reminders(0)
            await stage.harness.remind(back, back.schedule.reminders_done_before)
            assert await ada.count_reminders(before + 1) == before + 1
        await ada.answer(GO, True)
        assert (await stage.harness.wait_until_shown(ask.id)).status is Status.ANSWERED

    @pytest.mark.rule("PEOPLE-2")
    async def test_an_owner_who_is_unreachable_is_asked_at_another_account(
        self, stage: HasDirectMessages
    ) -> None:
        gone = await stage.add_person_alone("Ada", reachable=False)
        ada = await stage.add_person_alone("Ada")
        there = Destination(surface=stage.place.surface, user=ada.user_id)
        other = OtherAccount(destination=there, responders=(ada.user_id,))
        ask = await stage.harness.create_ask(
            Form(questions=(GO,)),
            Destination(surface=stage.place.surface, user=gone.user_id),
            (gone.user_id,),
            request={"other_accounts": (other,)},
        )
        assert (ask.open, ask.placement.destination, ask.placement.responders) == (
            True,
            there,
            (ada.user_id,),
        )
        await assert_sees(ada, ask)
        await ada.answer(GO, True)
        assert (await stage.harness.wait_until_shown(ask.id)).status is Status.ANSWERED

    @pytest.mark.rule("MOVE-1", "MOVE-3")
    async def test_what_is_escalated_to_somebody_unreachable_stays_where_it_is(
        self, stage: HasDirectMessages, ada: SimulatedPerson
    ) -> None:
        boss = await stage.add_person_alone("Boss", reachable=False)
        to = Destination(surface=stage.place.surface, user=boss.user_id)
        escalation = Escalation(after=1.0, to=to)
        ask = await stage.harness.create_ask(
            Form(questions=(GO,)),
            stage.place,
            (ada.user_id,),
            request={"escalation": escalation},
        )
        await stage.harness.service.update(ask.id, escalate)
        back = await stage.harness.wait_until_shown(ask.id)
        assert (back.open, back.placement.destination, back.placement.message) == (
            True,
            ask.placement.destination,
            ask.placement.message,
        )
        await assert_sees(ada, back)
        await ada.answer(GO, True)
        assert (await stage.harness.wait_until_shown(ask.id)).status is Status.ANSWERED

    @pytest.mark.rule("CONFIRM-13", "CONFIRM-2", "CONFIRM-7")
    async def test_those_who_may_confirm_have_the_answers_in_their_own_chats(
        self, stage: HasDirectMessages
    ) -> None:
        ada, bob, cy = [await stage.add_person_alone(name) for name in ("Ada", "Bob", "Cy")]
        form = Form(questions=(GO, WHY), confirmation=ConfirmationRule(due=2))
        ask = await _asked_alone(stage, form, ada, confirmers=(bob, cy))
        assert ask.copies == (), "there is nothing to confirm yet"
        await ada.answer(GO, True)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        await ada.answer(WHY, "because")
        ask = await stage.harness.wait_until_shown(ask.id)
        assert ask.walk.phase is Phase.CONFIRMATION
        for person in (bob, cy):
            copy = copy_for(ask, person)
            await assert_sees(person, copy)
            assert person.available_actions() >= {"confirm", "object"}
            assert "because" in await read_normalized_text(person, ada)
            await person.confirm()
            ask = await stage.harness.wait_until_shown(ask.id)
        assert (ask.status, [vote.by.user_id for vote in ask.walk.votes]) == (
            Status.ANSWERED,
            [bob.user_id, cy.user_id],
        )
        for person, seen in (
            (ada, ask),
            *((each, copy_for(ask, each)) for each in (bob, cy)),
        ):
            await assert_sees(person, seen)
            assert person.available_actions() == set()

    @pytest.mark.rule("CONFIRM-13", "CONFIRM-4")
    async def test_somebody_objects_in_their_own_chat(self, stage: HasDirectMessages) -> None:
        ada, bob = [await stage.add_person_alone(name) for name in ("Ada", "Bob")]
        ask = await _answered_alone(stage, ada, bob)
        await bob.look_at(copy_for(ask, bob))
        await bob.object_to("Not on a Friday")
        ask = await stage.harness.wait_until_shown(ask.id)
        assert (ask.status, ask.walk.reply) == (Status.CANCELLED, "Not on a Friday")
        for person, seen in ((ada, ask), (bob, copy_for(ask, bob))):
            await assert_sees(person, seen)

    @pytest.mark.rule("CONFIRM-13", "CONFIRM-5")
    async def test_a_copy_from_before_the_answers_were_taken_back_confirms_nothing(
        self, stage: HasDirectMessages
    ) -> None:
        ada, bob = [await stage.add_person_alone(name) for name in ("Ada", "Bob")]
        ask = await _answered_alone(stage, ada, bob)
        await bob.look_at(copy_for(ask, bob))
        await ada.look_at(ask)
        await ada.go_back()
        back = await stage.harness.wait_until_shown(ask.id)
        await bob.confirm()
        assert (await stage.harness.wait_until_shown(ask.id)).revision == back.revision
        await ada.look_at(back)
        await ada.answer(GO, False)
        ask = await stage.harness.wait_until_shown(ask.id)
        await assert_sees(bob, copy_for(ask, bob))
        await bob.confirm()
        assert (await stage.harness.wait_until_shown(ask.id)).status is Status.ANSWERED

    @pytest.mark.rule("CONFIRM-14")
    async def test_who_cannot_be_reached_to_confirm_is_missed_where_it_was_answered(
        self, stage: HasDirectMessages
    ) -> None:
        ada, bob = [await stage.add_person_alone(name) for name in ("Ada", "Bob")]
        gone = await stage.add_person_alone("Cy", reachable=False)
        ask = await _answered_alone(stage, ada, gone, bob)
        assert ask.open
        await ada.look_at(ask)
        said = LABELS.confirm_unreachable.format(count=1).casefold()
        assert said in await read_normalized_text(ada)
        await bob.look_at(copy_for(ask, bob))
        await bob.confirm()
        assert (await stage.harness.wait_until_shown(ask.id)).status is Status.ANSWERED

    @pytest.mark.rule("CONFIRM-13", "CONFIRM-7")
    @requires_capability(Capability.REMINDERS)
    async def test_reminders_to_confirm_are_posted_where_the_copies_are(
        self, stage: HasDirectMessages
    ) -> None:
        ada, bob = [await stage.add_person_alone(name) for name in ("Ada", "Bob")]
        ask = await _answered_alone(stage, ada, bob)
        await ada.look_at(ask)
        await bob.look_at(copy_for(ask, bob))
        assert isinstance(ada, HasReminders)
        assert isinstance(bob, HasReminders)
        before = await ada.count_reminders(0), await bob.count_reminders(0)
        assert places_to_remind(ask, ask.schedule.reminders_done_before) == (), (
            "the copy itself tells them"
        )
        for place in places_to_remind(ask, ask.schedule.reminders_done_before + 1):
            await stage.harness.remind(place, ask.schedule.reminders_done_before + 1)
        after = await ada.count_reminders(0), await bob.count_reminders(before[1] + 1)
        assert after == (before[0], before[1] + 1)

    @pytest.mark.rule("CONFIRM-13", "DATA-1")
    async def test_a_copy_is_posted_once_and_kept_over_a_restart(
        self, stage: HasDirectMessages
    ) -> None:
        ada, bob = [await stage.add_person_alone(name) for name in ("Ada", "Bob")]
        ask = await _answered_alone(stage, ada, bob)
        await bob.look_at(copy_for(ask, bob))
        await stage.restart()
        ask = await stage.harness.wait_until_shown(ask.id)
        await assert_sees(bob, copy_for(ask, bob))
        await bob.confirm()
        assert (await stage.harness.wait_until_shown(ask.id)).status is Status.ANSWERED


async def _asked_alone(
    stage: HasDirectMessages,
    form: Form,
    ada: SimulatedPerson,
    *others: SimulatedPerson,
    confirmers: tuple[SimulatedPerson, ...] = (),
) -> Ask:
    """Return an ask in Ada's direct messages that she has looked at, and can hand over to others."""
    request = {"allowed_recipients": (ada.user_id, *(each.user_id for each in others))}
    to = Destination(surface=stage.place.surface, user=ada.user_id)
    named = tuple(each.user_id for each in confirmers)
    ask = await stage.harness.create_ask(
        form, to, (ada.user_id,), confirmers=named, request=request
    )
    await ada.look_at(ask)
    return ask


async def _answered_alone(
    stage: HasDirectMessages, ada: SimulatedPerson, *confirmers: SimulatedPerson
) -> Ask:
    """Return an ask that Ada has answered in her direct messages, and that one other person has to confirm."""
    form = Form(questions=(GO,), confirmation=ConfirmationRule(due=1))
    ask = await _asked_alone(stage, form, ada, confirmers=confirmers)
    await ada.answer(GO, True)
    return await stage.harness.wait_until_shown(ask.id)


def copy_for(ask: Ask, person: SimulatedPerson) -> Ask:
    """Return an ask as a person who may confirm it sees it in their own chat."""
    return as_copy(ask, Destination(surface=ask.placement.destination.surface, user=person.user_id))
