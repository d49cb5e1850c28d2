"""To whom an ask can be handed over where anyone may answer: people who can be asked there, and no programs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.ask import Destination
from answerback.core.errors import PlatformError
from tests.unit.adapters.discord.rig import Rig

ONE = [{"id": "go", "text": "Go on?", "answer_type": "boolean"}]


@pytest.mark.rule("HANDOVER-2")
async def test_members_of_the_server_are_found(up: Rig) -> None:
    ask = await up.until_current(await up.submit(ONE))
    direct = replace(
        ask,
        placement=replace(
            ask.placement, destination=Destination(surface="discord", user=str(up.ann.id))
        ),
    )
    elsewhere = up.discord.person("Eve", up.discord.add_guild())
    find = up.surface.find_person
    for place in (ask, direct):
        assert (await find(str(up.ann.id), place) or "").casefold() == "ann"
        assert await find(str(up.discord.bot.id), place) is None
        assert await find("12345", place) is None
        for impossible in ("nobody", "9" * 20, "¹²³", f"{up.ann.id}/../{up.ann.id}"):
            assert await find(impossible, place) is None
    assert await find(str(elsewhere.id), ask) is None
    assert (await find(str(elsewhere.id), direct) or "").casefold() == "eve"
    up.discord.faults.server_error("GET /guilds/*/members/*", times=1_000)
    with pytest.raises(PlatformError):
        await find(str(up.ann.id), ask)
