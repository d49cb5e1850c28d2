"""Accounts that people link whom a proxy has signed in."""

from __future__ import annotations

import pytest

from tests.unit.bot.teams.test_account_links import BOB, IN_CHAT, Process
from tests.unit.bot.teams.test_account_links import process as process


@pytest.mark.rule("LINK-5")
async def test_a_link_made_behind_a_proxy_ends_once_no_proxy_signs_people_in(
    process: Process,
) -> None:
    await process.linked(BOB)
    for header, name in ((None, None), ("x-user", "web:bob@example.com")):
        later = Process(process.parts, signed_in_by=header)
        await later.links.refresh()
        assert later.people.name_of(IN_CHAT) == name
