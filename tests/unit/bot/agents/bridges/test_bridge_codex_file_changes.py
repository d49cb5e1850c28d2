"""Codex asks about a change of files by its id alone; people see the changes that it has announced."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.agents.bridges.test_bridge_codex import run_bridge

TURN = {"threadId": "th_1", "turnId": "tu_1"}
DIFF = "@@ -1 +1 @@\n-one\n+two\n"
ASKS = {"id": 5, "method": "item/fileChange/requestApproval", "params": {**TURN, "itemId": "i1"}}


def event(name: str, **more: Any) -> Json:
    """A notification about the item."""
    change = {"path": "/w/a.txt", "kind": {"type": "update", "move_path": None}, "diff": DIFF}
    item = {"type": "fileChange", "id": "i1", "status": "inProgress", "changes": [change], **more}
    return {"method": name, "params": {**TURN, "item": item}}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.mark.rule("CONNECT-5", "APPROVAL-2")
async def test_people_see_the_changes_that_codex_announced(service: Served) -> None:
    async with run_bridge(service, [event("item/started"), ASKS]) as talk:
        await talk.receive()
        ask = await service.newest()
        assert ask.question is not None
        assert ask.question.text == "Edit a.txt (+1 −1)"
        assert "-one\n+two" in (ask.question.context or "")
        await service.act(ask, action="answer", value="accept")
        assert await talk.read() == {"id": 5, "result": {"decision": "accept"}}


@pytest.mark.rule("APPROVAL-11")
@pytest.mark.parametrize(
    "before",
    [
        [],
        [event("item/started", id="i2")],
        [event("item/started"), event("item/completed")],
        [event("item/started"), {"method": "turn/completed", "params": {"threadId": "th_1"}}],
    ],
    ids=["never announced", "another one", "already made", "of an earlier turn"],
)
async def test_what_codex_did_not_announce_is_not_known(
    service: Served, before: list[Json]
) -> None:
    async with run_bridge(service, [*before, ASKS]) as talk:
        for _ in before:
            await talk.receive()
        ask = await service.newest()
        assert ask.question is not None
        assert ask.question.nothing_known
