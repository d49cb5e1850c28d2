"""The private keys that sign receipts, kept in a separate file that only the service's user can read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from answerback.ports.receipt_key import new_private_key
from answerback_base import private_file

_DESCRIPTION: Final = "file of the key that signs receipts"


class ReceiptKeyFile:
    """The file next to a database (``….receipts``), mode 0600: the key in use and, after rotations, the ones before."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}.receipts")

    def read(self) -> list[str]:
        """Return the keys, the one in use first; none if there is no file.

        Raises:
            StoreError: the file cannot be read. The message says why.
        """
        return (private_file.read(self.path, _DESCRIPTION) or "").split()

    def ensure(self) -> list[str]:
        """Return the keys, creating the first one if there is none yet.

        Raises:
            StoreError: the file cannot be read or written. The message says why.
        """
        if not (keys := self.read()):
            private_file.create(self.path, f"{new_private_key()}\n", _DESCRIPTION)
            keys = self.read()
        return keys

    def rotate(self) -> str:
        """Add a new key to use, and keep those before: they show that whoever has the new one had the old ones too.

        The database learns of a key when the service starts with it, so that it may know only an older one.

        Raises:
            StoreError: the file cannot be written. The message says why.
        """
        keys = [new_private_key(), *self.read()]
        private_file.replace(self.path, "".join(f"{key}\n" for key in keys), _DESCRIPTION)
        return keys[0]
