"""Claude Agent SDK: Claude's questions, and its requests to use a tool, go to people."""

import asyncio
import json
import os
from typing import Any

from claude_agent_sdk import (
    CanUseTool,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    ToolPermissionContext,
)

from answerback_client import AsyncClient, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")


# region permissions
def permissions(answerback: AsyncClient) -> CanUseTool:
    """Decides by asking: what Claude asks its user, and whether it may use a tool that is not allowed anyway."""

    async def can_use_tool(
        tool: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        asks = tool == "AskUserQuestion"
        name, arguments = (tool, given) if asks else ("tool_question", may_it(tool, given))
        try:
            ask = await answerback.ask(
                name,
                arguments,
                key=context.tool_use_id,
                tool_call_id=context.tool_use_id,
                to="web",
            )
        except InvalidCallError as refused:
            words = refused.tool_result.content if refused.tool_result else str(refused)
            return PermissionResultDeny(message=words)
        if ask.end_turn:
            return PermissionResultDeny(message="The user ended the turn.", interrupt=True)
        result = ask.tool_result
        if ask.status != "answered":
            return PermissionResultDeny(message=ask.reply or result.content)
        if asks:
            return PermissionResultAllow(updated_input={**given, **result.structured})
        if result.structured["answer"] is True:
            return PermissionResultAllow()
        return PermissionResultDeny(message=f"The user does not allow this use of {tool}.")

    return can_use_tool


def may_it(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    """The question whether a tool may be used; only a person may answer it."""
    return {
        "tool": tool,
        "question": {
            "id": "allow",
            "text": f"May Claude use {tool}?",
            "context": json.dumps(given, indent=2)[:20_000],
            "answer_type": "boolean",
            "default": False,
            "exclusive": True,
            "persistence": "none",
        },
    }


# endregion permissions


# region run
async def run(prompt: str, **options: Any) -> str | None:
    """One turn of Claude; its last words."""
    async with AsyncClient(URL, TOKEN) as answerback:
        chosen = ClaudeAgentOptions(can_use_tool=permissions(answerback), **options)
        async with ClaudeSDKClient(chosen) as claude:
            await claude.query(prompt)
            async for message in claude.receive_response():
                if isinstance(message, ResultMessage):
                    return message.result
    return None


# endregion run

if __name__ == "__main__":
    print(asyncio.run(run("Set up a database for the notes app. Ask me which one.")))
