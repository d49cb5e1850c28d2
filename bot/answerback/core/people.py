"""The directory of people: which accounts on the surfaces belong to one person. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from answerback.core.person import AuthMethod, EpochSeconds, Person, StrictDataclass

_OWN_NAMES: Final = {AuthMethod.LINK, AuthMethod.PROXY, AuthMethod.OIDC}
"""Ways to be known on one surface that name people differently."""
PERSON_PREFIX: Final = "person:"
"""Stands before a person's name wherever an id may stand."""

CODE_SECONDS: Final = 900.0
"""Seconds in which both sides have to confirm."""
COUNTS_AFTER: Final = 24 * 3600.0
"""Seconds after which a linked account counts for confirmations."""


def account_id(person: Person) -> str:
    """Return an account as the directory of people names it."""
    return f"{person.surface}:{person.user_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountLink(StrictDataclass):
    """An account, and the person on the page that it was linked to last."""

    account: Person
    page: Person
    credential: str
    """The hash of the personal link's key that its owner had; empty if a proxy signs them in."""
    at: EpochSeconds
    ended_at: EpochSeconds | None = None
    ended_by: Person | None = None
    former: tuple[str, ...] = ()
    """The accounts that it was linked to before: all of them are one human being as far as is known."""
    revision: int = 1

    @property
    def id(self) -> str:
        """The account, as the directory names it."""
        return account_id(self.account)

    def renewed(self, old: AccountLink | None) -> AccountLink:
        """Return this new link as the one that follows an earlier one of the same account."""
        if old is None:
            return self
        former = dict.fromkeys((*old.former, account_id(old.page)))
        return replace(self, former=tuple(former), revision=old.revision + 1)

    def ended(self, at: float, by: Person) -> AccountLink:
        """Return the link as removed by a person."""
        return replace(self, ended_at=at, ended_by=by, revision=self.revision + 1)


