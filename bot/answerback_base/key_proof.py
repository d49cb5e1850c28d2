"""A proof that a program knows the service's own key, for commands that would send it the key."""

from __future__ import annotations

import hashlib
import hmac

from answerback_base.addresses import ip_address


def key_proof(key: bytes, nonce: str, host: str, port: int) -> str:
    """Prove that the program listening on an address knows the service's own key, without sending it.

    A program that forwards the challenge to the real service gets a proof for another address.

    Args:
        nonce: chosen by the caller, and never used again.
        host: the IP address that the connection was made to.
    """
    message = f"answerback:proof:{nonce}:{ip_address(host)}:{port}"
    return hmac.new(key, message.encode(), hashlib.sha256).hexdigest()
