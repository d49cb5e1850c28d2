"""The contract of the door for stores: classes of tests that each plug-in's tests inherit.

A subclass sets ``plugin``, and defines a fixture ``url``: the address of an empty database or, for
`StoreUpgradeContract`, of one that an older version wrote. The distribution must be installed. The whole behaviour of a
store is described method by method in `answerback.ports.store`.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

import pytest
from typer.testing import CliRunner

from answerback.core.errors import StoreError
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.store import Write
from answerback.ports.store_plugin import StorePlugin
from answerback.runtime.config import StorageSettings
from answerback.runtime.open_store import open_configured_store, open_to_read
from answerback.runtime.stores import installed_stores
from answerback_agents.cli import main
from answerback_testing.example_asks import new_ask


class _Contract:
    plugin: ClassVar[type[StorePlugin]]

    @pytest.fixture
    def storage(self, url: str) -> StorageSettings:
        """The configuration's table for the database."""
        return StorageSettings(url=url)


class StorePluginContract(_Contract):
    """Contract of every kind of database."""

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

    async def test_the_doctor_creates_nothing_in_an_empty_database(
        self, storage: StorageSettings
    ) -> None:
        findings = [each async for each in storage.plugin.findings(storage.url, None)]
        assert "to be created by `answerback serve`" in findings[0].what
        assert [each for each in findings if not each.is_ok] == []
        assert await storage.plugin.unapplied_migrations(storage.url) is None

    async def test_an_empty_database_is_not_read(self, storage: StorageSettings) -> None:
        with pytest.raises(StoreError, match=r"does not exist, or no Answerback .* --config"):
            async with open_to_read(storage):
                raise AssertionError("it was opened")
        assert await storage.plugin.unapplied_migrations(storage.url) is None

    def test_an_empty_database_is_not_copied(
        self, storage: StorageSettings, tmp_path: Path
    ) -> None:
        with pytest.raises(StoreError, match=r"does not exist, or no Answerback .* --from"):
            _copy(storage, tmp_path / "target.db")
        assert asyncio.run(storage.plugin.unapplied_migrations(storage.url)) is None
        assert not (tmp_path / "target.db").exists()


class StoreUpgradeContract(_Contract):
    """Contract of every kind of database whose schema has had other versions: only a service upgrades it."""

    async def test_the_doctor_says_that_a_start_will_upgrade_it(
        self, storage: StorageSettings
    ) -> None:
        unapplied = await storage.plugin.unapplied_migrations(storage.url)
        assert unapplied
        findings = [each async for each in storage.plugin.findings(storage.url, None)]
        assert f"to be upgraded by `answerback serve` ({', '.join(unapplied)})" in findings[0].what
        assert [each for each in findings if not each.is_ok] == []
        assert await storage.plugin.unapplied_migrations(storage.url) == unapplied

    async def test_it_is_not_read_before_it_is_upgraded(self, storage: StorageSettings) -> None:
        unapplied = await storage.plugin.unapplied_migrations(storage.url)
        with pytest.raises(StoreError, match=r"older Answerback.*Nothing in it was changed\. Use"):
            async with open_to_read(storage):
                raise AssertionError("it was opened")
        assert await storage.plugin.unapplied_migrations(storage.url) == unapplied
        async with open_configured_store(storage):
            pass
        assert await storage.plugin.unapplied_migrations(storage.url) == []
        async with open_to_read(storage) as store:
            assert await store.counts()

    def test_it_is_not_copied_before_it_is_upgraded(
        self, storage: StorageSettings, tmp_path: Path
    ) -> None:
        unapplied = asyncio.run(storage.plugin.unapplied_migrations(storage.url))
        with pytest.raises(StoreError, match="older Answerback"):
            _copy(storage, tmp_path / "target.db")
        assert asyncio.run(storage.plugin.unapplied_migrations(storage.url)) == unapplied
        assert not (tmp_path / "target.db").exists()


def _copy(storage: StorageSettings, target: Path) -> None:
    command = ["copy", "--from", storage.url, "--to", f"sqlite:///{target}"]
    CliRunner().invoke(main.app, command, catch_exceptions=False)
