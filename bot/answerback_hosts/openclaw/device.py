"""The key by which an OpenClaw gateway knows this client.

It is paired at once on the same machine, and elsewhere once a person has approved it.
"""

from __future__ import annotations

import base64
import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from answerback_agents.bridges.event_server import Json

if TYPE_CHECKING:
    from nacl.signing import SigningKey

CLIENT: Final = "gateway-client"
MODE: Final = "backend"
SCOPES: Final = ("operator.admin", "operator.write", "operator.approvals", "operator.questions")
"""Without the first, a gateway shows approvals only to the client whose message led to them."""


@dataclass(frozen=True, slots=True)
class Device:
    """The key that a gateway knows this client by."""

    key: SigningKey

    @classmethod
    def load(cls, path: Path) -> Device:
        """Load the key from a file that only its owner can read, or create it."""
        from nacl.signing import SigningKey  # not needed by other bridges

        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            created = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(created, "wb") as file:
                file.write(os.urandom(32))
        return cls(SigningKey(path.read_bytes()))

    def proof(self, challenge: Json, token: str) -> Json:
        """Sign the gateway's challenge."""
        public = bytes(self.key.verify_key)
        device = hashlib.sha256(public).hexdigest()
        nonce, signed_at = challenge.get("nonce"), challenge.get("ts")
        scopes = ",".join(SCOPES)
        parts = ("v2", device, CLIENT, MODE, "operator", scopes, signed_at, token, nonce)
        signature = self.key.sign("|".join(map(str, parts)).encode()).signature
        return {
            "id": device,
            "publicKey": _base64(public),
            "signature": _base64(signature),
            "signedAt": signed_at,
            "nonce": nonce,
        }


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
