"""Contract tests for what happens while the service is down: it is found after the start, without an event."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.form import Form
from answerback_testing.simulated_people import (
    Capability,
    HasRemoval,
    HasUnnoticedChanges,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_clicks import create_viewed_ask, wait_for_steps
from answerback_testing.surface_questions import GO, WHY

_WAIT = 30.0
_PAUSE = 0.02


class GapsContract:
    """A message that is gone is posted again; where nobody can answer any more, all asks fail."""

    @requires_capability(Capability.UNNOTICED_CHANGES)
    @pytest.mark.rule("PLACE-1")
    async def test_a_message_that_was_deleted_while_the_service_was_down_is_posted_again(
        self, stage: HasUnnoticedChanges, ada: SimulatedPerson
    ) -> None:
        asks = [await create_viewed_ask(stage, [GO, WHY], ada) for _ in range(3)]
        _, gone, other = asks
        stage.delete_unnoticed(gone)
        await stage.restart_after_gap()
        again = await _until(
            stage, gone, lambda ask: ask.placement.message != gone.placement.message
        )
        await ada.look_at(await stage.harness.wait_until_shown(again.id))
        await ada.answer(GO, True)
        await wait_for_steps(stage, again, ada, after=1)
        stored = await stage.harness.wait_until_shown(other.id)
        assert stored.placement.message == other.placement.message, "the others stay where they are"

    @requires_capability(Capability.UNNOTICED_CHANGES)
    @pytest.mark.rule("PLACE-2")
    async def test_a_place_that_was_closed_while_the_service_was_down_fails_every_ask_in_it(
        self, stage: HasUnnoticedChanges, ada: SimulatedPerson
    ) -> None:
        asks = [await create_viewed_ask(stage, [GO, WHY], ada) for _ in range(2)]
        stage.close_place_unnoticed(closed=True)
        try:
            await stage.restart_after_gap()
            for ask in asks:
                failed = await _until(stage, ask, lambda each: not each.open)
                assert failed.status is Status.FAILED
                assert failed.outcome is not None
                assert "could not reach anyone" in str(failed.outcome.message)
            await stage.harness.wait_until_shown(asks[0].id)
        finally:
            stage.close_place_unnoticed(closed=False)

    @requires_capability(Capability.REMOVAL)
    @pytest.mark.rule("PLACE-7")
    async def test_a_bot_that_is_added_again_shows_how_asks_ended_and_what_waits(
        self, stage: HasRemoval, ada: SimulatedPerson
    ) -> None:
        asks = [await create_viewed_ask(stage, [GO, WHY], ada) for _ in range(2)]
        await stage.remove_bot()
        for ask in asks:
            assert (await _until(stage, ask, lambda each: not each.open)).status is Status.FAILED
        unseen = await stage.harness.create_ask(
            Form(questions=(GO, WHY)), stage.place, (ada.user_id,)
        )
        await stage.add_bot()
        async with asyncio.timeout(_WAIT):
            for ask in asks:
                while True:
                    await ada.look_at(await stage.harness.wait_until_shown(ask.id))
                    if not ada.available_actions():
                        break
                    await asyncio.sleep(_PAUSE)
        await _until(stage, unseen, lambda each: each.placement.was_visible or not each.open)
        again = await create_viewed_ask(stage, [GO, WHY], ada)
        await ada.answer(GO, True)
        await wait_for_steps(stage, again, ada, after=1)


async def _until(stage: Stage, ask: Ask, holds: Callable[[Ask], bool]) -> Ask:
    async with asyncio.timeout(_WAIT):
        while not holds(stored := await stage.harness.read_stored(ask.id)):  # noqa: ASYNC110 nothing signals it
            await asyncio.sleep(_PAUSE)
    return stored
