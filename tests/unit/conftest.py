"""Fixtures for all unit tests: SQLite files that are quick to make."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from answerback.ports.installed_extensions import installed_extensions
from answerback_storage import rows
from answerback_storage.sqlite import change_batches, connections

installed_extensions()  # found outside any event loop, as with the configuration of a service


@cache
def _migrated() -> bytes:
    """A database without rows, as the migrations leave it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answerback.db"
        batch = change_batches.Batch(rows.RequestCache())
        made = connections.Connections(path, 5.0, batch)
        made.open()
        made.close()
        return path.read_bytes()


@pytest.fixture(autouse=True)
def copied_databases(request: pytest.FixtureRequest) -> Iterator[None]:
    """A new SQLite file is a copy of one that was migrated before; the tests of the store itself run the migrations."""
    if request.path.is_relative_to(Path(__file__).parent / "storage"):
        yield
        return
    empty = _migrated()
    make = connections.make_file

    def copied(path: Path) -> None:
        make(path)
        if path.stat().st_size == 0:
            path.write_bytes(empty)

    connections.make_file = copied
    yield
    connections.make_file = make