class People:
    """The configured people, and the accounts that people have linked themselves.

    A person whom nobody has configured is named as their page's account is. The configuration takes precedence.

    Args:
        accounts: each person's accounts, as ``surface:id``.
        display_names: the names of people as others read them.
    """

    def __init__(
        self,
        accounts: Mapping[str, tuple[str, ...]],
        display_names: Mapping[str, str] | None = None,
    ) -> None:
        self._configured = accounts
        self._display_names = display_names or {}
        self._is_valid: Callable[[AccountLink], bool] = lambda _link: True
        self.update_links(())

    def update_from(self, other: People) -> None:
        """Take over the configured people of another directory."""
        self._configured, self._display_names = other._configured, other._display_names
        self.update_links(self._links, self._is_valid)

    def update_links(
        self,
        links: Sequence[AccountLink],
        is_valid: Callable[[AccountLink], bool] = lambda _link: True,
    ) -> None:
        """Take over the accounts that people have linked, or had linked once.

        Args:
            is_valid: whether the page that a link leads to is still its owner's.
        """
        self._links, self._is_valid = tuple(links), is_valid
        accounts = dict(self._configured)
        owners = {each: name for name, all_of in accounts.items() for each in all_of}
        configured = frozenset(owners)
        self._linked_at: dict[str, float] = {}
        self._named_since: dict[str, float] = {}
        for link in sorted(links, key=lambda each: each.at):
            page = account_id(link.page)
            if link.ended_at is not None or link.id in configured or not is_valid(link):
                continue
            name = owners.setdefault(page, page)
            if name not in accounts:
                accounts[name], self._named_since[name] = (page,), link.at
            accounts[name] = (*accounts[name], link.id)
            owners[link.id], self._linked_at[link.id] = name, link.at
        self.accounts: Mapping[str, tuple[str, ...]] = accounts
        self._owners = owners
        once = [
            (link.id, account_id(link.page), *link.former)
            for link in links
            if link.id not in configured
        ]
        self._humans = _group([*accounts.values(), *once])

    def name_of(self, person: Person) -> str | None:
        """Return the name of the person that an account belongs to; None if it is not in the directory."""
        return self._owners.get(account_id(person))

    def ids_on(self, name: str, surface: str) -> tuple[str, ...]:
        """Return the ids of a person's accounts on a surface."""
        return tuple(user_id for each, user_id in self.accounts_named(name) if each == surface)

    def accounts_of(self, person: Person) -> tuple[tuple[str, str], ...]:
        """Return an account and all others of the person that it belongs to, as surface and id."""
        own, name = (person.surface, person.user_id), self.name_of(person)
        others = self.accounts_named(name) if name is not None else ()
        return tuple(dict.fromkeys((own, *others)))

    def accounts_named(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return all accounts, as surface and id, of a person in the directory, or the one that a name is."""
        accounts = self.accounts.get(name, (name,) if ":" in name else ())
        parts = (each.partition(":") for each in accounts)
        return tuple((surface, user_id) for surface, _, user_id in parts)

    def persons_named(self, name: str) -> tuple[Person, ...]:
        """Return a person once for each of their accounts."""
        return tuple(Person(surface=s, user_id=u) for s, u in self.accounts_named(name))

    def owner_name(self, person: Person) -> str:
        """Return a person's name in the directory or, if it has none, their account."""
        return self.name_of(person) or account_id(person)

    def as_named(self, person: Person) -> Person:
        """Return a person with their name in the directory, if it has one."""
        shown = self._display_names.get(self.name_of(person) or "")
        return person if shown is None else replace(person, name=shown)

    def ids_of(self, person: Person, surface: str) -> tuple[str, ...] | None:
        """Return the ids on a surface of a person who acts from another one; None if they act from that one."""
        if person.surface == surface:
            return None
        name = self.name_of(person)
        return self.ids_on(name, surface) if name is not None else ()

    def is_same(self, one: Person, other: Person) -> bool:
        """Return True if two accounts are known to belong to one person."""
        if (one.surface, one.user_id) == (other.surface, other.user_id):
            return True
        name = self.name_of(one)
        return name is not None and name == self.name_of(other)

    def may_be_same(self, one: Person, other: Person) -> bool:
        """Return True if two accounts belong to one person, or did once, or differ only in case: a proxy may accept any
        case."""
        return self.human(one) == self.human(other)

    def human(self, person: Person) -> str:
        """Return the account that stands for all those that may be the same person's."""
        folded = _folded(account_id(person))
        return self._humans.get(folded, folded)

    def counts_for_confirmations(self, person: Person, at: float) -> bool:
        """Return True if an account counts for confirmations: it was not linked only recently, nor in the future."""
        return _is_long_ago(self._linked_at.get(account_id(person)), at)

    def is_different(self, one: Person, other: Person, at: float) -> bool:
        """Return True if two accounts are known to belong to different people: on one surface, or by the directory."""
        if self.may_be_same(one, other):
            return False
        # Who signs in one way may have a personal link, too, or sign in another way.
        ways = {one.known, other.known} & _OWN_NAMES
        if one.surface == other.surface and len(ways) < 2:
            return True
        return self.is_known(one, at) and self.is_known(other, at)

    def is_known(self, person: Person, at: float) -> bool:
        """Return True if the directory says who the person is, and has done so for more than a moment."""
        name = self.name_of(person)
        if name is None or not self.counts_for_confirmations(person, at):
            return False
        return _is_long_ago(self._named_since.get(name), at)


def _is_long_ago(since: float | None, at: float) -> bool:
    return since is None or at - since >= COUNTS_AFTER


def _folded(account: str) -> str:
    """Return what all spellings of an account have in common."""
    return unicodedata.normalize("NFKC", account).casefold()


def _group(alike: Iterable[Sequence[str]]) -> dict[str, str]:
    """Give accounts that are alike, directly or by others, the same representative, by what is `_folded`."""
    found: dict[str, str] = {}
    for accounts in (tuple(map(_folded, each)) for each in alike):
        old = {found.get(each, each) for each in accounts}
        first = min(old, default="")
        found |= {each: first for each in found if found[each] in old}
        found |= dict.fromkeys(accounts, first)
    return found


NOBODY_KNOWN: Final = People({})
"""The directory if none is configured."""
