"""Contract tests for approvals whose host no longer waits: nobody is offered a decision, and the agent can be told."""

from __future__ import annotations

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.form import Form
from answerback.ports.late_answers import SeenState
from answerback.ports.surface import Acted
from answerback_testing.simulated_people import SimulatedPerson, Stage
from answerback_testing.surface_clicks import create_viewed_ask
from answerback_testing.surface_people import read_normalized_text
from answerback_testing.surface_questions import GO, LABELS


class TooLateContract:
    """Contract of approvals that their host gave up."""

    @staticmethod
    async def _end_unanswered(stage: Stage, *responders: str) -> Ask:
        ask = await stage.harness.create_ask(
            Form(questions=(GO,)), stage.place, responders, request={"dialect": "approval"}
        )
        done = await stage.harness.service.approval_leases.report_no_answer(ask.id)
        assert isinstance(done, Acted)
        return await stage.harness.wait_until_shown(ask.id)

    @pytest.mark.rule("LATE-7", "LATE-9")
    @pytest.mark.parametrize("text", [None, "On staging."])
    async def test_a_denied_approval_offers_only_to_tell_the_agent_to_try_again(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson, text: str | None
    ) -> None:
        ask = await self._end_unanswered(stage, ada.user_id, bob.user_id)
        await ada.look_at(ask)
        await bob.look_at(ask)
        read = await read_normalized_text(ada)
        for part in LABELS.denied.split("{time}"):
            assert part.strip().casefold() in read
        assert ada.available_actions() == {"try_again"}
        await ada.try_again(text)
        ask = await stage.harness.wait_until_shown(ask.id)
        assert (ask.status, ask.revision) == (Status.EXPIRED, 2)
        assert ask.retry_request is not None
        assert ask.retry_request.text == text
        assert (ask.retry_request.by or ada).user_id == ada.user_id
        await ada.look_at(ask)
        assert ada.available_actions() == set()
        line = LABELS.told_to_try_again.format(name=ada.name).casefold()
        assert line in (said := await read_normalized_text(ada))
        assert (text or "").casefold() in said
        await bob.try_again()  # on the message as it was before
        assert (await stage.harness.wait_until_shown(ask.id)).retry_request == ask.retry_request

    @pytest.mark.rule("LATE-9")
    async def test_only_a_responder_tells_the_agent_to_try_again(
        self, stage: Stage, ada: SimulatedPerson, bob: SimulatedPerson
    ) -> None:
        ask = await self._end_unanswered(stage, ada.user_id)
        await bob.look_at(ask)
        if "try_again" in bob.available_actions():
            await bob.try_again()
        assert (await stage.harness.wait_until_shown(ask.id)).retry_request is None

    @pytest.mark.rule("LATE-8")
    async def test_an_approval_whose_caller_is_gone_is_not_called_denied(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        ask = await stage.harness.create_ask(
            Form(questions=(GO,)),
            stage.place,
            (ada.user_id,),
            request={"dialect": "approval", "ends_with_caller": True},
            wait_seconds=-3_600.0,
        )
        service = stage.harness.service
        service.approval_leases.run_since(service.clock.monotonic() - 3_600.0)
        await service.approval_leases.end_lease(ask.id)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        read = await read_normalized_text(ada)
        assert LABELS.no_longer_waits.partition("{label}")[2].casefold() in read
        assert LABELS.denied.partition(" ")[0].casefold() not in read

    @pytest.mark.rule("LATE-11")
    async def test_an_ended_ask_says_whether_its_agent_has_the_answer(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        form, service = Form(questions=(GO,)), stage.harness.service
        ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,))
        await service.set_attended(ask.id, attended=False)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        await ada.answer(GO, True)
        got = LABELS.collected.partition("{label}")[2].partition("{when}")[0].casefold()

        async def read() -> str:
            await ada.look_at(await stage.harness.wait_until_shown(ask.id))
            return await read_normalized_text(ada)

        assert LABELS.not_collected in await read()
        for state, has_it in (SeenState.LISTED, True), (SeenState.UNSEEN, False), (SeenState.SEEN, True):  # fmt: skip
            await service.late_answer_tracker.save_seen([ask.id], state)
            assert (LABELS.not_collected not in await read(), got in await read()) == (has_it,) * 2

    @pytest.mark.rule("SURFACE-30")
    async def test_an_ended_ask_says_what_was_decided_on_and_how_long_it_waited(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        question = GO.model_copy(update={"context": "git push --force origin main"})
        ask = await create_viewed_ask(stage, [question], ada)
        await ada.answer(question, True)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        read = await read_normalized_text(ada)
        for part in ("git push --force origin main", LABELS.waited.partition("{time}")[0]):
            assert part.casefold() in read
