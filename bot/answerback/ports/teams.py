"""The agents and accounts that people connect themselves by typing codes.

A sign-in, by which an agent gets a token, is a device authorization grant (RFC 8628). Here are values, a part of the
store, and what surfaces need; the tests of `answerback_teams` prove the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, runtime_checkable

from answerback.core.people import CODE_SECONDS, AccountLink
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


@runtime_checkable
class AgentSignIns(Protocol):
    """Where people connect agents, see which they have, and remove them."""

    async def look_up(self, code: str, person: Person) -> SignIn | SignInRefusal:
        """Return what waits with a code, to be shown to this person. Only then can they decide about it."""

    async def decide(self, key: str, person: Person, *, approve: bool) -> SignIn | SignInRefusal:
        """Approve or deny a sign-in, given by its id or its code; return it as it is then.

        One that was not shown to this person is still pending then, and is to be shown.
        """

    def is_open(self) -> bool:
        """Return True if any person may connect agents."""

    def terms(self) -> tuple[float, str]:
        """Return how many days an agent may ask, and on which route."""

    async def list_for(self, person: Person | None) -> Sequence[AgentToken]:
        """Return the agents of a person, or with None of all, oldest first."""

    async def remove(self, name: str, person: Person | None) -> bool:
        """Remove an agent of a person, or with None of any; False if there is none of this name."""


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


@runtime_checkable
class LinkedAccounts(Protocol):
    """Starts, confirms, lists and removes links."""

    async def start(self, page: Person) -> StartedLink | None:
        """Start a link in place of the last one; None unless a personal link or a proxy says whose page it is."""

    async def started(self, page: Person) -> StartedLink | None:
        """Return the link that a person has started, if there is still time."""

    async def confirm(self, page: Person, account: str, *, mine: bool) -> bool:
        """Link the account that has confirmed the person's code, or refuse it; False if no such account has."""

    async def list_of(self, page: Person | None) -> Sequence[AccountLink]:
        """The linked accounts; with a person, only theirs."""

    async def run(self) -> None:
        """Keep the directory of people up to date with what other processes change."""

    async def remove(self, account: str, by: Person, page: Person | None) -> bool:
        """Remove a link; with ``page``, only if it is that person's. False if there is none such."""


class TeamStore(Protocol):
    """Sign-ins, tokens and linked accounts in the store. Processes that share it see each other's at once."""

    async def add_sign_in(self, new: SignIn, source: str, room: WaitingRoom) -> bool:
        """Store a sign-in; False if there is no room for one more of its source. Removes those long expired."""

    async def find_sign_in(self, key: str) -> SignIn | None:
        """Return the sign-in with this id or with this hash of one of its codes."""

    async def replace_sign_in(self, old: SignIn, new: SignIn) -> bool:
        """Change a sign-in; False if it is no longer as it was."""

    async def redeem(
        self, approved: SignIn, token: AgentToken, accounts: Collection[str], most: int
    ) -> Redeemed:
        """Exchange a sign-in for a token, once, unless these accounts have ``most`` tokens that are valid then."""

    async def find_token(self, token_hash: str) -> AgentToken | None:
        """Return the token with this hash, even if it has expired."""

    async def list_tokens(self) -> Sequence[AgentToken]:
        """Return all tokens, oldest first."""

    async def remove_token(self, name: str) -> bool:
        """Remove an agent's token; False if there is none."""

    async def save_link(self, link: AccountLink) -> bool:
        """Store a link as the next revision of its account's; False if what is stored is not the one before."""

    async def list_links(self) -> Sequence[AccountLink]:
        """All links in the order of their accounts, including those that were removed."""
