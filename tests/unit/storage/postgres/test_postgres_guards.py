"""Changes between the statement that reads asks and the one that stores them: nothing wrong is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest

from answerback.core.ask import Ask
from answerback.core.errors import LeaseLostError
from answerback.ports.claims import Claim, Fence
from answerback.ports.store import Decision, Write
from answerback_postgres.store import PostgresStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision


@pytest.fixture
async def store(database: str) -> AsyncIterator[PostgresStore]:
    opened = PostgresStore(database)
    await opened.open()
    yield opened
    await opened.close()


@pytest.mark.rule("CLAIM-6")
@pytest.mark.parametrize("lost", ["until = clock_timestamp()", "epoch = epoch + 1"])
async def test_a_lease_that_is_lost_while_a_change_is_decided_stores_nothing(
    store: PostgresStore, database: str, lost: str
) -> None:
    await store.asks.create(Write(new_ask()), None)
    assert await store.leases.take("gateway", Claim("ann", 60.0)) == 1

    def decide(ask: Ask | None) -> Decision[Ask]:
        with psycopg.connect(database, autocommit=True) as other:
            other.execute(f"UPDATE leases SET {lost}".encode())
        return answer_decision()(ask)

    with pytest.raises(LeaseLostError, match="gateway"):
        await store.asks.change("ask_1", decide, fence=Fence("gateway", 1))
    assert await store.asks.get("ask_1") == new_ask()
