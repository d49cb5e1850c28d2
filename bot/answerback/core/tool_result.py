"""The tool result that goes back to the model."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue


class ToolResult(BaseModel):
    """The tool result that goes back to the model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    content: str
    structured: JsonValue
    is_error: bool = False
