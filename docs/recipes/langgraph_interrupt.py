"""LangGraph: the graph stops at a question and is parked in its checkpoint; the webhook resumes it, even days later."""

import asyncio
import os
from collections import defaultdict
from typing import Annotated, TypedDict

from aiohttp import web
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from answerback_client import AsyncClient, WebhookError, verify_webhook

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")
SECRET = os.environ["WEBHOOK_SECRET"]


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def ask_people(state: State) -> Command:
    """Puts each tool call of the model to people. The node runs again from its start at every resume."""
    results, end_turn = [], False
    for call in state["messages"][-1].tool_calls:
        ask = interrupt({"name": call["name"], "arguments": call["args"], "call_id": call["id"]})
        end_turn = end_turn or ask["end_turn"]
        result = ask["tool_result"] or {"content": "The user ended the turn.", "is_error": False}
        results.append(
            ToolMessage(
                result["content"],
                tool_call_id=call["id"],
                status="error" if result["is_error"] else "success",
            )
        )
    return Command(update={"messages": results}, goto=END if end_turn else "model")


def graph_of(model, checkpointer):
    """A model with the tool ask_user, in a loop."""

    async def think(state: State) -> State:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def asks_people(state: State) -> str:
        return "ask_people" if state["messages"][-1].tool_calls else END

    builder = StateGraph(State)
    builder.add_node("model", think)
    builder.add_node("ask_people", ask_people, destinations=("model", END))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", asks_people, ["ask_people", END])
    return builder.compile(checkpointer=checkpointer)


class Runs:
    """Runs of a graph: parked while they wait for people."""

    def __init__(self, graph, answerback: AsyncClient, callback: str) -> None:
        self._graph, self._answerback, self._callback = graph, answerback, callback
        self._locks = defaultdict(asyncio.Lock)

    async def go_on(self, thread_id: str, given: dict | Command | None) -> dict:
        """Runs until the end or the next question, which is asked; then nothing waits in memory.

        With None it goes on after a crash: a question that was asked before is not asked again.
        """
        result = await self._graph.ainvoke(given, {"configurable": {"thread_id": thread_id}})
        for pending in result.get("__interrupt__", ()):
            call = pending.value
            await self._answerback.submit(
                call["name"],
                call["arguments"],
                key=f"{thread_id}:{pending.id}:{call['call_id']}",
                tool_call_id=call["call_id"],
                to="web",
                callback={"url": self._callback},
                metadata={"thread_id": thread_id, "interrupt_id": pending.id},
            )
        return result

    async def resume(self, request: web.Request) -> web.Response:
        """The webhook: resumes the run whose question it answers. A repeat finds nothing pending."""
        try:
            event = verify_webhook(await request.read(), request.headers, SECRET)
        except WebhookError as error:
            return web.Response(status=401, text=str(error))
        metadata, call_id = event.ask.json["metadata"], event.ask.json["tool_call_id"]
        thread_id, asked = metadata["thread_id"], (metadata["interrupt_id"], call_id)
        async with self._locks[thread_id]:
            state = await self._graph.aget_state({"configurable": {"thread_id": thread_id}})
            for pending in state.interrupts:
                if (pending.id, pending.value["call_id"]) == asked:
                    answer = Command(resume={pending.id: event.ask.json})
                    await self.go_on(thread_id, answer)
        return web.Response(status=204)


async def main() -> None:
    """Starts one run and serves webhooks; needs the package of a model, such as langchain-openai."""
    from langchain.chat_models import init_chat_model

    async with (
        AsyncSqliteSaver.from_conn_string("runs.db") as checkpointer,
        AsyncClient(URL, TOKEN) as answerback,
    ):
        tools = await answerback.call("GET", "/v1/tools?format=openai")
        model = init_chat_model(os.environ["MODEL"]).bind_tools(tools["tools"][:1])
        runs = Runs(graph_of(model, checkpointer), answerback, "http://127.0.0.1:8500/answers")
        app = web.Application()
        app.router.add_post("/answers", runs.resume)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 8500).start()
        await runs.go_on("release-7", {"messages": [("user", "Release it when I say so.")]})
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
