"""Shared by all entry points for agents, other than the API: authentication, completing changes, detecting repeats."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar

from aiohttp import web
from pydantic import BaseModel

from answerback.core.errors import ProblemError
from answerback.http.request_body import BodyError, receive_body
from answerback.ports.extension import RunToCompletion
from answerback.service.json_bodies import parse_model
from answerback.service.late_answers import ResponseTracker
from answerback.service.service import Service
from answerback.service.submission_request import Agent, Submission
from answerback.service.submit import Submitted
from answerback_base.strict_json import MAX_BODY, digest_of

RESPONSE_TRACKER: Final = web.RequestKey("response_tracker", ResponseTracker)
"""The tracker of the outcomes that the response to a request reports to its agent."""

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Callers:
    """The callers of a listener.

    Args:
        agent_of: the agent whose token a request presents (None: callers need no tokens); raises
            ProblemError for a bad one.
        run_to_completion: see `answerback.ports.extension.RunToCompletion`.
    """

    agent_of: Callable[[web.Request], Awaitable[Agent | None]]
    run_to_completion: RunToCompletion

    async def agent(self, request: web.Request) -> Agent | None:
        """The agent that makes the request.

        Raises:
            ProblemError: 401 without a known token, 403 with a front end's token.
        """
        agent = await self.agent_of(request)
        if agent is not None and agent.role != "agent":
            text = "This token acts for people (role surface); agents' calls need a token with the role agent."
            raise ProblemError(403, f"Not for {agent.role} tokens", text)
        return agent

    async def submit(
        self,
        service: Service,
        body: Submission,
        agent: Agent | None,
        key: str | None,
        hook: str | None = None,
    ) -> Submitted:
        """Submit for an agent; the same ``key`` with the same body returns the first ask.

        Args:
            hook: the hook that puts the ask, which has keys of its own.

        Raises:
            InvalidCallError: with every error in the call.
            ProblemError: the key was used with another body.
        """
        digest = digest_of(body.model_dump(mode="json", exclude={"files"}))
        submitting = service.submit(
            body, agent=agent, idempotency_key=key, digest=digest, hook=hook
        )
        return await self.run_to_completion(submitting)


def single_header(request: web.Request, name: str) -> str | None:
    """Return the value of a header that a request may have once.

    Raises:
        ProblemError: 400; it would depend on who reads it which of several values counts.
    """
    values = request.headers.getall(name, [])
    if len(values) > 1:
        raise ProblemError(400, "Bad header", f"The header {name} is given twice: send it once.")
    return values[0] if values else None


def parse_query(model: type[M], request: web.Request) -> M:
    """Parse the query of a request's URL.

    Raises:
        ProblemError: 400, with every error.
    """
    for name in request.query:
        if len(request.query.getall(name)) > 1:
            raise ProblemError(400, "Bad query", f"The parameter {name[:100]} is given twice.")
    return parse_model(model, dict(request.query), "Bad query", 400)


async def read_body(request: web.Request) -> bytes:
    """Read the body of an agent's request.

    Raises:
        ProblemError: 400, 408, 413 or 415.
    """
    try:
        return await receive_body(request, MAX_BODY, compressed=True)
    except BodyError as error:
        title = HTTPStatus(error.status).phrase
        raise ProblemError(error.status, title, str(error)) from error
