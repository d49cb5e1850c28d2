"""The database fails while somebody acts, or Telegram delivers twice what they did: it counts once, or they know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Status
from answerback.core.errors import LeaseLostError, StoreError, UnreadableRowError
from answerback.core.labels import Labels
from tests.unit.adapters.telegram.rig import Rig, rig
from tests.unit.adapters.telegram.test_entries import helper
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press

LABELS = Labels()


def fail_once(at: Rig, method: str, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next call of a method of the service fail."""
    work, failures = getattr(at.service, method), [error]

    async def failing(*args: Any, **kwargs: Any) -> Any:
        if failures:
            raise failures.pop()
        return await work(*args, **kwargs)

    monkeypatch.setattr(at.service, method, failing)


@pytest.mark.rule("TELEGRAM-6")
@pytest.mark.parametrize(
    ("error", "note"),
    [
        (StoreError("the disk is full"), LABELS.try_again),
        (ValueError("a defect"), LABELS.unsure),
        (LeaseLostError("telegram updates"), ""),
    ],
    ids=["database", "defect", "lease"],
)
async def test_a_click_that_could_not_be_saved_is_answered_so_or_handled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, note: str
) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        fail_once(at, "apply", error, monkeypatch)
        assert await press(at, at.ann, live(at.group, ask), "Yes") == note
        assert (await at.shown(ask)).status is (Status.OPEN if note else Status.ANSWERED)


@pytest.mark.rule("TELEGRAM-6")
@pytest.mark.parametrize(
    ("error", "note"),
    [(StoreError("the disk is full"), ""), (UnreadableRowError("odd"), LABELS.unreadable)],
    ids=["database", "damaged row"],
)
async def test_an_entry_that_could_not_be_saved_is_handled_again_or_answered_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, note: str
) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        await press(at, at.ann, live(at.group, ask), LABELS.reply)
        request = await helper(at, at.group, live(at.group, ask))
        fail_once(at, "apply", error, monkeypatch)
        said = await at.telegram.person_sends(at.ann, at.group, "not now", request.id)
        if note:
            assert (await helper(at, at.group, said)).text == note
        else:
            await at.telegram.until(lambda: said.reactions)
        assert (await at.shown(ask)).status is (Status.OPEN if note else Status.CANCELLED)


@pytest.mark.rule("TELEGRAM-12")
async def test_an_inbox_that_cannot_be_read_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig(tmp_path) as at:
        fail_once(at, "list_waiting_for", StoreError("the disk is full"), monkeypatch)
        own = at.telegram.chats[at.ann.id]
        await at.telegram.person_sends(at.ann, own, "/inbox")
        await at.telegram.until(lambda: len(own.messages) == 2)
        assert [*own.messages.values()][-1].text == LABELS.unavailable


@pytest.mark.rule("TELEGRAM-6")
async def test_a_click_that_is_delivered_again_counts_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO, {**GO, "id": "again"}])
        shown = live(at.group, ask)
        [yes] = [each["callback_data"] for each in shown.buttons if each["text"] == "Yes"]
        number = await at.telegram.click(at.ann, shown, yes)
        await at.telegram.until(lambda: number in at.telegram.answers)
        query = {"id": number, "from": at.ann.json(), "chat_instance": "1", "data": yes}
        update = {"callback_query": {**query, "message": shown.json()}}
        again = await at.telegram.send_update(update)
        await at.telegram.until(lambda: at.telegram.is_handled(again))
        assert (await at.shown(ask)).revision == 2
