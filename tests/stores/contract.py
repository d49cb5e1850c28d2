"""The contract of stores: a class of tests that each store's tests inherit.

A subclass defines a fixture ``make_store``: each call returns a new, unopened store on the same, initially
empty database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from answerback.ports.store import Store
from tests.stores.agent_tokens import AgentTokensContract
from tests.stores.asks import AsksContract
from tests.stores.changes import ChangesContract
from tests.stores.claims import ClaimsContract
from tests.stores.erasure import ErasureContract
from tests.stores.files import FilesContract
from tests.stores.grants import GrantsContract
from tests.stores.late_answers import LateAnswersContract
from tests.stores.limits import AskLimitsContract
from tests.stores.links import LinksContract
from tests.stores.lists import ListsContract
from tests.stores.maintenance import MaintenanceContract
from tests.stores.numbers import NumbersContract
from tests.stores.places import PlacesContract
from tests.stores.push import PushContract
from tests.stores.receipts import ReceiptsContract
from tests.stores.rows import RowsContract
from tests.stores.search import SearchContract


class StoreContract(
    AsksContract,
    AskLimitsContract,
    ListsContract,
    PlacesContract,
    SearchContract,
    LateAnswersContract,
    MaintenanceContract,
    ErasureContract,
    ChangesContract,
    ReceiptsContract,
    PushContract,
    RowsContract,
    NumbersContract,
    FilesContract,
    GrantsContract,
    AgentTokensContract,
    LinksContract,
    ClaimsContract,
):
    """The behaviour of every store."""

    @pytest.fixture
    async def store(self, make_store: Callable[[], Store]) -> AsyncIterator[Store]:
        """An open store."""
        store = make_store()
        await store.open()
        yield store
        await store.close()
