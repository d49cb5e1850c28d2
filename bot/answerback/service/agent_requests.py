"""What every way in for agents beside the API shares: who calls, finishing what was begun, telling repeats apart."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol, TypeVar

from aiohttp import web
from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.errors import ProblemError
from answerback.http.json_parsing import MAX_BODY
from answerback.http.request_body import BodyError, receive_body
from answerback.service.late_answers import ResponseTracker
from answerback.service.service import Service
from answerback.service.submission_request import Agent, Submission
from answerback.service.submit import Submitted

RESPONSE_TRACKER: Final = web.RequestKey("carrier", ResponseTracker)
"""What the response to a request tells its agent."""

T = TypeVar("T")


class Finish(Protocol):
    """Carries a change through to its end, even if the caller hangs up meanwhile."""

    async def __call__(self, change: Coroutine[object, object, T]) -> T:
        """Runs it."""


@dataclass(frozen=True, slots=True)
class Callers:
    """The callers of a listener.

    Args:
        agent_of: the agent whose token a request bears (None: no tokens are configured); raises
            ProblemError for a bad one.
        finish: see `Finish`.
    """

    agent_of: Callable[[web.Request], Agent | None]
    run_to_completion: Finish

    def agent(self, request: web.Request) -> Agent | None:
        """The agent that calls.

        Raises:
            ProblemError: 401 without a known token, 403 with a front end's.
        """
        agent = self.agent_of(request)
        if agent is not None and agent.role != "agent":
            words = "This token acts for people (role surface); agents' calls need a token with the role agent."
            raise ProblemError(403, f"Not for {agent.role} tokens", words)
        return agent

    async def submit(
        self, service: Service, body: Submission, agent: Agent | None, key: str | None
    ) -> Submitted:
        """Submits for an agent; the same ``key`` with the same body finds the first ask.

        Raises:
            InvalidCallError: with every mistake.
            ProblemError: the key was used for another body.
        """
        digest = digest_of(body.model_dump(mode="json"))
        submitting = service.submit(body, agent=agent, idempotency_key=key, digest=digest)
        return await self.run_to_completion(submitting)


async def read_body(request: web.Request) -> bytes:
    """The bytes of the body of an agent's request.

    Raises:
        ProblemError: 400, 408, 413 or 415.
    """
    try:
        return await receive_body(request, MAX_BODY, compressed=True)
    except BodyError as error:
        title = HTTPStatus(error.status).phrase
        raise ProblemError(error.status, title, str(error)) from error


async def run_to_completion(change: Coroutine[object, object, T]) -> T:
    """A `Finish` that nobody waits for at the end of the process."""
    return await asyncio.shield(asyncio.ensure_future(change))


def digest_of(body: JsonValue) -> str:
    """The same for the same JSON, however it was written."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def may_see(agent: Agent | None, ask: Ask) -> bool:
    """Whether an agent may know of an ask: only of its own."""
    return agent is None or ask.request.agent == agent.name
