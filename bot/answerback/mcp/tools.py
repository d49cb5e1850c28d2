"""The MCP tools as offered to a model: names, descriptions, input schemas. Pure; the dialects define the shapes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_types import Tool, ToolAnnotations
from pydantic import JsonValue, TypeAdapter

from answerback.core.files import MAX_FILES, MAX_INLINE
from answerback.core.form import MAX_TEXT
from answerback.core.urgency import Urgency
from answerback.dialects import dialect, installed
from answerback.dialects.ask_user_question import PUBLISHED, Limits
from answerback.dialects.call_reader import did_you_mean
from answerback.dialects.installed import installed_tools
from answerback.dialects.tool_schema_parts import object_schema

DEFAULT_WAIT: Final = 50.0
"""Seconds that a call waits at most, by default: below the 60 after which common clients time out."""
LONGEST_WAIT: Final = 3_600.0
"""Maximum seconds that may be configured instead."""
ASK_USER: Final = "ask_user"
ASK_USER_QUESTION: Final = "ask_user_question"
WAIT: Final = "wait_for_answer"
GET: Final = "get_answer"
WITHDRAW: Final = "withdraw_ask"
ADD_CONTEXT: Final = "add_context"
CHECK: Final = "check_answers"
MODES: Final = ("wait", "async")
_OBJECT: Final = TypeAdapter(dict[str, JsonValue])
_NAMES: Final = TypeAdapter(list[JsonValue])
_ASKING: Final[dict[str, JsonValue]] = {
    "to": {
        "type": "string",
        "description": "Where to ask: a route's name or surface:channel. Leave it out for the default place.",
    },
    "urgency": {
        "type": "string",
        "enum": [*Urgency],
        "description": "high only if something breaks or stands still until it is answered; low if any time will do. "
        "What is most urgent comes first in people's lists.",
    },
    "mode": {
        "type": "string",
        "enum": [*MODES],
        "default": MODES[0],
        "description": "async: do not wait; get the answer later with "
        + CHECK
        + ". For answers that you can continue without.",
    },
    "conversation": {
        "type": "string",
        "minLength": 1,
        "description": "A name for this conversation, if several agents share a token; pass it to "
        + CHECK
        + " too.",
    },
}
_FILES: Final[dict[str, JsonValue]] = {
    "type": "array",
    "maxItems": MAX_FILES,
    "description": "Pictures to show and files to hand over. In context and previews, ![Before](file:before.png) shows "
    "the picture named before.png there.",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The file's name, with data."},
            "data": {
                "type": "string",
                "description": f"Its bytes as base64, of all files together at most {MAX_INLINE // 1024} KiB.",
            },
            "id": {
                "type": "string",
                "description": "In place of name and data: the id that POST /v1/files has returned.",
            },
            "alt": {"type": "string", "description": "What stands for it where it is not seen."},
        },
    },
}
_ASK_ID: Final[dict[str, JsonValue]] = {
    "type": "string",
    "description": "The ask_id from a pending result.",
}
_PENDING: Final = (
    f"People may take a while to answer: if the result says pending, call {WAIT} with its ask_id, "
    f"and do not ask again. If it says clarify, answer what they ask with {ADD_CONTEXT}."
)


@dataclass(frozen=True, slots=True)
class AskingTool:
    """A tool that asks people. ``dialects`` are the shapes that its arguments may have."""

    name: str
    dialects: tuple[str, ...]
    dialect: str | None = None
    """The dialect to read a call as, whatever the tool's name; None: detect it from the name and shape."""
    limits: Limits | None = None
    """The limits that the definition states, if other hosts' calls under this tool's name have none."""

    def definition(self, enabled: Collection[str], wait: float = DEFAULT_WAIT) -> Tool | None:
        """The tool's definition with the shapes that are enabled; None if there are none.

        Args:
            wait: maximum seconds that a call waits.
        """
        shapes = {tool.dialect: tool for tool in installed_tools() if tool.dialect in self.dialects}
        enabled_tools = [tool for dialect, tool in shapes.items() if dialect in enabled]
        if not enabled_tools:
            return None
        description = f"{enabled_tools[0].description} {_PENDING}"
        title = enabled_tools[0].title
        if len(enabled_tools) == 1:
            schema = enabled_tools[0].parameters
            required = [str(name) for name in _NAMES.validate_python(schema["required"])]
            properties = _properties(schema)
        else:
            description = (
                f"{description} Pass {'; or '.join(tool.shape for tool in enabled_tools)}."
            )
            properties, required = _merge_properties(enabled_tools), []
        return Tool(
            name=self.name,
            title=title,
            description=description,
            input_schema=object_schema(
                {**properties, **_ASKING, "files": _FILES, "wait_seconds": _wait_seconds(wait)},
                *required,
            ),
            annotations=ToolAnnotations(open_world_hint=True, destructive_hint=False),
        )


DEFAULT_TOOLS: Final = (
    AskingTool(ASK_USER, installed.dialects_for_tool_name(ASK_USER)),
    AskingTool(ASK_USER_QUESTION, ("claude",), "claude", limits=PUBLISHED),
)
"""The tools that are offered by default."""


