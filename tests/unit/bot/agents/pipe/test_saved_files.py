"""Files of people are saved where their agent alone reads them, whatever lies there already."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from answerback_agents.pipe.saved_files import (
    describe_files,
    fetch_and_save,
    file_name,
    files_folder,
    remove_old_files,
    save_files,
    with_paths,
)
from tests.unit.picture_samples import PNG

Json = dict[str, Any]
FILE_ID = f"file_{'a' * 32}"
pytestmark = pytest.mark.rule("FILE-50")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("ANSWERBACK_FILES_DAYS", raising=False)
    return tmp_path


def file(data: bytes = PNG, **more: Any) -> Json:
    """A file as the ask's JSON has it."""
    digest = hashlib.sha256(data).hexdigest()
    about = {"id": FILE_ID, "name": "photo.png", "media_type": "image/png", "sha256": digest}
    return {**about, "bytes": len(data), **more}


def save(*files: Json, data: bytes = PNG, conversation: str = "c1") -> list[Json]:
    return save_files(files, conversation, lambda _id, _seconds: data)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_file_and_its_folders_are_for_their_user_alone() -> None:
    [saved] = save(file())
    path = Path(saved["path"])
    assert path.read_bytes() == PNG
    assert path.name == f"{FILE_ID}.png"
    assert (mode(path), mode(path.parent), mode(path.parent.parent)) == (0o600, 0o700, 0o700)
    assert path.parent.parent == files_folder()
    assert describe_files([saved]) == f'The user sent the file "photo.png": it is saved at {path}'
    [other] = save(file(), conversation="c2")
    assert Path(other["path"]).parent != path.parent


@pytest.mark.parametrize(
    ("about", "name"),
    [
        ({"media_type": "image/jpeg", "name": "../../.ssh/authorized_keys"}, ".jpg"),
        ({"media_type": "application/octet-stream", "name": "Report 2026.PDF"}, ".pdf"),
        ({"media_type": "application/octet-stream", "name": "a.tar.gz"}, ".gz"),
        ({"media_type": "application/octet-stream", "name": "a./../x"}, ".bin"),
        ({"media_type": "application/octet-stream", "name": "a.\u202egnp"}, ".bin"),
        ({"media_type": "application/octet-stream", "name": "a.p\u0661"}, ".bin"),
        ({"media_type": "application/octet-stream", "name": ".bashrcprofile"}, ".bin"),
        ({"media_type": "image/svg+xml", "name": "noending"}, ".bin"),
        ({"id": "../x"}, None),
        ({"id": f"{FILE_ID}/../../x"}, None),
        ({"id": f"{FILE_ID}\n"}, None),
        ({"id": 7}, None),
    ],
)
def test_a_name_is_the_id_and_a_plain_ending(about: Json, name: str | None) -> None:
    assert file_name({**file(), **about}) == (None if name is None else f"{FILE_ID}{name}")


def test_what_was_saved_before_is_found_again() -> None:
    [first] = save(file())
    [second] = save(file())
    assert first["path"] == second["path"]
    assert len(list(Path(first["path"]).parent.iterdir())) == 1


@pytest.mark.parametrize("planted", ["link", "dangling", "other", "open", "second name", "folder"])
def test_what_lies_in_its_place_is_neither_read_nor_written(tmp_path: Path, planted: str) -> None:
    [first] = save(file())
    path = Path(first["path"])
    elsewhere = tmp_path / "elsewhere"
    path.unlink()
    if planted == "link":
        elsewhere.write_bytes(PNG)
        path.symlink_to(elsewhere)
    elif planted == "dangling":
        path.symlink_to(elsewhere)
    elif planted == "other":
        path.write_bytes(b"other")
        path.chmod(0o600)
    elif planted == "open":
        path.write_bytes(PNG)
        path.chmod(0o666)
    elif planted == "second name":
        elsewhere.write_bytes(PNG)
        elsewhere.chmod(0o600)
        path.hardlink_to(elsewhere)
    else:
        path.mkdir()
    [second] = save(file())
    written = Path(second["path"])
    assert written != path
    assert written.parent == path.parent
    assert written.suffix == ".png"
    assert written.read_bytes() == PNG
    assert mode(written) == 0o600
    assert not elsewhere.exists() or elsewhere.read_bytes() == PNG
    assert planted != "dangling" or not elsewhere.exists()


