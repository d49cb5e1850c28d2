"""Showing while the ask moves on, moves away or changes its looks: what is shown last is what is stored."""

from __future__ import annotations

import asyncio

import pytest

from bot.ask import Ask
from bot.showing import Shower
from tests.service_parts import WAIT
from tests.unit.bot.background_parts import submit
from tests.unit.bot.conftest import Parts


async def test_a_poke_at_the_moment_in_which_showing_ends_has_the_ask_looked_at_again(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    shower = Shower(service)
    looks: list[asyncio.Future[Ask | None]] = []
    looked = asyncio.Condition()

    async def get(_ask_id: str) -> Ask | None:
        async with looked:
            looks.append(asyncio.get_running_loop().create_future())
            looked.notify_all()
        return await looks[-1]

    async def until_looked(times: int) -> None:
        async with asyncio.timeout(WAIT), looked:
            await looked.wait_for(lambda: len(looks) >= times)

    async def commit() -> None:
        await looks[0]  # told in the same round of the loop as the last look, and after it
        shower.poke(ask.id)

    ask = await submit(service)
    monkeypatch.setattr(parts.store, "get", get)
    shower.poke(ask.id)
    await until_looked(1)
    committing = asyncio.create_task(commit())
    await asyncio.sleep(0)
    looks[0].set_result(None)
    await committing
    await until_looked(2)
    looks[1].set_result(None)
    await shower.idle()
    assert len(looks) == 2
