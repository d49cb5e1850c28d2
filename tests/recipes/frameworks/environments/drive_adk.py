"""Runs the recipe for Google ADK with a scripted model, told line by line what to do; in ADK's own environment.

Standard input has a JSON array a line: the session; whether it goes on without a message; and what the model says, in
turn: words, or versions that it releases. Standard output has what came of it: the last words, and what the model was
told each time. Called as: drive_adk.py RECIPES DATABASE.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from typing import Any

recipes, database = sys.argv[1:]
sys.path.insert(0, recipes)
sys.dont_write_bytecode = True  # nothing is left beside the recipes

import adk_confirmation  # type: ignore[import-not-found] # noqa: E402
from google.adk.models import BaseLlm, LlmResponse  # type: ignore[import-not-found] # noqa: E402
from google.genai import types  # type: ignore[import-not-found] # noqa: E402

script: list[Any] = []
told: list[Any] = []


class Scripted(BaseLlm):  # type: ignore[misc]
    """A model that says the script."""

    async def generate_content_async(
        self, request: Any, stream: bool = False
    ) -> AsyncGenerator[Any, None]:
        last = request.contents[-1]
        told.append(last.model_dump(mode="json", exclude_none=True)["parts"])
        says = script.pop(0)
        if isinstance(says, str):
            parts = [types.Part(text=says)]
        else:
            calls = [{"id": one, "name": "release", "args": {"version": one}} for one in says]
            parts = [types.Part(function_call=types.FunctionCall(**one)) for one in calls]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def tell(result: object) -> None:
    """Prints a line of JSON."""
    sys.stdout.write(f"{json.dumps(result)}\n")
    sys.stdout.flush()


async def main() -> None:
    service = adk_confirmation.AsyncClient(adk_confirmation.URL, adk_confirmation.TOKEN)
    async with service as answerback:
        runner = adk_confirmation.runner_of(Scripted(model="scripted"), database)
        tell("ready")
        while line := await asyncio.to_thread(sys.stdin.readline):
            session, goes_on, *script[:] = json.loads(line)
            told.clear()
            message = types.Content(role="user", parts=[types.Part(text="Release it.")])
            text = await adk_confirmation.run(
                runner, answerback, session, None if goes_on else message
            )
            tell([text, told])


asyncio.run(main())
