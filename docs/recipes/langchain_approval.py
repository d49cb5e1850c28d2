"""LangChain: its human-in-the-loop middleware asks before a tool runs; people approve, edit or reject the call."""

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


@tool
def release(version: str, notes: str = "") -> str:
    """Releases a version."""
    return f"Version {version} is out."


TOOLS = {release.name: release}
REVIEW = HumanInTheLoopMiddleware(
    {"release": {"allowed_decisions": ["approve", "edit", "reject"]}},
    interrupt_mode="per_call",
)


def agent_of(model, checkpointer):
    """An agent whose gated tools run when someone agrees."""
    return create_agent(model, list(TOOLS.values()), middleware=[REVIEW], checkpointer=checkpointer)


async def run(agent, answerback: AsyncClient, thread_id: str, given: dict | None) -> str | None:
    """Runs to the end; None when someone ended the turn. After a crash, pass None as `given`."""
    config = {"configurable": {"thread_id": thread_id}}
    result = await agent.ainvoke(given, config)
    while pending := result.get("__interrupt__"):
        decisions, ended = {}, False
        for interrupt in pending:
            if ended:
                decision = {"type": "reject"}
            else:
                decision, ended = await decide(
                    answerback, f"{thread_id}:{interrupt.id}", interrupt.value
                )
            decisions[interrupt.id] = decision
        # The rejections are recorded in the thread; a turn that was ended stops before the model is called.
        stop = ["model"] if ended else None
        result = await agent.ainvoke(Command(resume=decisions), config, interrupt_before=stop)
        if ended:
            return None
    return result["messages"][-1].content


async def decide(answerback: AsyncClient, key: str, call: dict) -> tuple[dict, bool]:
    """The decision about one tool call, and whether the turn ends with it."""
    request = {
        **call,
        "allowed_decisions": REVIEW.interrupt_on[call["name"]]["allowed_decisions"],
        "args_schema": TOOLS[call["name"]].tool_call_schema.model_json_schema(),
    }
    try:
        ask = await answerback.ask(
            "tool_approval",
            request,
            key=key,
            tool_call_id=call["tool_call_id"],
            to="web",
            takes_edited=True,
        )
    except InvalidCallError as refused:
        return {"type": "reject", "message": str(refused)}, False
    if ask.end_turn:
        return {"type": "reject", "message": "The user ended the turn."}, True
    if ask.tool_result.is_error:
        return {"type": "reject", "message": ask.tool_result.content}, False
    if ask.status == "answered" and not ask.by_person:
        return {"type": "reject", "message": "No person decided."}, False
    return ask.tool_result.structured, False


async def main() -> None:
    """Needs the package of a model too, such as langchain-openai."""
    from langchain.chat_models import init_chat_model

    async with (
        AsyncSqliteSaver.from_conn_string("runs.db") as checkpointer,
        AsyncClient(URL, TOKEN) as answerback,
    ):
        agent = agent_of(init_chat_model(os.environ["MODEL"]), checkpointer)
        prompt = {"messages": [("user", "Release version 7.")]}
        print(await run(agent, answerback, "release-7", prompt))


if __name__ == "__main__":
    asyncio.run(main())
