"""Agent Inbox: a graph that interrupts with its schema is answered by people, with its responses."""

import asyncio
import os

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from answerback_client import AsyncClient

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")
DECISIONS = {
    "allow_accept": "approve",
    "allow_edit": "edit",
    "allow_respond": "respond",
    "allow_ignore": "reject",
}


class State(TypedDict):
    to: str
    text: str
    sent: str


def send(state: State) -> dict:
    """Sends a letter as a person wants it. The node is as for Agent Inbox."""
    mail = {"to": state["to"], "text": state["text"]}
    request = {
        "action_request": {"action": "send_mail", "args": mail},
        "config": dict.fromkeys(DECISIONS, True),
        "description": "The customer waits since **Monday**.",
    }
    [response] = interrupt([request])
    match response["type"]:
        case "accept" | "edit":
            return {"sent": "{to}: {text}".format(**response["args"]["args"])}
        case "response":
            return {"sent": f"(not sent: {response['args']})"}
        case _:
            return {"sent": "(ignored)"}


def graph_of(checkpointer):
    return StateGraph(State).add_node(send).add_edge(START, "send").compile(checkpointer)


async def run(graph, answerback: AsyncClient, thread_id: str, given: dict | None) -> dict | None:
    """Runs to the end. None if nobody decided. After a crash, pass None as `given`."""
    config = {"configurable": {"thread_id": thread_id}}
    result = await graph.ainvoke(given, config)
    while pending := result.get("__interrupt__"):
        answers = {}
        for each in pending:
            # The Agent Inbox, too, answers with a list of one response.
            request = each.value[0] if isinstance(each.value, list) else each.value
            response = await respond(answerback, f"{thread_id}:{each.id}", request)
            if response is None:
                return None
            answers[each.id] = [response]
        result = await graph.ainvoke(Command(resume=answers), config)
    return result


async def respond(answerback: AsyncClient, key: str, request: dict) -> dict | None:
    """A person's HumanResponse; None if there is none that the graph allows."""
    action, config = request["action_request"], request["config"]
    call = {
        "name": action["action"],
        "args": action["args"],
        "description": request.get("description"),
        "allowed_decisions": [each for flag, each in DECISIONS.items() if config.get(flag)],
    }
    ask = await answerback.ask("tool_approval", call, key=key, to="web")
    if not ask.by_person and ask.status != "cancelled":
        return None
    decision = ask.tool_result.structured
    match decision["type"]:
        case "approve":
            return {"type": "accept", "args": action}
        case "edit":
            edited = decision["edited_action"]
            return {"type": "edit", "args": {"action": edited["name"], "args": edited["args"]}}
    said = decision["message"] if decision["type"] == "respond" else ask.reply
    if said and config.get("allow_respond"):
        return {"type": "response", "args": said}
    return {"type": "ignore", "args": None} if config.get("allow_ignore") else None


async def main() -> None:
    async with (
        AsyncSqliteSaver.from_conn_string("runs.db") as checkpointer,
        AsyncClient(URL, TOKEN) as answerback,
    ):
        mail = {"to": "Kim", "text": "Hello"}
        print(await run(graph_of(checkpointer), answerback, "mail-7", mail))


if __name__ == "__main__":
    asyncio.run(main())
