"""PostgreSQL's plans for the statements that a running service repeats."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection, RawCursor

from tests.postgres import Server, store_at
from tests.stores.every_query import make_every_query

_GROWING = (
    *("asks", "record", "requests", "deliveries", "owed", "receipts", "seen", "asks_words"),
    *("numbers", "snoozes", "idempotency", "remembered", "drafts", "grants", "extension_rows"),
    *("files", "file_chunks"),
)
"""The tables that hold as much as there ever was."""


@pytest.mark.rule("DATA-8", "NUMBERS-9")
async def test_no_statement_of_a_running_store_reads_a_whole_table(
    postgres_server: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, Any] = {}
    execute = AsyncConnection.execute

    async def noting(self: Any, statement: Any, values: Any = None, **more: Any) -> Any:
        made[statement.decode() if isinstance(statement, bytes) else str(statement)] = values
        return await execute(self, statement, values, **more)

    store = store_at(database)
    await store.open()
    monkeypatch.setattr(AsyncConnection, "execute", noting)
    await make_every_query(store)
    monkeypatch.undo()
    await store.close()
    selected = {
        statement: values
        for statement, values in made.items()
        if statement.lstrip().startswith(("SELECT", "UPDATE", "DELETE", "WITH", "INSERT"))
    }
    assert len(selected) > 25
    with psycopg.connect(database, cursor_factory=RawCursor) as connection:
        # Few rows are read as a whole in any case, unless an index answers.
        connection.execute("SET enable_seqscan = off")
        for statement, values in selected.items():
            plan = connection.execute(f"EXPLAIN {statement}".encode(), values).fetchall()
            for (step,) in plan:
                _, _, scanned = step.partition("Seq Scan on ")
                assert scanned.split(" ")[0] not in _GROWING, (statement, plan)
        # What is owed in one conversation is read in its order; so few rows are sorted unless that is forbidden.
        connection.execute("SET enable_sort = off; SET enable_bitmapscan = off")
        owed = [each for each in selected if "ORDER BY number" in each and "conversation" in each]
        assert owed
        by_urgency = [each for each in selected if "ORDER BY urgency" in each]
        assert len(by_urgency) == 2, "the inbox, and the list of open asks"
        by_time = [each for each in selected if "ORDER BY created_at" in each]
        assert len(by_time) == 2, "the first page of some days, and the next one"
        # The oldest open ask of each route is found without the others.
        by_route = [each for each in selected if "ORDER BY asks.route" in each]
        assert len(by_route) == 1
        for statement in (*owed, *by_urgency, *by_time, *by_route):
            plan = connection.execute(
                f"EXPLAIN {statement}".encode(), selected[statement]
            ).fetchall()
            assert not [step for (step,) in plan if "Sort" in step], plan
        # A week of a million asks is added up from the index, which has all that is needed.
        sums = [each for each in selected if "FROM numbers WHERE week = $1" in each]
        assert len(sums) == 2, "by agent, and by route"
        for statement in sums:
            plan = connection.execute(
                f"EXPLAIN {statement}".encode(), selected[statement]
            ).fetchall()
            index_alone = "Index Only Scan using numbers_summed on numbers"
            assert any(index_alone in step for (step,) in plan), plan
