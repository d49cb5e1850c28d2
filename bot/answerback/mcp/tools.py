"""The MCP tools as a model gets them: names, descriptions, input schemas. Pure; the shapes are the dialects'."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_types import Tool, ToolAnnotations
from pydantic import JsonValue, TypeAdapter

from answerback.core.form import MAX_TEXT
from answerback.dialects import detection, tool_definitions
from answerback.dialects.call_reader import did_you_mean

DEFAULT_WAIT: Final = 50.0
"""Seconds a call waits by default: under the 60 after which common clients give up."""
LONGEST_WAIT: Final = 3_600.0
ASK_USER: Final = "ask_user"
ASK_USER_QUESTION: Final = "ask_user_question"
WAIT: Final = "wait_for_answer"
GET: Final = "get_answer"
WITHDRAW: Final = "withdraw_ask"
ADD_CONTEXT: Final = "add_context"
CHECK: Final = "check_answers"
MODES: Final = ("wait", "async")
ENVELOPE: Final = ("to", "wait_seconds", "mode", "conversation")
"""Arguments of the asking tools that are no part of the form."""
_OBJECT: Final = TypeAdapter(dict[str, JsonValue])
_NAMES: Final = TypeAdapter(list[JsonValue])
_WAIT_SECONDS: Final[dict[str, JsonValue]] = {
    "type": "number",
    "minimum": 0,
    "maximum": LONGEST_WAIT,
    "default": DEFAULT_WAIT,
    "description": "How long this call waits for the answer. The ask stays open afterwards.",
}
_ASKING: Final[dict[str, JsonValue]] = {
    "to": {
        "type": "string",
        "description": "Where to ask: a route's name or surface:channel. Leave it out for the usual place.",
    },
    "wait_seconds": _WAIT_SECONDS,
    "mode": {
        "type": "string",
        "enum": [*MODES],
        "default": MODES[0],
        "description": "async: do not wait. The answer comes later by "
        + CHECK
        + ": for what you can go on without.",
    },
    "conversation": {
        "type": "string",
        "minLength": 1,
        "description": "A name for this conversation, where several agents share a token: "
        + CHECK
        + " takes it too.",
    },
}
_ASK_ID: Final[dict[str, JsonValue]] = {
    "type": "string",
    "description": "The ask_id that a pending result named.",
}
_PENDING: Final = (
    f"People may take a while: if the result says pending, call {WAIT} with its ask_id, "
    f"and do not ask again. If it says clarify, answer what they ask with {ADD_CONTEXT}."
)


@dataclass(frozen=True, slots=True)
class AskingTool:
    """A tool that asks. ``dialects`` are the shapes that its arguments may have."""

    name: str
    dialects: tuple[str, ...]
    dialect: str | None = None
    """The dialect to read a call as, whatever the tool is called; None: its name and shape tell."""

    def definition(self, enabled: Collection[str]) -> Tool | None:
        """The tool with those of its shapes that are enabled; None where there is none."""
        shapes = {
            tool.dialect: tool for tool in tool_definitions.TOOLS if tool.dialect in self.dialects
        }
        served = [tool for dialect, tool in shapes.items() if dialect in enabled]
        if not served:
            return None
        described = f"{served[0].description} {_PENDING}"
        title = served[0].title
        if len(served) == 1:
            schema = served[0].parameters
            required = [str(name) for name in _NAMES.validate_python(schema["required"])]
            properties = _properties(schema)
        else:
            described = f"{described} Give {'; or '.join(tool.shape for tool in served)}."
            properties, required = _joined(served), []
        return Tool(
            name=self.name,
            title=title,
            description=described,
            input_schema=_schema({**properties, **_ASKING}, *required),
            annotations=ToolAnnotations(open_world_hint=True, destructive_hint=False),
        )


DEFAULT_TOOLS: Final = (
    AskingTool(ASK_USER, detection.dialects_for_tool_name(ASK_USER)),
    AskingTool(ASK_USER_QUESTION, ("claude",)),
)
"""What is offered where nobody says which tools."""


def parse_asking_tools(names: str | None) -> tuple[AskingTool, ...]:
    """The asking tools of a list of names, tools' or dialects', separated by commas; None: the default ones.

    Raises:
        ValueError: a name is no tool's, or two tools would have the same one; in words.
    """
    if names is None:
        return DEFAULT_TOOLS
    found: dict[str, AskingTool] = {}
    for name in names.split(","):
        tool = _named(name.strip())
        if tool.name in found:
            raise ValueError(f"two of the tools would be named {tool.name}: pick one of them.")
        found[tool.name] = tool
    return tuple(found.values())


def _named(name: str) -> AskingTool:
    shapes = detection.dialects_for_tool_name(name)
    by_dialect = {tool.dialect: tool for tool in tool_definitions.TOOLS}
    if by_dialect.keys() & set(shapes):
        return AskingTool(name, shapes)
    if name in by_dialect:
        return AskingTool(by_dialect[name].name, (name,), name)
    known = sorted(
        {*by_dialect, *(tool.name for tool in tool_definitions.TOOLS), ASK_USER_QUESTION}
    )
    meant = did_you_mean(name, known)
    raise ValueError(f'there is no tool "{name[:100]}"{meant}; there are: {", ".join(known)}.')


def follow_up_tools() -> list[Tool]:
    """The tools for an ask that is pending."""
    return [
        Tool(
            name=WAIT,
            title="Wait for an answer",
            description="Wait for the answer to an ask that is pending. Returns the answer as the ask itself would "
            "have, or pending again. Call it until there is an answer; do not ask again meanwhile.",
            input_schema=_schema({"ask_id": _ASK_ID, "wait_seconds": _WAIT_SECONDS}, "ask_id"),
            annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True),
        ),
        Tool(
            name=GET,
            title="Look for an answer",
            description="Look, without waiting, whether an ask has been answered: the answer, or pending with what "
            "was answered so far.",
            input_schema=_schema({"ask_id": _ASK_ID}, "ask_id"),
            annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True),
        ),
        Tool(
            name=CHECK,
            title="Check for late answers",
            description="Get, without waiting, the answers that came in after you stopped waiting. Each comes once. "
            "Call it when you go on after an interruption, and before you finish, if a question was left "
            "open.",
            input_schema=_schema(
                {
                    "conversation": {
                        "type": "string",
                        "minLength": 1,
                        "description": "The conversation that the questions were asked in. Leave it out for questions "
                        "that you asked with these tools.",
                    },
                    "after": {
                        "type": "integer",
                        "minimum": 0,
                        "description": "The `next` of an earlier result: gives again what came after that, in case it "
                        "was lost on its way to you.",
                    },
                }
            ),
            annotations=ToolAnnotations(open_world_hint=True, destructive_hint=False),
        ),
        Tool(
            name=ADD_CONTEXT,
            title="Explain a question",
            description="Answer what a person asked back: if a result says clarify, explain here what they asked, then "
            f"call {WAIT}. The explanation is shown to them below the question, which stays open. Do not ask again.",
            input_schema=_schema(
                {
                    "ask_id": {
                        "type": "string",
                        "description": "The ask_id that the clarify result named.",
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
            description="Take back an ask that is no longer needed; the user sees that it was withdrawn. If it has "
            "been answered meanwhile, the answer is returned.",
            input_schema=_schema({"ask_id": _ASK_ID}, "ask_id"),
            annotations=ToolAnnotations(
                open_world_hint=True, destructive_hint=True, idempotent_hint=True
            ),
        ),
    ]


def _properties(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return _OBJECT.validate_python(schema["properties"])


def _joined(shapes: Sequence[tool_definitions.Tool]) -> dict[str, JsonValue]:
    """The arguments of a tool of several shapes, of which one at least has ``questions``.

    There are no top-level alternatives: model APIs refuse those.
    """
    properties: dict[str, JsonValue] = {}
    lists: list[dict[str, JsonValue]] = []
    for shape in shapes:
        for name, schema in _properties(shape.parameters).items():
            if name == "questions":
                lists.append(_OBJECT.validate_python(schema))
            else:
                properties.setdefault(name, schema)
    items: list[JsonValue] = [each["items"] for each in lists]
    either: dict[str, JsonValue] = {"anyOf": items}
    properties["questions"] = {**lists[0], "items": items[0] if len(items) == 1 else either}
    return properties


def _schema(properties: dict[str, JsonValue], *required: str) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
