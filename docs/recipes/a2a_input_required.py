"""A2A: a client of a remote agent whose tasks require input gets it from people."""

import asyncio
import os

from a2a.client import Client, create_client
from a2a.helpers import get_message_text, new_text_message
from a2a.types import GetTaskRequest, Message, Role, SendMessageRequest, Task, TaskState

from answerback_client import AsyncClient

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")


async def run(agent: Client, answerback: AsyncClient, task: Task) -> Task:
    """Answers until the task needs no input. If nobody answers, the task still requires it."""
    while task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED:
        text = await answer(answerback, task)
        if text is None:
            break
        reply = new_text_message(
            text, context_id=task.context_id, task_id=task.id, role=Role.ROLE_USER
        )
        task = await send(agent, reply)
    return task


async def send(agent: Client, message: Message) -> Task:
    """Sends a message, and returns the task that it leads to or belongs to."""
    task_id = message.task_id
    async for event in agent.send_message(SendMessageRequest(message=message)):
        task_id = event.task.id or event.status_update.task_id or task_id
    return await agent.get_task(GetTaskRequest(id=task_id))


async def answer(answerback: AsyncClient, task: Task) -> str | None:
    """A person's answer to the agent's question; a restarted process finds the same ask."""
    asked = task.status.message
    question = {"id": "answer", "text": get_message_text(asked), "answer_type": "text"}
    ask = await answerback.ask(
        "ask_user", {"questions": [question]}, key=f"{task.id}:{asked.message_id}", to="web"
    )
    if ask.by_person:
        return ask.tool_result.structured["answer"]
    return ask.reply if ask.status == "cancelled" else None


async def main() -> None:
    agent = await create_client(os.environ["AGENT_URL"])
    async with AsyncClient(URL, TOKEN) as answerback, agent:
        prompt = new_text_message("Release version 7.", role=Role.ROLE_USER)
        task = await send(agent, prompt)
        print(await run(agent, answerback, task))


if __name__ == "__main__":
    asyncio.run(main())
