"""The files that people sent with an answer, saved where the agent's own tools can read them.

A file is called after its id, never as the person who sent it called it, in a folder of the agent's conversation that
its user alone may read. The model reads the path in the text that it gets with the answer. An answer never fails
because of a file: the text then says what went wrong, and how the service returns it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from answerback_agents.pipe.state_folder import state_folder
from answerback_base.file_text import describe_file, place_in_service

Json = dict[str, Any]

DAYS: Final = "ANSWERBACK_FILES_DAYS"
"""The environment variable with the days after which a conversation's files are removed; 0: none are saved."""
DEFAULT_DAYS: Final = 7.0
MAX_FILE: Final = 10 * 2**20
"""Bytes of a file: what the service takes."""
TIMEOUT: Final = 10.0
"""Seconds for which an answer waits for all of its files."""
_SECONDS_A_DAY: Final = 86_400
_ID: Final = re.compile(r"file_[0-9a-f]{32}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_PICTURES: Final = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
}
_ENDING: Final = re.compile(r"\.[A-Za-z0-9]{1,8}")
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FOLDER: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_DIRECTORY


def files_folder() -> Path:
    """The folder with a folder for each conversation; it may not exist yet."""
    return (state_folder() / "files").absolute()


def files_of(ask: Mapping[str, Any]) -> Sequence[Json]:
    """Return the files that people sent with the answers of an ask, as far as the agent may read them."""
    files = ask.get("answer_files")
    return [each for each in files if isinstance(each, dict)] if isinstance(files, list) else []


def save_files(
    files: Sequence[Json],
    conversation: str,
    fetch: Callable[[str, float], bytes],
    timeout: float = TIMEOUT,
) -> list[Json]:
    """Save files, and return them with the ``path`` of each, or why it is ``not_saved``.

    Args:
        files: as the ask's JSON has them.
        conversation: the agent's, or the ask's id if it has none.
        fetch: returns the bytes of the file with an id, within some seconds.
        timeout: seconds for which all of them are waited for.
    """
    until = time.monotonic() + timeout
    return [
        _saved(each, conversation, lambda file_id: fetch(file_id, until - time.monotonic()))
        for each in files
    ]


async def fetch_and_save(
    files: Sequence[Json],
    conversation: str,
    fetch: Callable[[str], Awaitable[bytes]],
    timeout: float = TIMEOUT,
) -> list[Json]:
    """Do as `save_files`, in a thread, with files that are fetched asynchronously."""
    import asyncio  # not above: most hooks do without

    fetched: dict[str, bytes | Exception] = {}
    until = time.monotonic() + timeout
    for each in files if _days() else ():
        file_id = str(each.get("id"))
        try:
            async with asyncio.timeout(until - time.monotonic()):
                fetched[file_id] = await fetch(file_id)
        except TimeoutError:
            fetched[file_id] = TimeoutError("it did not arrive in time")
        except Exception as error:  # noqa: BLE001 - the answer arrives whatever becomes of its files
            fetched[file_id] = error

    def take(file_id: str, _seconds: float) -> bytes:
        data = fetched[file_id]
        if isinstance(data, Exception):
            raise data
        return data

    return await asyncio.to_thread(save_files, files, conversation, take)


def describe_files(files: Sequence[Mapping[str, Any]]) -> str:
    """Return what a model reads about files: the path of each, or how the service returns it. Empty without files."""
    return "\n".join(describe_file(str(each.get("name")), _place(each)) for each in files)


def with_paths(text: str, files: Sequence[Json], *, is_json: bool = False) -> str:
    """Return a text of the service about files with the places at which they are saved.

    Args:
        is_json: True if the text is JSON, of which the service's words are a part.
    """
    for each in files:
        place = _place(each)
        written = json.dumps(place)[1:-1] if is_json else place
        text = text.replace(place_in_service(str(each.get("id"))), written)
    return text


def remove_old_files() -> None:
    """Remove the files of conversations that got none for some days."""
    if not files_folder().is_dir():
        return
    import shutil  # which takes a hook too long to import each time

    before = time.time() - (_days() or DEFAULT_DAYS) * _SECONDS_A_DAY
    with suppress(OSError), os.scandir(files_folder()) as folders:
        for each in folders:
            with suppress(OSError):
                is_folder = each.is_dir(follow_symlinks=False)
                if is_folder and each.stat(follow_symlinks=False).st_mtime < before:
                    shutil.rmtree(each.path, ignore_errors=True)


