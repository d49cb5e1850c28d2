"""Agno: a tool that requires confirmation pauses the run, and people confirm or reject the call."""

import asyncio
import os

from agno.agent import Agent
from agno.tools import tool

from answerback_client import AsyncClient, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")


@tool(requires_confirmation=True)
def release(version: str) -> str:
    """Releases a version."""
    return f"Version {version} is out."


def agent_of(model) -> Agent:
    """An agent whose tool runs when someone agrees."""
    return Agent(model=model, tools=[release], telemetry=False)


async def run(agent: Agent, answerback: AsyncClient, message: str) -> str | None:
    """Runs to the end; None when someone ended the turn."""
    output = await agent.arun(message)
    while output.is_paused:
        for requirement in output.active_requirements:
            approved, reason = await decide(answerback, requirement)
            if approved is None:
                return None
            requirement.confirm() if approved else requirement.reject(reason)
        output = await agent.acontinue_run(run_response=output, requirements=output.requirements)
    return output.content


async def decide(answerback: AsyncClient, requirement) -> tuple[bool | None, str]:
    """Return True if a call is approved, or False and why not; None when the turn ends."""
    call = requirement.tool_execution
    request = {
        "name": call.tool_name,
        "args": call.tool_args,
        "tool_call_id": call.tool_call_id,
        "allowed_decisions": ["approve", "reject"],
    }
    try:
        ask = await answerback.ask("tool_approval", request, key=requirement.id, to="web")
    except InvalidCallError as refused:
        return False, str(refused)
    if ask.end_turn:
        return None, ""
    if not ask.by_person or ask.tool_result.is_error:
        return False, ask.tool_result.content
    decision = ask.tool_result.structured
    return decision["type"] == "approve", decision.get("message", "A person rejected it.")


async def main() -> None:
    """Needs the package of a model too, such as openai."""
    async with AsyncClient(URL, TOKEN) as answerback:
        agent = agent_of(os.environ["MODEL"])
        print(await run(agent, answerback, "Release version 7."))


if __name__ == "__main__":
    asyncio.run(main())
