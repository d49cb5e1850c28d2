"""Push messages as push services take them: encrypted for one browser, and signed by this service. No I/O.

https://www.rfc-editor.org/rfc/rfc8291 (encryption), https://www.rfc-editor.org/rfc/rfc8292 (VAPID, the signature).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid02
from pydantic import JsonValue
from yarl import URL

PAYLOAD_BYTES: Final = 2_048
"""Every message is padded to this length, so that its length tells a push service nothing; RFC 8291 allows 3,993."""
TOKEN_SECONDS: Final = 12 * 3_600
"""The life of a signature; RFC 8292 allows a day."""
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of the curve P-256, https://www.rfc-editor.org/rfc/rfc5903#section-3.1."""
_AUTH_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class ServerKey:
    """The key that identifies this service to push services."""

    private: ec.EllipticCurvePrivateKey

    @property
    def public(self) -> str:
        """The public key in base64url, as browsers take it."""
        point = self.private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        return base64.urlsafe_b64encode(point).decode().rstrip("=")

    def authorization(self, endpoint: str, subject: str, at: float) -> str:
        """Sign for the push service of an endpoint; ``subject`` is the service's own address."""
        # RFC 8292 allows nothing else but an address of mail.
        contact = URL(subject).with_scheme("https")
        claims = {
            "aud": str(URL(endpoint).origin()),
            "exp": int(at) + TOKEN_SECONDS,
            "sub": str(contact),
        }
        header: str = Vapid02(self.private, conf={"no-strict": True}).sign(claims)["Authorization"]
        return header


def server_key(secret: bytes, operator: str) -> ServerKey:
    """Derive the service's key from a stored secret and the hash of the service's own key."""
    digest = hmac.new(secret, f"answerback:push:{operator}".encode(), hashlib.sha512).digest()
    number = int.from_bytes(digest, "big") % (_ORDER - 1) + 1
    return ServerKey(ec.derive_private_key(number, ec.SECP256R1()))


def topic_of(secret: bytes, ask_id: str) -> str:
    """Return the topic by which a push service replaces an undelivered message; it tells others nothing of the ask."""
    digest = hmac.new(secret, f"answerback:topic:{ask_id}".encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest[:24]).decode()


def encrypt(message: Mapping[str, JsonValue], key: str, auth: str) -> bytes:
    """Encrypt a message for the browser with these keys.

    Raises:
        ValueError: the keys are invalid, or the message is too long.
    """
    try:
        point, shared = _decode(key), _decode(auth)
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError as error:
        raise ValueError("these are not the keys of a browser") from error
    if len(shared) != _AUTH_BYTES:
        raise ValueError("the browser's secret does not have 16 bytes")
    text = json.dumps(message, ensure_ascii=False).encode()
    if len(text) > PAYLOAD_BYTES:
        raise ValueError("the message is too long")
    encrypted: bytes = http_ece.encrypt(
        text.ljust(PAYLOAD_BYTES),
        salt=os.urandom(16),
        private_key=ec.generate_private_key(ec.SECP256R1()),
        dh=point,
        auth_secret=shared,
        version="aes128gcm",
    )
    return encrypted


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
