"""People's keys: who may act where no chat platform says who somebody is.

A key belongs to a person: the service's own to the operator, a personal link's to whom it was made for. Whoever bears
it, in the API or on the page, acts as that person. Pure: where keys are kept is storage's, and who bears one is the
listeners' to find out.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from answerback.core.ask import ANYONE
from answerback.core.person import AuthMethod
from answerback.core.walker import Person

OPERATOR: Final = "operator"
"""The id of whoever bears the service's own key."""
_PREFIX: Final = "abk_"
_PERSONAL: Final = "abp_"
_TOKEN: Final = "ab_"
_NAME: Final = re.compile(r"[^\s@,][^,]{0,127}(?<!\s)")
_RESERVED: Final = frozenset({OPERATOR, ANYONE})


class KeyHolder(NamedTuple):
    """A key as it is known here, and the person it belongs to."""

    key_hash: str
    """The hash by which the key is recognised."""
    link_secret: bytes
    """The secret that the addresses of this person's pages are made of; they close when it changes. The operator's is
    the key itself."""
    person: Person

    @property
    def is_operator(self) -> bool:
        """Whether it is the service's own key."""
        return is_operator(self.person)


KeyHolderSource = Callable[[], Awaitable[tuple[KeyHolder, ...]]]
"""All valid keys as they are now, the service's own first: a replaced or revoked key is refused at once."""


def operator(surface: str) -> Person:
    """Who bears the service's own key, on the surface whose asks are answered with it."""
    return Person(surface=surface, user_id=OPERATOR, name="the operator", known=AuthMethod.KEY)


def is_operator(person: Person) -> bool:
    """Whether a person bears the service's own key."""
    return person.known is AuthMethod.KEY and person.user_id == OPERATOR


def new_key() -> str:
    """The service's own key: 256 random bits."""
    return _PREFIX + secrets.token_urlsafe(32)


def new_personal_key() -> str:
    """The key of a personal link: 256 random bits, of which only the hash is kept."""
    return _PERSONAL + secrets.token_urlsafe(32)


def is_personal(key: str) -> bool:
    """Whether a key is that of a personal link."""
    return key.startswith(_PERSONAL)


def new_token() -> str:
    """An agent's or a front end's token: 256 random bits, of which only the hash is kept."""
    return _TOKEN + secrets.token_urlsafe(32)


def hash_of(key: str) -> str:
    """The hash of a key or a token. What has 256 random bits needs no slow hash."""
    return "sha256:" + hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def operator_holder(key: str, person: Person) -> KeyHolder:
    """The holder of the service's own key."""
    return KeyHolder(hash_of(key), key.encode(), person)


def personal_holder(key_hash: str, key: str, person: Person) -> KeyHolder:
    """The holder of a personal link.

    Its pages' addresses take the service's own ``key``, too: whoever reads the hashes alone can make none of them.
    """
    link_secret = hmac.new(key.encode(), f"answerback:person:{key_hash}".encode(), hashlib.sha256)
    return KeyHolder(key_hash, link_secret.digest(), person)


def holder_of(key: str, holders: Iterable[KeyHolder]) -> KeyHolder | None:
    """Whose key this is, compared in constant time; None for an unknown one."""
    given = hash_of(key)
    found = [one for one in holders if hmac.compare_digest(one.key_hash, given)]
    return found[0] if found else None


def name_problem(name: str, surface: str) -> str | None:
    """Why nobody can go by this name on a surface, in half a sentence; None where somebody can."""
    if name in _RESERVED:
        return "it is reserved"
    if not _NAME.fullmatch(name) or not name.isprintable():
        return "a name has 1 to 128 printable characters without a comma, and does not begin with @"
    if name.startswith(f"{surface}:"):
        return f"leave out {surface}:, which is written only among responders"
    return None
