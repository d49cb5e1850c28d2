"""The directory of people: which accounts on the surfaces belong to one person. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from answerback.core.person import Person

PERSON_PREFIX: Final = "person:"
"""Stands before a person's name wherever an id may stand."""


class People:
    """The configured people.

    Args:
        accounts: each person's accounts, as ``surface:id``.
        display_names: the names of people as others read them.
    """

    def __init__(
        self,
        accounts: Mapping[str, tuple[str, ...]],
        display_names: Mapping[str, str] | None = None,
    ) -> None:
        self.accounts = accounts
        self._display_names = display_names or {}
        self._owners = {account: name for name, all_of in accounts.items() for account in all_of}

    def update_from(self, other: People) -> None:
        """Take over the people of another directory."""
        self.accounts, self._owners = other.accounts, other._owners
        self._display_names = other._display_names

    def name_of(self, person: Person) -> str | None:
        """Return the name of the person that an account belongs to; None if it is not in the directory."""
        return self._owners.get(f"{person.surface}:{person.user_id}")

    def ids_on(self, name: str, surface: str) -> tuple[str, ...]:
        """Return the ids of a person's accounts on a surface."""
        return tuple(user_id for each, user_id in self.accounts_named(name) if each == surface)

    def accounts_of(self, person: Person) -> tuple[tuple[str, str], ...]:
        """Return an account and all others of the person that it belongs to, as surface and id."""
        own, name = (person.surface, person.user_id), self.name_of(person)
        others = self.accounts_named(name) if name is not None else ()
        return tuple(dict.fromkeys((own, *others)))

    def accounts_named(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return all accounts of a person, as surface and id."""
        alone = self.account_named(name)
        if alone is not None:
            return ((alone.surface, alone.user_id),)
        parts = (each.partition(":") for each in self.accounts.get(name, ()))
        return tuple((surface, user_id) for surface, _, user_id in parts)

    def account_named(self, name: str) -> Person | None:
        """Return the account that a name stands for if it is no person's in the directory but ``surface:id``."""
        surface, colon, user_id = name.partition(":")
        is_account = colon and name not in self.accounts
        return Person(surface=surface, user_id=user_id) if is_account else None

    def owner_name(self, person: Person) -> str:
        """Return a person's name in the directory or, if it has none, their account."""
        return self.name_of(person) or f"{person.surface}:{person.user_id}"

    def as_named(self, person: Person) -> Person:
        """Return a person with their name in the directory, if it has one."""
        name = self.name_of(person)
        shown = self._display_names.get(name) if name is not None else None
        return person if shown is None else replace(person, name=shown)

    def ids_of(self, person: Person, surface: str) -> tuple[str, ...] | None:
        """Return the ids on a surface of somebody who acts from another one; None if they act from that one."""
        if person.surface == surface:
            return None
        name = self.name_of(person)
        return self.ids_on(name, surface) if name is not None else ()

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


NOBODY_KNOWN: Final = People({})
"""The directory if none is configured."""
