"""People who act too late, twice, at the same moment or unasked: one step at most, and each is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.form import Form, Question
from answerback.core.view import view_of
from answerback.core.walker import Answer, Person
from answerback.ports.surface import Acted, Actor, Rejected, Why
from answerback.testing.simulated_people import (
    Capability,
    Desk,
    HasModals,
    HasPrivateNotes,
    HasTypedAnswers,
    Stage,
    needs,
)
from answerback.testing.surface_questions import AGAIN, GO, LABELS, WHERE, WHICH, WHY
from answerback.testing.surface_walks import sees, squeezed
from answerback_chat import wording


async def opened(stage: Stage, questions: Sequence[Question], *people: Desk) -> Ask:
    """An ask that these people may answer and have looked at."""
    who = tuple(person.user_id for person in people)
    ask = await stage.bench.opens(Form(questions=tuple(questions)), stage.place, who)
    for person in people:
        await person.looks(ask)
    return ask


async def stands(stage: Stage, ask: Ask, *people: Desk, after: int) -> Ask:
    """The ask after so many steps, once everybody sees it so."""
    latest = await stage.bench.shown(ask.id)
    assert latest.revision == ask.revision + after
    for person in people:
        await sees(person, latest)
    return latest


async def acts(stage: Stage, ask: Ask, by: Desk) -> None:
    """Answers yes, and not on this surface."""
    actor = Actor(Person(surface=stage.place.surface, user_id=by.user_id, name=by.name))
    assert isinstance(await stage.bench.service.act(ask.id, Answer(value=True), actor), Acted)


async def noted(desk: Desk, *sentences: str) -> None:
    """Asserts what a person was told privately: these sentences and no others."""
    assert isinstance(desk, HasPrivateNotes)
    told = await desk.told(len(sentences))
    assert len(told) == len(sentences), told
    for note, sentence in zip(told, sentences, strict=True):
        assert squeezed(sentence) in squeezed(note)


def note_of_the_end(ended: Ask) -> str:
    """What people are told who act on an ask that is over."""
    return wording.rejection_note(Rejected(Why.ENDED, ended), view_of(ended), LABELS, who="")


def values(ask: Ask) -> list[object]:
    """What has been answered so far."""
    return [given.value for given in ask.walk.answers]


class ClicksContract:
    """A transition happens once, and nobody's click is lost without a word."""

    @pytest.mark.rule("WALK-15")
    async def test_of_two_people_at_the_same_moment_one_counts(
        self, stage: Stage, ada: Desk, bob: Desk
    ) -> None:
        ask = await opened(stage, [GO, WHY], ada, bob)
        await asyncio.gather(ada.answers(GO, True), bob.answers(GO, False))
        ask = await stands(stage, ask, ada, bob, after=1)
        by = ask.walk.answers[0].by
        assert by is not None
        assert values(ask) == [by.user_id == ada.user_id]

    @needs(Capability.PRIVATE_NOTES)
    @pytest.mark.rule("WALK-15", "SURFACE-10")
    async def test_the_slower_of_two_is_told_who_was_faster(
        self, stage: Stage, ada: Desk, bob: Desk
    ) -> None:
        ask = await opened(stage, [GO, WHY], ada, bob)
        await asyncio.gather(ada.answers(GO, True), bob.answers(GO, False))
        faster, slower = (ada, bob) if values(await stage.bench.shown(ask.id))[0] else (bob, ada)
        await noted(slower, LABELS.too_late.format(name=faster.name))
        await noted(faster)

    @pytest.mark.rule("SURFACE-11")
    async def test_a_double_click_counts_once(self, stage: Stage, ada: Desk) -> None:
        ask = await opened(stage, [GO, AGAIN], ada)
        await asyncio.gather(ada.answers(GO, True), ada.answers(GO, True))
        ask = await stands(stage, ask, ada, after=1)
        assert values(ask) == [True]

    @needs(Capability.PRIVATE_NOTES)
    @pytest.mark.rule("SURFACE-11")
    async def test_nobody_is_told_that_they_were_faster_than_themselves(
        self, stage: Stage, ada: Desk
    ) -> None:
        ask = await opened(stage, [GO, AGAIN], ada)
        await ada.answers(GO, True)
        await ada.answers(GO, False)
        ask = await stands(stage, ask, after=1)
        await noted(ada, LABELS.too_late_own)

    @pytest.mark.rule("WALK-16", "SURFACE-15")
    async def test_an_old_copy_never_acts_on_a_new_question(
        self, stage: Stage, ada: Desk, bob: Desk
    ) -> None:
        ask = await opened(stage, [GO, AGAIN, WHY], ada, bob)
        await ada.answers(GO, True)
        await ada.looks(await stage.bench.shown(ask.id))
        await ada.answers(AGAIN, True)
        await stage.bench.shown(ask.id)
        await bob.answers(GO, False)
        await bob.replies("not like this")
        await bob.ends_turn()
        await ada.goes_back()
        ask = await stands(stage, ask, ada, bob, after=2)
        assert values(ask) == [True, True]

    @needs(Capability.PRIVATE_NOTES)
    @pytest.mark.rule("SURFACE-10", "SURFACE-15")
    async def test_each_late_click_is_told_who_was_faster(
        self, stage: Stage, ada: Desk, bob: Desk
    ) -> None:
        ask = await opened(stage, [GO, AGAIN], ada, bob)
        await ada.answers(GO, True)
        await stage.bench.shown(ask.id)
        too_late = LABELS.too_late.format(name=ada.name)
        await bob.answers(GO, False)
        await noted(bob, too_late)
        await bob.replies("not like this")
        await noted(bob, too_late, too_late)
        await bob.ends_turn()
        await noted(bob, too_late, too_late, too_late)
        await noted(ada)

    @pytest.mark.rule("SURFACE-10")
    async def test_a_click_after_the_end_changes_nothing(
        self, stage: Stage, ada: Desk, bob: Desk
    ) -> None:
        ask = await opened(stage, [GO], ada, bob)
        await ada.answers(GO, True)
        await stage.bench.shown(ask.id)
        await bob.answers(GO, False)
        ask = await stands(stage, ask, ada, bob, after=1)
        assert (ask.status, values(ask)) == (Status.ANSWERED, [True])

    @needs(Capability.PRIVATE_NOTES)
    @pytest.mark.rule("SURFACE-10")
    @pytest.mark.parametrize("withdrawn", [True, False])
    async def test_whoever_clicks_after_the_end_is_told_how_it_ended(
        self, stage: Stage, ada: Desk, bob: Desk, withdrawn: bool
    ) -> None:
        ask = await opened(stage, [GO], ada, bob)
        await (stage.bench.service.withdraw(ask.id) if withdrawn else bob.answers(GO, False))
        told = note_of_the_end(await stage.bench.shown(ask.id))
        await ada.answers(GO, True)
        await noted(ada, told)
        await ada.replies("a word on it")
        await noted(ada, told, told)
        await ada.ends_turn()
        await noted(ada, told, told, told)
        await noted(bob)

    @pytest.mark.rule("SURFACE-9")
    async def test_who_may_not_answer_changes_nothing(
        self, stage: Stage, ada: Desk, bob: Desk
    ) -> None:
        ask = await opened(stage, [GO, WHY], ada)
        await bob.looks(ask)
        await bob.answers(GO, True)
        await bob.replies("no")
        await bob.ends_turn()
        await stands(stage, ask, ada, after=0)

    @needs(Capability.PRIVATE_NOTES)
    @pytest.mark.rule("SURFACE-9")
    async def test_who_may_not_answer_is_told_who_may(
        self, stage: Stage, ada: Desk, bob: Desk
    ) -> None:
        ask = await opened(stage, [GO], ada)
        await bob.looks(ask)
        _, _, rest = LABELS.not_allowed.partition("{who}")
        await bob.answers(GO, True)
        await noted(bob, rest)
        await bob.ends_turn()
        await noted(bob, rest, rest)
        await noted(ada)

    @needs(Capability.MODALS)
    @pytest.mark.rule("SURFACE-9")
    async def test_who_may_not_answer_opens_no_modal(
        self, stage: Stage, ada: Desk, bob: Desk
    ) -> None:
        ask = await opened(stage, [WHY], ada)
        await bob.looks(ask)
        assert isinstance(bob, HasModals)
        assert not await bob.opens_modal()

    @needs(Capability.MODALS)
    @pytest.mark.rule("SURFACE-10", "SURFACE-16")
    @pytest.mark.parametrize("more", [(GO,), ()], ids=["moved on", "ended"])
    async def test_a_modal_that_is_handed_in_too_late_gives_its_words_back(
        self, stage: Stage, ada: Desk, bob: Desk, more: tuple[Question, ...]
    ) -> None:
        ask = await opened(stage, [WHY, *more], ada, bob)
        assert isinstance(ada, HasModals)
        assert isinstance(bob, HasModals)
        assert await ada.opens_modal()
        assert await bob.opens_modal()
        await ada.hands_in("mine")
        told = await bob.hands_in("a long *thought*")
        assert squeezed("a long *thought*") in squeezed(told)
        ask = await stands(stage, ask, ada, bob, after=1)
        assert values(ask) == ["mine"]
        late = LABELS.too_late.format(name=ada.name) if more else note_of_the_end(ask)
        assert squeezed(late) in squeezed(told)


