"""The form in which people change a call before they allow it: an input for each argument, or all as JSON. Pure.

What a person leaves as it is is sent as its host wrote it, so that a number keeps its digits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from answerback.core.errors import Problem
from answerback_base import strict_json

JSON: Final = "edited"
"""The name of the input that has all arguments as JSON; those of single arguments are ``e0``, ``e1``, …"""
SEEN: Final = "edit_seen"
"""The name of the field with the digest of what the person has read the difference of."""
_FLAGS: Final = ("true", "false")
Entered = Mapping[str, tuple[str, ...]]
"""The fields of a form post."""


@dataclass(frozen=True, slots=True)
class EditInput:
    """The input of an argument."""

    id: str
    name: str
    text: str
    """The text that it starts with."""
    is_json: bool = False
    """True if the text is JSON rather than the argument's own text."""
    choices: tuple[str, ...] = ()
    """The values to choose from; empty: it is typed."""


def edit_inputs(written: str) -> tuple[EditInput, ...]:
    """Return the inputs of a call's arguments."""
    return tuple(
        _input(f"e{i}", name, value) for i, (name, value) in enumerate(_members(written).items())
    )


def _members(written: str) -> dict[str, str]:
    return {name: value.strip() for name, value in strict_json.members(written).items()}


def _input(input_id: str, name: str, written: str) -> EditInput:
    value = json.loads(written)
    if isinstance(value, bool):
        return EditInput(input_id, name, written, is_json=True, choices=_FLAGS)
    if isinstance(value, str) and _is_typable(value):
        return EditInput(input_id, name, value)
    return EditInput(input_id, name, written, is_json=True)


def _is_typable(text: str) -> bool:
    """Return True if a browser's text area gives a text back as it was: it changes CR, and cannot hold other
    controls."""
    return strict_json.is_encodable(text) and not any(
        each < " " and each not in "\n\t" for each in text
    )


def is_input(input_id: str) -> bool:
    """Return True for the id of an argument's input."""
    return input_id[:1] == "e" and input_id[1:].isdecimal()


def is_entered(entered: Entered) -> bool:
    """Return True if a post comes from a page with these inputs."""
    return JSON in entered or "e0" in entered


def as_entered(entered: Entered, written: str) -> tuple[EditInput, ...]:
    """Return the inputs with what a person entered in them."""
    return tuple(replace(each, text=_entered(entered, each)) for each in edit_inputs(written))


def _entered(entered: Entered, field: EditInput) -> str:
    return entered.get(field.id, (field.text,))[0]


def changed_texts(entered: Entered, written: str) -> tuple[str, ...]:
    """Return what a person entered in place of what the inputs started with."""
    if JSON in entered:
        [text, *_] = entered[JSON]
        return () if text == written else (text,)
    now = {each.id: each.text for each in as_entered(entered, written)}
    return tuple(now[each.id] for each in edit_inputs(written) if now[each.id] != each.text)


def read_edit_form(entered: Entered, written: str) -> str | tuple[Problem, ...]:
    """Return the arguments that a post has, as JSON; or what is wrong with them, by input.

    Args:
        written: the arguments that the inputs started with.
    """
    if JSON in entered:
        return entered[JSON][0]
    texts: list[str] = []
    problems: list[Problem] = []
    members = _members(written)
    for each in edit_inputs(written):
        text = _entered(entered, each)
        if text == each.text:
            texts.append(f"{json.dumps(each.name)}: {members[each.name]}")
            continue
        value = text if each.is_json else json.dumps(text, ensure_ascii=False)
        try:
            strict_json.parse(value)
        except strict_json.NotJsonError as error:
            message = f"{each.name} is not valid JSON: {error}."
            problems.append(Problem(pointer=f"/{each.id}", code="wrong_type", message=message))
        texts.append(f"{json.dumps(each.name)}: {value}")
    return tuple(problems) or f"{{{', '.join(texts)}}}"
