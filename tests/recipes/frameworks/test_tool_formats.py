"""Each tool definition, in each format, as the types and schema checkers of the providers' own SDKs read it.

A field that an SDK does not know is dropped or refused.
"""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from agents.strict_schema import ensure_strict_json_schema
from mcp_types import Tool as McpTool
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import TypeAdapter

from answerback.dialects import strict_schemas, tool_definitions
from tests.meta.project import ROOT

EVERY = pytest.mark.parametrize("tool", tool_definitions.TOOLS, ids=lambda tool: tool.dialect)
STRICT = pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
OPENAI: dict[tool_definitions.Format, TypeAdapter[Any]] = {
    "openai": TypeAdapter(ChatCompletionFunctionToolParam),
    "openai-responses": TypeAdapter(FunctionToolParam),
}


@pytest.mark.rule("API-11", "API-12")
@EVERY
@STRICT
@pytest.mark.parametrize("form", OPENAI)
def test_openais_types_read_the_whole_definition(
    tool: tool_definitions.Tool, form: tool_definitions.Format, strict: bool
) -> None:
    made = tool_definitions.format_definition(tool, form, strict=strict)
    assert OPENAI[form].validate_python(made) == made


@pytest.mark.rule("API-12")
@EVERY
def test_openais_checker_leaves_a_strict_schema_unchanged(tool: tool_definitions.Tool) -> None:
    schema = strict_schemas.to_strict_schema(tool.parameters)
    assert ensure_strict_json_schema(copy.deepcopy(schema)) == schema


@pytest.mark.rule("API-11", "API-12")
@EVERY
@STRICT
def test_mcps_types_read_the_whole_definition(tool: tool_definitions.Tool, strict: bool) -> None:
    made: Any = tool_definitions.format_definition(tool, "mcp", strict=strict)
    assert McpTool.model_validate(made).model_dump(by_alias=True, exclude_none=True) == made
    jsonschema.Draft202012Validator.check_schema(made["inputSchema"])


def without_type_of_enums(value: Any) -> Any:
    """Return a schema as Anthropic's SDK writes it, without the type next to ``enum``, where it is redundant."""
    if isinstance(value, list):
        return [without_type_of_enums(each) for each in value]
    if not isinstance(value, dict):
        return value
    enum = isinstance(value.get("enum"), list)
    return {
        key: without_type_of_enums(each)
        for key, each in value.items()
        if not (enum and key == "type")
    }


@pytest.mark.rule("API-11", "API-12")
def test_anthropics_and_googles_types_read_the_whole_definition(frameworks: None) -> None:
    both = [(tool, strict) for tool in tool_definitions.TOOLS for strict in (False, True)]
    made: dict[str, list[Any]] = {
        form: [
            tool_definitions.format_definition(tool, form, strict=strict) for tool, strict in both
        ]
        for form in ("anthropic", "gemini")
    }
    made["strict"] = [
        strict_schemas.to_strict_schema(tool.parameters) for tool in tool_definitions.TOOLS
    ]
    done = subprocess.run(
        [
            ROOT / ".venv" / "providers" / "bin" / "python",
            Path(__file__).with_name("environments") / "read_definitions.py",
        ],
        input=json.dumps(made),
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert read["anthropic"] == made["anthropic"]
    assert read["gemini"] == made["gemini"]
    assert read["strict"] == without_type_of_enums(made["strict"])
