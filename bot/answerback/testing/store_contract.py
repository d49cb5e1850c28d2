"""The contract of stores: a class of tests that each store's tests inherit.

A subclass defines a fixture ``make_store``: each call returns a new, unopened store on the same, initially
empty database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from answerback.ports.store import Store
from answerback.testing.store_agent_tokens import AgentTokensContract
from answerback.testing.store_asks import AsksContract
from answerback.testing.store_changes import ChangesContract
from answerback.testing.store_claims import ClaimsContract
from answerback.testing.store_erasure import ErasureContract
from answerback.testing.store_grants import GrantsContract
from answerback.testing.store_late_answers import LateAnswersContract
from answerback.testing.store_limits import AskLimitsContract
from answerback.testing.store_links import LinksContract
from answerback.testing.store_lists import ListsContract
from answerback.testing.store_maintenance import MaintenanceContract
from answerback.testing.store_places import PlacesContract
from answerback.testing.store_push import PushContract
from answerback.testing.store_receipts import ReceiptsContract
from answerback.testing.store_search import SearchContract


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
