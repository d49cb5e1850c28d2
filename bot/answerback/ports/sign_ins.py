"""What surfaces need to let people connect their own agents: look at who asks by a code, decide, list, and remove."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from answerback.core.person import Person
from answerback.ports.agent_tokens import AgentToken, SignIn


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


class SignInDesk(Protocol):
    """Where people connect agents, see which they have, and remove them."""

    async def look_up(self, code: str, person: Person) -> SignIn | SignInRefusal:
        """Return what waits with a code, to be shown to this person. Only then can they decide about it."""

    async def decide(self, key: str, person: Person, *, approve: bool) -> SignIn | SignInRefusal:
        """Approve or deny a sign-in, given by its id or its code; return it as it is then.

        One that was not shown to this person is still pending then, and is to be shown.
        """

    def is_open(self) -> bool:
        """Whether any person may connect agents."""

    def terms(self) -> tuple[float, str]:
        """Return how many days an agent may ask, and on which route."""

    async def list_for(self, person: Person | None) -> Sequence[AgentToken]:
        """Return the agents of a person, or with None of all, oldest first."""

    async def remove(self, name: str, person: Person | None) -> bool:
        """Remove an agent of a person, or with None of any; False if there is none of this name."""
