"""Authenticate callers: agents' tokens, stored hashed and compared in constant time, and people's keys."""

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
    """The configured agents' tokens. If there are none, callers need no token.

    Args:
        agents: the agents by their token's hash.
    """

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self._agents = dict(agents)
        self.required = bool(agents)
        """Whether callers need a token. Fixed at start: a reload of the configuration does not change it."""

    def update_from(self, other: AgentTokens) -> None:
        """Take over the agents of another instance."""
        self._agents = dict(other._agents)

    def authenticate_agent(self, request: web.Request) -> Agent | None:
        """The agent whose token a request carries; None if no tokens are configured.

        Raises:
            ProblemError: 401.
        """
        if not self.required:
            return None
        token = _bearer(request)
        if token is None:
            raise ProblemError(
                401, "Token missing", "Send your agent's token as Authorization: Bearer TOKEN."
            )
        agent = self.find_agent(token)
        if agent is None:
            raise ProblemError(
                401,
                "Token unknown",
                "No agent has this token. Create one with `answerback token create NAME`.",
            )
        return agent

    def front_end_hash(self, name: str) -> str | None:
        """The hash of a front end's token; None if there is none of this name any more."""
        named = [
            known
            for known, agent in self._agents.items()
            if agent.name == name and agent.role == "surface"
        ]
        return named[0] if named else None

    def find_agent(self, token: str) -> Agent | None:
        """The agent that has this token."""
        hashed = hash_of(token)
        matching = [
            agent for known, agent in self._agents.items() if hmac.compare_digest(known, hashed)
        ]
        return matching[0] if matching else None


class Caller(NamedTuple):
    """The authenticated caller: an agent (or front end) by its token, a person by their key, or anyone local."""

    agent: Agent | None = None
    person: Person | None = None


async def authenticate_reader(
    request: web.Request, tokens: AgentTokens, holders: KeyHolderSource
) -> Caller:
    """Authenticate a call that people may make too; with a key they need no token.

    Raises:
        ProblemError: 401, if tokens are configured.
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
    """Authenticate a caller who acts on an ask: with a person's key or a token.

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
            "Acting takes a person's key: send what `answerback key` prints, or a personal link's key, as "
            "Authorization: Bearer KEY. An agent cannot answer its own questions.",
        )
    return Caller(person=holder.person)


def _bearer(request: web.Request) -> str | None:
    """The bearer token of a request, or None."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
