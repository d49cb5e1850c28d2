"""Factory Droid: its plans, its requests to use tools, and its questions go to people."""

import asyncio
import os
from typing import Any

from droid_sdk.low_level import DroidClient, DroidInteractionMode, ProcessTransport
from droid_sdk.stream import AssistantTextDelta

from answerback_client import AsyncClient, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")
Json = dict[str, Any]


class People:
    """Decide whatever Droid asks. A plan that they change before they approve it is the one that Droid follows."""

    def __init__(self, droid: DroidClient, answerback: AsyncClient) -> None:
        self.droid = droid
        self.answerback = answerback
        self.said: list[str] = []
        """The words that they said in place of an answer: Droid 0.215.0 drops them, and ends its turn."""
        droid.set_permission_handler(self.permission)
        droid.set_ask_user_handler(self.question)

    async def permission(self, params: Json) -> Json:
        denied = {"selectedOption": "cancel"}
        result: Json = await self.ask("droid.request_permission", params, denied)
        if result["selectedOption"] == "cancel" and "comment" in result:
            self.said.append(result["comment"])
        return result

    async def question(self, params: Json) -> Json:
        denied: Json = {"cancelled": True, "answers": []}
        result: Json = await self.ask("droid.ask_user", params, denied)
        if "reply" in result:
            self.said.append(result["reply"])
        return {key: result[key] for key in denied if key in result}

    async def ask(self, name: str, params: Json, denied: Json) -> Any:
        try:
            asked = await self.answerback.ask(
                name, params, to="web", takes_edited=name == "droid.request_permission"
            )
        except InvalidCallError:
            return denied
        if asked.end_turn:
            await self.droid.interrupt_session()
            return denied
        if asked.status == "answered" and not asked.by_person:
            return denied
        return asked.tool_result.structured


async def run(prompt: str, *, cwd: str, program: str = "droid", **session: Any) -> str:
    """Let Droid plan and work until it has nothing more to do; its text."""
    text = ""
    transport = ProcessTransport(exec_path=program, cwd=cwd)
    async with AsyncClient(URL, TOKEN) as answerback, DroidClient(transport=transport) as droid:
        people = People(droid, answerback)
        await droid.initialize_session(
            machine_id="recipe", cwd=cwd, interaction_mode=DroidInteractionMode.Spec, **session
        )
        messages = [prompt]
        while messages:
            await droid.add_user_message(text="\n\n".join(messages))
            async for message in droid.receive_response():
                if isinstance(message, AssistantTextDelta):
                    text += message.text
            messages, people.said = people.said, []
    return text


if __name__ == "__main__":
    print(asyncio.run(run("Plan how to move the notes table.", cwd=os.getcwd())))
