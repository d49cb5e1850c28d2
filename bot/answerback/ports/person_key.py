"""The person's key: who may act where no chat platform says who somebody is.

A key belongs to a person. Whoever bears it, in the API or on the page, acts as that person. Pure: where
keys are kept is storage's, and who bears one is the listeners' to find out.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from answerback.core.walker import Person

_PREFIX: Final = "abk_"


class Holder(NamedTuple):
    """A key, and the person it belongs to."""

    key: str
    person: Person


Holders = Callable[[], Awaitable[tuple[Holder, ...]]]
"""All valid keys as they are now: a replaced key is refused at once."""


def operator(surface: str) -> Person:
    """Who bears the service's own key, on the surface whose asks are answered with it."""
    return Person(surface=surface, user_id="operator", name="the operator")


def new_key() -> str:
    """A key of 256 random bits."""
    return _PREFIX + secrets.token_urlsafe(32)


def holder_of(key: str, holders: Iterable[Holder]) -> Holder | None:
    """Whose key this is, compared in constant time; None for an unknown one."""
    given = key.encode("utf-8", "surrogateescape")
    found = [one for one in holders if hmac.compare_digest(one.key.encode(), given)]
    return found[0] if found else None
