"""The directory of people: which accounts on the surfaces belong to one person. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from answerback.core.person import Person

PERSON_PREFIX: Final = "person:"
"""Stands before a person's name wherever an id may stand."""


@dataclass(frozen=True, slots=True)
class People:
    """The configured people, each with their accounts as ``surface:id``."""

    accounts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _owners: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        owners = {account: name for name, all_of in self.accounts.items() for account in all_of}
        object.__setattr__(self, "_owners", owners)

    def name_of(self, person: Person) -> str | None:
        """Return the name of the person that an account belongs to; None if it is not in the directory."""
        return self._owners.get(f"{person.surface}:{person.user_id}")

    def ids_on(self, name: str, surface: str) -> tuple[str, ...]:
        """Return the ids of a person's accounts on a surface."""
        prefix = f"{surface}:"
        all_of = self.accounts.get(name, ())
        return tuple(each.removeprefix(prefix) for each in all_of if each.startswith(prefix))

    def is_same(self, one: Person, other: Person) -> bool:
        """Whether two accounts are known to belong to one person."""
        if (one.surface, one.user_id) == (other.surface, other.user_id):
            return True
        name = self.name_of(one)
        return name is not None and name == self.name_of(other)

    def is_different(self, one: Person, other: Person) -> bool:
        """Whether two accounts are known to belong to different people: on one surface, or by the directory."""
        if self.is_same(one, other):
            return False
        return one.surface == other.surface or None not in {self.name_of(one), self.name_of(other)}


NOBODY_KNOWN: Final = People()
"""The directory if none is configured."""
