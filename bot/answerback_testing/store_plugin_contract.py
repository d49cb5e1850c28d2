"""The contract of the door for stores: a class of tests that each plug-in's tests inherit.

A subclass sets ``plugin``, and defines a fixture ``url``: the address of an empty database. The distribution must be
installed. The whole behaviour of a store is described method by method in `answerback.ports.store`.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.store import Write
from answerback.ports.store_plugin import StorePlugin
from answerback.runtime.config import StorageSettings
from answerback.runtime.open_store import open_configured_store, open_to_read
from answerback.runtime.stores import installed_stores
from answerback_testing.example_asks import new_ask


class StorePluginContract:
    """Contract of every kind of database."""

    plugin: ClassVar[type[StorePlugin]]

    @pytest.fixture
    def storage(self, url: str) -> StorageSettings:
        """The configuration's table for the database."""
        return StorageSettings(url=url)

    def test_the_configuration_finds_it_by_the_scheme(self, storage: StorageSettings) -> None:
        assert type(installed_stores().usable[self.plugin.name]) is self.plugin
        assert type(storage.plugin) is self.plugin
        assert storage.url.partition("://")[0] in self.plugin.schemes

    def test_people_read_its_name_without_a_password(self) -> None:
        scheme = min(self.plugin.schemes)
        label = self.plugin().label(f"{scheme}://ann:hunter2@db.example/asks")
        assert label
        assert self.plugin.is_shared is False or "hunter2" not in label

    def test_an_address_without_a_database_is_refused_with_a_reason(self) -> None:
        problem = self.plugin().problem(f"{min(self.plugin.schemes)}://", None)
        assert problem is not None
        with pytest.raises(ValueError, match="database"):
            StorageSettings(url=f"{min(self.plugin.schemes)}://")

    async def test_an_ask_is_there_after_the_store_was_opened_again(
        self, storage: StorageSettings
    ) -> None:
        ask = new_ask()
        async with open_configured_store(storage) as (store, claim, _clock):
            await store.asks.create(Write(ask), None)
            assert (claim == SOLE_CLAIM) is not self.plugin.is_shared
        async with open_to_read(storage) as store:
            assert await store.asks.get(ask.id) == ask

    async def test_it_is_healthy_once_it_was_opened(self, storage: StorageSettings) -> None:
        async with open_configured_store(storage):
            pass
        found = storage.plugin.findings(storage.url, storage.listen_url)
        broken = [finding async for finding in found if not finding.is_ok]
        assert broken == []

    async def test_a_copy_reads_what_was_stored(self, storage: StorageSettings) -> None:
        async with open_configured_store(storage) as (store, *_):
            await store.asks.create(Write(new_ask()), None)

        def read() -> int:
            with storage.plugin.copy_endpoint(storage.url) as copied:
                return sum(len(rows) for rows in copied.read("asks", ("id",), 10))

        assert await asyncio.to_thread(read) == 1
