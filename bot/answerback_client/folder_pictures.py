"""Pictures in the folder of an agent's session that a question shows, as in ``![Before](shots/before.png)``.

A model names them, and whatever it has read may have told it which. So a picture is taken only from the texts of a
question, never from a call that asks for permission; only if it is a regular file and a picture by its bytes; and only
from the folder, with links resolved and without anything hidden.
"""

from __future__ import annotations

import json
import logging
import os
import re
import stat
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

from answerback_client.errors import ClientError, Json, UnreachableError

logger = logging.getLogger(__name__)

Store = Callable[[str, bytes], Awaitable[Json]]
"""Uploads a file with this name, and returns what the service says of it."""
UPLOAD: Final = "ANSWERBACK_UPLOAD"
"""The environment variable that turns this off, with ``no``."""
_TEXTS: Final = frozenset({"context", "preview"})
"""The fields of a question that are Markdown for people."""
_MAX_FILES: Final = 10
"""Pictures of a call, and paths that are looked at."""
MAX_FILE: Final = 10 * 2**20
MAX_BYTES: Final = 20 * 2**20
"""Bytes of a picture, and of all pictures of a call: what the service takes."""
_MAX_PATH: Final = 200
"""Characters of a path, which people read beside the picture."""
_CODE: Final = r"(?P<code>```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`)"
_PICTURE: Final = r"!\[(?P<alt>[^\]\n]*)\]\((?:<(?P<spaced>[^<>\n]+)>|(?P<path>[^\s()<>]+))\)"
_REFERENCE: Final = re.compile(f"{_CODE}|{_PICTURE}", re.DOTALL)
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\~#]")
"""The start of what is no relative path."""
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of the folder, and how a question shows it."""

    path: str
    """As the text has it."""
    name: str
    """The name by which the text refers to it once it is uploaded; no other file of the call has it."""
    data: bytes

    @property
    def caption(self) -> str:
        """Its path and size, which people read with it."""
        return f"{self.path}, {max(1, round(len(self.data) / 1000))} kB"


@dataclass(frozen=True, slots=True)
class FolderPictures:
    """The pictures that the questions of a call show."""

    arguments: Json
    pictures: Mapping[str, Picture]
    """By the paths in the texts."""

    def only(self, uploaded: Container[str]) -> FolderPictures:
        """Return those of these names, which were uploaded."""
        kept = {path: each for path, each in self.pictures.items() if each.name in uploaded}
        return replace(self, pictures=kept)

    def referring(self) -> Json:
        """Return the arguments with texts that refer to the uploaded files."""
        placed: Json = _place(self.arguments, self.pictures) if self.pictures else self.arguments
        return placed

    def references(self, uploaded: Mapping[str, str]) -> list[Json]:
        """Return what names the pictures in ``files`` of a submission.

        Args:
            uploaded: the ids of files, by the names of pictures.
        """
        return [
            {"id": uploaded[each.name], "alt": each.caption, "folder": True}
            for each in self.pictures.values()
        ]

    def restored(self, text: str) -> str:
        """Return a JSON text with the references that `referring` has replaced as the call has them."""
        for before in _texts(self.arguments):
            after = _refer(before, self.pictures)
            for ascii_only in (True, False):
                old, new = (
                    json.dumps(each, ensure_ascii=ascii_only)[1:-1] for each in (before, after)
                )
                text = text.replace(new, old) if old != new else text
        return text


def find_pictures(
    arguments: Json, folder: Path, taken: frozenset[str] = frozenset()
) -> FolderPictures:
    """Read the pictures that the questions of a call show from the folder of its session.

    Args:
        arguments: of a call that asks people; of a permission prompt they are never passed here.
        taken: the names of files that the call has anyway.
    """
    pictures: dict[str, Picture] = {}
    names, room = set(taken), MAX_BYTES
    if os.environ.get(UPLOAD, "").strip().lower() == "no":
        return FolderPictures(arguments, pictures)
    for path in list(dict.fromkeys(_paths(arguments)))[: _MAX_FILES - len(taken)]:
        data = read_picture(folder, path)
        if data is not None and len(data) <= room:
            room -= len(data)
            name = _new_name(path, names)
            names.add(name)
            pictures[path] = Picture(path, name, data)
    return FolderPictures(arguments, pictures)


async def upload_pictures(
    found: FolderPictures, store: Store, uploaded: dict[str, str]
) -> FolderPictures:
    """Upload pictures, and return those that the service shows; the others are left out.

    Args:
        uploaded: the ids of those that are uploaded already, by their names; the others' are added.

    Raises:
        UnreachableError: the service is down.
    """
    for picture in found.pictures.values():
        if picture.name in uploaded:
            continue
        try:
            stored = await store(picture.name, picture.data)
        except UnreachableError:
            raise
        except ClientError as error:  # of the service, or of a proxy before it that limits bodies
            logger.warning("The picture %s is not shown: %s", picture.path, error)
            continue
        if str(stored.get("media_type")).startswith("image/"):
            uploaded[picture.name] = str(stored["id"])
    return found.only(uploaded)


def upload_pictures_blocking(
    found: FolderPictures, store: Callable[[str, bytes], Json], uploaded: dict[str, str]
) -> FolderPictures:
    """Upload pictures as `upload_pictures` does, for programs without an event loop."""

    async def store_at_once(name: str, data: bytes) -> Json:
        return store(name, data)

    # It never waits, so its first step is its last. An event loop would cost a hook more time than all else it does.
    try:
        upload_pictures(found, store_at_once, uploaded).send(None)
    except StopIteration as done:
        kept: FolderPictures = done.value
        return kept
    raise AssertionError("it waited for an event loop")


def _texts(value: object) -> Iterator[str]:
    """Yield the Markdown texts of the questions in a call."""
    if isinstance(value, dict):
        for key, each in value.items():
            if isinstance(each, str):
                if key in _TEXTS:
                    yield each
            else:
                yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _paths(arguments: Json) -> Iterator[str]:
    for text in _texts(arguments):
        for match in _REFERENCE.finditer(text):
            named = match["spaced"] or match["path"]
            if named and len(named) <= _MAX_PATH and _ADDRESS.match(named) is None:
                yield named


def _place(value: Any, pictures: Mapping[str, Picture]) -> Any:
    """Return a part of a call whose texts refer to pictures by the names of their files."""
    if isinstance(value, list):
        return [_place(each, pictures) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _refer(each, pictures)
        if key in _TEXTS and isinstance(each, str)
        else _place(each, pictures)
        for key, each in value.items()
    }


def _refer(text: str, pictures: Mapping[str, Picture]) -> str:
    def refer(match: re.Match[str]) -> str:
        picture = pictures.get(match["spaced"] or match["path"] or "")
        if picture is None:
            return match[0]
        alt = match["alt"].strip()
        caption = re.sub(r"[\[\]()]", " ", picture.caption)
        shown = f"{alt} ({caption})" if alt else caption
        return f"![{shown}](file:{picture.name})"

    return _REFERENCE.sub(refer, text)


def _new_name(path: str, names: set[str]) -> str:
    """Return a name for a file that no other has: its path without anything that a reference cannot hold."""
    plain = _UNSAFE.sub("_", unquote(path).removeprefix("./").replace("/", "-"))[-80:].lstrip(".-")
    stem, dot, ending = plain.rpartition(".")
    tries = (plain, *(f"{stem}_{number}{dot}{ending}" for number in range(2, 2 * _MAX_FILES)))
    return next(each for each in tries if each not in names)


def read_picture(folder: Path, named: str) -> bytes | None:
    """Return a picture of a folder; None if there is none by that path that may be shown."""
    for path in dict.fromkeys((named, unquote(named))):
        try:
            data = _read(folder, path)
        except (OSError, ValueError, RuntimeError):  # RuntimeError: links that lead to themselves
            continue
        if 0 < len(data) <= MAX_FILE and is_picture(data):
            return data
    return None


def _read(folder: Path, named: str) -> bytes:
    """Read a regular file below a folder.

    Raises:
        OSError: there is none, or it was replaced by a link after links were resolved.
        ValueError: it lies elsewhere, or is hidden.
    """
    root = folder.resolve(strict=True)
    relative = (root / named).resolve(strict=True).relative_to(root)
    parts = (*PurePosixPath(named).parts, *relative.parts)
    if not relative.parts or any(each.startswith(".") for each in parts):
        raise ValueError("hidden, or outside of the folder")
    *folders, name = relative.parts
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    below = os.open(root, flags | os.O_DIRECTORY)
    try:
        for each in folders:
            inner = os.open(each, flags | os.O_DIRECTORY, dir_fd=below)
            os.close(below)
            below = inner
        descriptor = os.open(name, flags | os.O_NONBLOCK, dir_fd=below)
    finally:
        os.close(below)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
            raise OSError("no regular file, or too large")
        return file.read(MAX_FILE + 1)


def is_picture(data: bytes) -> bool:
    """Return True if bytes begin as a PNG, JPEG, GIF or WebP; the service reads their headers."""
    starts = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
    return data.startswith(starts) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")
