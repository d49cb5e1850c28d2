"""JSON Schema files of an ask and of a tool result, for people who build on them.

``python -m answerback.api.json_schemas manifests`` writes them; the tests check that they are current.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from pydantic import JsonValue, TypeAdapter

from answerback.service.ask_wire import AskBody, ToolResult

_MODELS: Final[dict[str, type[object]]] = {"ask.json": AskBody, "result.json": ToolResult}


def render_json_schemas() -> dict[str, str]:
    """Map the files' names to their contents."""
    return {name: _text(model) for name, model in _MODELS.items()}


def _text(model: type[object]) -> str:
    schema: dict[str, JsonValue] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **TypeAdapter(model).json_schema(),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for file, text in render_json_schemas().items():
        Path(sys.argv[1], file).write_text(text, encoding="utf-8")
