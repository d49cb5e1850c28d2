"""Pydantic AI: ask_user is an external tool; a run that calls it is parked, and any process can resume it."""

import asyncio
import os
from pathlib import Path

from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessagesTypeAdapter,
    ModelRetry,
    ToolDefinition,
    ToolFailed,
)
from pydantic_ai.toolsets import ExternalToolset

from answerback_client import Ask, AsyncClient, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")


class TurnEndedError(Exception):
    """The person ended the turn: the run is not resumed."""


async def agent_of(model, answerback: AsyncClient) -> Agent:
    """An agent that may ask; its runs end with text, or with calls that people have to answer."""
    found = await answerback.call("GET", "/v1/tools?format=mcp")
    tool = found["tools"][0]
    asking = ToolDefinition(
        name=tool["name"],
        description=tool["description"],
        parameters_json_schema=tool["inputSchema"],
    )
    return Agent(
        model,
        instructions="Ask before you release anything.",
        toolsets=[ExternalToolset([asking])],
        output_type=[str, DeferredToolRequests],
    )


class Run:
    """A run whose state is in a file: start it anywhere, and call `go_on` until it gives text."""

    def __init__(self, agent: Agent, answerback: AsyncClient, file: Path) -> None:
        self._agent, self._answerback, self._file = agent, answerback, file

    async def start(self, prompt: str) -> str | None:
        """The agent's text; None when it asked something and is parked."""
        return await self._park(await self._agent.run(prompt))

    async def go_on(self) -> str | None:
        """Waits for the answers, and continues from there."""
        messages = ModelMessagesTypeAdapter.validate_json(self._file.read_bytes())
        results = DeferredToolResults()
        for call in messages[-1].tool_calls:
            try:
                ask = await self._ask(call, messages[-1].run_id)
                results.calls[call.tool_call_id] = given(ask)
            except InvalidCallError as refused:
                if refused.tool_result is None:
                    raise
                results.calls[call.tool_call_id] = ModelRetry(refused.tool_result.content)
        return await self._park(
            await self._agent.run(message_history=messages, deferred_tool_results=results)
        )

    async def _ask(self, call, run_id: str) -> Ask:
        """The ask of a tool call, once it has ended; the same call of the same run finds the same ask."""
        return await self._answerback.ask(
            call.tool_name,
            call.args_as_dict(),
            key=f"{run_id}:{call.tool_call_id}",  # a model may use the call's id again
            tool_call_id=call.tool_call_id,
            to="web",
        )

    async def _park(self, result) -> str | None:
        self._file.write_bytes(result.all_messages_json())
        return None if isinstance(result.output, DeferredToolRequests) else result.output


def given(ask: Ask):
    """An ask that has ended, as the result of its tool call."""
    if ask.end_turn:
        raise TurnEndedError
    result = ask.tool_result
    return ToolFailed(result.content) if result.is_error else result.structured


async def main() -> None:
    async with AsyncClient(URL, TOKEN) as answerback:
        file = Path("run.json")
        run = Run(await agent_of(os.environ["MODEL"], answerback), answerback, file)
        text = await (run.go_on() if file.exists() else run.start("Release version 7."))
        while text is None:
            text = await run.go_on()
    file.unlink()
    print(text)


if __name__ == "__main__":
    asyncio.run(main())