class TypingContract:
    """Words that are typed count where they are meant for the ask, and nowhere else."""

    @needs(Capability.TYPED_ANSWERS)
    @pytest.mark.rule("TYPED-2", "TYPED-4")
    @pytest.mark.parametrize(
        ("question", "words", "value"),
        [
            (WHY, "<b> & *c* at example.com", "<b> & *c* at example.com"),
            (WHERE, "Prod", "p"),
            (WHERE, "1", "s"),
            (WHICH, "b, 1", ["a", "b"]),
            (GO, "no", False),
        ],
    )
    async def test_typed_words_answer_the_open_question(
        self, stage: Stage, ada: Desk, question: Question, words: str, value: object
    ) -> None:
        ask = await opened(stage, [question, AGAIN], ada)
        assert isinstance(ada, HasTypedAnswers)
        assert await ada.types(words)
        assert values(await stands(stage, ask, ada, after=1)) == [value]
        await ada.goes_back()
        assert values(await stands(stage, ask, ada, after=2)) == []

    @needs(Capability.TYPED_ANSWERS)
    @pytest.mark.rule("TYPED-1")
    async def test_what_people_say_to_each_other_is_never_an_answer(
        self, stage: Stage, ada: Desk
    ) -> None:
        ask = await opened(stage, [GO, AGAIN], ada)
        assert isinstance(ada, HasTypedAnswers)
        assert not await ada.types("no", meant=False)
        assert await ada.types("yes")
        assert values(await stands(stage, ask, ada, after=1)) == [True]

    @needs(Capability.TYPED_ANSWERS)
    @pytest.mark.rule("TYPED-7", "SURFACE-9")
    async def test_words_of_who_may_not_answer_are_not_taken(
        self, stage: Stage, ada: Desk, bob: Desk
    ) -> None:
        ask = await opened(stage, [WHY], ada)
        await bob.looks(ask)
        assert isinstance(bob, HasTypedAnswers)
        assert not await bob.types("I say no")
        await stands(stage, ask, ada, after=0)
