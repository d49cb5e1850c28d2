"""The SQLite store keeps the contract of every store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from answerback.ports.store import Store
from answerback_storage.sqlite.store import SqliteStore
from tests.contract.store_contract import StoreContract


class TestSqliteStore(StoreContract):
    """`StoreContract` on a real file."""

    @pytest.fixture
    def make_store(self, tmp_path: Path) -> Callable[[], Store]:
        return lambda: SqliteStore(tmp_path / "answerback.db")
