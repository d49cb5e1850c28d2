"""The plan of a Claude Code session that sends none with its prompt: found by the command hook, where the files are.

Claude Code sends the plan if it has written it to a file (https://code.claude.com/docs/en/hooks).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from answerback_agents.pipe.plan_files import read_file, read_plan

Json = dict[str, Any]

FOUND_PLAN: Final = "answerback_plan"
"""The field that `answerback hook` adds to an event: the plan, and where it comes from."""
_MAX_TRANSCRIPT: Final = 4 * 2**20
"""Bytes at the end of a transcript in which the last message is looked for."""


def has_plan(event: Json) -> bool:
    """Return True if a prompt about a plan contains it."""
    tool_input = event.get("tool_input")
    plan = tool_input.get("plan") if isinstance(tool_input, dict) else None
    return isinstance(plan, str) and bool(plan.strip())


def find_plan(event: Json) -> Json | None:
    """Find the plan that a prompt is about; None if the event is another one or contains its plan, or there is none."""
    match event:
        case {"hook_event_name": "PermissionRequest", "tool_name": "ExitPlanMode"}:
            pass
        case _:
            return None
    if has_plan(event):
        return None
    tool_input = event.get("tool_input")
    named = tool_input.get("planFilePath") if isinstance(tool_input, dict) else None
    if isinstance(named, str) and (text := _read_plan(named)):
        return {"source": "file", "text": text}
    transcript = event.get("transcript_path")
    if isinstance(transcript, str) and (text := _last_message(transcript)):
        return {"source": "transcript", "text": text}
    return None


def _read_plan(named: str) -> str | None:
    """Read a plan's file, if it is a regular file in Claude Code's own folder of plans."""
    home = os.environ.get("CLAUDE_CONFIG_DIR")
    return read_plan(named, (Path(home) if home else Path.home() / ".claude") / "plans")


def _last_message(transcript: str) -> str | None:
    """Read Claude's last message from a session's transcript: one JSON object a line."""
    try:
        lines = read_file(Path(transcript), _MAX_TRANSCRIPT, from_end=True).splitlines()
    except (OSError, ValueError):
        return None
    for line in reversed(lines):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        match entry:
            case {"type": "assistant", "message": {"content": list() as blocks}}:
                if text := "\n\n".join(_texts(blocks)):
                    return text
            case _:
                pass
    return None


def _texts(blocks: Iterable[object]) -> Iterable[str]:
    for block in blocks:
        match block:
            case {"type": "text", "text": str() as text} if text.strip():
                yield text
            case _:
                pass
