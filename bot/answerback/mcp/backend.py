"""The asks behind the MCP tools, as JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, ToolResult
from answerback.core.clarification import CLARIFY
from answerback.core.errors import InvalidCallError, ProblemError
from answerback.dialects.registry import render_refusal
from answerback.ports.files import read_whole
from answerback.ports.late_answers import SeenState
from answerback.ports.surface import Rejected, RejectReason
from answerback.service.agent_requests import Callers
from answerback.service.ask_wire import ask_json
from answerback.service.late_answer_text import late_answer_json
from answerback.service.late_answers import ResponseTracker
from answerback.service.may_see import Viewer, may_see
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

    def __init__(self, reason: ToolResult | str) -> None:
        self.result = (
            ToolResult(content=reason, structured={"error": reason}, is_error=True)
            if isinstance(reason, str)
            else reason
        )
        super().__init__(self.result.content)


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
    urgency: JsonValue = None
    conversation: JsonValue = None
    files: JsonValue = None
    join: str | None = None
    """`answerback.service.submission_request.Submission` says what it is."""
    clarifies: bool = False
    """True if the model can be asked to explain."""

    def body(self) -> dict[str, JsonValue]:
        body: dict[str, JsonValue] = {
            "name": self.name,
            "dialect": self.dialect,
            "arguments": self.arguments,
            "to": self.to,
            "tool_call_id": self.tool_call_id,
            "conversation": self.conversation,
            "mode": self.mode,
            "urgency": self.urgency,
            "files": self.files,
            "join": self.join,
            "accepts": [CLARIFY] if self.clarifies else None,
        }
        return {name: value for name, value in body.items() if value is not None}


@dataclass(frozen=True, slots=True)
class LateAnswerBatch:
    """Ended asks, each with a ``message`` for the model, what people have told it to try again, and the number that
    acknowledges them."""

    answers: Sequence[AskJson]
    next: int | None


@dataclass(frozen=True, slots=True)
class AskBackend:
    """Access to asks on behalf of one agent."""

    service: Service
    callers: Callers
    agent: Agent | None
    tracker: ResponseTracker | None = None
    """Tracks which outcomes the response to the agent's call reports; None: late answers are not used."""

    async def enabled(self, dialects: Collection[str]) -> Collection[str]:
        return {dialect for dialect in dialects if self.service.rules.enabled(dialect)}

    async def submit(self, asking: AskToolCall) -> AskJson:
        """Submit a call and return the new ask.

        Raises:
            AskRefusedError: the call is refused.
        """
        try:
            body = read_submission(asking.body())
            submitted = await self.callers.submit(self.service, body, self.agent, asking.key)
        except InvalidCallError as error:
            raise AskRefusedError(render_refusal(error)) from error
        except ProblemError as error:
            raise AskRefusedError(f"{error.title}. {error.detail or ''}") from error
        return self._report(submitted.ask)

    async def read_file(self, file_id: str) -> bytes:
        """Return the bytes of a file that an ask of the agent names; empty if it was deleted meanwhile."""
        return await read_whole(self.service.files, file_id)

    async def get(self, ask_id: str, *, reported: bool = True) -> AskJson | None:
        """Return the current ask, or None if the agent has none with this id.

        Args:
            reported: whether the outcome counts as reported to the agent; if not, it can still be a late answer.
        """
        ask = await self._own(ask_id)
        if ask is None:
            return None
        await self.service.presence.record_poll(ask)
        return self._json(ask, reported=reported)

    async def wait(self, ask_id: str, seconds: float) -> AskJson | None:
        """Wait until the ask has ended or the time is over; return its current state."""
        ask = await self._own(ask_id)
        if ask is not None and self.tracker is not None:
            self.tracker.hold_back(ask)
        ask = ask and await self.service.wait(ask_id, seconds)
        return None if ask is None else self._report(ask)

    async def explain(self, ask_id: str, text: str) -> AskJson | None:
        """Add an explanation below the ask's question; an ask that has ended is returned unchanged.

        Raises:
            AskRefusedError: the explanation is refused.
        """
        ask = await self._own(ask_id)
        if ask is None:
            return None
        result = await self.callers.run_to_completion(self.service.explain(ask_id, text))
        if isinstance(result, Rejected) and result.why is RejectReason.INVALID:
            raise AskRefusedError("\n".join(problem.message for problem in result.problems))
        return self._report(result.ask or ask)

    async def withdraw(self, ask_id: str, *, reported: bool = True) -> AskJson | None:
        """Withdraw the ask; one that has ended is returned unchanged. For ``reported`` see `get`."""
        ask = await self._own(ask_id)
        if ask is None:
            return None
        result = await self.callers.run_to_completion(self.service.withdraw(ask_id))
        return self._json(result.ask or ask, reported=reported)

    async def late(self, conversation: str | None, after: int | None) -> LateAnswerBatch:
        """Return unreported outcomes of the asks in a conversation or, for None, of those without one."""
        name = self.agent.name if self.agent else None
        late_answers = await self.service.late_answer_tracker.list_unseen(
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
        if self.tracker is not None:
            self.tracker.add_outcome(ask, state)
        return ask_json(ask)

    async def _own(self, ask_id: str) -> Ask | None:
        ask = await self.service.get(ask_id)
        viewer = Viewer(agent=None if self.agent is None else self.agent.name)
        if ask is None or not may_see(ask, viewer, self.service.people):
            return None
        return ask
