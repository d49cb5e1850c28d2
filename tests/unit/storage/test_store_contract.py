"""Each store fulfils the store contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from answerback.ports.store import Store
from answerback_postgres.store import PostgresStore
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.store_claims import SharedStoreContract
from answerback_testing.store_contract import StoreContract
from tests.stores.away import AwayContract
from tests.stores.numbers import NumbersContract
from tests.stores.oidc import OidcContract
from tests.stores.push import SubscriptionsContract
from tests.stores.receipts import ReceiptsContract
from tests.stores.teams import TeamsContract


class TestSqliteStore(
    NumbersContract, AwayContract, OidcContract, SubscriptionsContract, TeamsContract, StoreContract
):
    """`StoreContract` on a real file."""

    @pytest.fixture
    def make_store(self, tmp_path: Path) -> Callable[[], Store]:
        return lambda: SqliteStore(tmp_path / "answerback.db")


class TestPostgresStore(
    SharedStoreContract,
    NumbersContract,
    AwayContract,
    OidcContract,
    SubscriptionsContract,
    ReceiptsContract,
    TeamsContract,
    StoreContract,
):
    """`StoreContract` on a real server."""

    @pytest.fixture
    def make_store(self, database: str) -> Callable[[], Store]:
        return lambda: PostgresStore(database)
