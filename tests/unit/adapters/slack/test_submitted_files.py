"""Modals that are submitted with files: acknowledged at once, decided later, and lost by no failure."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback_storage.sql_store import SqlDrafts
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.slack.visible_message import look
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, Rig, rig, run_app, workspace
from tests.unit.picture_samples import JPEG, PNG

WHY = {"id": "why", "text": "Why?", "answer_type": "text"}
MORE = {"id": "more", "text": "More?", "answer_type": "text"}
OPTIONS = [{"label": each, "description": each} for each in "ab"]
CLAUDE: Any = {
    "name": "AskUserQuestion",
    "arguments": {
        "questions": [
            {"question": "Which?", "header": "H", "multiSelect": False, "options": OPTIONS}
        ]
    },
}


async def submit(up: Rig, ask: Ask, button: str, values: dict[str, object]) -> None:
    """Press a button of an ask, and fill in and submit its modal."""
    await up.ada.click(up.live(ask), button)
    await up.ada.sees_modal()
    ack = await up.ada.submit(values)
    assert ack.ok
    assert up.ada.modal is None


def share(up: Rig, name: str = "a.png", data: bytes = PNG) -> list[object]:
    return [up.slack.people_files.share(name, data)]


def names(ask: Ask) -> list[str]:
    return [file.name for given in ask.walk.answers for file in given.files]


async def decided(up: Rig, ask: Ask, revision: int = 2) -> Ask:
    """Return the ask once it has changed, and its message shows that."""
    while (await up.shown(ask)).revision < revision:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return await up.shown(ask)


async def until_forgotten(up: Rig) -> None:
    """Wait until no submission is kept."""
    while await up.app.service.draft("slack:files") is not None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


@pytest.mark.rule("FILE-23")
async def test_an_answer_and_what_is_changed_of_it_come_with_their_files(up: Rig) -> None:
    ask = await up.submit(WHY, MORE)
    await submit(up, ask, LABELS.answer, {LABELS.other_label: "See it", LABELS.attach: share(up)})
    ask = await decided(up, ask)
    assert names(ask) == ["a.png"]
    await up.ada.click(up.live(ask), LABELS.back)
    ask = await up.shown(ask)
    await up.ada.click(up.live(ask), LABELS.answer)
    shown = look(await up.ada.sees_modal()).visible_text
    assert LABELS.attach_again.format(names="a.png") in shown
    await up.ada.submit({LABELS.attach: share(up, "b.jpg", JPEG)})
    assert names(await decided(up, ask, ask.revision + 1)) == ["b.jpg"]


@pytest.mark.rule("FILE-23")
@pytest.mark.parametrize(
    ("button", "values"),
    [
        (LABELS.other, {LABELS.other_label: "mine"}),
        (LABELS.answer_with_note, {LABELS.note_label: "see", LABELS.choose: "a"}),
    ],
    ids=["own words", "note"],
)
async def test_own_words_and_a_note_come_with_files(
    up: Rig, button: str, values: dict[str, object]
) -> None:
    ask = await up.submit(**CLAUDE)
    await up.ada.click(up.live(ask), button)
    modal = await up.ada.sees_modal()
    if LABELS.choose in values:
        await up.ada.choose(modal, str(values.pop(LABELS.choose)))
    assert (await up.ada.submit({**values, LABELS.attach: share(up)})).ok
    assert names(await decided(up, ask)) == ["a.png"]


@pytest.mark.rule("FILE-23")
async def test_only_an_app_that_may_read_files_asks_for_some(tmp_path: Path) -> None:
    async with workspace() as (slack, ada, bob):
        slack.scopes.discard("files:read")
        async with run_app(slack, tmp_path / "answerback.db", "socket") as app:
            up = Rig(slack, app, ada, bob)
            ask = await up.submit(WHY)
            await ada.click(up.live(ask), LABELS.answer)
            assert LABELS.attach not in look(await ada.sees_modal()).visible_text
            await ada.submit({LABELS.other_label: "In words"})
            assert not (await up.shown(ask)).open


@pytest.mark.rule("FILE-23")
@pytest.mark.parametrize("button", [LABELS.ask_back, LABELS.fill_in])
async def test_a_form_that_takes_no_files_asks_for_none(up: Rig, button: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "string"}}}
    question = {"id": "q", "text": "Which?", "answer_type": "schema", "schema": schema}
    ask = await up.submit(question, accepts=["clarify"])
    await up.ada.click(up.live(ask), button)
    assert LABELS.attach not in look(await up.ada.sees_modal()).visible_text


@pytest.mark.rule("FILE-23")
async def test_a_modal_is_closed_before_its_files_are_read_and_gives_back_its_text_if_that_fails(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, delays=replace(PATIENT, files=0.3)) as up:
        ask = await up.submit(WHY)
        up.slack.people_files.stalls = True
        values: dict[str, object] = {LABELS.other_label: "See <it>", LABELS.attach: share(up)}
        await submit(up, ask, LABELS.answer, values)
        await up.wait_for_notes(up.ada)
        [note] = [m for m in up.ada.messages(CHANNEL) if m.ephemeral_to == up.ada.id]
        shown = look(note).visible_text
        assert "a.png could not be read from Slack: it took too long" in shown
        assert "See <it>" in shown
        assert (await up.shown(ask)).walk.answers == ()
        await until_forgotten(up)


@pytest.mark.rule("FILE-23")
async def test_a_modal_that_was_acknowledged_is_decided_after_its_process_has_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the database is locked at the start."""
    reading, failures = SqlDrafts.get, ["locked"]

    async def locked(store: SqlDrafts, key: str) -> JsonValue:
        if failures and key == "slack:files":
            raise StoreError(failures.pop())
        return await reading(store, key)

    database = tmp_path / "answerback.db"
    async with workspace() as (slack, ada, bob):
        slack.people_files.stalls = True
        async with run_app(slack, database, "socket") as app:
            up = Rig(slack, app, ada, bob)
            ask, other = await up.submit(WHY), await up.submit(WHY)
            for each in (ask, other):
                values: dict[str, object] = {LABELS.other_label: "See it", LABELS.attach: share(up)}
                await submit(up, each, LABELS.answer, values)
            await slack.until(lambda: len(slack.people_files.requests) == 2)
        monkeypatch.setattr(SqlDrafts, "get", locked)
        slack.people_files.stalls = False
        async with run_app(slack, database, "socket") as app:
            up = Rig(slack, app, ada, bob)
            assert names(await decided(up, ask)) == ["a.png"]
            assert names(await decided(up, other)) == ["a.png"]
            await until_forgotten(up)
            assert (ada.private_notes(CHANNEL), failures) == ([], [])


@pytest.mark.rule("FILE-23")
async def test_a_modal_whose_ask_ends_while_its_files_are_read_is_told_of(up: Rig) -> None:
    ask = await up.submit(WHY)
    up.slack.people_files.faults = [503]  # so that they are asked for again after a moment
    values: dict[str, object] = {LABELS.other_label: "Too late", LABELS.attach: share(up)}
    await submit(up, ask, LABELS.answer, values)
    await up.app.service.withdraw(ask.id)
    await up.wait_for_notes(up.ada)
    [note] = [m for m in up.ada.messages(CHANNEL) if m.ephemeral_to == up.ada.id]
    shown = look(note).visible_text
    assert "have ended" in shown
    assert "Too late" in shown
    await until_forgotten(up)
