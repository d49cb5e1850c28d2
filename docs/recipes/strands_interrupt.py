"""Strands Agents: a hook interrupts the agent before a tool runs, and people approve or reject the call."""

import asyncio
import os

from strands import Agent, tool
from strands.hooks import BeforeToolCallEvent, HookProvider, HookRegistry

from answerback_client import AsyncClient, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")
GATED = {"release"}


@tool
def release(version: str) -> str:
    """Releases a version."""
    return f"Version {version} is out."


class Approval(HookProvider):
    """Interrupts before a gated tool runs."""

    def register_hooks(self, registry: HookRegistry, **_more) -> None:
        registry.add_callback(BeforeToolCallEvent, self.interrupt)

    def interrupt(self, event: BeforeToolCallEvent) -> None:
        use = event.tool_use
        if use["name"] in GATED:
            request = {"name": use["name"], "args": use["input"], "tool_call_id": use["toolUseId"]}
            decision = event.interrupt("approval", reason=request)
            if decision["type"] != "approve":
                event.cancel_tool = decision.get("message", "A person rejected it.")


def agent_of(model) -> Agent:
    """An agent whose gated tools run when someone agrees."""
    return Agent(model=model, tools=[release], hooks=[Approval()], callback_handler=None)


async def run(agent: Agent, answerback: AsyncClient, message: str) -> str | None:
    """Runs to the end; None when someone ended the turn."""
    result = await agent.invoke_async(message)
    while result.stop_reason == "interrupt":
        answers = []
        for interrupt in result.interrupts:
            decision = await decide(answerback, interrupt.reason)
            if decision is None:
                return None
            answer = {"interruptId": interrupt.id, "response": decision}
            answers.append({"interruptResponse": answer})
        result = await agent.invoke_async(answers)
    return str(result).strip()


async def decide(answerback: AsyncClient, call: dict) -> dict | None:
    """The decision about a call; None when the turn ends."""
    request = {**call, "allowed_decisions": ["approve", "reject"]}
    try:
        ask = await answerback.ask("tool_approval", request, to="web")
    except InvalidCallError as refused:
        return {"type": "reject", "message": str(refused)}
    if ask.end_turn:
        return None
    if not ask.by_person or ask.tool_result.is_error:
        return {"type": "reject", "message": ask.tool_result.content}
    return ask.tool_result.structured


async def main() -> None:
    async with AsyncClient(URL, TOKEN) as answerback:
        print(await run(agent_of(os.environ["MODEL"]), answerback, "Release version 7."))


if __name__ == "__main__":
    asyncio.run(main())
