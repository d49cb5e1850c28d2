"""The service is stopped half-way, the platform says "too fast", the message is deleted: nothing is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from answerback.core.ask import Status
from answerback.ports.surface import Reminds
from answerback.testing.simulated_people import (
    Capability,
    Desk,
    HasDeletion,
    HasModals,
    HasRateLimits,
    HasReminders,
    Stage,
    needs,
)
from answerback.testing.surface_clicks import acts, opened, stands, values
from answerback.testing.surface_questions import AGAIN, GO, WHERE, WHY


class OutagesContract:
    """Every ask goes on where it stood, and every message comes to show it."""

    @pytest_asyncio.fixture(loop_scope="class")
    async def limits(self, stage: Stage) -> AsyncIterator[HasRateLimits]:
        """The platform, about to say "too fast". The service forgets that it has, which would slow other cases."""
        assert isinstance(stage, HasRateLimits)
        yield stage
        stage.limits(0)
        await stage.restart()

    @pytest.mark.rule("DATA-1")
    async def test_a_walk_goes_on_after_a_restart_on_the_message_from_before_it(
        self, stage: Stage, ada: Desk
    ) -> None:
        ask = await opened(stage, [GO, WHERE, AGAIN], ada)
        await ada.answers(GO, True)
        await stands(stage, ask, ada, after=1)
        await stage.restart()
        await ada.answers(WHERE, "p")
        await stands(stage, ask, ada, after=2)
        await ada.goes_back()
        await stands(stage, ask, ada, after=3)
        assert await ada.starts_from(WHERE) == "p"
        await ada.answers(WHERE, "s")
        await stands(stage, ask, ada, after=4)
        await stage.restart()
        await ada.answers(AGAIN, False)
        ask = await stands(stage, ask, ada, after=5)
        assert (ask.status, values(ask)) == (Status.ANSWERED, [True, "s", False])

    @pytest.mark.rule("DATA-2")
    async def test_what_was_not_shown_before_a_stop_is_shown_after_the_start(
        self, stage: Stage, ada: Desk
    ) -> None:
        ask = await opened(stage, [GO, WHY], ada)
        await stage.bench.stops_showing()
        await acts(stage, ask, ada)
        await stage.restart()
        await stands(stage, ask, ada, after=1)

    @pytest.mark.rule("DATA-1")
    async def test_who_comes_after_a_restart_sees_what_is_open(
        self, stage: Stage, ada: Desk
    ) -> None:
        ask = await opened(stage, [GO, WHY], ada)
        await stage.restart()
        await stands(stage, ask, await stage.person("Cleo"), after=0)

    @needs(Capability.MODALS)
    @pytest.mark.rule("DATA-1")
    async def test_a_modal_that_was_open_over_a_restart_is_taken(
        self, stage: Stage, ada: Desk
    ) -> None:
        ask = await opened(stage, [WHY, GO], ada)
        assert isinstance(ada, HasModals)
        assert await ada.opens_modal()
        await stage.restart()
        await ada.hands_in("written all the while")
        assert values(await stands(stage, ask, ada, after=1)) == ["written all the while"]

    @needs(Capability.RATE_LIMITS)
    @pytest.mark.rule("DATA-7", "PLACE-4")
    async def test_an_ask_is_posted_once_however_often_the_platform_says_too_fast(
        self, stage: Stage, ada: Desk, limits: HasRateLimits
    ) -> None:
        before = limits.limited()
        limits.limits(3)
        ask = await opened(stage, [GO, WHY], ada)
        assert limits.limited() == before + 3
        await stands(stage, ask, ada, after=0)

    @needs(Capability.RATE_LIMITS)
    @pytest.mark.rule("DATA-4", "DATA-7")
    async def test_an_answer_counts_while_the_platform_says_too_fast_and_is_shown_afterwards(
        self, stage: Stage, ada: Desk, limits: HasRateLimits
    ) -> None:
        ask = await opened(stage, [GO, AGAIN, WHY], ada)
        before = limits.limited()
        limits.limits(3)
        await acts(stage, ask, ada)  # elsewhere: the message has to be edited
        ask = await stands(stage, ask, ada, after=1)
        assert limits.limited() == before + 3
        limits.limits(3)
        await ada.answers(AGAIN, False)
        stored = await stage.bench.store.get(ask.id)
        assert stored is not None
        assert values(stored) == [True, False]
        await stands(stage, ask, ada, after=1)

    @needs(Capability.DELETION)
    @pytest.mark.rule("PLACE-1")
    async def test_a_message_that_is_deleted_is_posted_again_with_nobody_acting(
        self, stage: Stage, ada: Desk
    ) -> None:
        ask = await opened(stage, [GO, WHY], ada)
        assert isinstance(ada, HasDeletion)
        await ada.deletes()
        await ada.looks(await stage.bench.shown(ask.id))
        await ada.answers(GO, True)
        await stands(stage, ask, ada, after=1)

    @needs(Capability.REMINDERS)
    @pytest.mark.rule("SURFACE-13")
    async def test_a_reminder_is_given_once_for_each_number(self, stage: Stage, ada: Desk) -> None:
        ask = await opened(stage, [GO], ada)
        [surface] = stage.bench.service.surfaces.values()
        assert isinstance(surface, Reminds)
        assert isinstance(ada, HasReminders)
        for number, count in ((0, 1), (0, 1), (1, 2), (1, 2)):
            await surface.remind(ask, number)
            assert await ada.reminders(count) == count
        await ada.answers(GO, True)
        await stands(stage, ask, ada, after=1)
