"""The parts of signing in, for the extension and for its pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answerback.http.client_address import Network
from answerback.ports.clock import Clock
from answerback.ports.person_key import KeyHolder
from answerback_oidc.attempts import Attempts
from answerback_oidc.provider import Provider
from answerback_oidc.sessions import Sessions
from answerback_oidc.settings import OidcSettings


@dataclass(frozen=True, slots=True)
class SignInParts:
    """The parts of one service."""

    settings: OidcSettings
    provider: Provider
    sessions: Sessions
    attempts: Attempts
    clock: Clock
    proxies: Sequence[Network]
    """The proxies whose word counts for where a request comes from."""

    async def signed_in(self) -> Sequence[KeyHolder]:
        """Return those who are signed in now."""
        return await self.sessions.holders(self.clock.now())
