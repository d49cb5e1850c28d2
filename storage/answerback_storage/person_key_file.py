"""The person's key, kept in a separate file that only the service's user can read.

The key is not in the database, so a copy of the database (a backup, an export) gives nobody the right to act. It is not
hashed either, because `answerback key` prints it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from answerback.ports.person_key import new_key
from answerback_base import private_file

_DESCRIPTION: Final = "key file"


class PersonKeyFile:
    """The key file next to a database (``….key``), mode 0600."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}.key")

    def read(self) -> str | None:
        """Return the key, or None if there is none yet.

        Raises:
            StoreError: the file cannot be read. The message says why.
        """
        text = private_file.read(self.path, _DESCRIPTION)
        return text.strip() or None if text is not None else None

    def ensure(self) -> str:
        """Return the key, creating it if there is none yet."""
        return self.read() or self.rotate()

    def rotate(self) -> str:
        """Replace the key with a new one atomically: a reader sees either the old key or the new one.

        Raises:
            StoreError: the file cannot be written. The message says why.
        """
        key = new_key()
        private_file.replace(self.path, f"{key}\n", _DESCRIPTION)
        return key
