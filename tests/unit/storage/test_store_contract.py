"""Each store fulfils the store contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from answerback.ports.store import Store
from answerback_postgres.store import PostgresStore
from answerback_storage.sqlite.store import SqliteStore
from tests.stores.claims import SharedStoreContract
from tests.stores.contract import StoreContract


class TestSqliteStore(StoreContract):
    """`StoreContract` on a real file."""

    @pytest.fixture
    def make_store(self, tmp_path: Path) -> Callable[[], Store]:
        return lambda: SqliteStore(tmp_path / "answerback.db")


class TestPostgresStore(SharedStoreContract, StoreContract):
    """`StoreContract` on a real server."""

    @pytest.fixture
    def make_store(self, database: str) -> Callable[[], Store]:
        return lambda: PostgresStore(database)
