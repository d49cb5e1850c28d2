"""People: who somebody is that acted, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pydantic import ConfigDict


class StrictDataclass:
    """What is stored as JSON: no key is read that is not known.

    Dataclasses, checked where they are read (`answerback_storage.rows`) and not where they are made: every
    step makes new ones, out of values that were checked when they came in.
    """

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="forbid")


class AuthMethod(StrEnum):
    """How it is known who somebody is, where no chat platform says so."""

    KEY = "key"
    """They have the service's own key; what name they go by is their word."""
    LINK = "link"
    """By their personal link."""
    PROXY = "proxy"
    """A trusted proxy signed them in."""


class CachedJson(StrictDataclass):
    """What keeps its JSON once that is made: it is stored again and again, as part of what grows."""

    __slots__ = ("json",)
    json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Person(StrictDataclass):
    """Somebody who acted: where, the platform's id, and the name people know them by."""

    surface: str
    user_id: str
    name: str | None = None
    known: AuthMethod | None = None
    """None: the surface's platform says who it is."""
