"""The door for stores: ours pass its contract, and another distribution's is used by its scheme."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from answerback.ports.store import Write
from answerback.ports.store_plugin import GROUP
from answerback.runtime import stores
from answerback.runtime.config import StorageSettings
from answerback.runtime.open_store import open_configured_store
from answerback_base.entry_points import entry_points
from answerback_postgres.plugin import PostgresPlugin
from answerback_storage.sqlite.plugin import SqlitePlugin
from answerback_testing.example_asks import new_ask
from answerback_testing.store_plugin_contract import StorePluginContract, StoreUpgradeContract
from tests import postgres


@pytest.mark.rule("PLUGIN-7")
class TestSqlite(StorePluginContract):
    plugin = SqlitePlugin

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        (path := tmp_path / "asks.db").touch()
        return f"sqlite:///{path}"


@pytest.mark.rule("PLUGIN-7")
class TestPostgres(StorePluginContract):
    plugin = PostgresPlugin

    @pytest.fixture
    def url(self, postgres_server: postgres.Server) -> Iterator[str]:
        with postgres_server.database() as name:
            yield postgres_server.url(name)


@pytest.mark.rule("DATA-23")
class TestSqliteUpgrade(StoreUpgradeContract):
    plugin = SqlitePlugin

    @pytest.fixture
    def url(self, tmp_path: Path, data: Path) -> str:
        """A file as the first version left it."""
        with closing(sqlite3.connect(path := tmp_path / "asks.db")) as db:
            db.executescript((data / "first" / "sqlite.sql").read_text("utf-8"))
        return f"sqlite:///{path}"

    async def test_the_doctor_says_that_it_could_not_be_upgraded(
        self, storage: StorageSettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "access", lambda *_: False)  # root can write everywhere
        [finding] = [each async for each in storage.plugin.findings(storage.url, None)]
        assert "is not readable and writable" in (finding.wrong or "")


@pytest.mark.rule("DATA-23")
class TestPostgresUpgrade(StoreUpgradeContract):
    plugin = PostgresPlugin

    @pytest.fixture
    def url(self, data: Path, postgres_server: postgres.Server) -> Iterator[str]:
        """A database as the first version left it."""
        with postgres_server.database() as name:
            postgres_server.run((data / "first" / "postgresql.sql").read_text("utf-8"), name)
            yield postgres_server.url(name)


class FolderPlugin(SqlitePlugin):
    """A store of another distribution: a folder with an SQLite file in it."""

    name = "folder"
    schemes = frozenset({"folder"})

    def file(self, url: str) -> Path:
        return Path(url.removeprefix("folder:///")) / "asks.db"


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pretend that another distribution with stores is installed."""
    ours = [each for each in entry_points(group=GROUP) if each.name == "sqlite"]
    folder = EntryPoint("folder", f"{__name__}:FolderPlugin", GROUP)
    lost = EntryPoint("lost", f"{__name__}:Lost", GROUP)
    monkeypatch.setattr(stores, "entry_points", lambda group: (*ours, folder, lost))
    stores.installed_stores.cache_clear()
    stores.installed_stores()
    yield
    monkeypatch.undo()
    stores.installed_stores.cache_clear()
    stores.installed_stores()  # which reads files, so not while the next test's loop runs


@pytest.mark.rule("PLUGIN-7")
@pytest.mark.usefixtures("others")
async def test_another_distributions_store_is_used_by_its_scheme(tmp_path: Path) -> None:
    storage = StorageSettings(url=f"folder:///{tmp_path}")
    assert storage.file == tmp_path / "asks.db"
    async with open_configured_store(storage) as (store, *_):
        await store.asks.create(Write(new_ask()), None)
    assert (tmp_path / "asks.db").exists()


@pytest.mark.rule("PLUGIN-7")
@pytest.mark.usefixtures("others")
def test_a_scheme_that_no_store_has_is_refused_with_why_others_cannot_be_used() -> None:
    with pytest.raises(ValueError, match=r"a database is .*: AttributeError: .*Lost"):
        StorageSettings(url="oracle://db/asks")
    assert StorageSettings().plugin.name == "sqlite", "the others are usable"
