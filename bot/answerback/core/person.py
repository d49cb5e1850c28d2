"""The people who act, and how their identity was established."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

EpochSeconds = Annotated[float, Field(ge=0, lt=253_402_300_800)]
"""Seconds since the epoch, up to the year 9999, the last that can be shown as a date."""


class StrictDataclass:
    """Base of the dataclasses that are stored as JSON; unknown keys are rejected.

    They are validated when read (`answerback_storage.rows`) but not when created: every step creates new ones, from
    values that were validated on input.
    """

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="forbid")


class FrozenModel(BaseModel):
    """Base of the models that never change; unknown keys are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class AuthMethod(StrEnum):
    """The way in which a person was identified, if not by a chat platform."""

    KEY = "key"
    """They have the service's own key; their name is unverified."""
    LINK = "link"
    """They used their personal link."""
    PROXY = "proxy"
    """A trusted proxy signed them in."""
    OIDC = "oidc"
    """They signed in with the identity provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person(StrictDataclass):
    """A person who acted: the surface, the platform's id for them, and their display name."""

    surface: str
    user_id: str
    name: str | None = None
    known: AuthMethod | None = None
    """None: the surface's platform identifies them."""
    via: str | None = None
    """The token of the front end that vouches for them."""
