"""What the MCP tools stand on: asks as JSON, from the service in this process or from one that runs elsewhere."""

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
from answerback.service.late_answer_text import late_answer_json
from answerback.service.late_answers import ResponseTracker
from answerback.service.serialize import ask_json
from answerback.service.service import Service
from answerback.service.submission_request import Agent, read_submission

PATH: Final = "/mcp"
"""Where the service offers the tools."""
_TOGETHER: Final = 20
"""Late answers in one result."""
AskJson = Mapping[str, JsonValue]
"""An ask as `answerback.service.serialize.ask_json` makes it."""


class AskRefusedError(Exception):
    """Nothing was asked; ``result`` says why, in words for the model."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__(result.content)
        self.result = result


def explanation_refused(problems: Sequence[str]) -> AskRefusedError:
    """An explanation was refused, for these reasons."""
    words = "\n".join(problems)
    return AskRefusedError(ToolResult(content=words, structured={"error": words}, is_error=True))


@dataclass(frozen=True, slots=True)
class AskToolCall:
    """One call of an asking tool. The same ``key`` again finds the first ask."""

    name: str
    dialect: str | None
    """The dialect to read it as; None: its name and shape tell."""
    arguments: dict[str, JsonValue]
    to: JsonValue
    key: str | None
    tool_call_id: str | None
    mode: JsonValue = None
    """``async``: the model goes on at once."""
    conversation: JsonValue = None
    clarifies: bool = False
    """Whether the model can be asked to explain."""


@dataclass(frozen=True, slots=True)
class LateAnswerBatch:
    """Ended asks, each with a ``message`` for the model, and the number that acknowledges them."""

    answers: Sequence[AskJson]
    next: int | None


class AskBackend(Protocol):
    """Asks, for one agent."""

    async def enabled(self, dialects: Collection[str]) -> Collection[str]:
        """Those of these dialects that are served."""

    async def submit(self, asking: AskToolCall) -> AskJson:
        """The new ask.

        Raises:
            NotAskedError: the call is refused.
        """

    async def get(self, ask_id: str, *, told: bool = True) -> AskJson | None:
        """The ask as it stands, or None where the agent has none of this id.

        Args:
            told: whether the agent is told how it ended; if not, its answer is still listed as late where it can be.
        """

    async def wait(self, ask_id: str, seconds: float) -> AskJson | None:
        """The ask once it has ended, or as it stands after that time."""

    async def explain(self, ask_id: str, text: str) -> AskJson | None:
        """The ask with an explanation below its question, or as it had ended before.

        Raises:
            NotAskedError: the explanation is refused.
        """

    async def withdraw(self, ask_id: str, *, told: bool = True) -> AskJson | None:
        """The ask after it was withdrawn, or as it had ended before; for ``told`` see `get`."""

    async def late(self, conversation: str | None, after: int | None) -> LateAnswerBatch:
        """What the agent has not been told of asks of a conversation, or of those asked without one."""


class ServiceBackend:
    """The service in this process, as one agent may use it.

    Args:
        carrier: what the response to the agent's call tells; None: nobody asks for late answers.
    """

    def __init__(
        self,
        service: Service,
        callers: Callers,
        agent: Agent | None,
        carrier: ResponseTracker | None = None,
    ) -> None:
        self._service = service
        self._callers = callers
        self._agent = agent
        self._carrier = carrier

    async def enabled(self, dialects: Collection[str]) -> Collection[str]:
        """Those of these dialects that are served."""
        return {dialect for dialect in dialects if self._service.rules.enabled(dialect)}

    async def submit(self, asking: AskToolCall) -> AskJson:
        """The new ask."""
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
                    "accepts": [CLARIFY] if asking.clarifies else [],
                }
            )
            submitted = await self._callers.submit(self._service, body, self._agent, asking.key)
        except InvalidCallError as error:
            raise AskRefusedError(render_refusal(error)) from error
        except ProblemError as error:
            words = f"{error.title}. {error.detail or ''}"
            raise AskRefusedError(
                ToolResult(content=words, structured={"error": words}, is_error=True)
            ) from error
        return self._told(submitted.ask)

    async def get(self, ask_id: str, *, told: bool = True) -> AskJson | None:
        """The ask as it stands, or None where the agent has none of this id."""
        ask = await self._own(ask_id)
        if ask is None:
            return None
        await self._service.presence.record_poll(ask)
        return self._json(ask, told=told)

    async def wait(self, ask_id: str, seconds: float) -> AskJson | None:
        """The ask once it has ended, or as it stands after that time or when the process stops."""
        if not await self._carried(ask_id):
            return None
        ask = await self._service.wait(ask_id, seconds)
        return None if ask is None else self._told(ask)

    async def explain(self, ask_id: str, text: str) -> AskJson | None:
        """The ask with an explanation below its question, or as it had ended before."""
        ask = await self._own(ask_id)
        if ask is None:
            return None
        done = await self._callers.run_to_completion(self._service.explain(ask_id, text))
        if isinstance(done, Rejected) and done.why is RejectReason.INVALID:
            raise explanation_refused([problem.message for problem in done.problems])
        return self._told(done.ask or ask)

    async def withdraw(self, ask_id: str, *, told: bool = True) -> AskJson | None:
        """The ask after it was withdrawn, or as it had ended before."""
        ask = await self._own(ask_id)
        if ask is None:
            return None
        done = await self._callers.run_to_completion(self._service.withdraw(ask_id))
        return self._json(done.ask if isinstance(done, Acted) else done.ask or ask, told=told)

    async def late(self, conversation: str | None, after: int | None) -> LateAnswerBatch:
        """What the agent has not been told of asks of a conversation, or of those asked without one."""
        name = self._agent.name if self._agent else None
        found = await self._service.late_answer_tracker.list_unseen(
            name, conversation or "", after, _TOGETHER
        )
        for one in found:
            self._told(one.ask, SeenState.LISTED)
        return LateAnswerBatch(
            [late_answer_json(one.ask) for one in found], found[-1].number if found else after
        )

    def _json(self, ask: Ask, *, told: bool) -> AskJson:
        return self._told(ask) if told else ask_json(ask)

    def _told(self, ask: Ask, told: SeenState = SeenState.SEEN) -> AskJson:
        """The ask, which the result tells its agent of."""
        if self._carrier is not None:
            self._carrier.add_outcome(ask, told)
        return ask_json(ask)

    async def _carried(self, ask_id: str) -> bool:
        """Whether the agent has an ask of this id; the response is to tell how it ends."""
        ask = await self._own(ask_id)
        if ask is not None and self._carrier is not None:
            self._carrier.hold_back(ask)
        return ask is not None

    async def _own(self, ask_id: str) -> Ask | None:
        ask = await self._service.get(ask_id)
        return ask if ask is not None and may_see(self._agent, ask) else None
