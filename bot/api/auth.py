"""Who calls: bearer tokens, stored hashed and compared in constant time, and what their roles may do."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from bot.errors import ProblemError
from bot.submission import Agent

_TOKEN_PREFIX: Final = "ab_"
CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="answerback"'}


def new_token() -> str:
    """A token of 256 random bits; nothing but its hash is kept."""
    return _TOKEN_PREFIX + secrets.token_urlsafe(32)


def hash_of(token: str) -> str:
    """The hash that stands in the configuration. A random token of 256 bits needs no slow hash."""
    return "sha256:" + hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


class Tokens:
    """The tokens of the configuration. With none, nobody is asked for one."""

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        """Takes the agents by the hashes of their tokens."""
        self._agents = dict(agents)

    @property
    def required(self) -> bool:
        """Whether a caller needs a token."""
        return bool(self._agents)

    def agent_of(self, request: web.Request) -> Agent | None:
        """The agent whose token a request bears; None where no tokens are configured.

        Raises:
            ProblemError: 401.
        """
        if not self._agents:
            return None
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise ProblemError(
                401, "Token missing", "Send Authorization: Bearer and your agent's token."
            )
        hashed = hash_of(token.strip())
        found = [
            agent for known, agent in self._agents.items() if hmac.compare_digest(known, hashed)
        ]
        if not found:
            raise ProblemError(
                401,
                "Token unknown",
                "No agent has this token; `answerback token create NAME` makes one.",
            )
        return found[0]
