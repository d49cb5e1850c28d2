"""Run the recipe for ADK's requests for input, as a process of its user: as instructed line by line.

Each line of standard input is a JSON array: the session, and a prompt, or null to go on with what an earlier
process has begun. Each line of standard output has the output. Usage: drive_adk_input.py RECIPES DATABASE.
"""

import asyncio
import json
import sys

recipes, database = sys.argv[1:]
sys.path.insert(0, recipes)
sys.dont_write_bytecode = True  # leave no files next to the recipes

import adk_request_input as recipe  # type: ignore[import-not-found] # noqa: E402
from google.genai import types  # noqa: E402


async def main() -> None:
    async with recipe.AsyncClient(recipe.URL, recipe.TOKEN) as answerback:
        runner = recipe.runner_of(database)
        while line := await asyncio.to_thread(sys.stdin.readline):
            session, prompt = json.loads(line)
            parts = [types.Part(text=prompt)]
            message = None if prompt is None else types.Content(role="user", parts=parts)
            output = await recipe.run(runner, answerback, session, message)
            sys.stdout.write(f"{json.dumps(output)}\n")
            sys.stdout.flush()


asyncio.run(main())
