"""Contract tests for outages: nothing is lost by a restart, a rate limit, or the deletion of a message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
import pytest_asyncio

from answerback.core.ask import Ask, Change, Status
from answerback_testing.simulated_people import (
    Capability,
    HasDeletion,
    HasLateEdits,
    HasModals,
    HasRateLimits,
    HasReminders,
    HasTokens,
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
from answerback_testing.surface_questions import AGAIN, GO, LABELS, WHERE, WHY

_WAIT = 30.0


class OutagesContract:
    """Every ask continues where it was, and its message catches up."""

    @pytest_asyncio.fixture(loop_scope="class")
    async def limits(self, stage: HasRateLimits) -> AsyncIterator[HasRateLimits]:
        """A platform that can rate limit. The restart at the end clears limits that would slow down other tests."""
        yield stage
        stage.rate_limit_next(0)
        await stage.restart()

    @pytest.mark.rule("DATA-1")
    async def test_a_walk_continues_after_a_restart_on_the_old_message(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, WHERE, AGAIN], ada)
        await ada.answer(GO, True)
        await wait_for_steps(stage, ask, ada, after=1)
        await stage.restart()
        await ada.answer(WHERE, "p")
        await wait_for_steps(stage, ask, ada, after=2)
        await ada.go_back()
        await wait_for_steps(stage, ask, ada, after=3)
        assert await ada.read_prefill(WHERE) == "p"
        await ada.answer(WHERE, "s")
        await wait_for_steps(stage, ask, ada, after=4)
        await stage.restart()
        await ada.answer(AGAIN, False)
        ask = await wait_for_steps(stage, ask, ada, after=5)
        assert (ask.status, answered_values(ask)) == (Status.ANSWERED, [True, "s", False])

    @pytest.mark.rule("DATA-2")
    async def test_a_change_that_was_not_shown_before_a_stop_is_shown_after_the_start(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, WHY], ada)
        await stage.harness.stop_showing()
        await answer_elsewhere(stage, ask, ada)
        await stage.restart()
        await wait_for_steps(stage, ask, ada, after=1)

    @pytest.mark.rule("DATA-1")
    async def test_a_person_who_joins_after_a_restart_sees_the_open_question(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, WHY], ada)
        await stage.restart()
        await wait_for_steps(stage, ask, await stage.add_person("Cleo"), after=0)

    @requires_capability(Capability.MODALS)
    @pytest.mark.rule("DATA-1")
    async def test_a_modal_that_stayed_open_during_a_restart_is_accepted(
        self, stage: Stage, ada: HasModals
    ) -> None:
        ask = await create_viewed_ask(stage, [WHY, GO], ada)
        assert await ada.open_modal()
        await stage.restart()
        await ada.submit_modal("written all the while")
        assert answered_values(await wait_for_steps(stage, ask, ada, after=1)) == [
            "written all the while"
        ]

    @requires_capability(Capability.RATE_LIMITS)
    @pytest.mark.rule("DATA-7", "PLACE-4")
    async def test_an_ask_is_posted_once_however_often_it_is_rate_limited(
        self, stage: Stage, ada: SimulatedPerson, limits: HasRateLimits
    ) -> None:
        before = limits.count_rate_limited()
        limits.rate_limit_next(3)
        ask = await create_viewed_ask(stage, [GO, WHY], ada)
        assert limits.count_rate_limited() == before + 3
        await wait_for_steps(stage, ask, ada, after=0)

    @requires_capability(Capability.RATE_LIMITS)
    @pytest.mark.rule("DATA-4", "DATA-7")
    async def test_an_answer_counts_during_a_rate_limit_and_is_shown_afterwards(
        self, stage: Stage, ada: SimulatedPerson, limits: HasRateLimits
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, AGAIN, WHY], ada)
        before = limits.count_rate_limited()
        limits.rate_limit_next(3)
        await answer_elsewhere(stage, ask, ada)  # elsewhere: the message has to be edited
        ask = await wait_for_steps(stage, ask, ada, after=1)
        assert limits.count_rate_limited() == before + 3
        limits.rate_limit_next(3)
        await ada.answer(AGAIN, False)
        assert answered_values(await stage.harness.read_stored(ask.id)) == [True, False]
        await wait_for_steps(stage, ask, ada, after=1)

    @requires_capability(Capability.RATE_LIMITS)
    @requires_capability(Capability.TYPED_ANSWERS)
    @pytest.mark.rule("TYPED-7", "DATA-7")
    async def test_the_author_of_a_text_that_is_not_taken_is_told_despite_a_rate_limit(
        self, stage: Stage, ada: SimulatedPerson, bob: HasTypedAnswers, limits: HasRateLimits
    ) -> None:
        ask = await create_viewed_ask(stage, [WHY], ada)
        await bob.look_at(ask)
        before = limits.count_rate_limited()
        limits.rate_limit_next(1)
        assert not await bob.type_message("I say no")
        [note] = await bob.refusals(1)
        assert note.strip()
        assert limits.count_rate_limited() == before + 1
        await wait_for_steps(stage, ask, ada, after=0)

    @requires_capability(Capability.TOKENS)
    @pytest.mark.rule("PLACE-3")
    async def test_once_a_refused_token_is_accepted_again_everything_is_shown(
        self, stage: HasTokens, ada: SimulatedPerson
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, WHY], ada)
        [surface] = stage.harness.service.surfaces.values()
        stage.refuse_token(refused=True)
        await answer_elsewhere(stage, ask, ada)
        await _until(lambda: surface.unready_reason() is not None)
        await stage.harness.message_sync.wait_until_idle()
        before = _shown_count(stage)
        stage.refuse_token(refused=False)
        await _until(lambda: _shown_count(stage) > before)
        await wait_for_steps(stage, ask, ada, after=1)
        assert surface.unready_reason() is None

    @requires_capability(Capability.LATE_EDITS)
    @pytest.mark.rule("CLAIM-4", "DATA-4")
    async def test_an_edit_that_is_carried_out_after_a_later_one_is_undone(
        self, stage: HasLateEdits, ada: SimulatedPerson
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, AGAIN, WHY], ada)
        await _leave_edit_behind(stage, ask, ada)
        await _carry_out_edit(stage)
        await wait_for_steps(stage, ask, ada, after=2)

    @requires_capability(Capability.LATE_EDITS)
    @pytest.mark.rule("CLAIM-4", "DATA-4")
    async def test_an_edit_that_is_carried_out_after_a_restart_is_undone(
        self, stage: HasLateEdits, ada: SimulatedPerson
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, AGAIN], ada)
        await _leave_edit_behind(stage, ask, ada)
        await stage.restart()
        await wait_for_steps(stage, ask, ada, after=2)
        await _carry_out_edit(stage)
        await wait_for_steps(stage, ask, ada, after=2)

    @requires_capability(Capability.DELETION)
    @pytest.mark.rule("PLACE-1")
    async def test_a_deleted_message_is_posted_again_without_anyone_acting(
        self, stage: Stage, ada: HasDeletion
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, WHY], ada)
        await ada.delete_message()
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        await ada.answer(GO, True)
        await wait_for_steps(stage, ask, ada, after=1)

    @requires_capability(Capability.REMINDERS)
    @pytest.mark.rule("SURFACE-13")
    async def test_a_reminder_is_posted_once_per_number(
        self, stage: Stage, ada: HasReminders
    ) -> None:
        ask = await create_viewed_ask(stage, [GO], ada)
        for number, count in ((0, 1), (0, 1), (1, 2), (1, 2)):
            await stage.harness.remind(ask, number)
            assert await ada.count_reminders(count) == count
        await ada.answer(GO, True)
        await wait_for_steps(stage, ask, ada, after=1)

    @requires_capability(Capability.LATE_EDITS)  # a chat of lines edits nothing
    @requires_capability(Capability.DELETION)
    @requires_capability(Capability.REMINDERS)
    @pytest.mark.rule("PLACE-1", "SUBMIT-13", "SURFACE-13")
    @pytest.mark.parametrize("had_one", [True, False])
    async def test_the_reminders_of_a_deleted_message_are_neither_repeated_nor_left_open(
        self, stage: Stage, ada: HasReminders, had_one: bool
    ) -> None:
        """``had_one``: whether a reminder was posted before the message was deleted."""
        assert isinstance(ada, HasDeletion)
        ask = await create_viewed_ask(stage, [GO], ada)
        if had_one:
            await stage.harness.remind(ask, 0)
        await ada.delete_message()
        ask = await stage.harness.wait_until_shown(ask.id)
        await ada.look_at(ask)
        await stage.harness.remind(ask, 0)  # again, since it is not known that it was posted
        assert await ada.count_reminders(1) == 1
        await stage.harness.remind(ask, 1)
        await stage.harness.remind(ask, 1)
        assert await ada.count_reminders(2) == 2
        await stage.harness.service.update(ask.id, _was_reminded_twice)
        await ada.answer(GO, True)
        await wait_for_steps(stage, ask, ada, after=1)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        read = ada.read_reminders().casefold()
        assert read.count(ada.name.casefold()) == 2
        assert LABELS.reminder.partition("{label}")[2].casefold() not in read

    @requires_capability(Capability.LATE_EDITS)  # a chat of lines edits nothing
    @requires_capability(Capability.REMINDERS)
    @pytest.mark.rule("API-18", "SURFACE-13")
    @pytest.mark.parametrize("are_closed", [False, True])
    async def test_the_reminders_of_an_erased_ask_show_nothing_of_it(
        self, stage: Stage, ada: HasReminders, are_closed: bool
    ) -> None:
        """``are_closed``: whether they said how the ask ended before it was erased."""
        ask = await create_viewed_ask(stage, [GO, AGAIN], ada)
        for number in range(2):
            await stage.harness.remind(ask, number)
        assert await ada.count_reminders(2) == 2
        await stage.harness.service.update(ask.id, _was_reminded_twice)
        await ada.answer(GO, True)
        await wait_for_steps(stage, ask, ada, after=1)
        if not are_closed:
            await stage.harness.stop_showing()
        await answer_elsewhere(stage, ask, ada)
        if are_closed:
            await ada.look_at(await stage.harness.wait_until_shown(ask.id))
            assert ada.name.casefold() in ada.read_reminders().casefold()
        else:
            assert GO.text.casefold() in ada.read_reminders().casefold()
        await stage.harness.service.erase(ask.id)
        await stage.restart()
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        read = ada.read_reminders().casefold()
        assert read.count(LABELS.erased.casefold()) == 2
        waiting = LABELS.reminder.partition("{label}")[2]
        for text in (GO.text, AGAIN.text, waiting, ada.name):
            assert text.casefold() not in read


def _was_reminded_twice(latest: Ask, _at: float) -> Change:
    return Change(replace(latest, schedule=replace(latest.schedule, reminders_done=2)), ())


async def _leave_edit_behind(stage: HasLateEdits, ask: Ask, by: SimulatedPerson) -> None:
    """Answer two questions; the platform has not carried out the first edit for the first, only later ones."""
    stage.delay_next_edit()
    await answer_elsewhere(stage, ask, by)
    await wait_for_steps(stage, ask, by, after=1)
    await answer_elsewhere(stage, ask, by)
    await wait_for_steps(stage, ask, by, after=2)


async def _carry_out_edit(stage: HasLateEdits) -> None:
    """Have the platform carry out the edit that was left behind, just before that is no longer possible."""
    await stage.carry_out_edit()
    stage.harness.run_timers()


def _shown_count(stage: Stage) -> int:
    """Return the number of times that a message was posted or edited."""
    syncs = [each.message_sync for each in (stage.harness, *stage.harness.other_replicas)]
    return sum(sync.show_counts.get((stage.place.surface, "shown"), 0) for sync in syncs)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(_WAIT):
        while not holds():  # noqa: ASYNC110 nothing signals it
            await asyncio.sleep(0.02)
