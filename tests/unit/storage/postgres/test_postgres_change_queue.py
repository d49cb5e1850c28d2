"""The queue of changes in PostgreSQL: every change is made, whenever it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.ports.store import Decision
from answerback_postgres.change_batches import ChangeJob, ChangeQueue
from answerback_postgres.connections import Database
from answerback_storage.rows import RequestCache, Row
from tests.service_support import WAIT


class HeldReads(Database):
    """Statements that find nothing, all of which end at the same moment."""

    def __init__(self) -> None:
        super().__init__("dbname=unused")
        self.go = asyncio.Event()

    async def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        await self.go.wait()
        return []


def _no_change(_ask: Ask | None) -> Decision[bool]:
    return Decision(None, True)


@pytest.mark.rule("DATA-20")
async def test_a_change_that_comes_as_all_others_end_does_not_wait_for_the_next() -> None:
    database = HeldReads()
    changes = ChangeQueue(database, RequestCache(), changed=lambda _ids: None)
    others = []
    for ask_id in ("ask_1", "ask_2"):
        others.append(changes.submit(ChangeJob(ask_id, _no_change)))
        await asyncio.sleep(0)  # a batch of its own
    database.go.set()
    await asyncio.sleep(0)  # both batches have ended; the callbacks of their tasks come next
    async with asyncio.timeout(WAIT):
        assert await changes.submit(ChangeJob("ask_3", _no_change)) == (True, False)
    await asyncio.gather(*others)
