"""Text typed where an ask no longer is: no answer to anything, and its author is told where the ask is now."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerback.core.ask import Ask, Destination
from answerback.presentation.wording import surface_name
from tests.service_support import escalate_to
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, MODES, Mode, Rig, rig, run_app, workspace

ELSEWHERE = Destination(surface="slack", channel="C0ELSE")
NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}


def note(up: Rig) -> str:
    [said] = up.ada.private_notes(CHANNEL)
    return said


async def leave_behind(up: Rig, ask: Ask, to: Destination = ELSEWHERE) -> Ask:
    """Escalate an ask whose message stays as it is, because nothing is shown any more."""
    await up.app.shower.stop()
    return await escalate_to(up.app.service, ask, to)


@pytest.mark.rule("TYPED-12")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ended", [False, True])
async def test_the_author_is_told_where_the_question_is_now(
    tmp_path: Path, mode: Mode, ended: bool
) -> None:
    async with rig(tmp_path, mode) as up:
        ask = await up.submit(NOTE)
        moved = await leave_behind(up, ask)
        if ended:
            await up.app.service.withdraw(ask.id)
        up.slack.clock.advance(2)
        await up.ada.mention_bot(CHANNEL, "because", thread=up.live(ask).ts)
        await up.slack.until(lambda: up.ada.private_notes(CHANNEL))
        says = LABELS.has_ended.partition("{")[0] if ended else "has moved to"
        assert says in note(up)
        assert ended or "#C0ELSE" in note(up)
        stored = await up.app.store.asks.get(ask.id)
        assert stored is not None
        assert (stored.walk.answers, stored.revision) == ((), moved.revision + ended)


@pytest.mark.rule("TYPED-12")
async def test_the_author_is_told_that_the_question_is_on_another_surface(up: Rig) -> None:
    ask = await up.submit(NOTE)
    await leave_behind(up, ask, Destination(surface="web"))
    await up.type_answer(ask, "because")
    [said] = await up.wait_for_notes(up.ada)
    assert said.startswith(LABELS.escalated.format(where=surface_name("web", LABELS)))


@pytest.mark.rule("TYPED-9", "TYPED-12")
async def test_with_another_question_open_there_the_text_answers_neither(tmp_path: Path) -> None:
    async with rig(tmp_path, "socket") as up:
        stays, goes = await up.submit(NOTE), await up.submit(NOTE)
        await leave_behind(up, goes)
        up.slack.clock.advance(2)
        await up.ada.mention_bot(CHANNEL, "because")
        await up.slack.until(lambda: up.ada.private_notes(CHANNEL))
        assert note(up) == LABELS.which_one_thread
        for ask in (stays, goes):
            stored = await up.app.store.asks.get(ask.id)
            assert stored is not None
            assert stored.walk.answers == ()


@pytest.mark.rule("TYPED-8", "TYPED-12")
async def test_text_typed_there_while_the_service_is_down_is_not_forgotten(tmp_path: Path) -> None:
    async with workspace() as (slack, ada, bob):
        slack.event_types = set()
        slack.workspace.add_channel("C0ELSE")
        async with run_app(slack, tmp_path / "a.db", "socket") as app:
            up = Rig(slack, app, ada, bob)
            ask = await up.submit(NOTE)
            await leave_behind(up, ask)
        slack.clock.advance(2)
        await ada.mention_bot(CHANNEL, "because", thread=up.live(ask).ts)
        async with run_app(slack, tmp_path / "a.db", "socket") as app:
            up = Rig(slack, app, ada, bob)
            await slack.until(lambda: ada.private_notes(CHANNEL))
            assert "has moved to #C0ELSE" in note(up)
            assert (await up.shown(ask)).walk.answers == ()
