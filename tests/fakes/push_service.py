"""A browser at a push service of the tests' own: it decrypts what arrives at its endpoint, as a browser does."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass, field
from typing import Any

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.fakes.receiver import Received


def base64url(data: bytes) -> str:
    """Encode as browsers do, without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@dataclass(frozen=True)
class PushBrowser:
    """A browser that subscribes at ``endpoint``."""

    endpoint: str
    private: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    secret: bytes = field(default_factory=lambda: os.urandom(16))

    @property
    def form(self) -> dict[str, str]:
        """The form that the page's script sends to subscribe it."""
        point = self.private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        return {
            "endpoint": self.endpoint,
            "key": base64url(point),
            "auth": base64url(self.secret),
        }

    def read(self, received: Received) -> dict[str, Any]:
        """Decrypt a message."""
        assert received.headers["content-encoding"] == "aes128gcm"
        text: bytes = http_ece.decrypt(
            received.body,
            private_key=self.private,
            auth_secret=self.secret,
            version="aes128gcm",
        )
        message: dict[str, Any] = json.loads(text)
        return message
