"""OpenAI Agents SDK: the model calls ask_user as a function tool; End Turn ends the run."""

import asyncio
import json
import os

from agents import Agent, FunctionTool, Runner, ToolsToFinalOutputResult
from agents.tool_context import ToolContext

from answerback_client import AsyncClient, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")
TURN_ENDED = "The user ended the turn."


async def ask_user_tool(answerback: AsyncClient) -> FunctionTool:
    """The tool, with the description and the schema that the service gives for it."""
    found = await answerback.call("GET", "/v1/tools?format=openai")
    definition = found["tools"][0]["function"]

    async def ask_user(context: ToolContext, arguments: str) -> str:
        try:
            ask = await answerback.ask(
                definition["name"],
                json.loads(arguments),
                tool_call_id=context.tool_call_id,
                to="web",
            )
        except ValueError:
            return "The arguments are not valid JSON. Correct the call."
        except InvalidCallError as refused:
            if refused.tool_result is None:
                raise
            return refused.tool_result.content  # what to fix, for the model
        return TURN_ENDED if ask.end_turn else ask.tool_result.content

    return FunctionTool(
        name=definition["name"],
        description=definition["description"],
        params_json_schema=definition["parameters"],
        on_invoke_tool=ask_user,
        strict_json_schema=False,  # optional fields stay optional
    )


def stop_at_end_turn(_context, results) -> ToolsToFinalOutputResult:
    """Ends the run where the person ended the turn: the model is not called again."""
    ended = any(result.output == TURN_ENDED for result in results)
    return ToolsToFinalOutputResult(is_final_output=ended, final_output=TURN_ENDED)


async def run(model, prompt: str) -> str:
    """An agent that may ask."""
    async with AsyncClient(URL, TOKEN) as answerback:
        agent = Agent(
            name="Releaser",
            instructions="Ask before you release anything.",
            model=model,
            tools=[await ask_user_tool(answerback)],
            tool_use_behavior=stop_at_end_turn,
        )
        return (await Runner.run(agent, prompt)).final_output


if __name__ == "__main__":
    print(asyncio.run(run(os.environ["MODEL"], "Release version 7.")))
