"""A cursor over a tool call's arguments that notes every mistake and goes on.

Owns the words and codes for mistakes of shape; what a question means is `answerback.dialects.question_reader`'.
Reading never raises: a part that cannot be read is None, and the problem is noted.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue

from answerback.core.answers import format_value
from answerback.core.errors import Problem
from answerback.core.form import MAX_LABEL, MAX_TEXT
from answerback.core.json_schema import schemas

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
"""Mistakes of one call that are told one by one; of more the number is told."""
_ALIKE: Final = 0.7
"""How alike a word has to be to be suggested, as difflib counts: a slip of the pen, not another word."""
_LONGEST: Final = 60
"""Characters of a word that are compared."""
_MOST_UNKNOWN: Final = 100
"""Unknown fields of one object that are named, each with what is known; of more the number is told."""


def did_you_mean(word: str, known: Collection[str], alike: float = _ALIKE) -> str:
    """A suggestion within a message: the known word that is nearest to one that is not; empty where none is near."""
    near = difflib.get_close_matches(word[:_LONGEST], known, n=1, cutoff=alike)
    return f' (did you mean "{near[0]}"?)' if near else ""


@dataclass(slots=True)
class ProblemCollector:
    """The mistakes found in one call's arguments."""

    arguments: JsonValue
    tool: str = ""
    """The name that the tool was called by."""
    found: list[Problem] = field(default_factory=list)
    budget: schemas.Budget = field(default_factory=schemas.Budget)
    """What the schemas of the call have taken so far."""
    unlisted: int = 0

    @property
    def count(self) -> int:
        """How many mistakes there are so far."""
        return len(self.found) + self.unlisted

    def note(self, problem: Problem) -> None:
        """Notes one more mistake."""
        if len(self.found) < MAX_LISTED_PROBLEMS:
            self.found.append(problem)
        else:
            self.unlisted += 1

    def in_document_order(self) -> tuple[Problem, ...]:
        """All of them, in the order in which a reader of the arguments comes upon them."""
        places: dict[int, dict[str, int]] = {}
        listed = sorted(self.found, key=lambda found: self._place(found.pointer, places))
        if self.unlisted:
            message = f"There are {self.unlisted} more mistakes: fix these first."
            listed.append(Problem(pointer="", code="too_many", message=message))
        return tuple(listed)

    def _place(self, pointer: str, places: dict[int, dict[str, int]]) -> tuple[int, ...]:
        """The position of each part of a pointer in its object or array; a missing key comes last."""
        place = []
        node = self.arguments
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict):
                if id(node) not in places:
                    places[id(node)] = {name: i for i, name in enumerate(node)}
                place.append(places[id(node)].get(key, len(node)))
                node = node.get(key)
            elif isinstance(node, list):
                place.append(int(key))
                node = node[int(key)] if int(key) < len(node) else None
        return tuple(place)


