"""The valid keys: read again whenever their files have changed, and only then."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from answerback.ports.person_key import hash_of
from answerback.runtime.person_keys import HolderReader
from answerback_storage.person_key_file import PersonKeyFile
from answerback_storage.personal_links_file import PersonalLinksFile


class CountedKeyFile(PersonKeyFile):
    """A key file that counts how often it is read."""

    reads = 0

    def read(self) -> str | None:
        """Count one more time."""
        self.reads += 1
        return super().read()


@pytest.fixture
def file(tmp_path: Path) -> CountedKeyFile:
    """The key file, with a key."""
    file = CountedKeyFile(tmp_path / "answerback.db")
    file.ensure()
    file.reads = 0
    return file


@pytest.fixture
def links(tmp_path: Path) -> PersonalLinksFile:
    """The file of personal links, which does not exist yet."""
    return PersonalLinksFile(tmp_path / "answerback.db")


async def _hashes(read: HolderReader) -> list[str]:
    return [holder.key_hash for holder in await read()]


async def test_keys_whose_files_have_not_changed_are_not_read_again(
    file: CountedKeyFile, links: PersonalLinksFile
) -> None:
    read = HolderReader(file, links, "web", str)
    first = await read()
    assert await read() is first
    assert file.reads == 1


async def test_a_replaced_key_and_an_added_or_revoked_link_count_at_once(
    file: CountedKeyFile, links: PersonalLinksFile
) -> None:
    read = HolderReader(file, links, "web", str)
    old = await _hashes(read)
    key = await asyncio.to_thread(file.rotate)
    assert await _hashes(read) == [hash_of(key)] != old
    ann = await asyncio.to_thread(links.add, "ann", 1_000.0)
    assert ann is not None
    assert await _hashes(read) == [hash_of(key), hash_of(ann)]
    await asyncio.to_thread(links.revoke, "ann")
    assert await _hashes(read) == [hash_of(key)]
    file.path.unlink()
    assert await _hashes(read) == []


async def test_links_that_could_not_be_read_are_read_again_each_time(
    file: CountedKeyFile, links: PersonalLinksFile
) -> None:
    links.path.mkdir()
    read = HolderReader(file, links, "web", str)
    assert len(await read()) == len(await read()) == 1
    assert file.reads == 2
