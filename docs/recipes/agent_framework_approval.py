"""Microsoft Agent Framework: a tool that always requires approval is shown to people before it runs."""

import asyncio
import os

from agent_framework import Agent, Message, tool

from answerback_client import AsyncClient, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")


@tool(approval_mode="always_require")
def release(version: str) -> str:
    """Releases a version."""
    return f"Version {version} is out."


def agent_of(client) -> Agent:
    """An agent whose tool runs when someone agrees."""
    return Agent(client=client, tools=[release])


async def run(agent: Agent, answerback: AsyncClient, message: str) -> str | None:
    """Runs to the end; None when someone ended the turn."""
    session = agent.create_session()
    response = await agent.run(message, session=session)
    while pending := response.user_input_requests:
        answers = []
        for request in pending:
            approved = await decide(answerback, request.function_call)
            if approved is None:
                return None
            answers.append(request.to_function_approval_response(approved))
        response = await agent.run(Message("user", answers), session=session)
    return response.text


async def decide(answerback: AsyncClient, call) -> bool | None:
    """Return True if a call is approved; None when the turn ends."""
    request = {
        "name": call.name,
        "args": call.parse_arguments(),
        "tool_call_id": call.call_id,
        "allowed_decisions": ["approve", "reject"],
    }
    try:
        ask = await answerback.ask("tool_approval", request, to="web")
    except InvalidCallError:
        return False
    if ask.end_turn:
        return None
    return ask.by_person and ask.tool_result.structured["type"] == "approve"


async def main() -> None:
    """Needs the package of a model too, such as agent-framework-openai."""
    from agent_framework.openai import OpenAIChatCompletionClient

    async with AsyncClient(URL, TOKEN) as answerback:
        agent = agent_of(OpenAIChatCompletionClient(model=os.environ["MODEL"]))
        print(await run(agent, answerback, "Release version 7."))


if __name__ == "__main__":
    asyncio.run(main())
