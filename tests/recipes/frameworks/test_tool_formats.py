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
from answerback.dialects.dialect import Tool
from answerback.dialects.installed import installed_tools
from answerback.mcp.tools import DEFAULT_TOOLS, follow_up_tools
from tests.meta.project import ROOT

EVERY = pytest.mark.parametrize("tool", installed_tools(), ids=lambda tool: tool.dialect)
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
    tool: Tool, form: tool_definitions.Format, strict: bool
) -> None:
    made = tool_definitions.format_definition(tool, form, strict=strict)
    assert OPENAI[form].validate_python(made) == made


@pytest.mark.rule("API-12")
@EVERY
def test_openais_checker_leaves_a_strict_schema_unchanged(tool: Tool) -> None:
    schema = strict_schemas.to_strict_schema(tool.parameters)
    assert ensure_strict_json_schema(copy.deepcopy(schema)) == schema


@pytest.mark.rule("API-11", "API-12")
@EVERY
@STRICT
def test_mcps_types_read_the_whole_definition(tool: Tool, strict: bool) -> None:
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


def read_by_sdks(definitions: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return definitions as the SDKs of Anthropic, Google and LangChain read them."""
    forms = ("anthropic", "gemini", "strict", "mcp", "openai")
    done = subprocess.run(
        [
            ROOT / ".venv" / "providers" / "bin" / "python",
            Path(__file__).with_name("environments") / "read_definitions.py",
        ],
        input=json.dumps({form: definitions.get(form, []) for form in forms}),
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    read: dict[str, list[Any]] = json.loads(done.stdout)
    return read


@pytest.mark.rule("API-11", "API-12")
def test_anthropics_and_googles_types_read_the_whole_definition(frameworks: None) -> None:
    both = [(tool, strict) for tool in installed_tools() for strict in (False, True)]
    made: dict[str, list[Any]] = {
        form: [
            tool_definitions.format_definition(tool, form, strict=strict) for tool, strict in both
        ]
        for form in ("anthropic", "gemini")
    }
    made["strict"] = [
        strict_schemas.to_strict_schema(tool.parameters) for tool in installed_tools()
    ]
    read = read_by_sdks(made)
    assert read["anthropic"] == made["anthropic"]
    assert read["gemini"] == made["gemini"]
    assert read["strict"] == without_type_of_enums(made["strict"])


def outline(schema: Any) -> Any:
    """Return what tells a model what to write, whether JSON Schema says it or Gemini's own schema."""
    result = {key: schema[key] for key in ("description", "enum", "nullable") if key in schema}
    if "anyOf" in schema:
        named = [each for each in schema["anyOf"] if str(each.get("type")).lower() != "null"]
        if len(named) < len(schema["anyOf"]):  # Gemini's own schema has a flag for that
            [only] = named
            return {**outline(only), "nullable": True}
        return {**result, "anyOf": [outline(each) for each in schema["anyOf"]]}
    result["type"] = schema["type"].lower()
    if "properties" in schema:
        result["properties"] = {name: outline(each) for name, each in schema["properties"].items()}
    if "items" in schema:
        result["items"] = outline(schema["items"])
    return result


@pytest.mark.rule("DIALECT-20", "MCP-1")
def test_converters_keep_every_type_alternative_and_description(frameworks: None) -> None:
    enabled = {tool.dialect for tool in installed_tools()}
    asking = [each.definition(enabled) for each in DEFAULT_TOOLS]
    listed = [each for each in (*asking, *follow_up_tools()) if each]
    made: dict[str, list[Any]] = {
        "mcp": [each.model_dump(by_alias=True, exclude_none=True) for each in listed],
        "openai": [],
    }
    for tool in installed_tools():
        made["mcp"].append(tool_definitions.format_definition(tool, "mcp"))
        made["openai"].append(tool_definitions.format_definition(tool, "openai"))
    read = read_by_sdks(made)
    listed_outlines = [outline(tool["inputSchema"]) for tool in made["mcp"]]
    for converter in ("mcp", "langchain", "langchain-openai"):
        assert [outline(each) for each in read[converter]] == listed_outlines, converter
    assert [outline(each) for each in read["openai"]] == [
        outline(tool["function"]["parameters"]) for tool in made["openai"]
    ]
