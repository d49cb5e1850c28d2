"""The definitions of our own tools, and those of all dialects in the formats of the model APIs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, Literal

from pydantic import JsonValue

from answerback.dialects import strict_schemas, tool_schemas
from answerback.dialects.call_reader import did_you_mean
from answerback.dialects.dialect import Tool
from answerback.dialects.installed import installed_tools
from answerback.dialects.tool_description import BY_DEFAULT, ONE, REPLIED, described_tool

Format = Literal["mcp", "anthropic", "openai", "openai-responses", "gemini"]

TOOLS: Final = (
    described_tool(
        "ask_user",
        "ask_user",
        tool_schemas.ASK_USER,
        "Ask the user a form of typed questions and wait for the answers.",
        "an object with a key for each question's id: true or false, the chosen option, an array of the chosen "
        f"options, a string, a value that the schema allows, or null if it was skipped. {REPLIED}",
        recommend=BY_DEFAULT,
        shape="questions with id, text and answer_type, which return a value for each id",
    ),
    described_tool(
        "single",
        "ask_user",
        tool_schemas.SINGLE,
        ONE,
        f'{{"answer_type": …, "answer": …}}, the answer in the type of answer_type. {REPLIED}',
        recommend=BY_DEFAULT,
        shape='one question, which returns {"answer_type": …, "answer": …}',
    ),
    described_tool(
        "ask_user_form",
        "ask_user",
        tool_schemas.ASK_USER_FORM,
        "Ask the user one to three multiple-choice questions and wait for the answers.",
        '{"answers": […]} in the order of the questions: a label, or the user\'s own words; with multiSelect an '
        'array of them. If the user replies instead: {"freeText": "their message"}.',
        recommend='put it first; its label may end with "(Recommended)".',
        title="Ask the user multiple-choice questions",
        shape='questions with question and options, which return {"answers": […]} in their order',
    ),
    described_tool(
        "question",
        "question",
        tool_schemas.QUESTION,
        "Ask the user questions with fixed choices; they review their answers before submitting.",
        '{"answers": [{"id", "value", "label", "wasCustom", "index"}], "cancelled": false}; the user\'s own words '
        "are in value and label, with wasCustom true. If they did not submit, cancelled is true, with their reply.",
        recommend='put it first and end its label with "(recommended)".',
        title="Ask the user to choose",
        shape="questions with id, prompt and options, which return an object for each id",
    ),
    described_tool(
        "tool_question",
        "tool_question",
        tool_schemas.TOOL_QUESTION,
        "Ask one question on behalf of a tool that is about to act.",
        f'{{"answer_type": …, "answer": …}}, the answer in the type of answer_type. {REPLIED}',
        recommend=BY_DEFAULT,
        title="Ask the user on behalf of a tool",
    ),
)
BY_DIALECT: Final = {tool.dialect: tool for tool in TOOLS}


def select_tools(dialects: Collection[str], enabled: Callable[[str], bool]) -> list[Tool]:
    """The tools of some dialects, in their order, or without any the best one of each name.

    Args:
        enabled: whether a dialect is offered; the others are left out.

    Raises:
        ValueError: a dialect has no tool, or two of them have tools with the same name.
    """
    tools = installed_tools()
    known = [tool.dialect for tool in tools]
    for dialect in dialects:
        if dialect not in known:
            meant = did_you_mean(dialect, known)
            raise ValueError(
                f'There is no tool for "{dialect[:100]}"{meant}; there are: {", ".join(known)}.'
            )
    found: dict[str, Tool] = {}
    for tool in tools:
        if not enabled(tool.dialect) or (dialects and tool.dialect not in dialects):
            continue
        first = found.setdefault(tool.name, tool)
        if dialects and first is not tool:
            raise ValueError(
                f"{first.dialect} and {tool.dialect} both define a tool named {tool.name}: pick one of them."
            )
    return list(found.values())


def dialect_field_names(dialect: str) -> set[str]:
    """Return the fields in calls of a dialect's tool, at any level."""
    fields: set[str] = set()
    pending: list[JsonValue] = [
        tool.parameters for tool in installed_tools() if tool.dialect == dialect
    ]
    while pending:
        schema = pending.pop()
        if not isinstance(schema, dict):
            continue
        properties = schema.get("properties")
        if isinstance(properties, dict):
            fields.update(properties)
            pending.extend(properties.values())
        pending.append(schema.get("items"))
    return fields


def format_definition(tool: Tool, form: Format, *, strict: bool = False) -> dict[str, JsonValue]:
    """Return a tool in an API's format; ``strict`` is for its strict mode, if it has one.

    ``mcp``: https://modelcontextprotocol.io/specification/2025-11-25/server/tools;
    ``anthropic``: https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use;
    ``openai``: https://platform.openai.com/docs/guides/function-calling?api-mode=chat;
    ``openai-responses``: https://platform.openai.com/docs/guides/function-calling?api-mode=responses;
    ``gemini``: https://ai.google.dev/api/caching#FunctionDeclaration.
    """
    name: dict[str, JsonValue] = {"name": tool.name, "description": tool.description}
    parameters: JsonValue = (
        strict_schemas.to_strict_schema(tool.parameters) if strict else tool.parameters
    )
    flag: dict[str, JsonValue] = {"strict": True} if strict else {}
    match form:
        case "mcp":
            return {**name, "inputSchema": parameters}
        case "anthropic":
            return {**name, "input_schema": parameters, **flag}
        case "openai":
            return {"type": "function", "function": {**name, "parameters": parameters, **flag}}
        case "openai-responses":
            # The Responses API treats a definition as strict unless it says otherwise.
            return {"type": "function", **name, "parameters": parameters, "strict": strict}
        case "gemini":
            return {**name, "parametersJsonSchema": parameters}
