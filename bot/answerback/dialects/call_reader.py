"""A cursor over a tool call's arguments that records every problem and continues, and the form that was read.

Defines the messages and codes for structural problems; the rules of questions are in
`answerback.dialects.question_reader`. Reading never raises: a part that cannot be read becomes None, and the problem
is recorded.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import JsonValue

from answerback.core.answers import format_value
from answerback.core.errors import Problem
from answerback.core.form import MAX_LABEL, MAX_TEXT, AnswerType, Form, Question
from answerback.core.json_schema import schemas
from answerback_base import strict_json

_JSON_NAMES: Final = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}

MAX_LISTED_PROBLEMS: Final = 1_000
"""Problems listed individually per call; any more are only counted."""
_MIN_SIMILARITY: Final = 0.7
"""The difflib similarity from which a word is suggested: enough for a typing error, but not for another word."""
_SYNONYMS: Final = {
    "text": ("question", "prompt"),
    "question": ("text", "prompt"),
    "prompt": ("question", "text"),
    "choices": ("options",),
    "type": ("answer_type",),
}
"""The names that the dialects have for the same field. As words they are unlike each other, and like others."""
_MAX_COMPARED: Final = 60
"""Characters of a word that are compared."""
_MAX_UNKNOWN_FIELDS: Final = 100
"""Unknown fields of one object listed individually, each with the allowed fields; any more are only counted."""
_RECOMMENDED: Final = "(recommended)"


def did_you_mean(word: str, known: Collection[str], min_similarity: float = _MIN_SIMILARITY) -> str:
    """Return a suggestion for a message: the known word closest to an unknown one; empty if none is close."""
    if synonym := next((each for each in _SYNONYMS.get(word, ()) if each in known), None):
        return f' (did you mean "{synonym}"?)'
    closest = difflib.get_close_matches(word[:_MAX_COMPARED], known, n=1, cutoff=min_similarity)
    return f' (did you mean "{closest[0]}"?)' if closest else ""


@dataclass(slots=True)
class ProblemCollector:
    """Collects the problems in one call's arguments."""

    arguments: JsonValue
    tool: str = ""
    """The name that the tool was called by."""
    found: list[Problem] = field(default_factory=list)
    budget: schemas.Budget = field(default_factory=schemas.Budget)
    """The running totals of the call's schemas."""
    count: int = 0
    """The number of problems so far."""
    encodable: bool = field(init=False)
    """True if all of the arguments are valid text: then no part of them has to be checked."""

    def __post_init__(self) -> None:
        self.encodable = strict_json.is_all_encodable(self.arguments)

    def add(self, problem: Problem) -> None:
        self.count += 1
        if self.count <= MAX_LISTED_PROBLEMS:
            self.found.append(problem)

    def in_document_order(self) -> tuple[Problem, ...]:
        """Return all problems in the order of the arguments."""
        key_positions: dict[int, dict[str, int]] = {}
        listed = sorted(self.found, key=lambda found: self._position(found.pointer, key_positions))
        if unlisted := self.count - len(self.found):
            message = f"There are {unlisted} more problems: fix these first."
            listed.append(Problem(pointer="", code="too_many", message=message))
        return tuple(listed)

    def _position(self, pointer: str, key_positions: dict[int, dict[str, int]]) -> tuple[int, ...]:
        """Return the index of each part of a pointer within its object or array; a missing key comes last."""
        position = []
        node = self.arguments
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict):
                if id(node) not in key_positions:
                    key_positions[id(node)] = {name: i for i, name in enumerate(node)}
                position.append(key_positions[id(node)].get(key, len(node)))
                node = node.get(key)
            elif isinstance(node, list):
                position.append(int(key))
                node = node[int(key)] if int(key) < len(node) else None
        return tuple(position)


