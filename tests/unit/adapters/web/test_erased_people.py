"""After an erasure, no row names a person on the page: neither for what they posted, nor to notify them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.receiver import receiving
from tests.unit.bot.push.push_support import ANN, ANNS_KEY, APPROVAL, push_rig

ID = "ann@example.com"


def tables_with(text: str, file: Path) -> set[str]:
    """Return the tables that have this text in any row."""
    with closing(sqlite3.connect(file)) as db:
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {name for name in tables if text in repr(db.execute(f"SELECT * FROM {name}").fetchall())}  # fmt: skip


@pytest.mark.rule("API-18", "DATA-22")
async def test_nobody_on_the_page_is_named_once_an_ask_is_erased(tmp_path: Path) -> None:
    async with push_rig(tmp_path) as rig:
        rig.keys[ANNS_KEY] = replace(ANN, user_id=ID)
        one, listed = await rig.ask(ID), await rig.ask(ID, **APPROVAL)
        form = {"do": "yes", "revision": "1", "at": "0"}
        for _ in range(2):
            assert await rig.post(rig.page(one), form) in {303, 200}
        assert await rig.post(rig.inbox(), {"do": "deny", "ask": f"{listed.id}:1"}) == 303
        for ask in (one, listed):
            ended = await rig.service.get(ask.id)
            assert ended is not None
            assert not ended.open
        assert {row.delivery.type for row in await rig.rows()} == {"push.waits", "push.over"}
        assert ID in repr(await rig.rows())
        for ask in (one, listed):
            await rig.service.erase(ask.id)
        assert tables_with(ID, tmp_path / "asks.db") == set()
        async with receiving() as receiver:
            await rig.subscribe(receiver)
        async with rig.http.get(rig.page(one)) as page:
            assert page.status == 200
    assert tables_with(ID, tmp_path / "asks.db") == {"push_subscriptions"}, "not that they saw it"
