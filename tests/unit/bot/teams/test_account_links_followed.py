"""Links that another process has stored, as a process takes them up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from answerback.core.errors import StoreError
from answerback.core.people import AccountLink
from answerback_teams.stored_links import StoredLinks
from tests.unit.bot.api.conftest import until
from tests.unit.bot.conftest import Parts
from tests.unit.bot.teams.test_account_links import ANN, IN_CHAT, Process


@pytest.mark.rule("LINK-8")
async def test_another_process_takes_links_up_and_a_restart_keeps_them(
    parts: Parts,
) -> None:
    process, other = Process(parts), Process(parts)
    following = asyncio.create_task(other.links.run())
    await process.linked()

    async def is_known() -> bool:
        return other.people.name_of(IN_CHAT) is not None

    async def is_unknown() -> bool:
        return other.people.name_of(IN_CHAT) is None

    await until(is_known)
    assert await process.links.remove("chat:U012", ANN, ANN)
    await until(is_unknown)
    following.cancel()


@pytest.mark.rule("LINK-8")
async def test_links_that_cannot_be_read_are_reported_once_and_read_later(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    process, other, tries = Process(parts), Process(parts), 0
    await process.linked()
    read = StoredLinks(parts.store.rows).list

    async def fails_twice() -> Sequence[AccountLink]:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise StoreError("the disk is full")
        return await read()

    monkeypatch.setattr(StoredLinks, "list", staticmethod(fails_twice))
    following = asyncio.create_task(other.links.run())

    async def is_known() -> bool:
        return other.people.name_of(IN_CHAT) is not None

    await until(is_known)
    following.cancel()
    assert [each.message for each in caplog.records if "cannot be read" in each.message] == [
        "The linked accounts cannot be read: the disk is full"
    ]
