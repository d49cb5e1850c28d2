"""Run one of the recipes of frameworks in an environment of their own, with a model that is served on loopback.

Prints the last text as JSON. Usage: drive_approvals.py RECIPES FRAMEWORK MODEL_URL.
"""

import asyncio
import importlib
import json
import sys
from typing import Any

recipes, framework, model_url = sys.argv[1:]
sys.path.insert(0, recipes)
sys.dont_write_bytecode = True  # leave no files next to the recipes

OPENAI: dict[str, Any] = {"base_url": f"{model_url}/v1", "api_key": "scripted"}


def agent_of(recipe: Any) -> Any:
    """Build the recipe's agent, with its framework's own client for the scripted model."""
    if framework == "agno_confirmation":
        from agno.models.openai import OpenAIChat

        return recipe.agent_of(OpenAIChat(id="scripted", **OPENAI))
    if framework == "strands_interrupt":
        from strands.models.openai import OpenAIModel

        return recipe.agent_of(OpenAIModel(client_args=OPENAI, model_id="scripted"))
    if framework == "agent_framework_approval":
        from agent_framework.openai import (
            OpenAIChatCompletionClient,
        )

        return recipe.agent_of(OpenAIChatCompletionClient(model="scripted", **OPENAI))
    from deepagents import create_deep_agent  # type: ignore[import-not-found]
    from langchain_openai import ChatOpenAI  # type: ignore[import-not-found]
    from langgraph.checkpoint.memory import InMemorySaver

    model = ChatOpenAI(model="scripted", use_responses_api=False, **OPENAI)
    return create_deep_agent(
        model, [recipe.release], interrupt_on=recipe.GATED, checkpointer=InMemorySaver()
    )


async def main() -> None:
    recipe = importlib.import_module(framework)
    async with recipe.AsyncClient(recipe.URL, recipe.TOKEN) as answerback:
        agent = agent_of(recipe)
        if framework == "langchain_batched":
            given = {"messages": [("user", "Release it.")]}
            text = await recipe.run(agent, answerback, "thread", given)
        else:
            text = await recipe.run(agent, answerback, "Release it.")
    sys.stdout.write(json.dumps(text) + "\n")


asyncio.run(main())
