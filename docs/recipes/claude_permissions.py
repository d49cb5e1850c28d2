"""Claude Agent SDK: Claude's questions, and its requests to use a tool, go to people."""

import asyncio
import os
from typing import Any

from claude_agent_sdk import (
    CanUseTool,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ResultMessage,
    ToolPermissionContext,
)

from answerback_client import AsyncClient, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")


def permissions(answerback: AsyncClient) -> CanUseTool:
    """Decides by asking: what Claude asks its user, and whether it may use a tool that is not allowed anyway."""

    async def can_use_tool(
        tool: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        asks = tool == "AskUserQuestion"
        suggested = [suggestion.to_dict() for suggestion in context.suggestions]
        request = {
            "tool_name": tool,
            "tool_input": given,
            "permission_suggestions": suggested,
            "title": context.title,
            "description": context.description,
            "decision_reason": context.decision_reason,
            "blocked_path": context.blocked_path,
        }
        try:
            ask = await answerback.ask(
                tool if asks else "PermissionRequest",
                given if asks else request,
                tool_call_id=context.tool_use_id,
                to="web",
                takes_edited=not asks,
            )
        except InvalidCallError as refused:
            text = refused.tool_result.content if refused.tool_result else str(refused)
            return PermissionResultDeny(message=text)
        if ask.end_turn:
            return PermissionResultDeny(message="The user ended the turn.", interrupt=True)
        result = ask.tool_result
        if ask.status != "answered":
            return PermissionResultDeny(message=ask.reply or result.content)
        if not ask.by_person:
            return PermissionResultDeny(message="No person decided.")
        if asks:
            return PermissionResultAllow(updated_input={**given, **result.structured})
        decision = result.structured["hookSpecificOutput"]["decision"]
        if decision["behavior"] == "deny":
            return PermissionResultDeny(message=f"The user does not allow this use of {tool}.")
        updates = [
            PermissionUpdate.from_dict(one) for one in decision.get("updatedPermissions", [])
        ]
        changed = decision.get("updatedInput")
        return PermissionResultAllow(updated_input=changed, updated_permissions=updates)

    return can_use_tool


async def run(prompt: str, **options: Any) -> str | None:
    """One turn of Claude; its final text."""
    async with AsyncClient(URL, TOKEN) as answerback:
        chosen = ClaudeAgentOptions(can_use_tool=permissions(answerback), **options)
        async with ClaudeSDKClient(chosen) as claude:
            await claude.query(prompt)
            async for message in claude.receive_response():
                if isinstance(message, ResultMessage):
                    return message.result
    return None


if __name__ == "__main__":
    print(asyncio.run(run("Set up a database for the notes app. Ask me which one.")))
