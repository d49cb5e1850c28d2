"""Google ADK: a tool that requires confirmation pauses the run in its session, and people confirm it or not."""

import asyncio
import os

from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool
from google.genai import types

from answerback_client import AsyncClient, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")
CONFIRMATION = "adk_request_confirmation"
USER = "user"


def release(version: str) -> dict:
    """Releases a version."""
    return {"released": version}


def runner_of(model, database: str) -> Runner:
    """An agent whose tool runs when someone agrees; its sessions outlive the process."""
    agent = LlmAgent(
        name="releaser", model=model, tools=[FunctionTool(release, require_confirmation=True)]
    )
    sessions = SqliteSessionService(database)
    return Runner(
        app_name="releases", agent=agent, session_service=sessions, auto_create_session=True
    )


async def run(
    runner: Runner, answerback: AsyncClient, session_id: str, message: types.Content | None
) -> str | None:
    """Runs to the end; None when someone ended the turn. After a crash, pass None as `message`."""
    replies: list[str] = []
    while True:
        if message is not None:
            async for _ in runner.run_async(
                user_id=USER, session_id=session_id, new_message=message
            ):
                pass
        events, pending = await pending_in(runner, session_id)
        if not pending and not replies:
            return "".join(part.text or "" for part in events[-1].content.parts)
        parts = []
        for call in pending:
            confirmation, reply = await confirm(answerback, call)
            if confirmation is None:
                return None  # nothing has run; the next message continues from here
            response = types.FunctionResponse(id=call.id, name=CONFIRMATION, response=confirmation)
            parts.append(types.Part(function_response=response))
            replies += [reply] if reply else []
        if not pending:  # ADK takes no text with a confirmation: it is the next message
            parts, replies = [types.Part(text="\n".join(replies))], []
        message = types.Content(role="user", parts=parts)


async def pending_in(runner: Runner, session_id: str) -> tuple[list, list]:
    """The events of a session, and the confirmations that wait since its last message."""
    session = await runner.session_service.get_session(
        app_name=runner.app_name, user_id=USER, session_id=session_id
    )
    last = max(i for i, event in enumerate(session.events) if event.author == "user")
    calls = [call for event in session.events[last:] for call in event.get_function_calls()]
    return session.events, [call for call in calls if call.name == CONFIRMATION]


async def confirm(answerback: AsyncClient, call) -> tuple[dict | None, str | None]:
    """The confirmation, and a text for which it has no place; None when the turn ends."""
    try:
        ask = await answerback.ask(CONFIRMATION, call.args, key=call.id, to="web")
    except InvalidCallError as refused:
        return {"confirmed": False}, str(refused)
    if ask.end_turn:
        return None, None
    if ask.tool_result.is_error:
        return {"confirmed": False}, ask.tool_result.content
    if ask.status == "answered" and not ask.by_person:
        return {"confirmed": False}, "No person decided."
    return ask.tool_result.structured, ask.reply


async def main() -> None:
    async with AsyncClient(URL, TOKEN) as answerback:
        prompt = types.Content(role="user", parts=[types.Part(text="Release version 7.")])
        runner = runner_of(os.environ["MODEL"], "sessions.db")
        print(await run(runner, answerback, "release-7", prompt))


if __name__ == "__main__":
    asyncio.run(main())
