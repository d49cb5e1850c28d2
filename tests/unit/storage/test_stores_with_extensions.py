"""Each store erases and keeps rows with all extensions, with each one, and with none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from answerback.ports.installed_extensions import installed_extensions
from answerback.ports.store import Store
from answerback_postgres.store import PostgresStore
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.chosen_extensions import only_extensions
from answerback_testing.store_contract import StoreContract
from answerback_testing.store_erasure import ErasureContract
from answerback_testing.store_rows import RowsContract

_NAMES = sorted(installed_extensions().usable)


class _WithExtensions(ErasureContract, RowsContract):
    store = StoreContract.store

    @pytest.fixture(autouse=True, params=[*((name,) for name in _NAMES), ()], ids="+".join)
    def extensions(self, request: pytest.FixtureRequest) -> Iterator[None]:
        """The extensions that are installed; `test_store_contract.py` has all of them."""
        with only_extensions(request.param):
            yield


@pytest.mark.rule("PLUGIN-10")
class TestSqlite(_WithExtensions):
    @pytest.fixture
    def make_store(self, tmp_path: Path) -> Callable[[], Store]:
        return lambda: SqliteStore(tmp_path / "answerback.db")


@pytest.mark.rule("PLUGIN-10")
class TestPostgres(_WithExtensions):
    @pytest.fixture
    def make_store(self, database: str) -> Callable[[], Store]:
        return lambda: PostgresStore(database)
