"""The contract of extensions: a class of tests that each extension's tests inherit.

A subclass sets ``extension``. The distribution must be installed. Where the extension only runs if it is configured, a
fixture ``tables`` returns the configuration's tables, by name.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import aiohttp
import pytest
from pydantic import JsonValue
from yarl import URL

from answerback.core import ask as asks
from answerback.core.ask import Ask, Change, Reason, Status
from answerback.ports.extension import Extension, Running
from answerback.ports.extension_rows import NewRow, Rows
from answerback.ports.installed_extensions import installed_extensions
from answerback.ports.settings_tables import Table
from answerback.ports.store import Decision, Write
from answerback.runtime.app import RunningService, run_service
from answerback.runtime.config import Settings, settings_type
from answerback.service.submission_request import read_submission
from answerback_storage.personal_links_file import PersonalLinksFile
from answerback_testing.chosen_extensions import only_extensions
from answerback_testing.example_asks import new_ask

_CALL: Final[dict[str, JsonValue]] = {
    "name": "ask_user",
    "arguments": {"question": "Apply the migration?", "answer_type": "boolean"},
}


def example_changes() -> list[tuple[Ask | None, Change]]:
    """Return changes of an ask whose agent wants a webhook: it begins, and ends."""
    ask = new_ask(request={"callback": "http://127.0.0.1:9/outcomes"})
    begun = Change(ask, asks.request_entry(ask, ask.created_at))
    ended = asks.end_ask(ask, Status.EXPIRED, at=2_000.0, reason=Reason.EXPIRED)
    return [(None, begun), (ask, ended)]


class ExtensionContract:
    """Tests that every extension passes; an author inherits them."""

    extension: ClassVar[type[Extension]]

    @pytest.fixture
    def tables(self) -> Mapping[str, Any]:
        """The configuration's tables that the extension needs to run."""
        return {}

    @pytest.fixture
    def settings(self, tables: Mapping[str, Any], tmp_path: Path) -> Settings:
        """Settings with these tables, and a new database."""
        own = {"url": f"sqlite:///{tmp_path}/asks.db"}
        return settings_type().model_validate({"server": {"port": 0}, "storage": own, **tables})

    @pytest.fixture
    async def up(self, settings: Settings) -> AsyncIterator[RunningService]:
        """A running service with this extension and no other."""
        with only_extensions([self.extension.name]):
            async with run_service(settings) as up:
                yield up

    def running(self, up: RunningService) -> Running:
        """Return the extension as it runs with a service."""
        found = up.extensions.running.get(self.extension.name)
        assert found is not None, "it does not run: configure it in the fixture `tables`"
        return found

    def test_the_service_finds_it_by_its_name(self) -> None:
        assert type(installed_extensions().usable[self.extension.name]) is self.extension

    def test_every_key_of_its_table_has_a_default(self) -> None:
        default = self.extension.settings()
        if isinstance(default, Table):
            assert default == type(default).model_validate({})
        else:
            assert default is False, "a switch is off at first"

    def test_a_surface_that_it_adds_keys_to_is_configured_without_them(
        self, settings: Settings
    ) -> None:
        with only_extensions([self.extension.name]):
            for surface, added in self.extension.surface_keys.items():
                assert added() == added.model_validate({})
                table = getattr(settings_type().model_validate({}), surface)
                assert isinstance(table, added), f"no surface {surface!r} is installed"
                assert not table.model_fields_set

    async def test_what_it_stores_is_of_its_own_tables_and_types(self, up: RunningService) -> None:
        running, tables = self.running(up), {table.name for table in self.extension.tables}
        for before, change in example_changes():
            found = running.on_change(before, change, change.ask.updated_at)
            assert isinstance(found, Rows)
            assert {row.table for row in found.rows} <= tables
            assert all(
                running.sends and sent.type.startswith(running.sends) for sent in found.deliveries
            )

    async def test_a_change_that_is_decided_again_stores_as_much(self, up: RunningService) -> None:
        on_change = self.running(up).on_change
        for before, change in example_changes():
            first, again = (on_change(before, change, change.ask.updated_at) for _ in range(2))
            assert [(row.table, row.value) for row in again.rows] == [*map(tuple, first.rows)]
            types = [[sent.type for sent in each.deliveries] for each in (first, again)]
            assert types[0] == types[1]

    async def test_its_rows_are_erased_with_the_ask(self, up: RunningService) -> None:
        store, service = up.service.store, up.service
        names = [table.name for table in self.extension.tables]
        ask = (await service.submit(read_submission(_CALL))).ask
        new = tuple(NewRow(name, {"secret": "tell nobody"}) for name in names)

        def decide(latest: Ask | None) -> Decision[None]:
            assert latest is not None
            return Decision(Write(latest, rows=new), None)

        await store.asks.change(ask.id, decide)
        await service.withdraw(ask.id)
        await service.erase(ask.id)
        assert [row for name in names for row in await store.rows.of_ask(name, ask.id)] == []

    async def test_peoples_inboxes_open_and_so_does_each_page_that_they_link_to(
        self, up: RunningService, settings: Settings
    ) -> None:
        people = PersonalLinksFile(Path(settings.storage.url.removeprefix("sqlite:///")))
        key = await asyncio.to_thread(people.add, "ann", 1.0)
        async with aiohttp.ClientSession() as http:
            for address in (up.inbox_url, f"{up.api_url}/?key={key}"):
                async with http.get(address) as inbox:
                    assert inbox.status == 200
                    links = re.findall(r'href="(\.\./inbox/[^"?]+/[^"?]+)"', await inbox.text())
                assert links
                for link in links:
                    async with http.get(inbox.url.join(URL(link))) as page:
                        assert page.status == 200, link

    async def test_a_service_without_it_works(self, settings: Settings) -> None:
        with only_extensions([]):
            async with run_service(settings) as up:
                submitted = await up.service.submit(read_submission(_CALL))
                assert submitted.ask.open
                assert up.extensions.running == {}
