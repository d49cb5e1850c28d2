"""The people who have a personal link, kept in a separate file next to the key file.

The file stores a hash of each key, so reading it gives nobody the right to act. Commands change it while the service
runs, and the service reads it each time a caller presents a key.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from answerback.core.errors import StoreError
from answerback.ports.person_key import hash_of, new_personal_key
from answerback_base import private_file

_DESCRIPTION: Final = "file of personal links"


class PersonalLink(BaseModel):
    """One person's link, without its secret."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key_hash: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    added_at: float
    """Seconds since the epoch."""


_LINKS: Final = TypeAdapter(dict[str, PersonalLink])


class PersonalLinksFile:
    """The file of personal links next to a database (``….people``), mode 0600."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}.people")

    def read(self) -> dict[str, PersonalLink]:
        """Return the links by the people's names, in the order in which they were added.

        Raises:
            StoreError: the file cannot be read or is damaged. The message says which.
        """
        text = private_file.read(self.path, _DESCRIPTION)
        if text is None:
            return {}
        try:
            return _LINKS.validate_json(text)
        except ValidationError as error:
            raise StoreError(
                f"The {_DESCRIPTION} {self.path} is damaged. Remove it and add the people again."
            ) from error

    def add(self, name: str, now: float) -> str | None:
        """Create a key for a person and return it, or None if they already have one.

        Raises:
            StoreError: the file cannot be read or written. The message says why.
        """
        with self._exclusive():
            people = self.read()
            if name in people:
                return None
            key = new_personal_key()
            self._write({**people, name: PersonalLink(key_hash=hash_of(key), added_at=now)})
            return key

    def revoke(self, name: str) -> bool:
        """Revoke a person's key. Return False if they have none.

        Raises:
            StoreError: the file cannot be read or written. The message says why.
        """
        with self._exclusive():
            people = self.read()
            if name not in people:
                return False
            self._write({other: link for other, link in people.items() if other != name})
            return True

    def _write(self, people: dict[str, PersonalLink]) -> None:
        text = _LINKS.dump_json(people, indent=2).decode()
        private_file.replace(self.path, f"{text}\n", _DESCRIPTION)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Block other commands until done. The lock is on the directory, because the file itself gets replaced."""
        try:
            directory = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(
                f"The directory {self.path.parent} cannot be opened ({error.strerror}). Run this in the service's "
                "directory, or pass its configuration with --config."
            ) from error
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            yield
        finally:
            os.close(directory)
