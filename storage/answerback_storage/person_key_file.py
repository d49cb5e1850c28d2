"""The person's key, kept in a file of its own that only the service's user can read.

The key is not in the database: a copy of that (a backup, an export) gives nobody the right to act.
It is not hashed either, because `answerback key` prints it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from answerback.ports.person_key import new_key
from answerback_storage import private_file

_WHAT: Final = "key file"


class PersonKeyFile:
    """The key file beside a database (``….key``), mode 0600."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}.key")

    def read(self) -> str | None:
        """The key, or None where there is none yet.

        Raises:
            StoreError: the file cannot be read; in words.
        """
        text = private_file.read(self.path, _WHAT)
        return text.strip() or None if text is not None else None

    def ensure(self) -> str:
        """The key, made where there is none yet."""
        return self.read() or self.rotate()

    def rotate(self) -> str:
        """Replaces the key by a new one, in one step: a reader finds the old one or the new one.

        Raises:
            StoreError: the file cannot be written; in words.
        """
        key = new_key()
        private_file.replace(self.path, f"{key}\n", _WHAT)
        return key
