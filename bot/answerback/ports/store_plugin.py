"""The door for stores: a distribution names a subclass of `StorePlugin` in the entry-point group `answerback.stores`.

The scheme of `storage.url` decides which one is used. Every command imports the module of each, so it imports the
database's libraries inside its methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from answerback.ports.plugin import Finding
    from answerback.ports.store import Store

GROUP: Final = "answerback.stores"


class StorePlugin(ABC):
    """A kind of database. Every ``url`` is one of its schemes, and is valid but in `problem`."""

    name: ClassVar[str]
    order: ClassVar[int] = 100
    schemes: ClassVar[frozenset[str]]
    extra: ClassVar[tuple[str, tuple[str, ...]]] = ("", ())
    """The extra of `answerback` that it needs, and the packages that the extra installs."""
    is_shared: ClassVar[bool] = True
    """True if several services may use one database. Where they may not, `lock` keeps the others out."""

    @abstractmethod
    def problem(self, url: str, listen_url: str | None) -> str | None:
        """Say what an address of a database has to be like; None if these are valid."""

    @abstractmethod
    def label(self, url: str) -> str:
        """Name a database for people, without its password."""

    def file(self, url: str) -> Path | None:
        """Return the database's file, beside which keys are stored; None if it has no file, or none on this machine."""
        return None

    @abstractmethod
    def store(self, url: str, listen_url: str | None, timed: Callable[[float], None]) -> Store:
        """Return the store, not yet open. ``timed`` is called with the seconds that each write took its caller."""

    @abstractmethod
    async def unapplied_migrations(self, url: str) -> Sequence[str] | None:
        """Return the migrations that a start would apply, or None if there are no tables yet. Changes nothing.

        Raises:
            StoreError: the database cannot be used, or a newer version wrote it.
        """

    def lock(self, url: str) -> AbstractAsyncContextManager[object]:
        """Keep other services out until the context exits."""
        return nullcontext()

    @abstractmethod
    def copy_endpoint(self, url: str) -> AbstractContextManager[Any]:
        """Return an `answerback_storage.store_copy.CopyEndpoint`: a side of `answerback copy`."""

    @abstractmethod
    def findings(self, url: str, listen_url: str | None) -> AsyncIterator[Finding]:
        """Check the database for `answerback doctor`, and change nothing."""
