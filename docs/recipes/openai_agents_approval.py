"""OpenAI Agents SDK: a tool that needs approval interrupts the run, which is saved, and people decide."""

import asyncio
import json
import os
import uuid
from pathlib import Path

from agents import Agent, Runner, RunState, function_tool

from answerback_client import Ask, AsyncClient, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")


class TurnEndedError(Exception):
    """The person ended the turn: nothing ran, and the run is not resumed."""


@function_tool(needs_approval=True)
def release(version: str) -> str:
    """Releases a version."""
    return f"Version {version} is out."


def agent_of(model) -> Agent:
    """An agent whose tool runs when someone agrees."""
    return Agent(name="Releaser", model=model, tools=[release])


class Run:
    """A run whose state is in a file: `start` it, and `go_on` in any process that finds it interrupted."""

    def __init__(self, agent: Agent, answerback: AsyncClient, file: Path) -> None:
        self._agent, self._answerback, self._file = agent, answerback, file

    async def start(self, prompt: str) -> str:
        """The agent's final output."""
        return await self._until_done(await Runner.run(self._agent, prompt))

    async def go_on(self) -> str:
        """Continues from the file; the agent's final output."""
        pause, saved = json.loads(self._file.read_text())
        state = await RunState.from_json(self._agent, saved)
        return await self._until_done(await self._decided(state, pause))

    async def _until_done(self, result) -> str:
        while result.interruptions:
            state, pause = result.to_state(), str(uuid.uuid4())
            self._file.write_text(json.dumps([pause, state.to_json()]))
            result = await self._decided(state, pause)
        self._file.unlink(missing_ok=True)
        return result.final_output

    async def _decided(self, state: RunState, pause: str):
        for item in state.get_interruptions():
            try:
                ask = await self._ask(item, pause)
            except InvalidCallError as refused:
                state.reject(item, rejection_message=str(refused))
                continue
            if ask.end_turn:
                self._file.unlink()
                raise TurnEndedError
            decide(state, item, ask)
        return await Runner.run(self._agent, state)

    async def _ask(self, item, pause: str) -> Ask:
        """The ask about a tool call, once it has ended; the same call of the same pause finds the same ask."""
        raw = item.raw_item  # a function's arguments, a shell's commands or a patch
        raw = raw if isinstance(raw, dict) else raw.model_dump(mode="json", exclude_none=True)
        request = {"tool_name": item.tool_name, "raw_item": raw}
        return await self._answerback.ask(
            "tool_approval_item",
            request,
            key=f"{pause}:{item.call_id}",  # a model may use the call's id again
            tool_call_id=item.call_id,
            to="web",
        )


def decide(state: RunState, item, ask: Ask) -> None:
    """Puts an ask that has ended into the state, as the decision about its tool call."""
    result = ask.tool_result
    if result.is_error:
        state.reject(item, rejection_message=result.content)
    elif ask.status == "answered" and not ask.by_person:
        state.reject(item, rejection_message="No person decided.")
    elif result.structured["approved"]:
        state.approve(item, always_approve=result.structured["always"])
    else:
        text = result.structured.get("rejection_message")
        state.reject(item, result.structured["always"], rejection_message=text)


async def main() -> None:
    async with AsyncClient(URL, TOKEN) as answerback:
        file = Path("run.json")
        run = Run(agent_of(os.environ["MODEL"]), answerback, file)
        print(await (run.go_on() if file.exists() else run.start("Release version 7.")))


if __name__ == "__main__":
    asyncio.run(main())
