"""The tool result that goes back to the model."""

from __future__ import annotations

from pydantic import JsonValue

from answerback.core.person import FrozenModel


class ToolResult(FrozenModel):
    """The tool result that goes back to the model."""

    content: str
    structured: JsonValue
    is_error: bool = False
