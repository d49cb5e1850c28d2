"""The subscriptions of browsers: as they are stored, and as a browser sends one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

MAX_PER_PERSON: Final = 10
"""Subscriptions of one person. The oldest makes room for a new one: it is likely to be a browser's that is gone."""


@dataclass(frozen=True, slots=True)
class PushSubscription:
    """A browser that a person has notified."""

    id: str
    """Derived from the endpoint, so that a browser that subscribes again is not notified twice."""
    person: str
    """The person's user id on the page."""
    endpoint: str
    """The address that the browser's push service gave it."""
    key: str
    """The browser's public key (``p256dh``), in base64url."""
    auth: str = field(repr=False)
    """The secret that the browser shares with the sender, in base64url."""
    device: str
    """The browser's name for itself."""
    credential: str
    """The hash of the key that the person used; empty: a proxy named them."""
    operator: str
    """The hash of the service's own key: replacing it ends all subscriptions."""
    at: float


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """A subscription as a browser sends it."""

    endpoint: str
    key: str
    auth: str = field(repr=False)
    device: str
