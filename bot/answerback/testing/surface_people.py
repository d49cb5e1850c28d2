"""Who may answer and until when, and who answered and when: what people can read of it on every surface."""

from __future__ import annotations

import pytest

from answerback.core.ask import ANYONE
from answerback.core.form import Form
from answerback.testing.simulated_people import (
    Capability,
    Desk,
    HasAskingBack,
    HasMentions,
    Stage,
    needs,
)
from answerback.testing.surface_questions import GO, LABELS, WHERE, WHY

HOUR = 3_600.0
SECRET = "tellnobody"
QUESTION = "Does that lock the table?"
EXPLANATION = "It **reads only**:\n\n- one lock"


class PeopleContract:
    """The message names the people that it concerns."""

    @pytest.mark.rule("SURFACE-17")
    async def test_the_message_says_who_may_answer_and_until_when(
        self, stage: Stage, ada: Desk, bob: Desk
    ) -> None:
        until = stage.bench.service.clock.now() + HOUR
        asked = (ada.user_id, bob.user_id)
        ask = await stage.bench.opens(Form(questions=(GO,)), stage.place, asked, expires_at=until)
        await ada.looks(ask)
        read = await reads(ada, bob)
        for said in (LABELS.for_whom, LABELS.closes):
            assert said.partition("{")[0].casefold() in read
        assert ada.name.casefold() in read
        assert bob.name.casefold() in read
        await ada.answers(GO, True)
        await ada.looks(await stage.bench.shown(ask.id))
        assert LABELS.closes.partition("{")[0].casefold() not in await reads(ada, bob)

    @pytest.mark.rule("SURFACE-17")
    async def test_the_message_says_that_anyone_may_answer(self, stage: Stage, ada: Desk) -> None:
        ask = await stage.bench.opens(Form(questions=(GO,)), stage.place, (ANYONE,))
        await ada.looks(ask)
        assert LABELS.for_anyone.casefold() in await reads(ada)

    @pytest.mark.rule("WHO-5")
    async def test_the_record_says_who_gave_each_answer(
        self, stage: Stage, ada: Desk, bob: Desk
    ) -> None:
        form, asked = Form(questions=(GO, WHERE)), (ada.user_id, bob.user_id)
        ask = await stage.bench.opens(form, stage.place, asked)
        await ada.looks(ask)
        await ada.answers(GO, True)
        ask = await stage.bench.shown(ask.id)
        await bob.looks(ask)
        assert ada.name.casefold() in await reads(bob, ada)
        await bob.answers(WHERE, "p")
        ask = await stage.bench.shown(ask.id)
        await bob.looks(ask)
        read = await reads(bob, ada)
        for desk in (ada, bob):
            assert LABELS.by.format(name=desk.name).casefold() in read
        assert [given.at for given in ask.walk.answers] == sorted(
            given.at for given in ask.walk.answers if given.at is not None
        )

    @pytest.mark.rule("CLARIFY-1", "CLARIFY-2", "WALK-16")
    @needs(Capability.ASKING_BACK)
    async def test_who_asks_back_leaves_the_question_open_and_sees_the_explanation(
        self, stage: Stage, ada: Desk, bob: Desk
    ) -> None:
        assert isinstance(ada, HasAskingBack)
        form, asked = Form(questions=(GO, WHERE)), (ada.user_id, bob.user_id)
        ask = await stage.bench.opens(form, stage.place, asked, request={"accepts": ("clarify",)})
        await bob.looks(ask)
        await ada.looks(ask)
        assert "ask_back" in ada.offers()
        await ada.asks_back(QUESTION)
        ask = await stage.bench.shown(ask.id)
        assert (ask.question, ask.revision) == (GO, 2)
        assert [aside.text for aside in ask.asides] == [QUESTION]
        await bob.answers(GO, True)  # by the message as it was before
        assert (await stage.bench.shown(ask.id)).question == GO
        await ada.looks(ask)
        waiting = LABELS.explaining.format(label="").strip().casefold()
        assert waiting in await reads(ada)
        assert QUESTION.casefold() in await reads(ada)
        await stage.bench.service.explain(ask.id, EXPLANATION)
        ask = await stage.bench.shown(ask.id)
        await ada.answers(GO, True)  # without having seen it
        assert (await stage.bench.shown(ask.id)).question == GO
        await ada.looks(ask)
        read = await reads(ada)
        assert waiting not in read
        for said in (
            QUESTION,
            LABELS.explained.format(label="Assistant"),
            "reads only",
            "one lock",
        ):
            assert said.casefold() in read
        await ada.answers(GO, True)
        ask = await stage.bench.shown(ask.id)
        assert ask.question == WHERE
        await ada.looks(ask)
        assert QUESTION.casefold() not in await reads(ada)

    @pytest.mark.rule("CLARIFY-1")
    async def test_an_agent_that_does_not_accept_it_is_not_asked_back(
        self, stage: Stage, ada: Desk
    ) -> None:
        ask = await stage.bench.opens(Form(questions=(GO,)), stage.place, (ada.user_id,))
        await ada.looks(ask)
        assert "ask_back" not in ada.offers()

    @pytest.mark.rule("API-18")
    async def test_an_erased_ask_shows_nothing_of_what_was_said(
        self, stage: Stage, ada: Desk
    ) -> None:
        asked = WHY.model_copy(update={"text": f"Why {SECRET}?", "context": f"It is {SECRET}."})
        form, request = Form(questions=(GO, asked)), {"accepts": ("clarify",)}
        ask = await stage.bench.opens(form, stage.place, (ada.user_id,), request=request)
        await ada.looks(ask)
        await ada.answers(GO, True)
        await ada.looks(await stage.bench.shown(ask.id))
        await stage.bench.service.explain(ask.id, f"Because {SECRET}.")
        await ada.looks(await stage.bench.shown(ask.id))
        assert (await reads(ada)).count(SECRET) >= 3
        await ada.answers(asked, f"So {SECRET}")
        ask = await stage.bench.shown(ask.id)
        await ada.looks(ask)
        assert SECRET in await reads(ada)
        await stage.bench.service.erase(ask.id)
        await ada.looks(await stage.bench.shown(ask.id))
        read = await reads(ada)
        assert LABELS.erased.casefold() in read
        for said in (SECRET, GO.text.casefold(), LABELS.by.format(name=ada.name).casefold()):
            assert said not in read

    @pytest.mark.rule("SURFACE-18")
    @needs(Capability.MENTIONS)
    @pytest.mark.parametrize("mention", [True, False])
    async def test_responders_are_mentioned_where_the_route_says_so(
        self, stage: Stage, ada: Desk, bob: Desk, mention: bool
    ) -> None:
        assert isinstance(ada, HasMentions)
        asked = (ada.user_id, bob.user_id)
        form, request = Form(questions=(GO,)), {"mention": mention}
        ask = await stage.bench.opens(form, stage.place, asked, request=request)
        await ada.looks(ask)
        assert any(bob.user_id in whom for whom in ada.notified()) is mention


async def reads(desk: Desk, *others: Desk) -> str:
    """What a person reads, mentions as the names that clients show; regardless of capitals."""
    read = await desk.reads()
    for one in (desk, *others):
        read = read.replace(f"<@{one.user_id}>", one.name)
    return " ".join(read.casefold().split())
