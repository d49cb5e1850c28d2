"""Contract tests for typed messages: which question they answer, and when they answer none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest

from answerback.core.ask import Ask, Change, Destination, Escalation
from answerback.core.escalation import escalate
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.ports.surface import Acted
from answerback_testing.simulated_people import (
    Capability,
    HasTypedAnswers,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_clicks import (
    answer_elsewhere,
    answered_values,
    create_viewed_ask,
    wait_for_steps,
)
from answerback_testing.surface_questions import (
    AGAIN,
    ALLOW,
    DENY,
    GO,
    NUMBERED,
    QUOTED,
    TYPED_ANSWERS,
    WHERE,
    WHICH,
    WHY,
)

_LABELS: Final = Labels()


@requires_capability(Capability.TYPED_ANSWERS)
class TypedAnswersContract:
    """Contract of typed messages: the answer that each is read as."""

    @pytest.mark.rule("TYPED-2", "TYPED-4", "TYPED-10", "TYPED-11")
    @pytest.mark.parametrize(
        ("question", "text", "value"),
        [
            (WHY, "<b> & *c* at example.com", "<b> & *c* at example.com"),
            (WHY, "8080", "8080"),
            *TYPED_ANSWERS,
            (WHICH, "a\nc", ["a", "c"]),
            (GO, "no", False),
            (GO, "Y.", True),
            (GO, "n", False),
        ],
    )
    async def test_a_typed_message_answers_the_open_question(
        self, stage: Stage, ada: HasTypedAnswers, question: Question, text: str, value: object
    ) -> None:
        ask = await create_viewed_ask(stage, [question, AGAIN], ada)
        assert await ada.type_message(text)
        assert answered_values(await wait_for_steps(stage, ask, ada, after=1)) == [value]
        await ada.go_back()
        assert answered_values(await wait_for_steps(stage, ask, ada, after=2)) == []

    @pytest.mark.rule("TYPED-7", "TYPED-11")
    @pytest.mark.parametrize("text", ["9", "９, 10"])
    async def test_a_number_of_no_option_is_never_taken_as_a_text(
        self, stage: Stage, ada: HasTypedAnswers, text: str
    ) -> None:
        ask = await create_viewed_ask(stage, [QUOTED], ada)
        assert not await ada.type_message(text)
        await wait_for_steps(stage, ask, ada, after=0)

    @pytest.mark.rule("TYPED-13")
    async def test_a_file_is_answered_and_the_words_sent_with_one_are_taken(
        self, stage: Stage, ada: HasTypedAnswers
    ) -> None:
        ask = await create_viewed_ask(stage, [WHY, AGAIN], ada)
        assert not await ada.type_message("", with_file=True)
        assert _LABELS.text_missing in (await ada.refusals(1))[-1]
        await wait_for_steps(stage, ask, ada, after=0)
        assert await ada.type_message("because", with_file=True)
        assert _LABELS.files_left_out in (await ada.refusals(2))[-1]
        assert answered_values(await wait_for_steps(stage, ask, ada, after=1)) == ["because"]

    @pytest.mark.rule("TYPED-14")
    async def test_an_edit_is_taken_if_it_mends_a_refused_message_and_else_the_author_is_told(
        self, stage: Stage, ada: HasTypedAnswers
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, AGAIN], ada)
        assert not await ada.type_message("perhaps")
        await ada.refusals(1)
        await ada.edit_message("yes")
        while (await stage.harness.read_stored(ask.id)).revision == ask.revision:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        answered = await wait_for_steps(stage, ask, ada, after=1)
        assert answered_values(answered) == [True]
        for text in ("no", "no, really"):
            await ada.edit_message(text)
            assert _LABELS.edit_not_read in (await ada.refusals(2))[-1]
        assert await ada.type_message("no")
        assert len(await ada.refusals(2)) == 2
        assert answered_values(await wait_for_steps(stage, ask, ada, after=2)) == [True, False]

    @pytest.mark.rule("TYPED-11")
    @pytest.mark.parametrize(
        ("question", "text"),
        [
            (NUMBERED, "2"),
            (NUMBERED.model_copy(update={"answer_type": AnswerType.MULTI_SELECT}), "8, 2"),
        ],
        ids=["one", "several"],
    )
    async def test_where_a_label_and_a_number_disagree_nothing_is_taken(
        self, stage: Stage, ada: HasTypedAnswers, question: Question, text: str
    ) -> None:
        ask = await create_viewed_ask(stage, [question], ada)
        assert not await ada.type_message(text)
        assert f"{text} is ambiguous" in (await ada.refusals(1))[-1]
        await wait_for_steps(stage, ask, ada, after=0)

    @pytest.mark.rule("TYPED-15")
    @pytest.mark.parametrize("text", ["No.", "stop", "yes", "ok"])
    async def test_plain_words_deny_a_permission_and_none_allows_it(
        self, stage: Stage, ada: HasTypedAnswers, text: str
    ) -> None:
        question = WHERE.model_copy(update={"options": (ALLOW, DENY)})
        ask = await create_viewed_ask(stage, [question, AGAIN], ada)
        denies = text in {"No.", "stop"}
        assert await ada.type_message(text) is denies
        answered = await wait_for_steps(stage, ask, ada, after=int(denies))
        assert answered_values(answered) == (["deny"] if denies else [])

    @pytest.mark.rule("FORM-11", "TYPED-7")
    @pytest.mark.parametrize("text", ["\u200b", "\u2060\u3164"])
    @pytest.mark.parametrize("question", [WHY, QUOTED], ids=["text", "other"])
    async def test_a_message_that_draws_nothing_answers_nothing(
        self, stage: Stage, ada: HasTypedAnswers, question: Question, text: str
    ) -> None:
        ask = await create_viewed_ask(stage, [question], ada)
        assert not await ada.type_message(text)
        await wait_for_steps(stage, ask, ada, after=0)


@requires_capability(Capability.TYPED_ANSWERS)
class TypingContract:
    """Typed messages count only if they are meant for the ask."""

    @pytest.mark.rule("TYPED-1")
    async def test_messages_between_people_are_never_answers(
        self, stage: Stage, ada: HasTypedAnswers
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, AGAIN], ada)
        assert not await ada.type_message("no", meant=False)
        assert await ada.type_message("yes")
        assert answered_values(await wait_for_steps(stage, ask, ada, after=1)) == [True]

    @pytest.mark.rule("TYPED-6")
    async def test_a_person_may_type_as_soon_as_their_click_has_shown_the_next_question(
        self, stage: Stage, ada: HasTypedAnswers
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, AGAIN, WHY], ada)
        await ada.answer(GO, True)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        assert await ada.type_message("no")
        assert answered_values(await wait_for_steps(stage, ask, ada, after=2)) == [True, False]

    @pytest.mark.rule("TYPED-6", "TYPED-7")
    async def test_text_typed_before_the_next_question_is_shown_never_answers_it(
        self, stage: Stage, ada: HasTypedAnswers
    ) -> None:
        """Not even if the author opened that question: they saw the one before it."""
        ask = await create_viewed_ask(stage, [GO, AGAIN], ada)
        stored = await stage.harness.read_stored(ask.id)
        assert stored.opening.shown is not None
        await stage.harness.stop_showing()
        await answer_elsewhere(stage, ask, ada, at=stored.opening.shown)
        assert not await ada.type_message("yes")
        await stage.restart()
        assert answered_values(await wait_for_steps(stage, ask, ada, after=1)) == [True]
        assert await ada.type_message("no")
        assert answered_values(await wait_for_steps(stage, ask, ada, after=2)) == [True, False]

    @pytest.mark.rule("TYPED-7", "SURFACE-9")
    async def test_messages_of_a_person_who_may_not_answer_are_not_taken(
        self, stage: Stage, ada: SimulatedPerson, bob: HasTypedAnswers
    ) -> None:
        ask = await create_viewed_ask(stage, [WHY], ada)
        await bob.look_at(ask)
        assert not await bob.type_message("I say no")
        await wait_for_steps(stage, ask, ada, after=0)

    @pytest.mark.rule("TYPED-9", "TYPED-12")
    @pytest.mark.parametrize("answered", [False, True], ids=["same question", "next question"])
    async def test_text_typed_where_an_ask_no_longer_is_answers_nothing(
        self, stage: Stage, ada: HasTypedAnswers, bob: SimulatedPerson, answered: bool
    ) -> None:
        """Not even if its old message still looks open, and its author may answer where the ask is now."""
        ask = await _create_escalating_ask(stage, [GO, AGAIN], ada, bob)
        service = stage.harness.service
        await stage.harness.stop_showing()
        assert isinstance(await service.update(ask.id, _escalate_and_show), Acted)
        if answered:
            await answer_elsewhere(stage, ask, bob)
        assert not await ada.type_message("yes")
        await stage.restart()
        moved = await stage.harness.wait_until_shown(ask.id)
        assert answered_values(moved) == ([True] if answered else [])
        assert moved.placement.destination.user == bob.user_id


def _escalate_and_show(ask: Ask, at: float) -> Change | None:
    """Escalate an ask that people can see at once where it goes: from then on, its old place counts no more."""
    change = escalate(ask, at)
    return change and change._replace(
        ask=replace(change.ask, placement=replace(change.ask.placement, place_before=None))
    )


async def _create_escalating_ask(
    stage: Stage, questions: Sequence[Question], viewer: SimulatedPerson, other: SimulatedPerson
) -> Ask:
    """Create an ask that escalates to a direct message to ``other``, and that ``viewer`` has looked at."""
    to = Destination(surface=stage.place.surface, user=other.user_id)
    who = (viewer.user_id, other.user_id)
    escalation = Escalation(after=9_999.0, to=to, responders=who)
    form, request = Form(questions=tuple(questions)), {"escalation": escalation}
    ask = await stage.harness.create_ask(form, stage.place, who, request=request)
    await viewer.look_at(ask)
    return ask
