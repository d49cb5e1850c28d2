"""To whom an ask can be handed over where anyone may answer: people who can be asked there, and no programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from answerback.core.ask import Destination
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_places_and_faults import GO


@pytest.mark.rule("HANDOVER-2")
async def test_members_of_the_group_and_who_has_started_the_bot_are_found(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.shown(await at.submit([GO]))
        direct = replace(
            ask,
            placement=replace(
                ask.placement, destination=Destination(surface="telegram", user=str(at.ann.id))
            ),
        )
        started, new = at.telegram.add_user("Bob"), at.telegram.add_user("Cy", started=False)
        at.group.members[new.id] = "member"
        at.group.members[started.id] = "left"
        find = at.surface.find_person
        assert await find(str(new.id), ask) == "Cy"
        assert await find(str(started.id), ask) is None
        assert await find(str(at.telegram.bot.id), ask) is None
        assert await find("nobody", ask) is None
        assert await find(str(started.id), direct) == "Bob"
        assert await find("999999", direct) is None
        assert await find(str(at.group.id), direct) is None