@dataclass(frozen=True, slots=True)
class ArgumentNode:
    """A part of the arguments and where it is."""

    value: JsonValue
    problems: ProblemCollector
    path: tuple[str | int, ...] = ()

    @property
    def tool(self) -> str:
        """The name that the tool was called by."""
        return self.problems.tool

    @property
    def name(self) -> str:
        """The part as a person writes it: ``questions[1].when``."""
        name = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in self.path)
        return name.lstrip(".") or "The arguments"

    def fail(self, code: str, message: str, *below: str | int) -> None:
        """Notes a mistake here, or at a place below."""
        path = schemas.json_pointer([*self.path, *below])
        self.problems.note(Problem(pointer=path, code=code, message=message))

    def at(self, key: str | int) -> ArgumentNode:
        """The part below, null where there is none."""
        value: JsonValue = None
        if isinstance(self.value, dict) and isinstance(key, str):
            value = self.value.get(key)
        elif isinstance(self.value, list) and isinstance(key, int):
            value = self.value[key]
        return ArgumentNode(value, self.problems, (*self.path, key))

    def has(self, key: str) -> bool:
        """Whether there is such a part and it is not null (models send null for "not given")."""
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def is_object(self, known: Collection[str] | None = None) -> bool:
        """Whether this is an object; with ``known``, keys that are not known are mistakes unless they are null."""
        if not isinstance(self.value, dict):
            self.wrong_type("an object")
            return False
        unknown = 0
        for key in self.value:
            if not schemas.is_encodable(key):
                self.fail(
                    "wrong_type",
                    f"{self.name} has a key with half a surrogate pair, which is no text.",
                )
            elif known is not None and key not in known and self.value[key] is not None:
                unknown += 1
                if unknown <= _MOST_UNKNOWN:
                    meant, allowed = did_you_mean(key, known), ", ".join(sorted(known))
                    message = (
                        f'{self._owner}has no field "{key[:100]}"{meant}; it may have: {allowed}.'
                    )
                    self.fail("unknown_value", message, key)
        if unknown > _MOST_UNKNOWN:
            more = f"{self._owner}has {unknown - _MOST_UNKNOWN} more fields that it may not have."
            self.fail("unknown_value", more)
        return True

    def wrong_type(self, wanted: str) -> None:
        """Notes that this is not what it must be."""
        actual = _JSON_NAMES[type(self.value)]
        self.fail("wrong_type", f"{self.name} must be {wanted}, not {actual}.")

    def text(
        self, key: str, *, most: int = MAX_TEXT, required: bool = True, blank: bool = False
    ) -> str | None:
        """A string below that is not blank; None, and a problem noted, where it is not one."""
        child = self.at(key)
        if not self.has(key):
            if required:
                child.fail("required", f"{child.name} is missing: it must be a string.")
            return None
        return child.string(most=most, blank=blank)

    def string(self, *, most: int, blank: bool = False) -> str | None:
        """This as a string of at most ``most`` characters."""
        if not isinstance(self.value, str):
            self.wrong_type("a string")
        elif not schemas.is_encodable(self.value):
            self.fail("wrong_type", f"{self.name} holds half a surrogate pair, which is no text.")
        elif not blank and not self.value.strip():
            self.fail("empty", f"{self.name} must not be blank.")
        elif len(self.value) > most:
            self.fail(
                "too_long", f"{self.name} has {len(self.value)} characters; {most} are allowed."
            )
        else:
            return self.value
        return None

    def require_schema(self) -> None:
        """Notes why this cannot be used as a JSON Schema, where it cannot."""
        try:
            schemas.require_usable(self.value, self.problems.budget)
        except schemas.SchemaTooLargeError as error:
            self.fail("too_long", f"{self.name} is too large: {error}.")
        except schemas.InvalidSchemaError as error:
            self.fail("invalid_schema", f"{self.name} cannot be used as a JSON Schema: {error}.")

    def label(self, key: str, *, required: bool = True, blank: bool = False) -> str | None:
        """A string below, as long as a label may be."""
        return self.text(key, most=MAX_LABEL, required=required, blank=blank)

    def flag(self, key: str, *, default: bool) -> bool:
        """A boolean below."""
        child = self.at(key)
        if not self.has(key):
            return default
        if not isinstance(child.value, bool):
            child.wrong_type("true or false")
            return default
        return child.value

    def choice(self, key: str, known: Collection[str], default: str | None = None) -> str | None:
        """One of some known words below."""
        child = self.at(key)
        allowed = ", ".join(f'"{word}"' for word in known)
        if not self.has(key):
            if default is None:
                child.fail("required", f"{child.name} is missing: it must be one of {allowed}.")
            return default
        if not isinstance(child.value, str):
            child.wrong_type(f"one of {allowed}")
        elif child.value not in known:
            child.fail(
                "unknown_value",
                f"{child.name} is {format_value(child.value)}; it must be one of {allowed}.",
            )
        else:
            return child.value
        return None

    def items(
        self, key: str, *, least: int, most: int, of: str, required: bool = True
    ) -> list[ArgumentNode]:
        """The parts of an array below; empty where it is none. Too few or too many are noted."""
        child = self.at(key)
        if not self.has(key):
            if not required:
                return []
            child.fail("required", f"{child.name} is missing: it must be an array of {of}.")
            return []
        if not isinstance(child.value, list):
            child.wrong_type(f"an array of {of}")
            return []
        count = len(child.value)
        if count < least:
            child.fail("too_few", f"{child.name} has {count} {of}; at least {least} must be given.")
        if count > most:
            child.fail("too_many", f"{child.name} has {count} {of}; at most {most} are allowed.")
            return []
        return [child.at(i) for i in range(count)]

    @property
    def _owner(self) -> str:
        return f"{self.name} " if self.path else "The call "
