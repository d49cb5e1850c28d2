"""The tool definitions to register with a model, one a dialect, in the formats that model APIs take."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import JsonValue

from answerback.dialects import host_schemas, strict_schemas, tool_schemas
from answerback.dialects.call_reader import did_you_mean

Format = Literal["mcp", "anthropic", "openai", "openai-responses", "gemini"]

_WHEN: Final = (
    "Ask when a decision is the user's to make, when a missing fact only they know would change what "
    "you do, or before something that cannot be undone. Do not ask for what you can find out yourself, "
    "for confirmation of what was already asked of you, or in order to report; put what belongs "
    "together into one call. Never ask for passwords, tokens or other secrets: the answers are stored "
    "and shown in a chat. The user may also reply in words instead of answering, or end the turn."
)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as a model gets it."""

    dialect: str
    name: str
    title: str
    """For people."""
    description: str
    parameters: dict[str, JsonValue]
    shape: str = ""
    """What its calls hold and what they return, where other dialects have tools of the same name."""


_REPLIED: Final = (
    'If the user replies instead: {"cancelled": true, "answered": {…}, "reply": "their words"}.'
)


def _described(purpose: str, result: str, recommend: str) -> str:
    """A description: what the tool is for, when to use it, what comes back, how to recommend an answer."""
    return f"{purpose} {_WHEN} Returns {result} To recommend an answer, {recommend}"


TOOLS: Final = (
    Tool(
        "ask_user",
        "ask_user",
        "Ask the user",
        _described(
            "Ask the user a form of typed questions and wait for the answers.",
            "an object with a key for each question's id: true or false, the chosen option, an array of the chosen "
            f"options, a string, a value that the schema allows, or null if it was skipped. {_REPLIED}",
            "make it the question's default.",
        ),
        tool_schemas.ASK_USER,
        "questions with id, text and answer_type, which return a value for each id",
    ),
    Tool(
        "single",
        "ask_user",
        "Ask the user",
        _described(
            "Ask the user one question and wait for the answer.",
            f'{{"answer_type": …, "answer": …}}, the answer in the type of answer_type. {_REPLIED}',
            "make it the default.",
        ),
        tool_schemas.SINGLE,
        'one question, which returns {"answer_type": …, "answer": …}',
    ),
    Tool(
        "ask_user_form",
        "ask_user",
        "Ask the user multiple-choice questions",
        _described(
            "Ask the user one to three multiple-choice questions and wait for the answers.",
            '{"answers": […]} in the order of the questions: a label, or the user\'s own words; with multiSelect an '
            'array of them. If the user replies instead: {"freeText": "their words"}.',
            "put it first.",
        ),
        host_schemas.ASK_USER_FORM,
        'questions with question and options, which return {"answers": […]} in their order',
    ),
    Tool(
        "claude",
        "AskUserQuestion",
        "Ask the user multiple-choice questions",
        _described(
            "Ask the user one to four multiple-choice questions and wait for the answers.",
            "each question with the chosen label, with several labels, or with the user's own words; or "
            "[cancelled by user] and their reply.",
            'put it first and end its label with "(Recommended)".',
        ),
        host_schemas.CLAUDE,
    ),
    Tool(
        "question",
        "question",
        "Ask the user to choose",
        _described(
            "Ask the user questions with fixed choices, which they look over before handing in.",
            '{"answers": [{"id", "value", "label", "wasCustom", "index"}], "cancelled": false}; the user\'s own words '
            "are value and label with wasCustom true. cancelled is true if they did not hand in, with their reply.",
            'put it first and end its label with "(recommended)".',
        ),
        host_schemas.QUESTION,
        "questions with id, prompt and options, which return an object for each id",
    ),
    Tool(
        "tool_question",
        "tool_question",
        "Ask the user on behalf of a tool",
        _described(
            "Put one question on behalf of a tool that is about to act.",
            f'{{"answer_type": …, "answer": …}}, the answer in the type of answer_type. {_REPLIED}',
            "make it the default.",
        ),
        tool_schemas.TOOL_QUESTION,
    ),
    Tool(
        "gemini",
        "ask_user",
        "Ask the user",
        _described(
            "Ask the user questions to choose, to write or to say yes or no to, and wait for the answers.",
            '{"answers": {"0": …}}, keyed by the position of the question: a label, several joined by commas, or the '
            "user's own words; what was left empty is missing. If the user replies instead, cancelled and their words.",
            'put it first and end its label with "(Recommended)".',
        ),
        host_schemas.GEMINI,
        'questions with question and type, which return {"answers": {"0": …}} by position',
    ),
    Tool(
        "copilot",
        "ask_user",
        "Ask the user",
        _described(
            "Ask the user one question and wait for the answer.",
            '{"answer": …, "wasFreeform": …}: a choice, or the user\'s own words; so also if they reply instead.',
            'put it first and end it with "(Recommended)".',
        ),
        host_schemas.COPILOT,
        'one question with choices, which returns {"answer": …, "wasFreeform": …}',
    ),
    Tool(
        "opencode",
        "question",
        "Ask the user",
        _described(
            "Ask the user questions and wait for the answers.",
            '{"answers": [[…]]}, for each question the labels or the user\'s own words; an empty list: unanswered. If '
            "the user replies instead, their words answer the question that was open.",
            'put it first and end its label with "(Recommended)".',
        ),
        host_schemas.OPENCODE,
        'questions with question and options, which return {"answers": [[…]]} in their order',
    ),
    Tool(
        "codex",
        "request_user_input",
        "Ask the user",
        _described(
            "Ask the user questions and wait for the answers.",
            '{"answers": {id: {"answers": […]}}}: a label or text, and perhaps a "user_note: …"; own words are a note '
            'after "None of the above". If the user replies, the open question has [cancelled by user] and their note.',
            'put it first and end its label with "(Recommended)".',
        ),
        host_schemas.CODEX,
    ),
    Tool(
        "vscode",
        "vscode_askQuestions",
        "Ask the user",
        _described(
            "Ask the user questions and wait for the answers.",
            '{"answers": {header: {"selected": […], "freeText": …, "skipped": …}}}. If the user replies instead, their '
            "words are the freeText of the question that was open, and the rest is skipped.",
            "set recommended on the option.",
        ),
        host_schemas.VSCODE,
    ),
    Tool(
        "cline",
        "ask_question",
        "Ask the user",
        _described(
            "Ask the user one question and wait for the answer.",
            "the answer itself: the option, or the user's own words, which may also be a reply instead.",
            "put it first.",
        ),
        host_schemas.CLINE,
    ),
)


