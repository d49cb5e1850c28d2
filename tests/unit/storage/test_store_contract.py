"""Each store fulfils the store contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from answerback.ports.store import Store
from answerback.testing.memory_store.database import Tables
from answerback.testing.memory_store.store import MemoryStore
from answerback.testing.store_claims import SharedStoreContract
from answerback.testing.store_contract import StoreContract
from answerback_storage.postgres.store import PostgresStore
from answerback_storage.sqlite.store import SqliteStore


class TestSqliteStore(StoreContract):
    """`StoreContract` on a real file."""

    @pytest.fixture
    def make_store(self, tmp_path: Path) -> Callable[[], Store]:
        return lambda: SqliteStore(tmp_path / "answerback.db")


class TestMemoryStore(SharedStoreContract, StoreContract):
    """`StoreContract` in memory: the tables outlive a store."""

    @pytest.fixture
    def make_store(self) -> Callable[[], Store]:
        tables = Tables()
        return lambda: MemoryStore(tables)


class TestPostgresStore(SharedStoreContract, StoreContract):
    """`StoreContract` on a real server."""

    @pytest.fixture
    def make_store(self, database: str) -> Callable[[], Store]:
        return lambda: PostgresStore(database)
