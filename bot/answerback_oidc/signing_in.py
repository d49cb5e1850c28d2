"""The extension as it runs: who is signed in, and the pages on which people sign in and out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from answerback.core.person import AuthMethod, Person
from answerback.ports.extension import Running, ServiceParts
from answerback.ports.person_key import KeyHolder
from answerback_oidc.attempts import Attempts
from answerback_oidc.parts import SignInParts
from answerback_oidc.provider import Provider, provider_session
from answerback_oidc.sessions import SURFACE, Sessions
from answerback_oidc.settings import OidcSettings

_PAUSE: Final = 3_600.0
"""Seconds after which sessions are pruned again, if nothing is reloaded."""


async def open_signing_in(parts: ServiceParts) -> SigningIn:
    """Return the extension as it runs; it asks the provider nothing until somebody signs in."""
    settings: OidcSettings = parts.configured.table
    secret = await parts.store.secret("oidc")
    http = await parts.stack.enter_async_context(provider_session())
    await asyncio.to_thread(_load)
    sessions = Sessions(parts.store, parts.people, secret, settings.user_prefix)
    provider, attempts = Provider(settings, http), Attempts(secret)
    return SigningIn(
        SignInParts(settings, provider, sessions, attempts, parts.clock, parts.proxies)
    )


def _load() -> None:
    """Import what reads files, for which no event loop waits."""
    from answerback_oidc import pages  # noqa: F401 - imported to load it


class SigningIn(Running):
    """Who is signed in."""

    def __init__(self, parts: SignInParts) -> None:
        self.parts = parts
        self._reloaded = asyncio.Event()

    async def signed_in(self) -> Sequence[KeyHolder]:
        return await self.parts.signed_in()

    def credential_of(self, person: Person) -> str | None:
        is_known = person.known is AuthMethod.OIDC and self.parts.sessions.may_sign_in(person)
        return self.parts.settings.issuer if is_known else None

    def for_page(self, surface: str) -> object | None:
        if surface != SURFACE:
            return None
        from answerback_oidc.pages import OidcPages

        return OidcPages(self.parts)

    def loops(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        return {"oidc": self._prune}

    def on_reload(self) -> None:
        self._reloaded.set()

    async def _prune(self) -> None:
        while True:
            self._reloaded.clear()
            await self.parts.sessions.prune(self.parts.clock.now())
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE):
                    await self._reloaded.wait()
