"""Changes of the stores: caches and guards."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SQLITE = "storage/answerback_storage/sqlite"
_POSTGRES = "storage/answerback_postgres"
_CACHED = ("tests/unit/storage/sqlite/test_cached_asks.py",)
_OUTDATED = ("tests/unit/storage/sqlite/test_odd_files.py",)
_RECORDED = ("tests/unit/storage/sqlite/test_record_lines.py",)
_PG = "tests/unit/storage/postgres"
_PG_CONTRACT = "tests/unit/storage/test_store_contract.py::TestPostgresStore"
_PG_RACE = f"{_PG}/test_postgres_store.py::test_of_two_processes_at_the_same_revision_exactly_one_changes_the_ask"
_PG_FENCE = f"{_PG}/test_postgres_guards.py"
_PG_LEASE = f"{_PG_CONTRACT}::test_a_process_that_lost_a_lease_changes_nothing"
_PG_REVOKED = f"{_PG_CONTRACT}::test_a_revoked_grant_is_used_no_more"
_PG_USE = f"{_PG_CONTRACT}::test_each_use_is_counted_once_and_with_its_ask"
_PG_TIME = f"{_PG_CONTRACT}::test_a_use_outside_its_time_is_none"
_PG_TWICE = (
    f"{_PG}/test_postgres_store.py::test_a_delivery_received_by_two_processes_at_once_counts_once"
)
_PG_REPEATED = f"{_PG_CONTRACT}::test_a_repeated_delivery_writes_nothing_and_is_reported"
_PG_TOGETHER = f"{_PG_CONTRACT}::test_simultaneous_deliveries_with_one_id_count_once"
_PG_READS = f"{_PG}/test_postgres_coalesced_reads.py"
_SQLITE_CONTRACT = "tests/unit/storage/test_store_contract.py::TestSqliteStore"
_SQLITE_DELIVERED = (
    f"{_SQLITE_CONTRACT}::test_a_repeated_delivery_writes_nothing_and_is_reported",
    f"{_SQLITE_CONTRACT}::test_simultaneous_deliveries_with_one_id_count_once",
)

STORES = (
    *(
        Mutant(
            "storage/answerback_storage/sql_store.py",
            line,
            mutant,
            (f"{_SQLITE_CONTRACT}::test_of_changes_of_a_draft_at_the_same_time_none_is_lost",),
        )
        for line, mutant in (
            (
                "same = f\"{condition} AND {self._db.as_bytes.format('value')} = $2\"",
                "same = f\"{condition} AND ($2 = $2 OR {self._db.as_bytes.format('value')} = $2)\"",
            ),
            (
                'insert = f"{self._insert} DO NOTHING RETURNING 1"',
                'insert = f"{self._insert} DO UPDATE SET value = excluded.value RETURNING 1"',
            ),
        )
    ),
    # Stores: caches and guards.
    *(
        Mutant(f"{_SQLITE}/{file}.py", line, mutant, _OUTDATED)
        for file, line, mutant in (
            ("asks", "WHERE id = :id AND revision = :was", "WHERE id = :id AND :was IS NOT NULL"),
            (
                "asks",
                "if db.execute(_update_of(tuple(changed)), values | changed).rowcount != 1:",
                "if db.execute(_update_of(tuple(changed)), values | changed).rowcount < 0:",
            ),
            ("change_batches", "WHERE id = column1 AND revision = column2", "WHERE id = column1"),
            (
                "connections",
                "self._batch.forget()  # the rows that it was decided on may be outdated",
                "pass",
            ),
            (
                "change_batches",
                "if _execute(db, statement, steps) != len(steps):",
                "if _execute(db, statement, steps) < 0:",
            ),
        )
    ),
    Mutant(
        f"{_SQLITE}/change_batches.py",
        "if version != self._version:  # another connection wrote",
        "if False:  # another connection wrote",
        _RECORDED,
    ),
    Mutant(
        f"{_SQLITE}/change_batches.py",
        "if (digest := self._batch.seen(self.delivery)) is not None:",
        "if False and (digest := self._batch.seen(self.delivery)) is not None:",
        _SQLITE_DELIVERED,
    ),
    Mutant(
        f"{_SQLITE}/change_batches.py",
        "if cached is not None and (ask.open or ask.collection.unread_by_agent):",
        "if cached is not None:",
        _CACHED,
    ),
    Mutant(
        f"{_SQLITE}/change_batches.py",
        "self._seen[delivery] = digest",
        "pass",
        _SQLITE_DELIVERED,
    ),
    # PostgreSQL: the version that was read, the lease, each use of a grant, and what was seen before.
    *(
        Mutant(f"{_POSTGRES}/ask_writes.py", line, mutant, (test,), slow)
        for line, mutant, test, slow in (
            (
                "JOIN new ON asks.id = c0 AND asks.version = c1",
                "JOIN new ON asks.id = c0",
                _PG_RACE,
                False,
            ),
            ("SET version = asks.version + 1,", "SET version = asks.version,", _PG_RACE, True),
            (
                'fence_condition = "AND EXISTS (SELECT 1 FROM fenced)"',
                'fence_condition = ""',
                _PG_FENCE,
                False,
            ),
            ("AND until > clock_timestamp() FOR SHARE", "FOR SHARE", _PG_FENCE, True),
            (
                'epoch = {params.add(fence.epoch, "bigint")}',
                'epoch >= {params.add(fence.epoch, "bigint")}',
                _PG_FENCE,
                True,
            ),
            ("AND used = {number} - 1 AND used < uses", "AND used < uses", _PG_USE, False),
            ("AND used < uses AND grants.at", "AND grants.at", _PG_USE, True),
            ("AND grants.at <= {at} AND until", "AND until", _PG_TIME, True),
            ("AND until > {at} AND ended_at IS NULL", "AND ended_at IS NULL", _PG_TIME, True),
            ("> {at} AND ended_at IS NULL", "> {at}", _PG_REVOKED, True),
            (
                "WHERE grants.id = c1 AND ended_at IS NULL",
                "WHERE grants.id = c1",
                _PG_REVOKED,
                True,
            ),
        )
    ),
    *(
        Mutant(f"{_POSTGRES}/change_batches.py", line, mutant, (test,), slow)
        for line, mutant, test, slow in (
            (
                "if not await self._database.read(lease_statement, fence):",
                "if False:",
                _PG_LEASE,
                True,
            ),
            ("and not (taken and taken[-1].fence)", "", _PG_LEASE, True),
            (
                "if job.ask_id in self._busy or must_go_alone",
                "if job.ask_id in self._busy",
                _PG_LEASE,
                False,
            ),
            ("if name not in missed:", "if True:", _PG_RACE, True),
            ('if "seen_pkey" in str(error):', "if False:", _PG_TWICE, True),
            ("if repeated or write is None:", "if write is None:", _PG_REPEATED, True),
            ("seen[job.delivery] = job.digest", "pass", _PG_TOGETHER, False),
        )
    ),
    Mutant(
        f"{_POSTGRES}/change_batches.py",
        "if sum(not lane.done() for lane in self._running_lanes) < _MAX_LANES:",
        "if len(self._running_lanes) < _MAX_LANES:",
        (f"{_PG}/test_postgres_change_queue.py",),
    ),
    *(
        Mutant(f"{_POSTGRES}/coalesced_reads.py", line, mutant, (_PG_READS,))
        for line, mutant in (
            ("if keys is self._pending_keys:", "if False:"),
            ("await asyncio.shield(self._next)", "await self._next"),
        )
    ),
)
