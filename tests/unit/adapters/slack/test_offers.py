"""A message in a question's thread that is not meant as an answer: its author is offered privately to use it as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.adapters.slack.rig import (
    CHANNEL,
    LABELS,
    Rig,
    run_app,
    workspace,
)

NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}


@pytest.mark.rule("TYPED-5")
async def test_a_responders_message_under_a_free_text_question_gets_one_offer(up: Rig) -> None:
    ask = await up.submit(NOTE)
    live = up.live(ask)
    await up.bob.type_in_thread(live, "not a responder")
    await up.ada.type_in_thread(live, "blue & <green>")
    [offer] = await up.wait_for_offers()
    said = await up.ada.type_in_thread(live, "or what do you think?")
    await up.slack.queue.settle()
    assert len(await up.wait_for_offers()) == 1
    assert (await up.shown(ask)).revision == 1
    assert NOTE["text"] in up.ada.sees(offer).text
    await up.ada.click(offer, LABELS.use_text)
    ask = await up.shown(ask)
    assert [g.value for g in ask.walk.answers] == ["blue & <green>"]
    [first] = [m for m in up.slack.messages(CHANNEL) if m.text == "blue &amp; &lt;green&gt;"]
    await up.wait_until_marked(first)
    await up.slack.until(lambda: offer.deleted)
    assert (said.reactions, up.bob.private_notes(CHANNEL)) == ({}, [])


@pytest.mark.rule("TYPED-5")
async def test_a_question_gets_an_offer_however_many_are_open_below_it(up: Rig) -> None:
    live = up.live(await up.submit(NOTE))
    for _ in range(10):
        await up.submit(NOTE, to=f"slack:{CHANNEL}/{live.ts}")
    up.slack.clock.advance(2)
    await up.ada.type_in_thread(live, "blue")
    assert len(await up.wait_for_offers()) == 1


@pytest.mark.rule("TYPED-5")
async def test_an_offer_is_for_its_question_only_and_no_message_is_too_long_for_it(
    up: Rig,
) -> None:
    ask = await up.submit(NOTE, {**NOTE, "id": "more"})
    live, long = up.live(ask), "word & " * 500
    said = await up.ada.type_in_thread(live, long)
    [first] = await up.wait_for_offers()
    await up.ada.click(first, LABELS.use_text)
    await up.wait_until_marked(said)
    assert (await up.shown(ask)).walk.answers[0].value == long
    await up.slack.until(lambda: first.deleted)
    up.slack.clock.advance(2)
    await up.ada.type_in_thread(live, "second")
    [second] = await up.wait_for_offers()
    await up.wait_until_marked(await up.type_answer(ask, "by mention"))
    await up.shown(ask)
    await up.ada.click(second, LABELS.use_text)
    assert "have ended" in (await up.wait_for_notes(up.ada, 2))[-1]
    assert [g.value for g in (await up.shown(ask)).walk.answers] == [long, "by mention"]


async def test_using_a_long_message_that_was_deleted_is_explained(up: Rig) -> None:
    ask = await up.submit(NOTE)
    said = await up.ada.type_in_thread(up.live(ask), "word " * 500)
    [offer] = await up.wait_for_offers()
    await up.ada.delete(said)
    await up.ada.click(offer, LABELS.use_text)
    assert (await up.wait_for_notes(up.ada, 2))[-1] == LABELS.text_not_saved
    assert (await up.shown(ask)).revision == 1


@pytest.mark.rule("TYPED-5")
async def test_a_message_typed_before_the_question_was_shown_gets_no_offer(up: Rig) -> None:
    ask = await up.submit(NOTE, {**NOTE, "id": "more"})
    await up.wait_until_marked(await up.type_answer(ask, "first"))
    held = up.slack.faults.add("chat.update", hang=True)
    early = await up.ada.type_in_thread(up.live(ask), "early")
    held.release()
    await up.shown(ask)
    up.slack.clock.advance(2)
    late = await up.ada.type_in_thread(up.live(ask), "late")
    [offer] = await up.wait_for_offers()
    await up.ada.click(offer, LABELS.use_text)
    await up.wait_until_marked(late)
    assert early.reactions == {}
    assert (await up.shown(ask)).walk.answers[1].value == "late"


@pytest.mark.rule("SLACK-8", "TYPED-5")
async def test_members_of_a_group_that_may_answer_get_an_offer(up: Rig) -> None:
    up.slack.workspace.add_group("S0OPS", up.ada.id)
    ask = await up.submit(NOTE, responders=["@S0OPS"])
    await up.bob.type_in_thread(up.live(ask), "not a member")
    await up.ada.type_in_thread(up.live(ask), "blue")
    [offer] = await up.wait_for_offers()
    await up.ada.click(offer, LABELS.use_text)
    assert (await up.shown(ask)).walk.answers[0].value == "blue"
    assert up.bob.private_notes(CHANNEL) == []


@pytest.mark.rule("SURFACE-10", "TYPED-5")
async def test_a_long_message_that_is_read_after_somebody_else_answered_is_refused(up: Rig) -> None:
    ask = await up.submit(NOTE, responders=[up.ada.id, up.bob.id])
    await up.ada.type_in_thread(up.live(ask), "word " * 500)
    [offer] = await up.wait_for_offers()
    reading = up.slack.faults.add("conversations.replies", hang=True)
    await up.ada.click(offer, LABELS.use_text)
    await up.slack.until(lambda: reading.hits)
    await up.wait_until_marked(await up.type_answer(ask, "faster", up.bob))
    reading.release()
    refusal = (await up.wait_for_notes(up.ada, 2))[-1]
    assert LABELS.has_ended.partition("{")[0] in refusal
    assert [given.value for given in (await up.shown(ask)).walk.answers] == ["faster"]


@pytest.mark.rule("TYPED-5")
async def test_an_offer_survives_a_restart_and_is_not_repeated(tmp_path: Path) -> None:
    async with workspace() as (slack, ada, bob):
        async with run_app(slack, tmp_path / "a.db", "socket") as app:
            up = Rig(slack, app, ada, bob)
            ask = await up.submit(NOTE)
            await ada.type_in_thread(up.live(ask), "blue")
            [offer] = await up.wait_for_offers()
        async with run_app(slack, tmp_path / "a.db", "socket") as app:
            up = Rig(slack, app, ada, bob)
            await slack.socket.connected()
            await ada.type_in_thread(up.live(ask), "or green?")
            await slack.queue.settle()
            assert await up.wait_for_offers() == [offer]
            await ada.click(offer, LABELS.use_text)
            assert (await up.shown(ask)).walk.answers[0].value == "blue"
