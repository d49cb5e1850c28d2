"""Run the recipe for AG-UI or A2A, as a process of its user: as instructed line by line.

Each line of standard input is a JSON array: a prompt, or null to go on with what an earlier process has begun. Each
line of standard output has the result. Usage: drive_protocols.py RECIPES RECIPE AGENT_URL FILE.
"""

import asyncio
import importlib
import json
import sys
from pathlib import Path
from typing import Any

recipes, name, agent_url, file = sys.argv[1:]
sys.path.insert(0, recipes)
sys.dont_write_bytecode = True  # leave no files next to the recipes
recipe: Any = importlib.import_module(name)


async def run_a2a(answerback: Any, prompt: str | None) -> list[str]:
    """Run a task to its end, or until a person leaves it alone; return its state and its last message."""
    from a2a.client import create_client
    from a2a.helpers import get_message_text, new_text_message
    from a2a.types import GetTaskRequest, Role, TaskState

    async with await create_client(agent_url) as agent:
        if prompt is None:
            task = await agent.get_task(GetTaskRequest(id=Path(file).read_text()))
        else:
            task = await recipe.send(agent, new_text_message(prompt, role=Role.ROLE_USER))
            Path(file).write_text(task.id)
        task = await recipe.run(agent, answerback, task)
        return [TaskState.Name(task.status.state), get_message_text(task.status.message)]


async def main() -> None:
    async with recipe.AsyncClient(recipe.URL, recipe.TOKEN) as answerback:
        while line := await asyncio.to_thread(sys.stdin.readline):
            [prompt] = json.loads(line)
            if name == "ag_ui_interrupts":
                result = await recipe.run(agent_url, answerback, Path(file), prompt)
            else:
                result = await run_a2a(answerback, prompt)
            sys.stdout.write(f"{json.dumps(result)}\n")
            sys.stdout.flush()


asyncio.run(main())
