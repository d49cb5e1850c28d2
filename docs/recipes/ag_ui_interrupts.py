"""AG-UI: a client whose runs end with interrupts gets the answers from people, and starts the runs that resume them."""

import asyncio
import json
import os
import uuid
from pathlib import Path

import aiohttp
from ag_ui import core
from pydantic import BaseModel, TypeAdapter

from answerback_client import AsyncClient

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")
EVENT = TypeAdapter(core.Event)


class Thread(BaseModel):
    """The state that a restarted process continues with: the client remembers the thread, the agent need not."""

    id: str
    run_id: str = ""
    messages: list[core.Message]
    interrupts: list[core.Interrupt] = []


async def run(agent: str, answerback: AsyncClient, file: Path, prompt: str | None) -> str | None:
    """Runs to the end; None when someone ended the turn. After a crash, pass None as `prompt`."""
    if prompt is None:
        thread = Thread.model_validate_json(file.read_text())
    else:
        message = core.UserMessage(id=str(uuid.uuid4()), role="user", content=prompt)
        thread = Thread(id=str(uuid.uuid4()), messages=[message])
    while True:
        resume = []
        for interrupt in thread.interrupts:
            entry = await answer(answerback, thread, interrupt)
            if entry is None:
                return None  # the thread is still interrupted
            resume.append(entry)
        await one_run(agent, thread, resume)
        file.write_text(thread.model_dump_json(by_alias=True))
        if not thread.interrupts:
            return thread.messages[-1].content


async def one_run(agent: str, thread: Thread, resume: list[core.ResumeEntry]) -> None:
    """Runs the agent once, and notes in the thread what it says, calls and waits for."""
    thread.run_id = str(uuid.uuid4())
    given = core.RunAgentInput(
        thread_id=thread.id,
        run_id=thread.run_id,
        state={},
        messages=thread.messages,
        tools=[],
        context=[],
        forwarded_props={},
        resume=resume or None,
    )
    thread.interrupts = []
    body = given.model_dump(mode="json", by_alias=True, exclude_none=True)
    async with (
        aiohttp.ClientSession(raise_for_status=True) as http,
        http.post(agent, json=body, headers={"Accept": "text/event-stream"}) as response,
    ):
        async for line in response.content:
            if line.startswith(b"data:"):
                follow(thread, EVENT.validate_json(line.removeprefix(b"data:")))


def follow(thread: Thread, event: core.BaseEvent) -> None:
    """Notes an event in the thread."""
    messages = thread.messages
    match event:
        case core.TextMessageStartEvent():
            said = core.AssistantMessage(id=event.message_id, role="assistant", content="")
            messages.append(said)
        case core.TextMessageContentEvent():
            messages[-1].content += event.delta
        case core.ToolCallStartEvent():
            function = core.FunctionCall(name=event.tool_call_name, arguments="")
            call = core.ToolCall(id=event.tool_call_id, type="function", function=function)
            calling = core.AssistantMessage(id=call.id, role="assistant", tool_calls=[call])
            messages.append(calling)
        case core.ToolCallArgsEvent():
            call_of(thread, event.tool_call_id).function.arguments += event.delta
        case core.ToolCallResultEvent():
            result = {"content": event.content, "tool_call_id": event.tool_call_id}
            messages.append(core.ToolMessage(id=event.message_id, role="tool", **result))
        case core.MessagesSnapshotEvent():
            thread.messages = event.messages
        case core.RunErrorEvent():
            raise RuntimeError(event.message)
        case core.RunFinishedEvent(outcome=core.RunFinishedInterruptOutcome(interrupts=pending)):
            thread.interrupts = pending


def call_of(thread: Thread, call_id: str | None) -> core.ToolCall | None:
    """A tool call of the thread."""
    calls = [call for each in thread.messages for call in getattr(each, "tool_calls", None) or []]
    return next((call for call in calls if call.id == call_id), None)


async def answer(
    answerback: AsyncClient, thread: Thread, interrupt: core.Interrupt
) -> core.ResumeEntry | None:
    """A person's answer to an interrupt: cancelled without one, None when the turn ends."""
    fields = (interrupt.response_schema or {}).get("properties", {})
    call = call_of(thread, interrupt.tool_call_id)
    key = f"{thread.run_id}:{interrupt.id}"
    if call is not None and "approved" in fields:
        request = {
            "name": call.function.name,
            "args": json.loads(call.function.arguments or "{}"),
            "allowed_decisions": ["approve", *["edit"] * ("editedArgs" in fields), "reject"],
        }
        ask = await answerback.ask("tool_approval", request, key=key, to="web")
    else:
        schema = interrupt.response_schema or {"type": "string"}
        form = {"type": "object", "properties": {"answer": schema}, "required": ["answer"]}
        request = {
            "message": interrupt.message or interrupt.reason,
            "requestedSchema": schema if fields else form,
        }
        ask = await answerback.ask("elicitation/create", request, key=key, to="web")
    if ask.end_turn:
        return None
    decided = ask.tool_result.structured
    entry = {"interrupt_id": interrupt.id, "status": "resolved"}
    match decided:
        case {"type": "approve"} if ask.by_person:
            return core.ResumeEntry(**entry, payload={"approved": True})
        case {"type": "edit", "edited_action": {"args": args}} if ask.by_person:
            return core.ResumeEntry(**entry, payload={"approved": True, "editedArgs": args})
        case {"type": "reject"} if ask.by_person or ask.status == "cancelled":
            payload = {"approved": False, "reason": decided.get("message", "A person rejected it.")}
            return core.ResumeEntry(**entry, payload=payload)
        case {"action": "accept", "content": content} if ask.by_person:
            return core.ResumeEntry(**entry, payload=content if fields else content["answer"])
    return core.ResumeEntry(interrupt_id=interrupt.id, status="cancelled")


async def main() -> None:
    async with AsyncClient(URL, TOKEN) as answerback:
        agent, file = os.environ["AGENT_URL"], Path("thread.json")
        print(await run(agent, answerback, file, "Release version 7."))


if __name__ == "__main__":
    asyncio.run(main())
