"""The sealed state that a tab keeps between the beginning of a sign-in and its end: the service keeps nothing.

Only the tab in which a sign-in began can end it, because no other has what is sealed. A state ends one sign-in: see
`answerback_oidc.sessions.Sessions.begin`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from typing import Final, NamedTuple

from cryptography.fernet import Fernet, InvalidToken

from answerback_oidc.provider import Attempt

SECONDS: Final = 600
"""In so many seconds a person has to sign in."""
_MAX_SEALED: Final = 4_000
_MAX_TO: Final = 200


class Begun(NamedTuple):
    """A sign-in that has begun."""

    attempt: Attempt
    issuer: str
    client_id: str
    to: str
    """The link of the ask that the person wants to answer; empty: their inbox."""


class Attempts:
    """Seals and opens what tabs keep, alike on all replicas."""

    def __init__(self, secret: bytes) -> None:
        key = hmac.new(secret, b"attempts", hashlib.sha256).digest()
        self._fernet = Fernet(base64.urlsafe_b64encode(key))

    def begin(self, issuer: str, client_id: str, to: str, now: float) -> tuple[Begun, str]:
        """Return a new sign-in, and what its tab keeps."""
        attempt = Attempt(*(secrets.token_urlsafe(32) for _ in Attempt._fields))
        begun = Begun(attempt, issuer, client_id, to[:_MAX_TO])
        return begun, self._fernet.encrypt_at_time(json.dumps(begun).encode(), int(now)).decode()

    def open(self, sealed: str, state: str, now: float) -> Begun | None:
        """Return the sign-in that a tab has begun with a state; None if it has not, or too long ago."""
        if len(sealed) > _MAX_SEALED or not sealed.isascii():
            return None
        try:
            text = self._fernet.decrypt_at_time(sealed.encode(), SECONDS, int(now))
        except InvalidToken:
            return None
        attempt, *others = json.loads(text)
        begun = Begun(Attempt(*attempt), *others)
        is_its = hmac.compare_digest(begun.attempt.state.encode(), state.encode("utf-8", "replace"))
        return begun if is_its else None
