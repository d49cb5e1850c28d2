"""The questions of Imagined over ACP, which it asks by a permission request."""

from __future__ import annotations

from typing import Final

from answerback_agents.acp.host_calls import HostCalls
from answerback_agents.pipe.json_rpc import Json


def _question_dialect(tool_call: Json) -> str | None:
    return "imagined" if tool_call.get("kind") == "imagined" else None


ACP_CALLS: Final = HostCalls(question_dialect=_question_dialect)
