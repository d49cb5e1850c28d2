"""The disk below SQLite: what was not synced can be lost, torn or reordered when the power fails.

SQLite reaches the disk through a table of functions, its VFS (https://www.sqlite.org/vfs.html). `install` makes a copy
of the system's own the default, in which writing, truncating, syncing and opening are recorded, too. The files
themselves are written as ever, and `fail` says what would be left of them.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_OK: Final = 0
_SECTOR: Final = 512
"""Bytes that a disk writes whole or not at all."""
_HERE: Final = ctypes.c_void_p
_Open = ctypes.CFUNCTYPE(ctypes.c_int, _HERE, _HERE, _HERE, ctypes.c_int, _HERE)
_Write = ctypes.CFUNCTYPE(ctypes.c_int, _HERE, _HERE, ctypes.c_int, ctypes.c_int64)
_Truncate = ctypes.CFUNCTYPE(ctypes.c_int, _HERE, ctypes.c_int64)
_Sync = ctypes.CFUNCTYPE(ctypes.c_int, _HERE, ctypes.c_int)


class _Vfs(ctypes.Structure):
    """``sqlite3_vfs``: https://www.sqlite.org/c3ref/vfs.html"""

    _fields_ = (
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        ("following", _HERE),
        ("name", ctypes.c_char_p),
        ("data", _HERE),
        ("open", _Open),
        ("others", _HERE * 14),
    )


class _Methods(ctypes.Structure):
    """``sqlite3_io_methods``: https://www.sqlite.org/c3ref/io_methods.html"""

    _fields_ = (
        ("version", ctypes.c_int),
        ("close", _HERE),
        ("read", _HERE),
        ("write", _Write),
        ("truncate", _Truncate),
        ("sync", _Sync),
        ("others", _HERE * 13),
    )


class _File:
    """A file: its contents that are certainly on the disk, and what was done to it since."""

    def __init__(self, synced: bytes) -> None:
        self.synced = bytearray(synced)
        self.since: list[tuple[int, bytes | None]] = []
        """Writes at a place, and (with None) truncations to a size."""

    def sync(self) -> None:
        for at, data in self.since:
            _apply(self.synced, at, data)
        self.since.clear()

    def left(self, rng: random.Random) -> bytes:
        """Return the contents that are left when the power fails."""
        found, kept = bytearray(self.synced), rng.choice([0.0, 0.5, 0.9, 1.0])
        for at, data in self.since:
            if rng.random() >= kept:
                continue
            if data and rng.random() < 0.2:
                data = data[: _SECTOR * rng.randrange(len(data) // _SECTOR + 1)]
            _apply(found, at, data)
        return bytes(found)


def _apply(content: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        del content[at:]
        return
    content.extend(bytes(max(0, at - len(content))))
    content[at : at + len(data)] = data


class Disk:
    """The disk of the process: only one can be installed."""

    def __init__(self) -> None:
        self._files: dict[Path, _File] = {}
        self._open: dict[int, Path] = {}
        """The open files, by the addresses of SQLite's structures for them."""
        self._kept: list[Any] = []
        """The objects that SQLite has pointers to."""
        self._tables: dict[int, _Methods] = {}

    def install(self) -> None:
        """Let all connections that are opened from now on use this disk.

        They must be closed before it is gone, or the process must end at once (``os._exit``).
        """
        library = ctypes.CDLL("libsqlite3.so.0")
        library.sqlite3_vfs_find.restype = _HERE
        found = library.sqlite3_vfs_find(None)
        vfs = _Vfs.from_buffer_copy(ctypes.string_at(found, ctypes.sizeof(_Vfs)))
        real_open = _copied(vfs.open)

        def open_file(this: int, name: int | None, file: int, flags: int, out: int | None) -> int:
            # The name is passed on as it is: SQLite keeps the pointer.
            code: int = real_open(found, name, file, flags, out)
            if code == _OK and name is not None:
                self._opened(Path(ctypes.string_at(name).decode()), file)
            return code

        vfs.name, vfs.open = b"simulated", _Open(open_file)
        self._kept.append(vfs)
        if library.sqlite3_vfs_register(ctypes.byref(vfs), 1) != _OK:
            raise RuntimeError("SQLite does not take the simulated disk")

    def fail(self, folder: Path, target: Path, rng: random.Random) -> None:
        """Write to another folder what is left of one when the power fails."""
        for path, file in sorted(self._files.items()):
            if path.parent == folder and path.exists():
                (target / path.name).write_bytes(file.left(rng))

    def _opened(self, path: Path, file: int) -> None:
        self._open[file] = path
        if path not in self._files or not path.stat().st_size:
            self._files[path] = _File(path.read_bytes())
        methods = _HERE.from_address(file)
        if methods.value is None:
            return
        table = self._tables.get(methods.value)
        if table is None:
            table = self._tables[methods.value] = self._recording(methods.value)
        methods.value = ctypes.addressof(table)

    def _recording(self, real: int) -> _Methods:
        """Return a table of functions that records what is done, and does it."""
        size = ctypes.sizeof(_Methods)
        table = _Methods.from_buffer_copy(ctypes.string_at(real, size))
        real_write, real_truncate = _copied(table.write), _copied(table.truncate)
        real_sync = _copied(table.sync)

        def recorded(done: int, file: int, record: Callable[[_File], None]) -> int:
            if done == _OK:
                record(self._files[self._open[file]])
            return done

        def write(file: int, data: int, amount: int, at: int) -> int:
            given = ctypes.string_at(data, amount)
            done = real_write(file, data, amount, at)
            return recorded(done, file, lambda each: each.since.append((at, given)))

        def truncate(file: int, size: int) -> int:
            done = real_truncate(file, size)
            return recorded(done, file, lambda each: each.since.append((size, None)))

        def sync(file: int, flags: int) -> int:
            return recorded(real_sync(file, flags), file, _File.sync)

        table.write, table.truncate, table.sync = _Write(write), _Truncate(truncate), _Sync(sync)
        return table


def _copied(function: Any) -> Any:
    """Return a function that stays what it is when the table in which it stands is changed."""
    return type(function)(ctypes.cast(function, _HERE).value)