def file_name(file: Mapping[str, Any]) -> str | None:
    """Return the name under which a file is saved; None if its id is none of the service's."""
    file_id = file.get("id")
    if not isinstance(file_id, str) or _ID.fullmatch(file_id) is None:
        return None
    ending = _PICTURES.get(str(file.get("media_type")))
    if ending is None:
        _, dot, last = str(file.get("name")).rpartition(".")
        named = f"{dot}{last}"
        ending = named.lower() if _ENDING.fullmatch(named) else ".bin"
    return f"{file_id}{ending}"


def _place(file: Mapping[str, Any]) -> str:
    if isinstance(path := file.get("path"), str):
        return f"it is saved at {path}"
    why = file.get("not_saved")
    place = place_in_service(str(file.get("id")))
    return place if why is None else f"it could not be saved ({why}). {place}"


def _saved(file: Json, conversation: str, fetch: Callable[[str], bytes]) -> Json:
    if not (days := _days()):
        why = "nothing is saved on this machine" if days is not None else f"{DAYS} is no number"
        return {**file, "not_saved": why}
    name, digest = file_name(file), file.get("sha256")
    if name is None or not isinstance(digest, str) or not _SHA256.fullmatch(digest):
        return {**file, "not_saved": "the service does not say which file it is"}
    try:
        remove_old_files()
        data = fetch(str(file["id"]))
        if len(data) > MAX_FILE or hashlib.sha256(data).hexdigest() != digest:
            return {**file, "not_saved": "other bytes arrived than the person sent"}
        return {**file, "path": str(_write(conversation, name, data))}
    except Exception as error:  # noqa: BLE001 - the answer arrives whatever becomes of its files
        failure = error
    reason = failure.strerror if isinstance(failure, OSError) else None
    return {
        **file,
        "not_saved": reason or str(failure).rstrip(".") or type(failure).__name__,
    }


def _write(conversation: str, name: str, data: bytes) -> Path:
    """Write a file that nobody else can read or has put there, and return its path.

    Raises:
        OSError: the folder is somebody else's, or is full.
    """
    own = hashlib.sha256(conversation.encode(errors="surrogatepass")).hexdigest()[:16]
    place = files_folder() / own
    with _private_folder(place) as folder:
        if _is_there(folder, name, data):
            return place / name
        with suppress(FileExistsError):
            return _write_new(folder, place, name, data)
        stem, dot, ending = name.rpartition(".")
        return _write_new(folder, place, f"{stem}-{secrets.token_hex(4)}{dot}{ending}", data)


def _write_new(folder: int, place: Path, name: str, data: bytes) -> Path:
    """Write a file; if that fails, nothing of it stays."""
    descriptor = os.open(name, _NEW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    return place / name


def _is_there(folder: int, name: str, data: bytes) -> bool:
    """Return True if the folder has this file from an earlier time, whole."""
    try:
        descriptor = os.open(name, _OLD, dir_fd=folder)
    except OSError:  # there is none, or a link
        return False
    status = os.fstat(descriptor)
    is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
    if not is_own or stat.S_IMODE(status.st_mode) != 0o600 or status.st_nlink != 1:
        os.close(descriptor)
        return False
    with os.fdopen(descriptor, "rb") as file:
        return file.read(len(data) + 1) == data


@contextmanager
def _private_folder(path: Path) -> Iterator[int]:
    """Open a folder that its user alone may read, and make it if need be.

    Raises:
        OSError: it is a link, somebody else's, or open to others.
    """
    path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    above = -1
    descriptor = os.open(path.parent.parent, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        for name in (path.parent.name, path.name):
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=descriptor)
            above, descriptor = descriptor, os.open(name, _FOLDER, dir_fd=descriptor)
            os.close(above)
            status = os.fstat(descriptor)
            if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
                raise PermissionError(f"others than you may read or write the folder {path}")
        yield descriptor
    finally:
        os.close(descriptor)


def _days() -> float | None:
    """Return the days after which files are removed; None if the setting is no number."""
    value = os.environ.get(DAYS, "").strip()
    if not value:
        return DEFAULT_DAYS
    with suppress(ValueError):
        days = float(value)
        if 0 <= days < 100_000:
            return days
    return None
