"""Web Push: who has subscribed, and what the operator allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, runtime_checkable

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.person import Person

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
class PushRules:
    """The operator's rules for notifications."""

    headline: bool = False
    """True if a notification shows the headline."""
    deny: bool = False
    """True if a permission can be denied from the notification."""
    anyone: bool = False
    """True if everyone is told of asks that anyone may answer."""
    allow: tuple[str, ...] = ()
    """Push services at addresses that are otherwise refused, as ``callbacks.allow``."""


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """A subscription as a browser sends it."""

    endpoint: str
    key: str
    auth: str = field(repr=False)
    device: str


@runtime_checkable
class PushDevices(Protocol):
    """The subscriptions of a surface's people, as the surface sees them."""

    rules: PushRules

    async def server_key(self) -> str:
        """The public key that browsers subscribe with, in base64url. It changes with the service's own key."""

    async def subscribe(self, person: str, credential: str, new: NewSubscription) -> bool:
        """Store a subscription of a person who used the key with the hash ``credential`` (empty: a proxy named them).

        False: its endpoint may not be reached, or its keys are not valid.
        """

    async def list_for(self, person: str) -> Sequence[PushSubscription]:
        """A person's subscriptions, oldest first."""

    async def unsubscribe(self, person: str, subscription_id: str) -> None:
        """Remove one of a person's subscriptions."""

    async def is_about(self, person: Person, ask: Ask) -> bool:
        """Return True if a person was asked, or has acted."""

    async def note_seen(self, person: str, asks: Iterable[Ask]) -> None:
        """Note that an open page shows these asks to a person, who need not be notified until they wait again."""


ComposePush = Callable[[Ask, bool], Mapping[str, JsonValue]]
"""Returns what a browser gets to notify of an ask that waits for its person, or (True) no longer waits."""


class NotifyingSurface(NamedTuple):
    """The surface whose people can have themselves notified."""

    name: str
    rules: PushRules
    compose: ComposePush
