"""The backend of the MCP tools: asks as JSON, from the service in this process or from one that runs elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pydantic import JsonValue

from answerback.core.ask import Ask, ToolResult
from answerback.core.clarification import CLARIFY
from answerback.core.errors import InvalidCallError, ProblemError
from answerback.dialects.registry import render_refusal
from answerback.ports.late_answers import SeenState
from answerback.ports.surface import Acted, Rejected, RejectReason
from answerback.service.agent_requests import Callers, may_see
from answerback.service.ask_wire import ask_json
from answerback.service.late_answer_text import late_answer_json
from answerback.service.late_answers import ResponseTracker
from answerback.service.service import Service
from answerback.service.submission_request import Agent, read_submission

PATH: Final = "/mcp"
"""The path of the service's MCP endpoint."""
_MAX_LATE_ANSWERS: Final = 20
"""Maximum number of late answers in one result."""
AskJson = Mapping[str, JsonValue]
"""An ask as returned by `answerback.service.ask_wire.ask_json`."""


class AskRefusedError(Exception):
    """An ask or an explanation was refused; ``result`` gives the reason to the model."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__(result.content)
        self.result = result


def explanation_refused(problems: Sequence[str]) -> AskRefusedError:
    """Build the error for an explanation that was refused for the given reasons."""
    message = "\n".join(problems)
    return AskRefusedError(
        ToolResult(content=message, structured={"error": message}, is_error=True)
    )


@dataclass(frozen=True, slots=True)
class AskToolCall:
    """One call of an asking tool. Repeating the ``key`` returns the first ask."""

    name: str
    dialect: str | None
    """The dialect to read it as; None: detect it from the name and shape."""
    arguments: dict[str, JsonValue]
    to: JsonValue
    key: str | None
    tool_call_id: str | None
    mode: JsonValue = None
    """``async``: the model continues at once."""
    conversation: JsonValue = None
    join: str | None = None
    """See `answerback.service.submission_request.Submission`."""
    clarifies: bool = False
    """Whether the model can be asked to explain."""


@dataclass(frozen=True, slots=True)
class LateAnswerBatch:
    """Ended asks, each with a ``message`` for the model, what people have told it to try again, and the number that
    acknowledges them."""

    answers: Sequence[AskJson]
    next: int | None


class AskBackend(Protocol):
    """Access to asks on behalf of one agent."""

    async def enabled(self, dialects: Collection[str]) -> Collection[str]:
        """Return those of the given dialects that are enabled."""

    async def submit(self, asking: AskToolCall) -> AskJson:
        """Submit a call and return the new ask.

        Raises:
            AskRefusedError: the call is refused.
        """

    async def get(self, ask_id: str, *, reported: bool = True) -> AskJson | None:
        """Return the current ask, or None if the agent has none with this id.

        Args:
            reported: whether the outcome counts as reported to the agent; if not, it can still be a late answer.
        """

    async def wait(self, ask_id: str, seconds: float) -> AskJson | None:
        """Wait until the ask has ended or the time is over; return its current state."""

    async def explain(self, ask_id: str, text: str) -> AskJson | None:
        """Add an explanation below the ask's question; an ask that has ended is returned unchanged.

        Raises:
            AskRefusedError: the explanation is refused.
        """

    async def withdraw(self, ask_id: str, *, reported: bool = True) -> AskJson | None:
        """Withdraw the ask; one that has ended is returned unchanged. For ``reported`` see `get`."""

    async def late(self, conversation: str | None, after: int | None) -> LateAnswerBatch:
        """Return unreported outcomes of the asks in a conversation or, for None, of those without one."""


class ServiceBackend:
    """The backend for the service in this process, on behalf of one agent.

    Args:
        tracker: tracks which outcomes the response to the agent's call reports; None: late answers are not used.
    """

    def __init__(
        self,
        service: Service,
        callers: Callers,
        agent: Agent | None,
        tracker: ResponseTracker | None = None,
    ) -> None:
        self._service = service
        self._callers = callers
        self._agent = agent
        self._tracker = tracker

    async def enabled(self, dialects: Collection[str]) -> Collection[str]:
        """Return those of the given dialects that are enabled."""
        return {dialect for dialect in dialects if self._service.rules.enabled(dialect)}

    async def submit(self, asking: AskToolCall) -> AskJson:
        """Submit a call and return the new ask."""
        try:
            body = read_submission(
                {
                    "name": asking.name,
                    "dialect": asking.dialect,
                    "arguments": asking.arguments,
                    "to": asking.to,
                    "tool_call_id": asking.tool_call_id,
                    "conversation": asking.conversation,
                    "mode": asking.mode,
                    "join": asking.join,
                    "accepts": [CLARIFY] if asking.clarifies else [],
                }
            )
            submitted = await self._callers.submit(self._service, body, self._agent, asking.key)
        except InvalidCallError as error:
            raise AskRefusedError(render_refusal(error)) from error
        except ProblemError as error:
            message = f"{error.title}. {error.detail or ''}"
            raise AskRefusedError(
                ToolResult(content=message, structured={"error": message}, is_error=True)
            ) from error
        return self._report(submitted.ask)

    async def get(self, ask_id: str, *, reported: bool = True) -> AskJson | None:
        """Return the current ask, or None if the agent has none with this id."""
        ask = await self._own(ask_id)
        if ask is None:
            return None
        await self._service.presence.record_poll(ask)
        return self._json(ask, reported=reported)

    async def wait(self, ask_id: str, seconds: float) -> AskJson | None:
        """Wait until the ask has ended, the time is over or the process stops; return its current state."""
        if not await self._hold_back(ask_id):
            return None
        ask = await self._service.wait(ask_id, seconds)
        return None if ask is None else self._report(ask)

    async def explain(self, ask_id: str, text: str) -> AskJson | None:
        """Add an explanation below the ask's question; an ask that has ended is returned unchanged."""
        ask = await self._own(ask_id)
        if ask is None:
            return None
        result = await self._callers.run_to_completion(self._service.explain(ask_id, text))
        if isinstance(result, Rejected) and result.why is RejectReason.INVALID:
            raise explanation_refused([problem.message for problem in result.problems])
        return self._report(result.ask or ask)

    async def withdraw(self, ask_id: str, *, reported: bool = True) -> AskJson | None:
        """Withdraw the ask; one that has ended is returned unchanged."""
        ask = await self._own(ask_id)
        if ask is None:
            return None
        result = await self._callers.run_to_completion(self._service.withdraw(ask_id))
        return self._json(
            result.ask if isinstance(result, Acted) else result.ask or ask, reported=reported
        )

    async def late(self, conversation: str | None, after: int | None) -> LateAnswerBatch:
        """Return unreported outcomes of the asks in a conversation or, for None, of those without one."""
        name = self._agent.name if self._agent else None
        late_answers = await self._service.late_answer_tracker.list_unseen(
            name, conversation or "", after, _MAX_LATE_ANSWERS
        )
        for late_answer in late_answers:
            self._report(late_answer.ask, SeenState.LISTED)
        return LateAnswerBatch(
            [late_answer_json(late_answer.ask) for late_answer in late_answers],
            late_answers[-1].number if late_answers else after,
        )

    def _json(self, ask: Ask, *, reported: bool) -> AskJson:
        return self._report(ask) if reported else ask_json(ask)

    def _report(self, ask: Ask, state: SeenState = SeenState.SEEN) -> AskJson:
        """Return the ask as JSON, and track that the result reports its outcome to the agent."""
        if self._tracker is not None:
            self._tracker.add_outcome(ask, state)
        return ask_json(ask)

    async def _hold_back(self, ask_id: str) -> bool:
        """Reserve the outcome for this response; False if the agent has no ask with this id."""
        ask = await self._own(ask_id)
        if ask is not None and self._tracker is not None:
            self._tracker.hold_back(ask)
        return ask is not None

    async def _own(self, ask_id: str) -> Ask | None:
        ask = await self._service.get(ask_id)
        return ask if ask is not None and may_see(self._agent, ask) else None
