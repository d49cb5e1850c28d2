"""A proof that a program knows an agent's token, for clients that would send it the token. Standard library only."""

from __future__ import annotations

import hashlib
import hmac


def hash_of(key: str) -> str:
    """The hash of a key or a token. A secret with 256 random bits needs no slow hash."""
    return "sha256:" + hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def token_id(token_hash: str) -> str:
    """The id of a token, 16 hexadecimal digits: it names the token to the service and tells another program nothing."""
    return hashlib.sha256(f"answerback:token:{token_hash}".encode()).hexdigest()[:16]


def token_proof(token_hash: str, nonce: str) -> str:
    """Prove that a program knows a token, without sending it.

    It names no address, since agents may reach the service through a container's port or a proxy. A program that can
    itself reach the service can therefore pass a proof on: use https:// where the way to the service is not your own.

    Args:
        token_hash: the token's hash, which nobody else knows.
        nonce: chosen by the caller, and never used again.
    """
    message = f"answerback:token-proof:{nonce}"
    return hmac.new(token_hash.encode(), message.encode(), hashlib.sha256).hexdigest()
