"""The tool definitions: what they tell the model, which ones are listed, and the variant for strict modes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core.json_schema import schemas
from answerback.dialects import registry, strict_schemas, tool_definitions
from answerback.dialects.dialect import Tool
from answerback.dialects.installed import installed_tools
from answerback.mcp.tools import DEFAULT_TOOLS
from tests.unit.bot.dialect_support import CALLS
from tests.unit.bot.tool_schema_support import every_schema, not_portable


@pytest.mark.rule("DIALECT-18")
@pytest.mark.parametrize("form", ["mcp", "anthropic", "openai", "openai-responses", "gemini"])
def test_every_definition_explains_when_to_ask_the_result_and_how_to_recommend(form: Any) -> None:
    for tool in installed_tools():
        text = json.dumps(tool_definitions.format_definition(tool, form))
        for expected in (
            "Ask when",
            "secrets",
            "own words overrides the options",
            "Returns ",
            "To recommend an answer, ",
        ):
            assert expected in text
        assert tool.dialect == "vscode" or "(recommended)" in tool.description.lower()
        assert len(tool.description) <= 1024  # OpenAI's limit


@pytest.mark.rule("API-11")
def test_a_list_never_has_two_tools_with_the_same_name() -> None:
    def dialects(*wanted: str, off: str = "") -> list[str]:
        return [
            tool.dialect for tool in tool_definitions.select_tools(wanted, lambda each: each != off)
        ]

    others = ["claude", "question", "tool_question", "codex", "vscode", "cline"]
    others += ["auggie", "continue", "hermes"]
    assert dialects() == ["ask_user", *others]
    assert dialects(off="ask_user") == ["single", *others]
    assert dialects("claude", "single") == ["single", "claude"]
    assert dialects("claude", off="claude") == []
    with pytest.raises(ValueError, match="named ask_user"):
        dialects("single", "ask_user")
    with pytest.raises(ValueError, match=r'did you mean "claude"'):
        dialects("cluade")


@pytest.mark.rule("DIALECT-19")
@pytest.mark.parametrize("tool", installed_tools(), ids=lambda tool: tool.dialect)
def test_a_call_valid_against_a_tools_schema_is_parsed_by_its_dialect(
    tool: Tool,
) -> None:
    _, arguments = CALLS[tool.dialect]
    schemas.require_usable(tool.parameters)
    assert schemas.violations(tool.parameters, arguments) == ()
    assert schemas.violations(tool.parameters, {}) != ()


def spelt_out(schema: dict[str, Any], value: Any) -> Any:
    """Return a value as a model in a strict mode writes it, with null for what is missing."""
    schema = next((s for s in schema.get("anyOf", []) if "properties" in s or "items" in s), schema)
    if isinstance(value, dict) and "properties" in schema:
        return {n: spelt_out(s, value.get(n)) for n, s in schema["properties"].items()}
    if isinstance(value, list) and "items" in schema:
        return [spelt_out(schema["items"], item) for item in value]
    return value


@pytest.mark.rule("DIALECT-19")
@pytest.mark.parametrize("value", [True, "a", ["a"], 1, 2.5, {"port": 1}, None])
def test_the_schema_of_ask_user_takes_any_default_and_any_expected_value(value: JsonValue) -> None:
    [tool] = [each for each in installed_tools() if each.dialect == "ask_user"]
    anything: JsonValue = {"id": "a", "text": "?", "answer_type": "schema", "schema": {}}
    gated: JsonValue = {"id": "b", "text": "?", "answer_type": "text"}
    assert isinstance(anything, dict)
    assert isinstance(gated, dict)
    asks: list[JsonValue] = [
        {**anything, "default": value},
        {**gated, "when": {"question_id": "a", "equals": value}},
    ]
    assert schemas.violations(tool.parameters, {"questions": asks}) == ()
    [first, second] = registry.parse_call("ask_user", {"questions": asks}).form.questions
    assert second.when is not None
    assert (first.default, first.has_default, second.when.equals) == (value, True, value)


@pytest.mark.rule("DIALECT-20")
@pytest.mark.parametrize("tool", installed_tools(), ids=lambda tool: tool.dialect)
def test_a_published_schema_is_portable(tool: Tool) -> None:
    assert not_portable(tool.parameters) == []


@pytest.mark.rule("DIALECT-20")
@pytest.mark.parametrize("form", ["mcp", "anthropic", "openai", "openai-responses", "gemini"])
def test_the_default_of_a_single_question_is_typed_in_every_format(form: Any) -> None:
    (single,) = tool_definitions.select_tools(["single"], lambda _: True)
    made: Any = tool_definitions.format_definition(single, form)
    made = made.get("function", made)
    keys = ("parameters", "inputSchema", "input_schema", "parametersJsonSchema")
    (parameters,) = [made[key] for key in keys if key in made]
    default = parameters["properties"]["default"]
    assert [each["type"] for each in default["anyOf"]] == ["boolean", "string", "array"]
    values: tuple[JsonValue, ...] = (True, "a", ["a", "b"])
    for value in values:
        assert schemas.violations(default, value) == ()
    assert schemas.violations(default, {"a": 1}) != ()


@pytest.mark.rule("API-12")
@pytest.mark.parametrize("tool", installed_tools(), ids=lambda tool: tool.dialect)
def test_a_strict_schema_is_valid_for_strict_modes_and_its_dialect_accepts_it(
    tool: Tool,
) -> None:
    schema: Any = strict_schemas.to_strict_schema(tool.parameters)
    unsupported = {"minLength", "maxLength", "minItems", "maxItems", "default"}
    for each in every_schema(schema):
        assert each.keys() & {"type", "anyOf"}
        assert not unsupported & each.keys()
        if each.get("type") == "object":
            assert each["additionalProperties"] is False
            assert each["required"] == [*each["properties"]]
    name, arguments = CALLS[tool.dialect]
    written = spelt_out(schema, arguments)
    schemas.require_usable(schema)
    assert schemas.violations(schema, written) == ()
    assert registry.parse_call(name, written)[:2] == registry.parse_call(name, arguments)[:2]


@pytest.mark.rule("API-12")
@pytest.mark.parametrize(
    ("form", "where"),
    [("anthropic", ()), ("openai", ("function",)), ("openai-responses", ())],
)
def test_a_strict_definition_has_the_strict_flag(form: Any, where: tuple[str, ...]) -> None:
    for strict in (True, False):
        made: Any = tool_definitions.format_definition(installed_tools()[0], form, strict=strict)
        for key in where:
            made = made[key]
        assert made.get("strict", False) is strict


@pytest.mark.rule("MCP-1", "DIALECT-20")
@pytest.mark.parametrize(
    ("enabled", "alternatives"),
    [
        (("single", "copilot"), None),
        (("single", "gemini"), 0),
        (("ask_user", "gemini", "copilot"), 2),
    ],
)
def test_a_tool_offers_the_shapes_that_are_enabled(
    enabled: tuple[str, ...], alternatives: int | None
) -> None:
    definition = DEFAULT_TOOLS[0].definition(enabled)
    assert definition is not None
    assert not_portable(definition.input_schema) == []
    questions = definition.input_schema["properties"].get("questions")
    assert (questions is None) is (alternatives is None)
    assert len((questions or {}).get("anyOf", [])) == (alternatives or 0)
