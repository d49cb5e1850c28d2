"""The proof that a listener knows a token, which is sent only then: another program may have the service's port.

The service's side is described in docs/api.md. A person's key is proved in another way, by the command line.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from http import HTTPStatus
from typing import Final

_KEYS: Final = ("abk_", "abp_")
"""The beginnings of people's keys."""
MAX_PROOF: Final = 4_096
"""Bytes of a proof, which may come from any program."""
_UNKNOWN: Final = b'"Token unknown"'


class TokenChallenge:
    """One challenge, never used again.

    Args:
        token: the token of an agent or a front end.
    """

    def __init__(self, token: str) -> None:
        self._nonce = secrets.token_hex(16)
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
        self._token_hash = f"sha256:{digest}"

    @property
    def query(self) -> dict[str, str]:
        """The query of ``GET /v1/proof``. It tells another program nothing about the token."""
        named = f"answerback:token:{self._token_hash}".encode()
        return {"nonce": self._nonce, "token": hashlib.sha256(named).hexdigest()[:16]}

    def is_proved_by(self, body: bytes) -> bool:
        """Return True if the response came from a program that knows the token."""
        message = f"answerback:token-proof:{self._nonce}".encode()
        expected = hmac.new(self._token_hash.encode(), message, hashlib.sha256).hexdigest()
        return hmac.compare_digest(proof_in(body), expected.encode())


def proof_in(body: bytes) -> bytes:
    """Return the proof in a response, or nothing."""
    try:
        return str(json.loads(body)["proof"]).encode("utf-8", "replace")
    except (ValueError, TypeError, KeyError, RecursionError):
        return b""


def is_provable(token: str) -> bool:
    """Return True for a token, rather than a person's key."""
    return not token.startswith(_KEYS)


def is_unknown(status: int, body: bytes) -> bool:
    """Return True if the program says that it is the service, and has no such token."""
    return status == HTTPStatus.NOT_FOUND and _UNKNOWN in body