def parse_asking_tools(names: str | None) -> tuple[AskingTool, ...]:
    """Parse a comma-separated list of tool or dialect names into asking tools; None: the default ones.

    Raises:
        ValueError: a name is unknown, or two tools would have the same name.
    """
    if names is None:
        return DEFAULT_TOOLS
    by_name: dict[str, AskingTool] = {}
    for name in names.split(","):
        tool = _find_tool(name.strip())
        if tool.name in by_name:
            raise ValueError(f"two of the tools would be named {tool.name}; choose one of them.")
        by_name[tool.name] = tool
    return tuple(by_name.values())


def _find_tool(name: str) -> AskingTool:
    shapes = installed.dialects_for_tool_name(name)
    by_dialect = {tool.dialect: tool for tool in installed_tools()}
    if name == ASK_USER_QUESTION:
        return DEFAULT_TOOLS[1]
    if by_dialect.keys() & set(shapes):
        return AskingTool(name, shapes)
    if name in by_dialect:
        return AskingTool(by_dialect[name].name, (name,), name)
    known = sorted({*by_dialect, *(tool.name for tool in installed_tools()), ASK_USER_QUESTION})
    suggestion = did_you_mean(name, known)
    raise ValueError(
        f'there is no tool "{name[:100]}"{suggestion}; choose from: {", ".join(known)}.'
    )


def parse_wait(seconds: str | None) -> float | None:
    """Parse the seconds that a call may wait at most; None: not given.

    Raises:
        ValueError: they are not a number in range.
    """
    if seconds is None:
        return None
    try:
        number = float(seconds)
    except ValueError:
        number = -1.0
    if not 0 <= number <= LONGEST_WAIT:
        raise ValueError(f"must be a number of seconds from 0 to {LONGEST_WAIT:g}.")
    return number


def follow_up_tools(wait: float = DEFAULT_WAIT) -> list[Tool]:
    """The tools that follow up on a pending ask; for ``wait`` see `AskingTool.definition`."""
    return [
        Tool(
            name=WAIT,
            title="Wait for an answer",
            description="Wait for the answer to a pending ask. Returns the answer as the asking tool would have, or "
            "pending again. Call it until there is an answer; do not ask again in the meantime.",
            input_schema=object_schema(
                {"ask_id": _ASK_ID, "wait_seconds": _wait_seconds(wait)}, "ask_id"
            ),
            annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True),
        ),
        Tool(
            name=GET,
            title="Get an answer",
            description="Check, without waiting, whether an ask has been answered. Returns the answer, or pending with "
            "what has been answered so far.",
            input_schema=object_schema({"ask_id": _ASK_ID}, "ask_id"),
            annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True),
        ),
        Tool(
            name=CHECK,
            title="Check for late answers",
            description="Get, without waiting, the answers that came in after you stopped waiting. Each is returned "
            "once. If a question was left open, call it when you resume after an interruption and before you finish.",
            input_schema=object_schema(
                {
                    "conversation": {
                        "type": "string",
                        "minLength": 1,
                        "description": "The conversation in which the questions were asked. Leave it out for questions "
                        "that you asked with these tools.",
                    },
                    "after": {
                        "type": "integer",
                        "minimum": 0,
                        "description": "The `next` of an earlier result: returns everything after it again, in case it "
                        "was lost on the way to you.",
                    },
                }
            ),
            annotations=ToolAnnotations(open_world_hint=True, destructive_hint=False),
        ),
        Tool(
            name=ADD_CONTEXT,
            title="Explain a question",
            description="Answer a person who asked back: if a result says clarify, explain what they asked about, then "
            f"call {WAIT}. They see the explanation below the question, which stays open. Do not ask again.",
            input_schema=object_schema(
                {
                    "ask_id": {
                        "type": "string",
                        "description": "The ask_id from the clarify result.",
                    },
                    "text": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": MAX_TEXT,
                        "description": "The explanation, in Markdown.",
                    },
                },
                "ask_id",
                "text",
            ),
            annotations=ToolAnnotations(
                open_world_hint=True, destructive_hint=False, idempotent_hint=True
            ),
        ),
        Tool(
            name=WITHDRAW,
            title="Withdraw an ask",
            description="Withdraw an ask that is no longer needed; the user sees that it was withdrawn. If it has "
            "been answered in the meantime, the answer is returned.",
            input_schema=object_schema({"ask_id": _ASK_ID}, "ask_id"),
            annotations=ToolAnnotations(
                open_world_hint=True, destructive_hint=True, idempotent_hint=True
            ),
        ),
    ]


def _wait_seconds(longest: float) -> dict[str, JsonValue]:
    return {
        "type": "number",
        "minimum": 0,
        "maximum": longest,
        "default": longest,
        "description": "How long this call waits for the answer. The ask stays open afterwards.",
    }


def _properties(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return _OBJECT.validate_python(schema["properties"])


def _merge_properties(shapes: Sequence[dialect.Tool]) -> dict[str, JsonValue]:
    """Merge the arguments of several shapes.

    The alternatives are whole lists of questions: model APIs reject them at the top level, and LangChain's converter
    for Gemini drops those inside a list's ``items``.
    """
    properties: dict[str, JsonValue] = {}
    lists: list[JsonValue] = []
    for shape in shapes:
        for name, schema in _properties(shape.parameters).items():
            if name == "questions":
                lists.append(schema)
            else:
                properties.setdefault(name, schema)
    if lists:
        properties["questions"] = lists[0] if len(lists) == 1 else {"anyOf": lists}
    return properties
