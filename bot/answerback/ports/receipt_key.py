"""The keys that sign receipts: Ed25519 (RFC 8032), as JSON Web Keys (RFC 8037).

``nacl`` is imported where a key is used, because most commands use none.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from answerback.core.canonical_json import canonical

_BYTES: Final = 32


def encode(data: bytes) -> str:
    """Encode bytes as base64url without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(text: str) -> bytes:
    """Decode base64url without padding; raises ValueError for anything else."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except ValueError:
        data = b""
    if encode(data) != text:
        raise ValueError("it is not base64url without padding")
    return data


def new_private_key() -> str:
    """Return a new private key as text."""
    return encode(secrets.token_bytes(_BYTES))


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that checks signatures. ``x`` is the key itself in base64url."""

    x: str

    @property
    def kid(self) -> str:
        """The key's id: its thumbprint (RFC 7638)."""
        members: JsonValue = {"crv": "Ed25519", "kty": "OKP", "x": self.x}
        return encode(hashlib.sha256(canonical(members)).digest())

    def jwk(self) -> dict[str, JsonValue]:
        """Return the key as a JSON Web Key."""
        return {"kty": "OKP", "crv": "Ed25519", "x": self.x, "kid": self.kid, "use": "sig"}

    def has_signed(self, message: bytes, signature: str) -> bool:
        """Return whether a signature in base64url is this key's."""
        from nacl.exceptions import BadSignatureError
        from nacl.signing import VerifyKey

        try:
            VerifyKey(decode(self.x)).verify(message, decode(signature))
        except (ValueError, BadSignatureError):
            return False
        return True


def public_key_of(jwk: JsonValue) -> PublicKey | None:
    """Return the public key in a JSON Web Key, or None if that is another kind of key."""
    if not isinstance(jwk, dict) or (jwk.get("kty"), jwk.get("crv")) != ("OKP", "Ed25519"):
        return None
    x = jwk.get("x")
    return PublicKey(x) if isinstance(x, str) else None


class SigningKey:
    """A key that signs.

    Args:
        text: the private key; raises ValueError if it is not one.
    """

    def __init__(self, text: str) -> None:
        from nacl.signing import SigningKey as Ed25519Key

        seed = decode(text)
        if len(seed) != _BYTES:
            raise ValueError(f"it has {len(seed)} bytes instead of {_BYTES}")
        self._key = Ed25519Key(seed)
        self.public = PublicKey(encode(bytes(self._key.verify_key)))
        self.kid = self.public.kid

    def sign(self, message: bytes) -> str:
        """Sign a message; return the signature in base64url."""
        return encode(self._key.sign(message).signature)
