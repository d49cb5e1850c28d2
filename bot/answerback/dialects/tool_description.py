"""The description of a tool for a model: its purpose, when to use it, its result, and how to recommend an answer."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.dialects.dialect import Tool

_WHEN: Final = (
    "Ask when a decision is the user's to make, when you lack a fact that only they know and that would "
    "change what you do, or before something that cannot be undone. Do not ask for what you can find out "
    "yourself, to confirm what you were already told to do, or just to report; put related questions "
    "into one call. Never ask for passwords, tokens or other secrets: the answers are stored "
    "and shown in a chat. The user may also reply with a message instead of answering, or end the turn. "
    "What they write in their own words overrides the options."
)


BY_DEFAULT: Final = (
    'make it the default; among options, put it first, where it may end with "(Recommended)".'
)
FIRST: Final = 'put it first and end its label with "(Recommended)".'
REPLIED: Final = (
    'If the user replies instead: {"cancelled": true, "answered": {…}, "reply": "their message"}.'
)
ONE: Final = "Ask the user one question and wait for the answer."
SEVERAL: Final = "Ask the user questions and wait for the answers."
CHOICES: Final = "Ask the user multiple-choice questions and wait for the answers."


def described_tool(
    dialect: str,
    name: str,
    parameters: dict[str, JsonValue],
    purpose: str,
    result: str,
    *,
    recommend: str = FIRST,
    title: str = "Ask the user",
    shape: str = "",
) -> Tool:
    """Return a tool that is described by its purpose, when to use it, its result, and how to recommend an answer."""
    description = f"{purpose} {_WHEN} Returns {result} To recommend an answer, {recommend}"
    return Tool(dialect, name, title, description, parameters, shape)
