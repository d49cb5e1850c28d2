"""Private files are created once and whole, on file systems with hard links and on those without."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from answerback.core.errors import StoreError
from answerback_base import private_file


def refuse_links(*_: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.fixture(params=[True, False], ids=["hard links", "none"])
def path(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a file to create."""
    if not request.param:
        monkeypatch.setattr(Path, "hardlink_to", refuse_links)
    return tmp_path / "key"


def test_the_first_of_several_processes_makes_the_file(path: Path) -> None:
    private_file.create(path, "first\n", "file")
    private_file.create(path, "second\n", "file")
    assert private_file.read(path, "file") == "first\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["key"]


@pytest.mark.parametrize("works", [0, 1])
def test_a_file_that_cannot_be_written_whole_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: int
) -> None:
    monkeypatch.setattr(Path, "hardlink_to", refuse_links)
    written = 0

    def fail(_file: int) -> None:
        nonlocal written
        written += 1
        if written > works:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match="No space left on device"):
        private_file.create(tmp_path / "key", "first\n", "file")
    assert [*tmp_path.iterdir()] == []
