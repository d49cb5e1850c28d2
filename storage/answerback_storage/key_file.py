"""The person's key, kept in a file of its own that only the service's user can read.

The key is not in the database: a copy of that (a backup, an export) gives nobody the right to act.
It is not hashed either, because `answerback key` prints it.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from pathlib import Path

from answerback.core.errors import StoreError
from answerback.ports.person_key import new_key


class KeyFile:
    """The key file beside a database (``….key``), mode 0600."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}.key")

    async def current(self) -> str | None:
        """The key as it is now, so that a new one counts at once; None where there is none."""
        return await asyncio.to_thread(self.read)

    def read(self) -> str | None:
        """The key, or None where there is none yet.

        Raises:
            StoreError: the file cannot be read; in words.
        """
        try:
            return self.path.read_text("utf-8", "replace").strip() or None
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(
                f"The key file {self.path} cannot be read ({error.strerror}). Run this as the user that "
                "`answerback serve` runs as."
            ) from error

    def ensure(self) -> str:
        """The key, made where there is none yet."""
        return self.read() or self.rotate()

    def rotate(self) -> str:
        """Replaces the key by a new one, in one step: a reader finds the old one or the new one.

        Raises:
            StoreError: the file cannot be written; in words.
        """
        key = new_key()
        beside = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}")
        try:
            with open(
                os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w"
            ) as file:
                file.write(f"{key}\n")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise StoreError(
                f"The key file {self.path} cannot be written ({error.strerror}). Run this as the user that "
                "`answerback serve` runs as, and give that user write permission on the directory."
            ) from error
        return key
