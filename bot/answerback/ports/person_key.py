"""People's keys: who may act where no chat platform identifies people.

A key belongs to a person: the service's own to the operator, a personal link's to the person it was made for. Anyone
who presents it, in the API or on the page, acts as that person. Pure: storage keeps the keys, and the listeners find
out who presents one.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from answerback.core.ask import ANYONE
from answerback.core.person import AuthMethod
from answerback.core.walker import Person
from answerback_base.token_proof import hash_of as hash_of

OPERATOR_NAME: Final = "the operator"
OPERATOR: Final = "operator"
"""The user id of a caller who presents the service's own key."""
_OPERATOR_PREFIX: Final = "abk_"
_PERSONAL_PREFIX: Final = "abp_"
_TOKEN_PREFIX: Final = "ab_"
_NAME: Final = re.compile(r"[^\s@,][^,]{0,127}(?<!\s)")
_RESERVED_NAMES: Final = frozenset({OPERATOR, ANYONE})


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """A stored key and the person it belongs to."""

    key_hash: str
    """The hash by which the key is recognised."""
    link_secret: bytes = field(repr=False)
    """The secret from which the URLs of this person's pages are derived; they stop working when it changes. For the
    operator it is the key itself."""
    person: Person

    @property
    def is_operator(self) -> bool:
        """True if it is the service's own key."""
        return is_operator(self.person)


KeyHolderSource = Callable[[], Awaitable[tuple[KeyHolder, ...]]]
"""Returns all keys that are valid now, the service's own first: a replaced or revoked key is refused immediately."""


def operator(surface: str) -> Person:
    """The person who presents the service's own key, on the surface whose asks are answered with it."""
    return Person(surface=surface, user_id=OPERATOR, name=OPERATOR_NAME, known=AuthMethod.KEY)


def is_operator(person: Person) -> bool:
    """Return True if a person presented the service's own key."""
    return person.known is AuthMethod.KEY and person.user_id == OPERATOR


def new_key() -> str:
    """Generate the service's own key: 256 random bits."""
    return _OPERATOR_PREFIX + secrets.token_urlsafe(32)


def new_personal_key() -> str:
    """Generate the key of a personal link: 256 random bits, of which only the hash is stored."""
    return _PERSONAL_PREFIX + secrets.token_urlsafe(32)


def is_personal(key: str) -> bool:
    """Return True if a key belongs to a personal link."""
    return key.startswith(_PERSONAL_PREFIX)


def new_token() -> str:
    """Generate an agent's or a front end's token: 256 random bits, of which only the hash is stored."""
    return _TOKEN_PREFIX + secrets.token_urlsafe(32)


def operator_holder(key: str, person: Person) -> KeyHolder:
    """The holder of the service's own key."""
    return KeyHolder(hash_of(key), key.encode(), person)


def personal_holder(key_hash: str, key: str, person: Person) -> KeyHolder:
    """The holder of a personal link.

    The URLs of its pages also depend on the service's own ``key``: whoever reads only the hashes can make none.
    """
    link_secret = hmac.new(key.encode(), f"answerback:person:{key_hash}".encode(), hashlib.sha256)
    return KeyHolder(key_hash, link_secret.digest(), person)


def holder_of(key: str, holders: Iterable[KeyHolder]) -> KeyHolder | None:
    """The holder of a key, compared in constant time; None if the key is unknown."""
    key_hash = hash_of(key)
    matches = [holder for holder in holders if hmac.compare_digest(holder.key_hash, key_hash)]
    return matches[0] if matches else None


def name_problem(name: str, surface: str) -> str | None:
    """Return why a name cannot be used on a surface, as half a sentence; None if it can."""
    if name in _RESERVED_NAMES:
        return "it is reserved"
    if not _NAME.fullmatch(name) or not name.isprintable():
        return "a name has 1 to 128 printable characters without a comma, and does not begin with @"
    if name.startswith(f"{surface}:"):
        return f"leave out {surface}:, which is written only among responders"
    return None
