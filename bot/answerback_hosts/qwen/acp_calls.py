"""The questions of Qwen Code, which asks them by a permission request (release 0.24.4)."""

from __future__ import annotations

from typing import Final

from answerback_agents.acp.host_calls import HostCalls
from answerback_agents.pipe.json_rpc import Json, as_object

META: Final = "_meta"
KIND: Final = "qwenInteractionKind"
QUESTION: Final = "user_question"
"""The kind of interaction of a tool call that holds questions."""


def _question_dialect(tool_call: Json) -> str | None:
    return "qwen" if as_object(tool_call.get(META)).get(KIND) == QUESTION else None


ACP_CALLS: Final = HostCalls(question_dialect=_question_dialect)
