"""The values of what people connect themselves by typing codes: their agents, and their accounts in chats.

A sign-in, by which an agent gets a token, is a device authorization grant (RFC 8628).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from answerback.core.people import CODE_SECONDS
from answerback.core.person import Person
from answerback.ports.store_values import NO_LIMITS, AskLimits

EXPIRED_FOR: Final = 600.0
"""Seconds for which an expired sign-in is kept, so that its program learns why it gets no token."""


@dataclass(frozen=True, slots=True)
class OnboardingRules:
    """Who may connect agents, and what those may do."""

    owners: tuple[str, ...] = ()
    """People and groups as among responders, each on the surface that it names, else on ``home``."""
    home: str | None = None
    """The surface of the route."""
    surfaces: frozenset[str] = frozenset()
    """The names of all existing surfaces."""
    route: str = ""
    agents_per_person: int = 0
    days: float = 0.0
    limits: AskLimits = NO_LIMITS


NO_ONBOARDING: Final = OnboardingRules()
"""Nobody may connect agents."""


@dataclass(slots=True)
class RulesInForce:
    """The rules, which can be reloaded."""

    rules: OnboardingRules = NO_ONBOARDING


@dataclass(frozen=True, slots=True)
class AskingProgram:
    """A program that wants a token: what it claims to be, and from where it called."""

    program: str
    machine: str
    address: str
    is_reported: bool = False
    """True if a trusted proxy reported the address."""


class SignInState(StrEnum):
    """The decision of a person about a sign-in."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class SignIn:
    """A program that waits until a person approves it."""

    id: str
    device_hash: str
    """The hash of the code that the program polls with."""
    user_hash: str
    """The hash of the code that a person types."""
    asked_by: AskingProgram
    at: float
    until: float
    interval: float
    """Seconds between two polls."""
    polled_at: float | None = None
    state: SignInState = SignInState.PENDING
    seen_by: Person | None = None
    """To whom it was shown last: only they can decide about it."""
    credential: str = ""
    """The proof of who has approved it; see `answerback.service.grants.CredentialOf`."""


@dataclass(frozen=True, slots=True)
class AgentToken:
    """A token that a person has approved. Only its hash is kept."""

    token_hash: str
    name: str
    """The agent's name, which no other agent has or had."""
    owner: Person
    credential: str
    """The proof of who the owner was. Once it no longer holds, the token is refused."""
    asked_by: AskingProgram
    at: float
    until: float


class Redeemed(StrEnum):
    """The result of an attempt to exchange an approved sign-in for a token."""

    ISSUED = "issued"
    GONE = "gone"
    """It has been exchanged before, or has changed."""
    FULL = "full"
    """Its owner has as many tokens as a person may have."""


def account_of(person: Person) -> str:
    """Return a person's account as ``surface:id``."""
    return f"{person.surface}:{person.user_id}"


class WaitingRoom(NamedTuple):
    """The number of sign-ins that may wait at the same time."""

    most: int
    most_each: int
    """The number that may wait from one source."""
    few: int
    """Sources that have as many share one half of the room; the other is for those that have fewer."""

    def has_room(self, waiting: int, of_source: int) -> bool:
        """Return True if one more may wait, given how many do already, in all and from its source."""
        is_reserved = of_source >= self.few and waiting >= self.most / 2
        return waiting < self.most and of_source < self.most_each and not is_reserved


class SignInRefusal(StrEnum):
    """Why a person is shown no sign-in, or may not decide about it."""

    FORBIDDEN = "forbidden"
    """They are not among those who may connect agents."""
    OPERATOR = "operator"
    """The service's own key is nobody in particular."""
    UNSURE = "unsure"
    """The surface cannot say now whether they are in a group that may."""
    TOO_OFTEN = "too_often"
    """They have entered too many codes that do not exist."""
    UNKNOWN = "unknown"
    """No program is waiting for this code."""
    FULL = "full"
    """They have as many agents as a person may have."""


class StartedLink(NamedTuple):
    """A link of accounts that a person has started on their page."""

    code: str
    at: float
    typed_by: Person | None = None
    agreed: bool = False
    """True if the account's owner has confirmed it."""

    def is_valid(self, now: float) -> bool:
        """Return True if there is still time; never if the clock was set back since."""
        return 0 <= now - self.at < CODE_SECONDS
