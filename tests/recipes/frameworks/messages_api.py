"""A scripted Messages API on loopback, so that the real Claude Code runs without a network or an account."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aiohttp import web
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient

from tests.meta.project import RECIPES
from tests.recipes.receiving import listening

START: Final = 120.0
"""Seconds after which a test gives up on Claude Code, which is large and slow to start."""
CLAUDE_SETTINGS: Final = (RECIPES / "claude-code-settings.json").read_text("utf-8")
_MAX_BODY: Final = 8 * 2**20
Json = dict[str, Any]
"""Bodies of a third-party API, inspected freely by the tests."""


def calls(tool: str, arguments: Json) -> Json:
    """A model's turn that calls a tool; no two calls have the same id."""
    return {
        "type": "tool_use",
        "id": f"toolu_{secrets.token_hex(12)}",
        "name": tool,
        "input": arguments,
    }


def says(text: str) -> Json:
    """A model's turn that says something."""
    return {"type": "text", "text": text}


_QUESTIONS: Final[Json] = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "options": [
                {"label": "PostgreSQL", "description": "A server"},
                {"label": "SQLite", "description": "A file"},
            ],
            "multiSelect": False,
        },
        {
            "question": "What should be logged?",
            "header": "Logs",
            "options": [
                {"label": "Requests", "description": "Each one"},
                {"label": "Errors", "description": "With their traces"},
                {"label": "Queries", "description": "The slow ones"},
            ],
            "multiSelect": True,
        },
    ]
}


def asks() -> Json:
    """A turn of Claude that asks its user two questions."""
    return calls("AskUserQuestion", _QUESTIONS)


@dataclass
class Claude:
    """A run of Claude Code against the script, and the messages that its model received.

    ``environment`` is all that Claude Code gets: its own home, no account and no traffic of its own.
    """

    environment: dict[str, str]
    folder: Path
    blocks: list[Json]
    requests: list[Json] = field(default_factory=list)

    def results(self) -> list[Json]:
        """Return the tool results that the model received, in order."""
        messages = self.requests[-1]["messages"] if self.requests else []
        return [
            block
            for message in messages
            if isinstance(message["content"], list)
            for block in message["content"]
            if block["type"] == "tool_result"
        ]

    async def turn(self, **options: Any) -> None:
        """Run one turn of Claude Code, with only these options and none of this machine's settings."""
        chosen = ClaudeAgentOptions(
            cwd=self.folder, env=self.environment, setting_sources=[], **options
        )
        async with asyncio.timeout(START), ClaudeSDKClient(chosen) as client:
            await client.query("Set up the notes app.")
            async for _ in client.receive_response():
                pass

    async def answer(self, request: web.Request) -> web.Response:
        """``POST /v1/messages``: the next block of the script, streamed."""
        body = await request.json()
        self.requests.append(body)
        block = self.blocks.pop(0)
        events = _events(body["model"], block)
        text = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
        return web.Response(text=text, content_type="text/event-stream")


def _events(model: str, block: Json) -> list[Json]:
    start: Json
    if block["type"] == "text":
        start, stop = {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        start, stop = {**block, "input": {}}, "tool_use"
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    message: Json = {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ]


@asynccontextmanager
async def scripted(folder: Path, *blocks: Json) -> AsyncIterator[Claude]:
    """Run a model that sends these blocks, in turn."""
    project = folder / "project"
    project.mkdir()
    claude = Claude({}, project, list(blocks))
    app = web.Application(client_max_size=_MAX_BODY)
    app.router.add_post("/v1/messages", claude.answer)
    async with listening(app) as url:
        claude.environment = {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "scripted",
            "HOME": str(folder),
            "CLAUDE_CONFIG_DIR": str(folder / "claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        }
        yield claude
