"""The file of personal links, which commands change and list while a service reads it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from answerback.core.errors import StoreError
from answerback.ports.person_key import hash_of
from answerback_storage.personal_links_file import PersonalLinksFile


@pytest.mark.rule("AUTH-14", "DATA-17")
def test_only_the_hash_of_a_personal_key_is_stored_and_only_its_user_may_read_it(
    tmp_path: Path,
) -> None:
    file = PersonalLinksFile(tmp_path / "asks.db")
    assert file.read() == {}
    key = file.add("alice@example.com", 5.0)
    assert key is not None
    assert key.startswith("abp_")
    assert file.path == tmp_path / "asks.db.people"
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert key not in file.path.read_text()
    (linked,) = file.read().values()
    assert (linked.key_hash, linked.added_at) == (hash_of(key), 5.0)


@pytest.mark.rule("AUTH-14")
def test_a_person_has_one_link_until_it_is_revoked(tmp_path: Path) -> None:
    file = PersonalLinksFile(tmp_path / "asks.db")
    first = file.add("alice", 1.0)
    assert file.add("alice", 2.0) is None
    assert file.add("bob", 3.0) not in {None, first}
    assert list(file.read()) == ["alice", "bob"]
    assert file.revoke("alice")
    assert not file.revoke("alice")
    assert list(file.read()) == ["bob"]
    assert file.add("alice", 4.0) not in {None, first}


def test_concurrent_commands_lose_nobody(tmp_path: Path) -> None:
    names = [f"person {i}" for i in range(24)]
    with ThreadPoolExecutor(8) as pool:
        keys = list(
            pool.map(lambda name: PersonalLinksFile(tmp_path / "asks.db").add(name, 1.0), names)
        )
    people = PersonalLinksFile(tmp_path / "asks.db").read()
    assert {name: one.key_hash for name, one in people.items()} == {
        name: hash_of(str(key)) for name, key in zip(names, keys, strict=True)
    }


def test_a_damaged_or_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        PersonalLinksFile(tmp_path / "nowhere" / "asks.db").add("alice", 1.0)
    file = PersonalLinksFile(tmp_path / "asks.db")
    for text in ("{", json.dumps({"alice": {"key_hash": "x", "added_at": 1}})):
        file.path.write_text(text)
        with pytest.raises(StoreError, match="is damaged"):
            file.read()