@dataclass(frozen=True, slots=True)
class ArgumentNode:
    """A part of the arguments and its path."""

    value: JsonValue
    problems: ProblemCollector
    path: tuple[str | int, ...] = ()

    @property
    def tool(self) -> str:
        return self.problems.tool

    @property
    def name(self) -> str:
        """The path as people write it: ``questions[1].when``."""
        name = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in self.path)
        return name.lstrip(".") or "The arguments"

    def fail(self, code: str, message: str, *below: str | int) -> None:
        """Record a problem with this part, or with the one at a path below."""
        path = schemas.json_pointer([*self.path, *below])
        self.problems.add(Problem(pointer=path, code=code, message=message))

    def already_used(self, value: str, *, code: str) -> None:
        """Record that this has the value of an earlier one."""
        shown = format_value(value)
        self.fail(code, f"{self.name} {shown} is already used; each must be different.")

    def at(self, key: str | int) -> ArgumentNode:
        """Return the child with this key or index; its value is null if it is missing."""
        value: JsonValue = None
        if isinstance(key, str):
            if isinstance(self.value, dict):
                value = self.value.get(key)
        elif isinstance(self.value, list):
            value = self.value[key]
        return ArgumentNode(value, self.problems, (*self.path, key))

    def has(self, key: str) -> bool:
        """Return whether this key is present and not null (models send null for "not given")."""
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def is_object(self, known: Collection[str] | None = None) -> bool:
        """Check that this is an object; with ``known``, unknown keys are problems unless they are null."""
        if not isinstance(self.value, dict):
            self.wrong_type("an object")
            return False
        unknown = 0
        for key in self.value:
            if not (self.problems.encodable or strict_json.is_encodable(key)):
                self.fail(
                    "wrong_type",
                    f"{self.name} has a key with half a surrogate pair, which is not valid text.",
                )
            elif known is not None and key not in known and self.value[key] is not None:
                unknown += 1
                if unknown <= _MAX_UNKNOWN_FIELDS:
                    meant, allowed = did_you_mean(key, known), ", ".join(sorted(known))
                    message = f'{self._owner}has an unknown field "{key[:100]}"{meant}; allowed are: {allowed}.'
                    self.fail("unknown_value", message, key)
        if unknown > _MAX_UNKNOWN_FIELDS:
            more = f"{self._owner}has {unknown - _MAX_UNKNOWN_FIELDS} more unknown fields."
            self.fail("unknown_value", more)
        return True

    def wrong_type(self, expected: str) -> None:
        actual = _JSON_NAMES[type(self.value)]
        self.fail("wrong_type", f"{self.name} must be {expected}, not {actual}.")

    def text(
        self, key: str, *, max_chars: int = MAX_TEXT, required: bool = True, blank: bool = False
    ) -> str | None:
        """Read a child that is a string, by default not blank; otherwise return None and record a problem."""
        child = self.at(key)
        if child.value is None:
            if required:
                child.fail("required", f"{child.name} is missing: it must be a string.")
            return None
        return child.string(max_chars=max_chars, blank=blank)

    def string(self, *, max_chars: int, blank: bool = False) -> str | None:
        """Read this as a string of at most ``max_chars`` characters."""
        if not isinstance(self.value, str):
            self.wrong_type("a string")
        elif not (self.problems.encodable or strict_json.is_encodable(self.value)):
            self.fail(
                "wrong_type",
                f"{self.name} contains half a surrogate pair, which is not valid text.",
            )
        elif not blank and not self.value.strip():
            self.fail("empty", f"{self.name} must not be blank.")
        elif len(self.value) > max_chars:
            self.fail(
                "too_long",
                f"{self.name} has {len(self.value)} characters; {max_chars} are allowed.",
            )
        else:
            return self.value
        return None

    def require_schema(self) -> None:
        """Record a problem if this cannot be used as a JSON Schema."""
        try:
            schemas.require_usable(self.value, self.problems.budget)
        except schemas.SchemaTooLargeError as error:
            self.fail("too_long", f"{self.name} is too large: {error}.")
        except schemas.InvalidSchemaError as error:
            self.fail("invalid_schema", f"{self.name} cannot be used as a JSON Schema: {error}.")

    def label(self, key: str, *, required: bool = True, blank: bool = False) -> str | None:
        """Read a child that is a string, no longer than a label."""
        return self.text(key, max_chars=MAX_LABEL, required=required, blank=blank)

    def number(self, key: str) -> int | float | None:
        """Read a child that is a number; None if it is missing."""
        value = self.at(key).value
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.at(key).wrong_type("a number")
            return None
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        child = self.at(key)
        if child.value is None:
            return default
        if not isinstance(child.value, bool):
            child.wrong_type("true or false")
            return default
        return child.value

    def choice(self, key: str, known: Collection[str], default: str | None = None) -> str | None:
        """Read a child that is one of the known words."""
        child = self.at(key)
        if child.value is None and default is not None:
            return default
        if isinstance(child.value, str) and child.value in known:
            return child.value
        allowed = ", ".join(f'"{word}"' for word in known)
        if child.value is None:
            child.fail("required", f"{child.name} is missing: it must be one of {allowed}.")
        elif not isinstance(child.value, str):
            child.wrong_type(f"one of {allowed}")
        else:
            child.fail(
                "unknown_value",
                f"{child.name} is {format_value(child.value)}; it must be one of {allowed}.",
            )
        return None

    def items(
        self, key: str, *, min_items: int, max_items: int, noun: str, required: bool = True
    ) -> list[ArgumentNode]:
        """Read the items of a child that is an array; empty if it is not one. Record too few or too many items."""
        child = self.at(key)
        if child.value is None:
            if not required:
                return []
            child.fail("required", f"{child.name} is missing: it must be an array of {noun}.")
            return []
        if not isinstance(child.value, list):
            child.wrong_type(f"an array of {noun}")
            return []
        count = len(child.value)
        if count < min_items:
            child.fail(
                "too_few", f"{child.name} has {count} {noun}; at least {min_items} are required."
            )
        if count > max_items:
            child.fail(
                "too_many", f"{child.name} has {count} {noun}; at most {max_items} are allowed."
            )
            return []
        return [child.at(i) for i in range(count)]

    @property
    def _owner(self) -> str:
        return f"{self.name} " if self.path else "The call "


def form_of(call: ArgumentNode, *questions: Question | None, **more: Any) -> Form | None:
    """Return the form of a call with these questions, or None if problems were recorded."""
    valid = tuple(_with_recommended_default(each) for each in questions if each is not None)
    is_whole = len(valid) == len(questions) and not call.problems.found
    return Form(questions=valid, **more) if is_whole else None


def _with_recommended_default(question: Question) -> Question:
    """Return a single choice with its first option labelled "… (Recommended)", if any, as the default that it lacks."""
    if question.answer_type is AnswerType.SELECT and not question.has_default:
        for option in question.options:
            if option.label.casefold().endswith(_RECOMMENDED) and option.kind is None:
                return question.with_default(option.value)
    return question