def select_tools(dialects: Collection[str], enabled: Callable[[str], bool]) -> list[Tool]:
    """The tools of some dialects, in the order of `TOOLS`, or without any the best one of each name.

    Args:
        enabled: whether a dialect is offered; the others are left out.

    Raises:
        ValueError: a dialect has no tool, or two of them have tools of one name; in words.
    """
    known = [tool.dialect for tool in TOOLS]
    for dialect in dialects:
        if dialect not in known:
            meant = did_you_mean(dialect, known)
            raise ValueError(
                f'There is no tool for "{dialect[:100]}"{meant}; there are: {", ".join(known)}.'
            )
    found: dict[str, Tool] = {}
    for tool in TOOLS:
        if not enabled(tool.dialect) or (dialects and tool.dialect not in dialects):
            continue
        first = found.setdefault(tool.name, tool)
        if dialects and first is not tool:
            raise ValueError(
                f"{first.dialect} and {tool.dialect} both are a tool named {tool.name}: pick one of them."
            )
    return list(found.values())


def dialect_field_names(dialect: str) -> set[str]:
    """The fields that calls of a dialect's tool have, at any level."""
    fields: set[str] = set()
    below: list[JsonValue] = [tool.parameters for tool in TOOLS if tool.dialect == dialect]
    while below:
        schema = below.pop()
        if not isinstance(schema, dict):
            continue
        properties = schema.get("properties")
        if isinstance(properties, dict):
            fields.update(properties)
            below.extend(properties.values())
        below.append(schema.get("items"))
    return fields


def format_definition(tool: Tool, form: Format, *, strict: bool = False) -> dict[str, JsonValue]:
    """A tool in one API's format, with ``strict`` for the strict mode of those that have one.

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
            # The Responses API takes a definition for strict that does not say otherwise.
            return {"type": "function", **name, "parameters": parameters, "strict": strict}
        case "gemini":
            return {**name, "parametersJsonSchema": parameters}
