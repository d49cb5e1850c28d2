"""Contract tests for what every surface shows about people: who may answer and until when, who answered and when."""

from __future__ import annotations

import pytest

from answerback.core.ask import ANYONE
from answerback.core.form import Form
from answerback.core.urgency import MarkColor, RouteMark, Urgency
from answerback_testing.simulated_people import (
    Capability,
    HasAskingBack,
    HasMentions,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_clicks import create_viewed_ask
from answerback_testing.surface_questions import GO, LABELS, WHERE, WHY

HOUR = 3_600.0
SECRET = "tellnobody"
QUESTION = "Does that lock the table?"
EXPLANATION = "It **reads only**:\n\n- one lock"


class PeopleContract:
    """The message names the people it concerns."""

    @pytest.mark.rule("SURFACE-17")
    async def test_the_message_says_who_may_answer_and_until_when(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        until = stage.harness.service.clock.now() + HOUR
        ask = await create_viewed_ask(stage, [GO], ada, bob, expires_at=until)
        read = await read_normalized_text(ada, bob)
        for label in (LABELS.for_whom, LABELS.closes):
            assert label.partition("{")[0].casefold() in read
        assert ada.name.casefold() in read
        assert bob.name.casefold() in read
        await ada.answer(GO, True)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        read = await read_normalized_text(ada, bob)
        assert LABELS.closes.partition("{")[0].casefold() not in read

    @pytest.mark.rule("SURFACE-17")
    async def test_the_message_says_that_anyone_may_answer(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        ask = await stage.harness.create_ask(Form(questions=(GO,)), stage.place, (ANYONE,))
        await ada.look_at(ask)
        assert LABELS.for_anyone.casefold() in await read_normalized_text(ada)

    @pytest.mark.rule("URGENCY-3", "URGENCY-4")
    async def test_the_message_says_how_urgent_it_is_and_names_its_route_in_a_word(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        mark = RouteMark(word="production", color=MarkColor.RED)
        request = {"urgency": Urgency.HIGH, "mark": mark}
        ask = await create_viewed_ask(stage, [GO], ada, request=request)
        read = await read_normalized_text(ada)
        assert LABELS.urgent.casefold() in read
        assert mark.word in read
        await ada.answer(GO, True)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        assert LABELS.urgent.casefold() not in await read_normalized_text(ada)

    @pytest.mark.rule("WHO-5")
    async def test_the_record_says_who_gave_each_answer(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, WHERE], ada, bob)
        await ada.answer(GO, True)
        ask = await stage.harness.wait_until_shown(ask.id)
        await bob.look_at(ask)
        assert ada.name.casefold() in await read_normalized_text(bob, ada)
        await bob.answer(WHERE, "p")
        ask = await stage.harness.wait_until_shown(ask.id)
        await bob.look_at(ask)
        read = await read_normalized_text(bob, ada)
        for person in (ada, bob):
            assert LABELS.by.format(name=person.name).casefold() in read
        assert [given.at for given in ask.walk.answers] == sorted(
            given.at for given in ask.walk.answers if given.at is not None
        )

    @pytest.mark.rule("CLARIFY-1", "CLARIFY-2", "WALK-16")
    @requires_capability(Capability.ASKING_BACK)
    async def test_asking_back_leaves_the_question_open_and_shows_the_explanation(
        self, stage: Stage, ada: HasAskingBack, bob: SimulatedPerson
    ) -> None:
        request = {"accepts": ("clarify",)}
        ask = await create_viewed_ask(stage, [GO, WHERE], ada, bob, request=request)
        assert "ask_back" in ada.available_actions()
        await ada.ask_back(QUESTION)
        ask = await stage.harness.wait_until_shown(ask.id)
        assert (ask.question, ask.revision) == (GO, 2)
        assert [aside.text for aside in ask.asides] == [QUESTION]
        await bob.answer(GO, True)  # on the message as it was before
        assert (await stage.harness.wait_until_shown(ask.id)).question == GO
        await ada.look_at(ask)
        waiting = LABELS.explaining.format(label="").strip().casefold()
        assert waiting in await read_normalized_text(ada)
        assert QUESTION.casefold() in await read_normalized_text(ada)
        await stage.harness.service.explain(ask.id, EXPLANATION)
        ask = await stage.harness.wait_until_shown(ask.id)
        await ada.answer(GO, True)  # without having seen it
        assert (await stage.harness.wait_until_shown(ask.id)).question == GO
        await ada.look_at(ask)
        read = await read_normalized_text(ada)
        assert waiting not in read
        explained = LABELS.explained.format(label="The assistant")
        for text in (QUESTION, explained, "reads only", "one lock"):
            assert text.casefold() in read
        await ada.answer(GO, True)
        ask = await stage.harness.wait_until_shown(ask.id)
        assert ask.question == WHERE
        await ada.look_at(ask)
        assert QUESTION.casefold() not in await read_normalized_text(ada)

    @pytest.mark.rule("API-18")
    async def test_an_erased_ask_shows_nothing_of_what_was_said(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        asked = WHY.model_copy(update={"text": f"Why {SECRET}?", "context": f"It is {SECRET}."})
        request = {"accepts": ("clarify",)}
        ask = await create_viewed_ask(stage, [GO, asked], ada, request=request)
        await ada.answer(GO, True)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        await stage.harness.service.explain(ask.id, f"Because {SECRET}.")
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        assert (await read_normalized_text(ada)).count(SECRET) >= 3
        await ada.answer(asked, f"So {SECRET}")
        ask = await stage.harness.wait_until_shown(ask.id)
        await ada.look_at(ask)
        assert SECRET in await read_normalized_text(ada)
        await stage.harness.service.erase(ask.id)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        read = await read_normalized_text(ada)
        assert LABELS.erased.casefold() in read
        for text in (SECRET, GO.text.casefold(), LABELS.by.format(name=ada.name).casefold()):
            assert text not in read

    @pytest.mark.rule("SURFACE-18")
    @requires_capability(Capability.MENTIONS)
    @pytest.mark.parametrize("mention", [True, False])
    async def test_responders_are_mentioned_if_the_route_says_so(
        self, stage: Stage, ada: HasMentions, bob: SimulatedPerson, mention: bool
    ) -> None:
        await create_viewed_ask(stage, [GO], ada, bob, request={"mention": mention})
        assert any(bob.user_id in whom for whom in ada.mentions_and_links()) is mention


async def read_normalized_text(person: SimulatedPerson, *others: SimulatedPerson) -> str:
    """Return what a person reads, with mentions replaced by names as in a client, and without case."""
    text = await person.read_all_text()
    for each in (person, *others):
        text = text.replace(f"<@{each.user_id}>", each.name)
    return " ".join(text.casefold().split())
