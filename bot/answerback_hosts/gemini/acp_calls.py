"""The plans of Gemini CLI, which asks for their approval (release 0.61.0) by the name of their file alone."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from answerback_agents.acp.host_calls import HostCalls
from answerback_agents.pipe.json_rpc import Json
from answerback_agents.pipe.plan_files import read_plan

_TITLE: Final = re.compile(r"Requesting plan approval for: (/.+/plans/[^/]+)")
_TOOL: Final = "exit_plan_mode"


def _complete(tool_call: Json) -> Json:
    """Add the plan to a tool call that asks for its approval, as the arguments that it does not send."""
    title = tool_call.get("title")
    found = _TITLE.fullmatch(title) if isinstance(title, str) else None
    if found is None or tool_call.get("rawInput"):
        return tool_call
    home = os.environ.get("GEMINI_CLI_HOME")
    plan = read_plan(found[1], (Path(home) if home else Path.home()) / ".gemini" / "tmp")
    if plan is None:
        return tool_call
    return {**tool_call, "name": _TOOL, "rawInput": {"plan": plan, "planFilePath": found[1]}}


ACP_CALLS: Final = HostCalls(_complete)
