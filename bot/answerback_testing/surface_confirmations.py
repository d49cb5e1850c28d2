"""Contract tests for answers that other people have to confirm."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Change, Destination, Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.confirmer_copies import as_copy
from answerback.core.form import Form
from answerback.core.person import Person
from answerback.core.walker import Phase
from answerback.ports.surface import Acted, Actor
from answerback_testing.other_surface import ELSEWHERE, add_other_surface, list_people
from answerback_testing.simulated_people import (
    Capability,
    HasAskingBack,
    HasDirectMessages,
    HasReminders,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_clicks import assert_private_notes
from answerback_testing.surface_people import read_normalized_text
from answerback_testing.surface_questions import GO, LABELS, WHERE, WHY
from answerback_testing.surface_walks import assert_sees, strip_whitespace

ONE = ConfirmationRule(due=1)
_CONTEXT = "It drops the table `users`."
_BLIND = GO.model_copy(update={"context": _CONTEXT})


class ConfirmationsContract:
    """Answers count once other people have confirmed them."""

    @pytest.mark.rule("CONFIRM-1", "CONFIRM-2")
    async def test_another_person_reads_the_answers_and_confirms_them(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        form = Form(questions=(_BLIND, WHY), confirmation=ONE)
        ask = await _answered(stage, form, ada, bob, ("because",))
        assert (ask.status, ask.walk.phase) == (Status.OPEN, Phase.CONFIRMATION)
        await assert_sees(bob, ask)
        assert bob.available_actions() >= {"confirm", "object", "end_turn"}
        read = await read_normalized_text(bob, ada)
        shown = (LABELS.confirm_title, LABELS.confirm_text, "drops the table", ada.name, "because")
        assert [text for text in shown if text.casefold() not in read] == []
        await bob.confirm()
        ask = await stage.harness.wait_until_shown(ask.id)
        assert ask.status is Status.ANSWERED
        assert [vote.by.user_id for vote in ask.walk.votes] == [bob.user_id]
        await assert_sees(ada, ask)
        assert ada.available_actions() == set()
        said = await read_normalized_text(ada, bob)
        assert LABELS.confirmed_by.partition("{")[0].strip().casefold() in said
        assert f"{LABELS.answered} {LABELS.by}".format(name=ada.name).casefold() in said

    @pytest.mark.rule("CONFIRM-3")
    async def test_nobody_confirms_what_they_answered_and_they_are_told_why(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        ask = await _answered(stage, Form(questions=(_BLIND,), confirmation=ONE), ada, bob)
        await ada.look_at(ask)
        await ada.confirm()
        await assert_private_notes(ada, "another person")
        again = await stage.harness.wait_until_shown(ask.id)
        assert (again.walk, again.revision) == (ask.walk, ask.revision)
        await bob.look_at(ask)
        await bob.confirm()
        assert (await stage.harness.wait_until_shown(ask.id)).status is Status.ANSWERED

    @pytest.mark.rule("CONFIRM-3", "CONFIRM-6")
    async def test_who_may_answer_but_not_confirm_is_told_why(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        owner = f"{stage.place.surface}:{bob.user_id}"
        form = Form(questions=(GO,), confirmation=ConfirmationRule(due=1, requester=owner))
        ask = await _answered(stage, form, ada, bob)
        await bob.look_at(ask)
        await bob.confirm()
        await assert_private_notes(bob, "on behalf of this person")
        assert (await stage.harness.wait_until_shown(ask.id)).walk == ask.walk

    @pytest.mark.rule("CONFIRM-3")
    async def test_a_person_confirms_once(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        form = Form(questions=(GO,), confirmation=ConfirmationRule(due=2))
        ask = await _answered(stage, form, ada, bob)
        await bob.look_at(ask)
        assert LABELS.confirm_more.format(count=2).casefold() in await read_normalized_text(bob)
        await bob.confirm()
        ask = await stage.harness.wait_until_shown(ask.id)
        await bob.look_at(ask)
        assert LABELS.confirm_text.casefold() in await read_normalized_text(bob)
        await bob.confirm()
        ask = await stage.harness.wait_until_shown(ask.id)
        assert (ask.status, len(ask.walk.votes)) == (Status.OPEN, 1)
        cy = await stage.add_person("Cy")
        await stage.harness.service.update(ask.id, lambda latest, _at: _with_responder(latest, cy))
        await cy.look_at(await stage.harness.wait_until_shown(ask.id))
        await cy.confirm()
        assert (await stage.harness.wait_until_shown(ask.id)).status is Status.ANSWERED

    @pytest.mark.rule("CONFIRM-4")
    @pytest.mark.parametrize("said", ["Not on a Friday", None])
    async def test_an_objection_ends_it_like_a_reply(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson, said: str | None
    ) -> None:
        form = Form(questions=(GO,), confirmation=ONE, reply_needs_text=True)
        ask = await _answered(stage, form, ada, bob)
        await bob.look_at(ask)
        await bob.object_to(said)
        ask = await stage.harness.wait_until_shown(ask.id)
        assert (ask.status, ask.walk.reply) == (Status.CANCELLED, said)
        await assert_sees(ada, ask)
        ended = f"{LABELS.objection} {LABELS.by.format(name=bob.name)}".casefold()
        assert ended in await read_normalized_text(ada, bob)

    @pytest.mark.rule("CONFIRM-10")
    async def test_what_nobody_confirmed_in_time_says_so(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        ask = await _answered(stage, Form(questions=(GO,), confirmation=ONE), ada, bob)
        await stage.harness.service.expire(ask.id)
        await bob.look_at(await stage.harness.wait_until_shown(ask.id))
        assert LABELS.expired_unconfirmed.casefold() in await read_normalized_text(bob)

    @pytest.mark.rule("CONFIRM-5")
    async def test_who_answered_takes_the_answers_back_and_the_confirmations_are_gone(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        form = Form(questions=(GO, WHERE), confirmation=ConfirmationRule(due=2))
        ask = await _answered(stage, form, ada, bob, ("p",))
        await bob.look_at(ask)
        await bob.go_back()  # it is not theirs to take back
        assert (await stage.harness.wait_until_shown(ask.id)).revision == ask.revision
        await bob.look_at(ask)
        await bob.confirm()
        ask = await stage.harness.wait_until_shown(ask.id)
        assert len(ask.walk.votes) == 1
        await ada.look_at(ask)
        await ada.go_back()
        ask = await stage.harness.wait_until_shown(ask.id)
        assert (ask.question, ask.walk.votes) == (WHERE, ())
        await assert_sees(ada, ask)
        await ada.answer(WHERE, "s")
        ask = await stage.harness.wait_until_shown(ask.id)
        assert (ask.walk.phase, ask.walk.votes) == (Phase.CONFIRMATION, ())

    @pytest.mark.rule("CONFIRM-5")
    async def test_after_a_review_back_returns_to_it(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        form = Form(questions=(GO, WHY), review=True, confirmation=ONE)
        ask = await _answered(stage, form, ada, bob, ("so",))
        assert ask.walk.phase is Phase.REVIEW
        await bob.look_at(ask)
        await bob.submit()
        ask = await stage.harness.wait_until_shown(ask.id)
        assert ask.walk.phase is Phase.CONFIRMATION
        for person in (ada, bob):  # one answered, the other submitted
            await person.look_at(ask)
            await person.confirm()
            assert (await stage.harness.wait_until_shown(ask.id)).walk == ask.walk
        await bob.look_at(ask)
        await bob.go_back()
        ask = await stage.harness.wait_until_shown(ask.id)
        assert ask.walk.phase is Phase.REVIEW
        await assert_sees(ada, ask)

    @pytest.mark.rule("CONFIRM-6")
    async def test_who_may_only_confirm_answers_nothing(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        form = Form(questions=(GO,), confirmation=ONE)
        ask = await stage.harness.create_ask(
            form, stage.place, (ada.user_id,), confirmers=(bob.user_id,)
        )
        cy = await stage.add_person("Cy")
        await bob.look_at(ask)
        await bob.answer(GO, True)
        assert (await stage.harness.wait_until_shown(ask.id)).question == GO
        await ada.look_at(ask)
        await ada.answer(GO, True)
        ask = await stage.harness.wait_until_shown(ask.id)
        await cy.look_at(ask)
        await cy.confirm()
        assert (await stage.harness.wait_until_shown(ask.id)).walk == ask.walk
        await bob.look_at(ask)
        await bob.confirm()
        assert (await stage.harness.wait_until_shown(ask.id)).status is Status.ANSWERED

    @pytest.mark.rule("CONFIRM-5", "CONFIRM-6", "CLARIFY-1")
    @requires_capability(Capability.ASKING_BACK)
    async def test_who_may_only_confirm_asks_back_and_confirms_the_explanation_too(
        self, stage: Stage, ada: SimulatedPerson, bob: HasAskingBack
    ) -> None:
        form = Form(questions=(GO,), confirmation=ConfirmationRule(due=2))
        more = {"request": {"accepts": ("clarify",)}, "confirmers": (bob.user_id,)}
        ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,), **more)
        await ada.look_at(ask)
        await ada.answer(GO, True)
        await bob.look_at(await stage.harness.wait_until_shown(ask.id))
        await bob.confirm()
        await bob.look_at(await stage.harness.wait_until_shown(ask.id))
        await bob.ask_back("Is there a backup?")
        ask = await stage.harness.wait_until_shown(ask.id)
        [aside] = ask.asides
        assert (aside.by and aside.by.user_id, aside.text) == (bob.user_id, "Is there a backup?")
        assert (ask.walk.phase, len(ask.walk.votes)) == (Phase.CONFIRMATION, 1)
        await stage.harness.service.explain(ask.id, "Yes, of tonight.")
        ask = await stage.harness.wait_until_shown(ask.id)
        assert ask.walk.votes == ()
        await bob.look_at(ask)
        read = await read_normalized_text(bob)
        assert "is there a backup?" in read
        assert "of tonight" in read

    @pytest.mark.rule("CONFIRM-2")
    async def test_a_context_that_fits_no_message_can_be_read_in_full_before_confirming(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        lines = [f"Line {number} of what is dropped" for number in range(400)]
        question = GO.model_copy(update={"context": "\n\n".join(lines)})
        ask = await _answered(stage, Form(questions=(question,), confirmation=ONE), ada, bob)
        await bob.look_at(ask)
        read = strip_whitespace(await bob.read_all_text())  # pages may end between two words
        assert [line for line in lines if strip_whitespace(line) not in read] == []
        await bob.confirm()
        assert (await stage.harness.wait_until_shown(ask.id)).status is Status.ANSWERED

    @pytest.mark.rule("CONFIRM-7")
    @requires_capability(Capability.REMINDERS)
    async def test_those_who_may_confirm_are_told(
        self, stage: Stage, ada: SimulatedPerson, bob: HasReminders
    ) -> None:
        ask = await _answered(stage, Form(questions=(GO,), confirmation=ONE), ada, bob)
        await bob.look_at(ask)
        before = await bob.count_reminders(0)
        await stage.harness.remind(
            ask, ask.schedule.reminders_done_before
        )  # as the scheduler does, at once
        assert await bob.count_reminders(before + 1) == before + 1

    @pytest.mark.rule("CONFIRM-15", "CONFIRM-13", "CONFIRM-4")
    @requires_capability(Capability.BATCHES)  # they find it in the list of what waits for them
    @pytest.mark.parametrize("objection", [None, "Not on a Friday"], ids=["confirm", "object"])
    async def test_who_is_asked_to_confirm_from_another_surface_does_so_here(
        self, stage: Stage, bob: SimulatedPerson, objection: str | None
    ) -> None:
        boss = Person(surface=ELSEWHERE.surface, user_id="boss", name="Boss")
        if isinstance(stage, HasDirectMessages):
            bob = await stage.add_person_alone("Bob")
        own_chat = Destination(surface=stage.place.surface, user=bob.user_id)
        account = f"{own_chat.surface}:{bob.user_id}"
        listed = {"boss": (f"{boss.surface}:boss",), "bob": (account,)}
        with add_other_surface(stage.harness), list_people(stage.harness, listed):
            form = Form(questions=(WHY,), confirmation=ONE)
            ask = await stage.harness.create_ask(
                form, ELSEWHERE, ("boss",), confirmers_elsewhere=(account,)
            )
            service = stage.harness.service
            assert isinstance(await service.act(ask.id, Answer(value="so"), Actor(boss)), Acted)
            ask = await stage.harness.wait_until_shown(ask.id)
            is_chat = isinstance(stage, HasDirectMessages)
            await bob.look_at(as_copy(ask, own_chat) if is_chat else ask)
            assert bob.available_actions() >= {"confirm", "object"}
            assert "so" in await read_normalized_text(bob)
            if objection is None:
                await bob.confirm()
            else:
                await bob.object_to(objection)
            ask = await stage.harness.wait_until_shown(ask.id)
            votes = [vote.by.user_id for vote in ask.walk.votes]
            if objection is None:
                assert (ask.status, votes) == (Status.ANSWERED, [bob.user_id])
            else:
                assert (ask.status, ask.walk.reply) == (Status.CANCELLED, objection)
            await bob.look_at(as_copy(ask, own_chat) if is_chat else ask)
            assert bob.available_actions() == set()


async def _answered(
    stage: Stage,
    form: Form,
    ada: SimulatedPerson,
    bob: SimulatedPerson,
    more: tuple[str, ...] = (),
) -> Ask:
    """Return an ask that Ada has answered, which Bob may answer as well."""
    ask = await stage.harness.create_ask(form, stage.place, (ada.user_id, bob.user_id))
    answers: tuple[JsonValue, ...] = (True, *more)
    for question, value in zip(form.questions, answers, strict=True):
        await ada.look_at(ask)
        await ada.answer(question, value)
        ask = await stage.harness.wait_until_shown(ask.id)
    return ask


def _with_responder(ask: Ask, person: SimulatedPerson) -> Change:
    responders = (*ask.placement.responders, person.user_id)
    return Change(
        replace(
            ask, placement=replace(ask.placement, responders=responders), revision=ask.revision + 1
        ),
        (),
    )
