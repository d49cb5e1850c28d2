"""Contract tests for late, repeated, simultaneous or forbidden actions: at most one counts, and each is answered."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.form import Form, Question
from answerback.core.view import view_of
from answerback.core.walker import Person
from answerback.ports.surface import Acted, Actor, SupportsGroups
from answerback.presentation import wording
from answerback_testing.simulated_people import (
    Capability,
    HasGroups,
    HasModals,
    HasPrivateNotes,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_questions import AGAIN, GO, LABELS, WHY
from answerback_testing.surface_walks import assert_sees, strip_whitespace


async def create_viewed_ask(
    stage: Stage, questions: Sequence[Question], *people: SimulatedPerson, **more: Any
) -> Ask:
    """Create an ask that these people may answer and have looked at; ``more`` are further fields of the ask."""
    form, who = Form(questions=tuple(questions)), tuple(person.user_id for person in people)
    ask = await stage.harness.create_ask(form, stage.place, who, **more)
    for person in people:
        await person.look_at(ask)
    return ask


async def wait_for_steps(stage: Stage, ask: Ask, *people: SimulatedPerson, after: int) -> Ask:
    """Return the ask after the given number of steps, once all ``people`` see that state."""
    latest = await stage.harness.wait_until_shown(ask.id)
    assert latest.revision == ask.revision + after
    for person in people:
        await assert_sees(person, latest)
    return latest


async def answer_elsewhere(
    stage: Stage, ask: Ask, by: SimulatedPerson, at: float | None = None
) -> None:
    """Answer yes, but not on this surface."""
    service = stage.harness.service
    acted = await service.act(ask.id, Answer(value=True), actor_of(stage, by), at=at)
    assert isinstance(acted, Acted)


def actor_of(stage: Stage, person: SimulatedPerson) -> Actor:
    """Return a person as the service knows them."""
    return Actor(Person(surface=stage.place.surface, user_id=person.user_id, name=person.name))


async def assert_private_notes(person: SimulatedPerson, *sentences: str | re.Pattern[str]) -> None:
    """Assert that a person received exactly these private notes, where the surface has any."""
    if not isinstance(person, HasPrivateNotes):
        return
    notes = await person.private_notes(len(sentences))
    assert len(notes) == len(sentences), notes
    for note, sentence in zip(notes, sentences, strict=True):
        assert_says(note, sentence)


def assert_says(note: str, sentence: str | re.Pattern[str]) -> None:
    """Assert that a note contains a sentence, however its whitespace is shown."""
    pattern = (
        sentence if isinstance(sentence, re.Pattern) else re.escape(strip_whitespace(sentence))
    )
    assert re.search(pattern, strip_whitespace(note)), note


def ended_note(ended: Ask) -> str:
    """Return the note to people who act on an ask that has ended."""
    return LABELS.has_ended.partition("{how}")[0] + wording.ending(view_of(ended), LABELS)


def too_late_note(faster: SimulatedPerson) -> re.Pattern[str]:
    """Return the note to people who were slower: it names the faster person, or mentions them by id."""
    before, after = map(re.escape, map(strip_whitespace, LABELS.too_late.split("{name}")))
    names = "|".join(map(re.escape, map(strip_whitespace, (faster.name, faster.user_id))))
    return re.compile(f"{before}[^.]*({names})[^.]*{after}")


def answered_values(ask: Ask) -> list[object]:
    """Return the values answered so far."""
    return [given.value for given in ask.walk.answers]


class ClicksContract:
    """A transition happens once, and no click is ignored without an explanation."""

    @pytest.mark.rule("WALK-15", "SURFACE-10")
    async def test_of_two_simultaneous_answers_one_counts_and_the_slower_is_told_who_was_faster(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, WHY], ada, bob)
        await asyncio.gather(ada.answer(GO, True), bob.answer(GO, False))
        ask = await wait_for_steps(stage, ask, ada, bob, after=1)
        by = ask.walk.answers[0].by
        assert by is not None
        assert answered_values(ask) == [by.user_id == ada.user_id]
        faster, slower = (ada, bob) if by.user_id == ada.user_id else (bob, ada)
        await assert_private_notes(slower, too_late_note(faster))
        await assert_private_notes(faster)

    @pytest.mark.rule("SURFACE-11")
    async def test_a_double_click_counts_once(self, stage: Stage, ada: SimulatedPerson) -> None:
        ask = await create_viewed_ask(stage, [GO, AGAIN], ada)
        await asyncio.gather(ada.answer(GO, True), ada.answer(GO, True))
        ask = await wait_for_steps(stage, ask, ada, after=1)
        assert answered_values(ask) == [True]

    @pytest.mark.rule("SURFACE-11")
    async def test_a_person_who_clicks_twice_is_not_told_that_someone_else_was_faster(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, AGAIN], ada)
        await ada.answer(GO, True)
        await ada.answer(GO, False)
        ask = await wait_for_steps(stage, ask, after=1)
        await assert_private_notes(ada, LABELS.too_late_own)

    @pytest.mark.rule("WALK-16", "SURFACE-10", "SURFACE-15")
    async def test_an_old_copy_never_acts_on_a_new_question_and_each_click_on_it_is_answered(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, AGAIN, WHY], ada, bob)
        await ada.answer(GO, True)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        await ada.answer(AGAIN, True)
        await stage.harness.wait_until_shown(ask.id)
        too_late = too_late_note(ada)
        await bob.answer(GO, False)
        await assert_private_notes(bob, too_late)
        await bob.reply("not like this")
        await assert_private_notes(bob, too_late, too_late)
        await bob.end_turn()
        await assert_private_notes(bob, too_late, too_late, too_late)
        await assert_private_notes(ada)
        await ada.go_back()
        ask = await wait_for_steps(stage, ask, ada, bob, after=2)
        assert answered_values(ask) == [True, True]

    @pytest.mark.rule("SURFACE-10")
    @pytest.mark.parametrize("withdrawn", [True, False])
    async def test_a_click_after_the_end_changes_nothing_and_is_answered_with_how_it_ended(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson, withdrawn: bool
    ) -> None:
        ask = await create_viewed_ask(stage, [GO], ada, bob)
        await (stage.harness.service.withdraw(ask.id) if withdrawn else bob.answer(GO, False))
        ended = await stage.harness.wait_until_shown(ask.id)
        note = ended_note(ended)
        await ada.answer(GO, True)
        await assert_private_notes(ada, note)
        await ada.reply("a word on it")
        await assert_private_notes(ada, note, note)
        await ada.end_turn()
        await assert_private_notes(ada, note, note, note)
        await assert_private_notes(bob)
        ask = await wait_for_steps(stage, ask, ada, bob, after=1)
        assert (ask.status, ask.walk) == (ended.status, ended.walk)

    @pytest.mark.rule("SURFACE-9")
    async def test_a_person_who_may_not_answer_changes_nothing_and_is_told_who_may(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, WHY], ada)
        await bob.look_at(ask)
        _, _, rest = LABELS.not_allowed.partition("{who}")
        await bob.answer(GO, True)
        await assert_private_notes(bob, rest)
        await bob.end_turn()
        await assert_private_notes(bob, rest, rest)
        await bob.reply("no")
        await wait_for_steps(stage, ask, ada, after=0)
        await assert_private_notes(ada)

    @requires_capability(Capability.MODALS)
    @pytest.mark.rule("SURFACE-9")
    async def test_a_person_who_may_not_answer_cannot_open_a_modal(
        self, stage: Stage, ada: SimulatedPerson, bob: HasModals
    ) -> None:
        ask = await create_viewed_ask(stage, [WHY], ada)
        await bob.look_at(ask)
        assert not await bob.open_modal()

    @requires_capability(Capability.MODALS)
    @pytest.mark.rule("SURFACE-10", "SURFACE-16")
    @pytest.mark.parametrize("more", [(GO,), ()], ids=["moved on", "ended"])
    async def test_a_modal_submitted_too_late_returns_its_text(
        self, stage: Stage, ada: HasModals, bob: HasModals, more: tuple[Question, ...]
    ) -> None:
        ask = await create_viewed_ask(stage, [WHY, *more], ada, bob)
        assert await ada.open_modal()
        assert await bob.open_modal()
        await ada.submit_modal("mine")
        response = await bob.submit_modal("a long *thought*")
        assert strip_whitespace("a long *thought*") in strip_whitespace(response)
        ask = await wait_for_steps(stage, ask, ada, bob, after=1)
        assert answered_values(ask) == ["mine"]
        late = too_late_note(ada) if more else ended_note(ask)
        assert_says(response, late)

    @requires_capability(Capability.GROUPS)
    @pytest.mark.rule("ACT-10")
    async def test_a_person_who_left_the_group_may_no_longer_act_or_see_what_waits_for_it(
        self, stage: Stage, ada: HasGroups
    ) -> None:
        group = await ada.join_group()
        form = Form(questions=(GO, AGAIN))
        ask = await stage.harness.create_ask(form, stage.place, (f"@{group}",))
        await ada.look_at(ask)
        await ada.answer(GO, True)
        await wait_for_steps(stage, ask, ada, after=1)
        service = stage.harness.service
        [surface] = service.surfaces.values()
        assert isinstance(surface, SupportsGroups)
        person = Person(surface=surface.name, user_id=ada.user_id)

        async def groups_and_inbox() -> tuple[frozenset[str], list[str]]:
            waiting = await service.list_waiting_for(Actor(person), None, 200)
            groups = await surface.groups_of(person, frozenset({group}))
            return groups, [each.id for each in waiting.rows if each.id == ask.id]

        assert await groups_and_inbox() == (frozenset({group}), [ask.id])
        await ada.leave_group(group)
        assert await groups_and_inbox() == (frozenset(), [])
        await ada.answer(AGAIN, False)
        await wait_for_steps(stage, ask, ada, after=1)
