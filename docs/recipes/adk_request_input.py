"""Google ADK: a node of a workflow requests input, which pauses the run in its session until people answer."""

import asyncio
import json
import os

from google.adk.events.request_input import RequestInput
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.workflow import START, Workflow
from google.genai import types
from pydantic import BaseModel

from answerback_client import AsyncClient

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")
REQUEST = "adk_request_input"
USER = "user"


class Window(BaseModel):
    """When to release."""

    day: str
    hosts: int


def ask_when(node_input: str):
    """Pauses until people have said when."""
    yield RequestInput(
        message=f"When do we do this: {node_input}?",
        payload={"branch": "the release candidate"},
        response_schema=Window,
    )


def ask_who(node_input: Window):
    """Pauses once more, for a text."""
    yield RequestInput(message=f"Who watches {node_input.hosts} hosts on {node_input.day}?")


def announce(node_input: str) -> str:
    """Ends the workflow."""
    return f"{node_input} watches the release."


def runner_of(database: str) -> Runner:
    """The workflow's runner; its sessions outlive the process."""
    return Runner(
        app_name="releases",
        node=Workflow(name="release", edges=[(START, ask_when, ask_who, announce)]),
        session_service=SqliteSessionService(database),
        auto_create_session=True,
    )


async def run(
    runner: Runner, answerback: AsyncClient, session_id: str, message: types.Content | None
) -> object:
    """Runs to the end, and returns the output. After a crash, pass None as `message`.

    None: nobody answered a request, and the workflow still waits.
    """
    while True:
        output = None
        if message is not None:
            async for event in runner.run_async(
                user_id=USER, session_id=session_id, new_message=message
            ):
                output = event.output if event.output is not None else output
        pending = await pending_in(runner, session_id)
        if not pending:
            return output
        parts = []
        for call in pending:
            response = await answer(answerback, f"{session_id}:{call.id}", call.args)
            if response is None:
                return None
            given = types.FunctionResponse(id=call.id, name=REQUEST, response=response)
            parts.append(types.Part(function_response=given))
        message = types.Content(role="user", parts=parts)


async def pending_in(runner: Runner, session_id: str) -> list:
    """The requests of a session that nobody has answered."""
    session = await runner.session_service.get_session(
        app_name=runner.app_name, user_id=USER, session_id=session_id
    )
    calls = [call for event in session.events for call in event.get_function_calls()]
    answered = {one.id for event in session.events for one in event.get_function_responses()}
    return [call for call in calls if call.name == REQUEST and call.id not in answered]


async def answer(answerback: AsyncClient, key: str, request: dict) -> dict | None:
    """A person's answer, as the request's schema wants it; without a schema it is a text."""
    schema, payload = request.get("response_schema"), request.get("payload")
    question = {
        "id": "result",
        "text": request.get("message") or "Input, please.",
        "answer_type": "schema" if schema else "text",
    }
    if schema:
        question["schema"] = schema
    if payload is not None:
        question["context"] = f"```json\n{json.dumps(payload, indent=2, default=str)}\n```"
    ask = await answerback.ask("ask_user", {"questions": [question]}, key=key, to="web")
    if ask.status != "answered" or not ask.by_person:
        return None
    value = ask.tool_result.structured["result"]
    return value if isinstance(value, dict) else {"result": value}


async def main() -> None:
    async with AsyncClient(URL, TOKEN) as answerback:
        prompt = types.Content(role="user", parts=[types.Part(text="Release version 7")])
        print(await run(runner_of("sessions.db"), answerback, "release-7", prompt))


if __name__ == "__main__":
    asyncio.run(main())
