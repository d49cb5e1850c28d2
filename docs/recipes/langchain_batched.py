"""LangChain and Deep Agents: all gated calls of a model's message are one interrupt, and one form for people."""

import asyncio
import os

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from answerback_client import AsyncClient, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")
GATED = {"release": {"allowed_decisions": ["approve", "edit", "reject"]}}


@tool
def release(version: str) -> str:
    """Releases a version."""
    return f"Version {version} is out."


def agent_of(model, checkpointer):
    """An agent whose gated tools run when someone agrees. With Deep Agents, this is
    `create_deep_agent(model, [release], interrupt_on=GATED, checkpointer=checkpointer)`."""
    review = HumanInTheLoopMiddleware(GATED)
    return create_agent(model, [release], middleware=[review], checkpointer=checkpointer)


async def run(agent, answerback: AsyncClient, thread_id: str, given: dict | None) -> str | None:
    """Runs to the end; None when someone ended the turn. After a crash, pass None as `given`."""
    config = {"configurable": {"thread_id": thread_id}}
    result = await agent.ainvoke(given, config)
    while pending := result.get("__interrupt__"):
        answers, ended = {}, False
        for interrupt in pending:
            decided, ends = await decide(answerback, f"{thread_id}:{interrupt.id}", interrupt.value)
            answers[interrupt.id], ended = decided, ended or ends
        # The rejections are recorded in the thread; a turn that was ended stops before the model is called.
        stop = ["model"] if ended else None
        result = await agent.ainvoke(Command(resume=answers), config, interrupt_before=stop)
        if ended:
            return None
    return result["messages"][-1].content


async def decide(answerback: AsyncClient, key: str, request: dict) -> tuple[dict, bool]:
    """The decisions about the calls, and whether the turn ends with them."""

    def reject_all(reason: str) -> dict:
        return {
            "decisions": [{"type": "reject", "message": reason} for _ in request["action_requests"]]
        }

    try:
        ask = await answerback.ask("hitl_request", request, key=key, to="web", takes_edited=True)
    except InvalidCallError as refused:
        return reject_all(str(refused)), False
    if ask.end_turn:
        return reject_all("The user ended the turn."), True
    if ask.tool_result.is_error:
        return reject_all(ask.tool_result.content), False
    if ask.status == "answered" and not ask.by_person:
        return reject_all("No person decided."), False
    return ask.tool_result.structured, False


async def main() -> None:
    """Needs the package of a model too, such as langchain-openai."""
    from langchain.chat_models import init_chat_model

    async with (
        AsyncSqliteSaver.from_conn_string("runs.db") as checkpointer,
        AsyncClient(URL, TOKEN) as answerback,
    ):
        agent = agent_of(init_chat_model(os.environ["MODEL"]), checkpointer)
        prompt = {"messages": [("user", "Release versions 7 and 8.")]}
        print(await run(agent, answerback, "release-7", prompt))


if __name__ == "__main__":
    asyncio.run(main())
