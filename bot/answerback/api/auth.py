"""Authenticate callers: agents' tokens, stored hashed and compared in constant time, and people's keys."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from aiohttp import web

from answerback.core.errors import ProblemError
from answerback.core.walker import Person
from answerback.http.unverified_connections import mark_request_verified
from answerback.ports.extension import Running
from answerback.ports.person_key import KeyHolderSource, hash_of, holder_of
from answerback.service.agent_requests import single_header
from answerback.service.submission_request import Agent

CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="answerback"'}


class AgentTokens:
    """The configured agents' tokens.

    Args:
        agents: the agents by their token's hash.
        required: whether callers need tokens.
    """

    def __init__(self, agents: Mapping[str, Agent], *, required: bool) -> None:
        self._agents = dict(agents)
        self.required = required
        """True if callers need a token. Fixed at start: a reload of the configuration does not change it."""

    def update_from(self, other: AgentTokens) -> None:
        self._agents = dict(other._agents)

    def is_agent(self, name: str) -> bool:
        """Return True if an agent or a front end has this name."""
        return any(agent.name == name for agent in self._agents.values())

    def front_end_hash(self, name: str) -> str | None:
        """The hash of a front end's token; None if there is none of this name any more."""
        named = (
            known
            for known, agent in self._agents.items()
            if agent.name == name and agent.role == "surface"
        )
        return next(named, None)

    @property
    def hashes(self) -> Collection[str]:
        return self._agents.keys()

    def find_agent(self, token: str) -> Agent | None:
        hashed = hash_of(token)
        matching = [
            agent for known, agent in self._agents.items() if hmac.compare_digest(known, hashed)
        ]
        return matching[0] if matching else None


class Caller(NamedTuple):
    """The authenticated caller: an agent (or front end) by its token, a person by their key, or anyone local."""

    agent: Agent | None = None
    person: Person | None = None


class Authenticator:
    """Finds out who calls.

    Args:
        configured: the agents in the configuration.
        extensions: those that may have further agents.
        holders: the people who have keys.
    """

    def __init__(
        self, configured: AgentTokens, extensions: Sequence[Running], holders: KeyHolderSource
    ) -> None:
        self._configured, self._extensions = configured, extensions
        self.holders = holders
        self.required = configured.required
        """True if callers need a token."""

    async def token_hashes(self) -> Collection[str]:
        """The hashes of the tokens of agents and front ends."""
        added = [await each.token_hashes() for each in self._extensions]
        return [*self._configured.hashes, *(token_hash for each in added for token_hash in each)]

    async def authenticate_agent(self, request: web.Request) -> Agent | None:
        """The agent, or front end, whose token a request carries; None if callers need no tokens.

        Raises:
            ProblemError: 401, or 403 for a person's key.
        """
        if not self.required:
            mark_request_verified(request)  # whoever can connect is an agent
            return None
        caller = await self.authenticate_reader(request)
        if caller.person is not None:
            raise ProblemError(
                403, "Not for people's keys", "This is for agents: send an agent's token."
            )
        return caller.agent

    async def authenticate_reader(self, request: web.Request) -> Caller:
        """Authenticate a call that people may make too.

        Raises:
            ProblemError: 401, if callers need a token.
        """
        token = _bearer(request)
        known = await self._find_caller(token)
        if known is not None or not self.required:
            mark_request_verified(request)
            return known or Caller()
        if token is None:
            raise ProblemError(
                401, "Token missing", "Send your agent's token as Authorization: Bearer TOKEN."
            )
        raise ProblemError(
            401,
            "Token unknown",
            "No agent has this token, or it has expired or was removed. Create one with `answerback token create "
            "NAME` or, where people connect their own agents, with `answerback connect AGENT --sign-in`.",
        )

    async def authenticate_actor(self, request: web.Request) -> Caller:
        """Authenticate a caller who acts on an ask: with a person's key or a token.

        Raises:
            ProblemError: 401.
        """
        token = _bearer(request)
        known = await self._find_caller(token)
        if known is None:
            raise ProblemError(
                401,
                "Key missing" if token is None else "Key unknown",
                "Acting takes a person's key: send what `answerback key` prints, or a personal link's key, as "
                "Authorization: Bearer KEY. An agent cannot answer its own questions.",
            )
        mark_request_verified(request)
        return known

    async def _find_caller(self, token: str | None) -> Caller | None:
        if token is None:
            return None
        agent = self._configured.find_agent(token)
        if agent is not None:
            return Caller(agent=agent)
        for extension in self._extensions:
            if (known := await extension.find_agent(token)) is not None:
                return Caller(agent=Agent(token_hash=hash_of(token), **known._asdict()))
        holder = holder_of(token, await self.holders())
        return None if holder is None else Caller(person=holder.person)


def _bearer(request: web.Request) -> str | None:
    """The bearer token of a request, or None; raises ProblemError for several."""
    scheme, _, token = (single_header(request, "Authorization") or "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
