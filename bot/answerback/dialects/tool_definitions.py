"""The tool definitions to register with a model, one per dialect, in the formats of the model APIs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, Literal

from pydantic import JsonValue

from answerback.dialects import host_schemas, strict_schemas, tool_schemas
from answerback.dialects.call_reader import did_you_mean
from answerback.dialects.dialect import Tool
from answerback.dialects.installed import installed_tools

Format = Literal["mcp", "anthropic", "openai", "openai-responses", "gemini"]

_WHEN: Final = (
    "Ask when a decision is the user's to make, when you lack a fact that only they know and that would "
    "change what you do, or before something that cannot be undone. Do not ask for what you can find out "
    "yourself, to confirm what you were already told to do, or just to report; put related questions "
    "into one call. Never ask for passwords, tokens or other secrets: the answers are stored "
    "and shown in a chat. The user may also reply with a message instead of answering, or end the turn. "
    "What they write in their own words overrides the options."
)


_BY_DEFAULT: Final = (
    'make it the default; among options, put it first, where it may end with "(Recommended)".'
)
_FIRST: Final = 'put it first and end its label with "(Recommended)".'
_REPLIED: Final = (
    'If the user replies instead: {"cancelled": true, "answered": {…}, "reply": "their message"}.'
)
_ONE: Final = "Ask the user one question and wait for the answer."
_SEVERAL: Final = "Ask the user questions and wait for the answers."
_CHOICES: Final = "Ask the user multiple-choice questions and wait for the answers."


def _tool(
    dialect: str,
    name: str,
    parameters: dict[str, JsonValue],
    purpose: str,
    result: str,
    *,
    recommend: str = _FIRST,
    title: str = "Ask the user",
    shape: str = "",
) -> Tool:
    """Return a tool that is described by its purpose, when to use it, its result, and how to recommend an answer."""
    description = f"{purpose} {_WHEN} Returns {result} To recommend an answer, {recommend}"
    return Tool(dialect, name, title, description, parameters, shape)


TOOLS: Final = (
    _tool(
        "ask_user",
        "ask_user",
        tool_schemas.ASK_USER,
        "Ask the user a form of typed questions and wait for the answers.",
        "an object with a key for each question's id: true or false, the chosen option, an array of the chosen "
        f"options, a string, a value that the schema allows, or null if it was skipped. {_REPLIED}",
        recommend=_BY_DEFAULT,
        shape="questions with id, text and answer_type, which return a value for each id",
    ),
    _tool(
        "single",
        "ask_user",
        tool_schemas.SINGLE,
        _ONE,
        f'{{"answer_type": …, "answer": …}}, the answer in the type of answer_type. {_REPLIED}',
        recommend=_BY_DEFAULT,
        shape='one question, which returns {"answer_type": …, "answer": …}',
    ),
    _tool(
        "ask_user_form",
        "ask_user",
        host_schemas.ASK_USER_FORM,
        "Ask the user one to three multiple-choice questions and wait for the answers.",
        '{"answers": […]} in the order of the questions: a label, or the user\'s own words; with multiSelect an '
        'array of them. If the user replies instead: {"freeText": "their message"}.',
        recommend='put it first; its label may end with "(Recommended)".',
        title="Ask the user multiple-choice questions",
        shape='questions with question and options, which return {"answers": […]} in their order',
    ),
    _tool(
        "claude",
        "AskUserQuestion",
        host_schemas.CLAUDE,
        "Ask the user one to four multiple-choice questions and wait for the answers.",
        "each question with the chosen label, with several labels, or with the user's own words; or "
        "[cancelled by user] and their reply.",
        title="Ask the user multiple-choice questions",
    ),
    _tool(
        "question",
        "question",
        host_schemas.QUESTION,
        "Ask the user questions with fixed choices; they review their answers before submitting.",
        '{"answers": [{"id", "value", "label", "wasCustom", "index"}], "cancelled": false}; the user\'s own words '
        "are in value and label, with wasCustom true. If they did not submit, cancelled is true, with their reply.",
        recommend='put it first and end its label with "(recommended)".',
        title="Ask the user to choose",
        shape="questions with id, prompt and options, which return an object for each id",
    ),
    _tool(
        "tool_question",
        "tool_question",
        tool_schemas.TOOL_QUESTION,
        "Ask one question on behalf of a tool that is about to act.",
        f'{{"answer_type": …, "answer": …}}, the answer in the type of answer_type. {_REPLIED}',
        recommend=_BY_DEFAULT,
        title="Ask the user on behalf of a tool",
    ),
    _tool(
        "gemini",
        "ask_user",
        host_schemas.GEMINI,
        "Ask the user choice, text and yes/no questions, and wait for the answers.",
        '{"answers": {"0": …}}, keyed by the position of the question: a label, several joined by commas, or the '
        "user's own words; empty answers are left out. If the user replies instead: cancelled, with their reply.",
        shape='questions with question and type, which return {"answers": {"0": …}} by position',
    ),
    _tool(
        "copilot",
        "ask_user",
        host_schemas.COPILOT,
        _ONE,
        '{"answer": …, "wasFreeform": …}: a choice, or the user\'s own words, also if they reply instead.',
        recommend='put it first and end it with "(Recommended)".',
        shape='one question with choices, which returns {"answer": …, "wasFreeform": …}',
    ),
    _tool(
        "opencode",
        "question",
        host_schemas.OPENCODE,
        _SEVERAL,
        '{"answers": [[…]]}, for each question the labels or the user\'s own words; an empty list if unanswered. '
        "If the user replies instead, the reply is the answer to the question that was open.",
        shape='questions with question and options, which return {"answers": [[…]]} in their order',
    ),
    _tool(
        "codex",
        "request_user_input",
        host_schemas.CODEX,
        _SEVERAL,
        '{"answers": {id: {"answers": […]}}}: a label or text, and perhaps a "user_note: …"; own words are a note '
        'after "None of the above". If the user replies, the open question has [cancelled by user] and their note.',
    ),
    _tool(
        "vscode",
        "vscode_askQuestions",
        host_schemas.VSCODE,
        _SEVERAL,
        '{"answers": {header: {"selected": […], "freeText": …, "skipped": …}}}. If the user replies instead, their '
        "message is the freeText of the question that was open, and the rest is skipped.",
        recommend="set recommended on the option.",
    ),
    _tool(
        "cline",
        "ask_question",
        host_schemas.CLINE,
        _ONE,
        "the answer itself: the option, or the user's own words, also if they reply instead.",
        recommend='put it first; it may end with "(Recommended)".',
    ),
    _tool(
        "openclaw",
        "ask_user",
        host_schemas.OPENCLAW,
        _CHOICES,
        '{"status": "answered", "answers": {"answers": {id: […]}}}: labels and own words; or status no_answer.',
        shape="questions with id, header, question and options, which return lists by id",
    ),
    _tool(
        "deepagents",
        "ask_user",
        host_schemas.DEEPAGENTS,
        _SEVERAL,
        "each question after Q: with its answer after A:, several joined by commas; (cancelled) if there is none.",
        shape="questions with question, type multiple_choice or multi_select and choices, which return Q: and A: lines",
    ),
    _tool(
        "auggie",
        "ask-user",
        host_schemas.AUGGIE,
        _ONE,
        "User responded: and the response, or the user's own words; or Declined to answer.",
    ),
    _tool(
        "continue",
        "AskQuestion",
        host_schemas.CONTINUE,
        _ONE,
        "which option the user selected, or their own words, also if they reply instead.",
        recommend='make it the default answer; it may end with "(Recommended)".',
        shape="one question with options, which returns a sentence",
    ),
    _tool(
        "cursor",
        "AskQuestion",
        host_schemas.CURSOR,
        _CHOICES,
        '{"success": {"answers": [{"questionId", "selectedOptionIds", "freeformText"}]}}, or rejected and why.',
        shape="questions with id, prompt and options, which return the ids of options",
    ),
    _tool(
        "hermes",
        "clarify",
        host_schemas.HERMES,
        _SEVERAL,
        '{"responses": [{"question", "choices_offered", "status", "user_response"}], "outcome": …} in their order.',
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
