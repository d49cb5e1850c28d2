"""The contract of stores: a class of tests that each store's tests inherit.

A subclass defines a fixture ``make_store``: each call returns a new, unopened store on the same, initially
empty database. The tests of a store that several processes share also inherit
`answerback_testing.store_claims.SharedStoreContract`. How a store is found and opened, `store_plugin_contract` proves.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from answerback.ports.store import Store
from answerback_testing.store_asks import AsksContract
from answerback_testing.store_changes import ChangesContract
from answerback_testing.store_claims import ClaimsContract
from answerback_testing.store_erasure import ErasureContract
from answerback_testing.store_files import AnswerFilesContract, FilesContract
from answerback_testing.store_grants import GrantsContract
from answerback_testing.store_late_answers import LateAnswersContract
from answerback_testing.store_limits import AskLimitsContract
from answerback_testing.store_lists import ListsContract
from answerback_testing.store_maintenance import MaintenanceContract
from answerback_testing.store_places import PlacesContract
from answerback_testing.store_push import PushContract
from answerback_testing.store_rows import RowsContract
from answerback_testing.store_search import SearchContract


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
    PushContract,
    RowsContract,
    AnswerFilesContract,
    FilesContract,
    GrantsContract,
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
