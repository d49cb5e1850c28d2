"""Pydantic AI: a run whose tools require approval is parked with its requests, and people decide them in one form."""

import asyncio
import os
from pathlib import Path

from pydantic import TypeAdapter
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.messages import ModelMessage

from answerback_client import AsyncClient, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")
PARKED = TypeAdapter(tuple[list[ModelMessage], DeferredToolRequests])
REQUESTS = TypeAdapter(DeferredToolRequests)
RESULTS = TypeAdapter(DeferredToolResults)


class TurnEndedError(Exception):
    """The person ended the turn: nothing ran, and the run is not resumed."""


def agent_of(model) -> Agent:
    """An agent whose tool runs when someone agrees."""
    agent = Agent(model, output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def release(version: str) -> str:
        """Releases a version."""
        return f"Version {version} is out."

    return agent


class Run:
    """A run whose state is in a file: `start` it, and `go_on` in any process until it gives text."""

    def __init__(self, agent: Agent, answerback: AsyncClient, file: Path) -> None:
        self._agent, self._answerback, self._file = agent, answerback, file

    async def start(self, prompt: str) -> str | None:
        """The agent's text; None when it needs approval and is parked."""
        return self._park(await self._agent.run(prompt))

    async def go_on(self) -> str | None:
        """Waits for the decisions, and continues from there."""
        messages, requests = PARKED.validate_json(self._file.read_bytes())
        results = await self._decided(requests, messages[-1].run_id)
        return self._park(
            await self._agent.run(message_history=messages, deferred_tool_results=results)
        )

    async def _decided(self, requests: DeferredToolRequests, run_id: str) -> DeferredToolResults:
        ids = [call.tool_call_id for call in requests.approvals]
        try:
            ask = await self._answerback.ask(
                "DeferredToolRequests",
                REQUESTS.dump_python(requests, mode="json"),
                key=run_id,  # the same run, resumed again, finds the same ask
                to="web",
                takes_edited=True,
            )
        except InvalidCallError as refused:
            return denied(ids, str(refused))
        if ask.end_turn:
            self._file.unlink()
            raise TurnEndedError
        if ask.tool_result.is_error:
            return denied(ids, ask.tool_result.content)
        if ask.status == "answered" and not ask.by_person:
            return denied(ids, "No person decided.")
        return RESULTS.validate_python(ask.tool_result.structured)

    def _park(self, result) -> str | None:
        if isinstance(result.output, DeferredToolRequests):
            self._file.write_bytes(PARKED.dump_json((result.all_messages(), result.output)))
            return None
        self._file.unlink(missing_ok=True)
        return result.output


def denied(ids: list[str], text: str) -> DeferredToolResults:
    """Every call denied with the same message."""
    return DeferredToolResults(approvals={one: ToolDenied(text) for one in ids})


async def main() -> None:
    async with AsyncClient(URL, TOKEN) as answerback:
        file = Path("run.json")
        run = Run(agent_of(os.environ["MODEL"]), answerback, file)
        text = await (run.go_on() if file.exists() else run.start("Release version 7."))
        while text is None:
            text = await run.go_on()
    print(text)


if __name__ == "__main__":
    asyncio.run(main())