@pytest.mark.parametrize("which", ["base", "conversation"])
@pytest.mark.parametrize("how", ["link", "readable"])
def test_nothing_is_saved_in_a_folder_that_others_may_read_or_that_leads_elsewhere(
    tmp_path: Path, which: str, how: str
) -> None:
    [first] = save(file())
    own = Path(first["path"]).parent
    folder = own if which == "conversation" else own.parent
    target = tmp_path / "target"
    if how == "link":
        folder.rename(target)
        folder.symlink_to(target)
    else:
        folder.chmod(0o755)
    [second] = save(file(id=f"file_{'b' * 32}"))
    assert "path" not in second
    assert second["not_saved"]
    assert not [*tmp_path.rglob("file_b*")]


@pytest.mark.rule("FILE-51")
@pytest.mark.parametrize("about", [{"sha256": "0" * 64}, {"sha256": None}, {"sha256": "x"}])
def test_other_bytes_than_the_person_sent_are_not_saved(about: Json) -> None:
    [saved] = save({**file(), **about})
    assert "path" not in saved
    assert f"GET /v1/files/{FILE_ID} returns it." in describe_files([saved])
    assert not files_folder().exists()


@pytest.mark.rule("FILE-51")
def test_why_a_file_is_not_saved_is_said_with_its_address() -> None:
    def fail(_id: str, _seconds: float) -> bytes:
        raise ConnectionError("Cannot reach Answerback.")

    [saved] = save_files([file()], "c1", fail)
    assert describe_files([saved]) == (
        'The user sent the file "photo.png": it could not be saved (Cannot reach Answerback). '
        f"GET /v1/files/{FILE_ID} returns it."
    )


@pytest.mark.rule("FILE-51")
async def test_a_file_that_does_not_arrive_holds_up_the_answer_for_a_moment_only() -> None:
    async def fetch(_id: str) -> bytes:
        await asyncio.Event().wait()
        return PNG

    [late] = await fetch_and_save([file()], "c1", fetch, timeout=0.05)
    assert late["not_saved"] == "it did not arrive in time"


@pytest.mark.rule("FILE-51")
async def test_files_are_fetched_and_saved_without_blocking() -> None:
    async def fetch(_id: str) -> bytes:
        return PNG

    [saved] = await fetch_and_save([file()], "c1", fetch)
    assert Path(saved["path"]).read_bytes() == PNG


@pytest.mark.rule("FILE-51")
@pytest.mark.parametrize(("days", "is_there"), [("", True), ("5", False), ("30", True)])
def test_a_conversation_that_got_no_file_for_days_loses_its_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, days: str, is_there: bool
) -> None:
    [saved] = save(file())
    folder = Path(saved["path"]).parent
    kept = tmp_path / "kept"
    kept.mkdir()
    (folder.parent / "link").symlink_to(kept)
    six_days_ago = time.time() - 6 * 86_400
    os.utime(folder, (six_days_ago, six_days_ago))
    os.utime(folder.parent / "link", (0, 0), follow_symlinks=False)
    monkeypatch.setenv("ANSWERBACK_FILES_DAYS", days)
    remove_old_files()
    assert folder.exists() == is_there
    assert kept.is_dir()


@pytest.mark.rule("FILE-51")
@pytest.mark.parametrize(
    ("days", "why"),
    [
        ("0", "nothing is saved on this machine"),
        ("week", "ANSWERBACK_FILES_DAYS is no number"),
        ("-1", "ANSWERBACK_FILES_DAYS is no number"),
        ("nan", "ANSWERBACK_FILES_DAYS is no number"),
    ],
)
def test_nothing_is_saved_where_that_is_turned_off(
    monkeypatch: pytest.MonkeyPatch, days: str, why: str
) -> None:
    monkeypatch.setenv("ANSWERBACK_FILES_DAYS", days)
    [saved] = save(file())
    assert saved["not_saved"] == why
    assert not files_folder().exists()


def test_paths_replace_the_addresses_of_these_files_alone() -> None:
    text = (
        f'{{"a": "GET /v1/files/{FILE_ID} returns it. GET /v1/files/file_{"b" * 32} returns it."}}'
    )
    path = '/home/a "b"/\u00e9'
    named = with_paths(text, [{"id": FILE_ID, "path": path}], is_json=True)
    assert named == (
        '{"a": "it is saved at /home/a \\"b\\"/\\u00e9 '
        f'GET /v1/files/file_{"b" * 32} returns it."}}'
    )
