"""Who calls: agents' tokens, stored hashed and compared in constant time, and people's keys."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final, NamedTuple

from aiohttp import web

from answerback.core.errors import ProblemError
from answerback.core.walker import Person
from answerback.ports.person_key import KeyHolderSource, hash_of, holder_of
from answerback.service.submission_request import Agent

CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="answerback"'}


class AgentTokens:
    """The tokens of the configuration. With none, nobody is asked for one.

    Args:
        agents: the agents by the hashes of their tokens.
    """

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self._agents = dict(agents)
        self.required = bool(agents)
        """Whether a caller needs a token; where one did, it stays so until the service is started again."""

    def update_from(self, other: AgentTokens) -> None:
        """Serves other agents from now on."""
        self._agents = dict(other._agents)

    def authenticate_agent(self, request: web.Request) -> Agent | None:
        """The agent whose token a request bears; None where no tokens are configured.

        Raises:
            ProblemError: 401.
        """
        if not self.required:
            return None
        token = _bearer(request)
        if token is None:
            raise ProblemError(
                401, "Token missing", "Send Authorization: Bearer and your agent's token."
            )
        found = self.find_agent(token)
        if found is None:
            raise ProblemError(
                401,
                "Token unknown",
                "No agent has this token; `answerback token create NAME` makes one.",
            )
        return found

    def find_agent(self, token: str) -> Agent | None:
        """The agent that has this token."""
        hashed = hash_of(token)
        found = [
            agent for known, agent in self._agents.items() if hmac.compare_digest(known, hashed)
        ]
        return found[0] if found else None


class Caller(NamedTuple):
    """Who calls: an agent (or a front end) by its token, a person by their key, or anybody on this machine."""

    agent: Agent | None = None
    person: Person | None = None


async def authenticate_reader(
    request: web.Request, tokens: AgentTokens, holders: KeyHolderSource
) -> Caller:
    """Who makes a call that people may make too: with a key they need no token.

    Raises:
        ProblemError: 401, where tokens are configured.
    """
    token = _bearer(request)
    if token is not None and tokens.find_agent(token) is None:
        holder = holder_of(token, await holders())
        if holder is not None:
            return Caller(person=holder.person)
    return Caller(agent=tokens.authenticate_agent(request))


async def authenticate_actor(
    request: web.Request, tokens: AgentTokens, holders: KeyHolderSource
) -> Caller:
    """Who acts: somebody with a person's key, or a token.

    Raises:
        ProblemError: 401.
    """
    token = _bearer(request)
    agent = tokens.find_agent(token) if token is not None else None
    if agent is not None:
        return Caller(agent=agent)
    holder = holder_of(token, await holders()) if token is not None else None
    if holder is None:
        raise ProblemError(
            401,
            "Key missing" if token is None else "Key unknown",
            "Acting takes a person's key: send Authorization: Bearer and what `answerback key` prints, or a personal "
            "link's key. "
            "An agent cannot answer its own questions.",
        )
    return Caller(person=holder.person)


def _bearer(request: web.Request) -> str | None:
    """The bearer token of a request, or None."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
