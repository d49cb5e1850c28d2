"""The MCP tools as a model gets them: names, descriptions, input schemas. Pure; the shapes are the dialects'."""

from __future__ import annotations

from typing import Final

from mcp_types import Tool, ToolAnnotations
from pydantic import JsonValue, TypeAdapter

from bot.dialects import tools

DEFAULT_WAIT: Final = 50.0
"""Seconds a call waits by default: under the 60 after which common clients give up."""
LONGEST_WAIT: Final = 3_600.0
ASK_USER: Final = "ask_user"
ASK_USER_QUESTION: Final = "ask_user_question"
WAIT: Final = "wait_for_answer"
GET: Final = "get_answer"
WITHDRAW: Final = "withdraw_ask"
ENVELOPE: Final = ("to", "wait_seconds")
"""Arguments of the asking tools that are no part of the form."""
DIALECT_NAMES: Final = {
    ASK_USER: ("ask_user",),
    ASK_USER_QUESTION: ("AskUserQuestion", "ask_user_question"),
}
"""The asking tools, and the names under which each can be switched off (``tools.<name>.enable``)."""

_OBJECT: Final = TypeAdapter(dict[str, JsonValue])
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
}
_ASK_ID: Final[dict[str, JsonValue]] = {
    "type": "string",
    "description": "The ask_id that a pending result named.",
}
_PENDING: Final = (
    f"People may take a while: if the result says pending, call {WAIT} with its ask_id, "
    "and do not ask again."
)


def definitions() -> list[Tool]:
    """All tools."""
    described = {tool.dialect: tool.description for tool in tools.TOOLS}
    return [
        Tool(
            name=ASK_USER,
            title="Ask the user",
            description=f"{described['ask_user']} {_PENDING} Give either questions (typed ones with id, text and "
            "answer_type, or multiple-choice ones with question and options) or one question.",
            input_schema=_asking({**_single(), "questions": _questions()}),
            annotations=ToolAnnotations(open_world_hint=True, destructive_hint=False),
        ),
        Tool(
            name=ASK_USER_QUESTION,
            title="Ask the user multiple-choice questions",
            description=f"{described['claude']} {_PENDING}",
            input_schema=_asking(_properties(tools.CLAUDE), "questions"),
            annotations=ToolAnnotations(open_world_hint=True, destructive_hint=False),
        ),
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


def _single() -> dict[str, JsonValue]:
    """The arguments of a call with one question."""
    return _properties(tools.SINGLE)


def _questions() -> dict[str, JsonValue]:
    """The list of questions in either of its shapes. No top-level alternatives: model APIs refuse those."""
    typed = _OBJECT.validate_python(_properties(tools.ASK_USER)["questions"])
    choices = _OBJECT.validate_python(_properties(tools.ASK_USER_FORM)["questions"])
    return {**typed, "items": {"anyOf": [typed["items"], choices["items"]]}}


def _asking(properties: dict[str, JsonValue], *required: str) -> dict[str, JsonValue]:
    return _schema({**properties, **_ASKING}, *required)


def _schema(properties: dict[str, JsonValue], *required: str) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
