"""Run the recipe for Google ADK with a scripted model, in ADK's own environment, as instructed line by line.

Each line of standard input is a JSON array: the session; whether it continues without a message; and what the model
says, in turn: words, or versions that it releases. Each line of standard output has the result: the last words, and
what the model received each time. Usage: drive_adk.py RECIPES DATABASE.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from typing import Any

recipes, database = sys.argv[1:]
sys.path.insert(0, recipes)
sys.dont_write_bytecode = True  # leave no files next to the recipes

import adk_confirmation  # type: ignore[import-not-found] # noqa: E402
from google.adk.models import BaseLlm, LlmResponse  # noqa: E402
from google.genai import types  # noqa: E402

script: list[Any] = []
received: list[Any] = []


class Scripted(BaseLlm):  # type: ignore[misc]
    """A scripted model."""

    async def generate_content_async(
        self, request: Any, stream: bool = False
    ) -> AsyncGenerator[Any, None]:
        last = request.contents[-1]
        received.append(last.model_dump(mode="json", exclude_none=True)["parts"])
        says = script.pop(0)
        if isinstance(says, str):
            parts = [types.Part(text=says)]
        else:
            calls = [{"id": one, "name": "release", "args": {"version": one}} for one in says]
            parts = [types.Part(function_call=types.FunctionCall(**one)) for one in calls]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def tell(result: object) -> None:
    """Print a line of JSON."""
    sys.stdout.write(f"{json.dumps(result)}\n")
    sys.stdout.flush()


async def main() -> None:
    service = adk_confirmation.AsyncClient(adk_confirmation.URL, adk_confirmation.TOKEN)
    async with service as answerback:
        runner = adk_confirmation.runner_of(Scripted(model="scripted"), database)
        tell("ready")
        while line := await asyncio.to_thread(sys.stdin.readline):
            session, goes_on, *script[:] = json.loads(line)
            received.clear()
            message = types.Content(role="user", parts=[types.Part(text="Release it.")])
            text = await adk_confirmation.run(
                runner, answerback, session, None if goes_on else message
            )
            tell([text, received])


asyncio.run(main())
