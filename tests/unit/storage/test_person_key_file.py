"""The key file: created once, readable only by its user, replaced atomically, and errors with it explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from answerback.core.errors import StoreError
from answerback_storage.person_key_file import PersonKeyFile


@pytest.mark.rule("AUTH-13", "DATA-17")
def test_the_key_is_created_once_and_only_its_user_may_read_it(tmp_path: Path) -> None:
    file = PersonKeyFile(tmp_path / "asks.db")
    assert file.read() is None
    key = file.ensure()
    assert re.fullmatch(r"abk_[\w-]{43}", key)
    assert PersonKeyFile(tmp_path / "asks.db").ensure() == key
    assert file.path == tmp_path / "asks.db.key"
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.path.read_text() == f"{key}\n"


@pytest.mark.rule("AUTH-10", "CLI-9")
def test_a_rotated_key_replaces_the_old_one_and_leaves_no_other_file(tmp_path: Path) -> None:
    file = PersonKeyFile(tmp_path / "asks.db")
    old = file.ensure()
    file.path.chmod(0o644)
    new = file.rotate()
    assert new != old
    assert file.read() == new
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file.path]


def test_a_key_that_cannot_be_written_or_read_is_explained(tmp_path: Path) -> None:
    nowhere = PersonKeyFile(tmp_path / "nowhere" / "asks.db")
    with pytest.raises(StoreError, match="cannot be written"):
        nowhere.ensure()
    file = PersonKeyFile(tmp_path / "asks.db")
    file.path.mkdir()
    with pytest.raises(StoreError, match="cannot be read"):
        file.read()
    with pytest.raises(StoreError, match="cannot be written"):
        file.rotate()
    assert list(tmp_path.iterdir()) == [file.path]


def test_an_empty_key_file_holds_no_key(tmp_path: Path) -> None:
    file = PersonKeyFile(tmp_path / "asks.db")
    file.path.write_text("\n")
    assert file.read() is None
    assert file.ensure()
