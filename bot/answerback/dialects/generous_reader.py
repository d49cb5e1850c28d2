"""Read a tool call generously, where only one reading is possible, and detect its dialect: the first rule that matches.

Models send the JSON of an array in a string, an object in place of a list of one, strings in place of options, and
flags and numbers as strings. Here such a call gets its strict form. Anything ambiguous stays as it is, and so does
every value: a ``default``, the ``equals`` of a ``when``, a JSON Schema, the arguments of a tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.json_schema import schemas
from answerback.dialects.dialect import CallRule, Json, first_question, present_fields
from answerback.dialects.installed import call_rules
from answerback_base import strict_json

FLAGS: Final = frozenset(
    {
        "allowFreeform", "allowFreeformInput", "allowMultiple", "allowOther", "allow_multiple", "background", "custom",
        "exclusive", "hideOther", "isOther", "isSecret", "is_multi_select", "multiSelect", "multi_select", "multiple",
        "recommended", "required", "runAsync", "run_async",
    }
)  # fmt: skip
"""The flags of calls, in any dialect: of the call, of a question or of an option."""
NUMBERS: Final = frozenset({"index", "max", "min", "step"})
"""The numbers of questions, in any dialect."""
_TEXTS: Final = ("question", "text", "prompt", "title")
"""The fields in which a question has its text; what has none of them is not a question."""
_LABEL: Final = "label"
_SUGGESTIONS: Final = "follow_up"
_OF_CALL: Final = frozenset({"background", "message", "metadata", "runAsync", "run_async"})
"""Fields of a whole call in dialects that list their questions."""
_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?", re.ASCII)
_BOOLEANS: Final = {"true": True, "false": False}
_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class DetectedDialect:
    dialect: str
    rule: CallRule
    by_shape: bool
    """True if the call has a known shape, or its name has only one dialect."""


class GenerousReading(NamedTuple):
    """A call in its strict form."""

    arguments: dict[str, JsonValue]
    detected: DetectedDialect | None
    """Its dialect; None for one that was given, or an unknown name."""
    repaired: tuple[str, ...]
    """JSON pointers to the parts that were sent in another form, in document order."""


def read_call(
    name: str, arguments: dict[str, JsonValue], override: str | None = None
) -> GenerousReading:
    """Return a call's arguments in their strict form.

    Args:
        override: the dialect to read the call in, regardless of its name.
    """
    rule = None if override is None else _rule_for(override, name)
    if override is None:
        is_bare = _is_one_of_a_list(name, arguments)
    else:
        is_bare = rule is not None and rule.lists and _is_bare_question(arguments)
    sent, arguments = arguments, _listed(arguments) if is_bare else arguments
    detected = None
    if override is None:
        listed = _as_list(arguments.get("questions"), _is_question)
        if isinstance(listed, list):
            listed = [_as_question(item) for item in listed]
        detected = detect(name, {**arguments, "questions": listed})
        rule = detected.rule if detected else None
    reader = _Reader(
        rule or CallRule((), options={}), [] if arguments is sent else [("questions",)]
    )
    strict = reader.read_fields(arguments, ())
    if reader.repaired and override is None:
        detected = detect(name, strict)
    repaired = tuple(schemas.json_pointer([*path]) for path in reader.repaired)
    return GenerousReading(strict, detected, repaired)


def _is_bare_question(arguments: Json) -> bool:
    return arguments.get("questions") is None and _is_question({**arguments})


def _is_one_of_a_list(name: str, arguments: Json) -> bool:
    """Return True if a call is itself a question of a dialect whose calls list them."""
    found = detect(name, arguments) if _is_bare_question(arguments) else None
    if found is None or found.rule.lists:
        return found is not None
    # Of the dialects that share a name, only those whose calls list questions have ids beside texts.
    if not present_fields(arguments) >= {"id", "text"}:
        return False
    listed = detect(name, _listed(arguments))
    return listed is not None and listed.rule.shape is not None


def _listed(arguments: Json) -> dict[str, JsonValue]:
    """Return a call with itself as the only one of its questions, and what is said of the whole call beside it."""
    of_call = {key: each for key, each in arguments.items() if key in _OF_CALL}
    question = {key: each for key, each in arguments.items() if key not in {*_OF_CALL, "questions"}}
    return {**of_call, "questions": [question]}


def detect(name: str, arguments: Json) -> DetectedDialect | None:
    """Return the dialect of a call, or None for an unknown name."""
    rules = [(dialect, rule) for dialect, rule in call_rules() if name in rule.names]
    fields, first = present_fields(arguments), present_fields(first_question(arguments))
    for dialect, rule in rules:
        if rule.shape is not None and rule.shape.matches(arguments, fields, first):
            return DetectedDialect(dialect, rule, by_shape=True)
    if not rules:
        return None
    dialect, rule = rules[-1]
    only_one = len({dialect for dialect, _ in rules}) == 1
    return DetectedDialect(dialect, rule, by_shape=only_one)


def _rule_for(dialect: str, name: str) -> CallRule | None:
    """Return how calls of a given dialect are read: as with this name, else as with another; None if it is unknown."""
    rules = [rule for each, rule in call_rules() if each == dialect]
    return next((rule for rule in rules if name in rule.names), next(iter(rules), None))


def read_flag(value: JsonValue) -> JsonValue:
    """Return a boolean that was written as a string; anything else unchanged."""
    return _BOOLEANS.get(value.strip().lower(), value) if isinstance(value, str) else value


def read_number(value: JsonValue) -> JsonValue:
    """Return a number that was written as a string; anything else unchanged."""
    is_number = isinstance(value, str) and _NUMBER.fullmatch(value)
    return json.loads(value) if isinstance(value, str) and is_number else value


@dataclass(slots=True)
class _Reader:
    """Rewrites a call that a rule describes, and notes where."""

    rule: CallRule
    repaired: list[_Path] = field(default_factory=list)

    def read_fields(self, fields: Json, path: _Path) -> dict[str, JsonValue]:
        """Return a call, a question or an option with its fields in their strict forms."""
        return {key: self._read_field(key, value, (*path, key)) for key, value in fields.items()}

    def _read_field(self, key: str, value: JsonValue, path: _Path) -> JsonValue:
        in_call = len(path) == 1
        if key in FLAGS:
            return self._note(path, value, read_flag(value))
        if key in self.rule.options:
            return self._read_options(value, path, self.rule.options[key])
        if in_call and key == "questions":
            return self._read_questions(value, path)
        if in_call and key == self.rule.question:
            return self._read_question(value, path)
        if not in_call and key in NUMBERS:
            return self._note(path, value, read_number(value))
        if not in_call and key == "when":
            return self._note(path, value, _as_object(value, ("question_id", "equals")))
        return value

    def _read_questions(self, value: JsonValue, path: _Path) -> JsonValue:
        listed = self._note(path, value, _as_list(value, _is_question))
        if not isinstance(listed, list):
            return listed
        return [self._read_question(item, (*path, i)) for i, item in enumerate(listed)]

    def _read_question(self, value: JsonValue, path: _Path) -> JsonValue:
        question = self._note(path, value, _as_question(value))
        return self.read_fields(question, path) if isinstance(question, dict) else question

    def _read_options(self, value: JsonValue, path: _Path, labels: tuple[str, ...]) -> JsonValue:
        """Return options as a list of objects or, if ``labels`` is empty, of strings."""
        read = _as_list(value, lambda item: _is_option(item, labels))
        if path[-1] == _SUGGESTIONS:
            read = _without_keys(read)
        listed = self._note(path, value, read)
        if not isinstance(listed, list):
            return listed
        return [self._read_option(item, (*path, i), labels) for i, item in enumerate(listed)]

    def _read_option(self, value: JsonValue, path: _Path, labels: tuple[str, ...]) -> JsonValue:
        option = self._note(path, value, _as_option(value, labels))
        if not isinstance(option, dict):
            return option
        return {
            key: self._note((*path, key), each, read_flag(each)) if key in FLAGS else each
            for key, each in option.items()
        }

    def _note(self, path: _Path, sent: JsonValue, read: JsonValue) -> JsonValue:
        """Note a part whose strict form is another value, and return that form."""
        if read is not sent:
            self.repaired.append(path)
        return read


def _parse(value: JsonValue) -> JsonValue:
    """Return the array or object whose JSON a string holds; anything else unchanged."""
    if not isinstance(value, str) or not strict_json.may_be_container(value):
        return value
    try:
        return strict_json.parse(value)
    except strict_json.NotJsonError:
        return value


def _as_list(value: JsonValue, is_item: Callable[[JsonValue], bool]) -> JsonValue:
    """Return a list of which the JSON or the only item was sent; anything else unchanged."""
    parsed = _parse(value)
    if isinstance(parsed, list):
        return parsed
    return [parsed] if isinstance(parsed, dict) and is_item(parsed) else value


def _without_keys(value: JsonValue) -> JsonValue:
    """Return the suggestions of an object that names or numbers them, or names their list; else the value itself."""
    parsed = _parse(value)
    parts = [*parsed.values()] if isinstance(parsed, dict) else []
    if len(parts) == 1 and isinstance(parts[0], list):
        return parts[0]
    are_texts = all(isinstance(each, str) and each.strip() for each in parts)
    are_objects = all(isinstance(each, dict) and _is_option(each, ("text",)) for each in parts)
    return parts if parts and (are_texts or are_objects) else value


def _as_object(value: JsonValue, fields: Collection[str]) -> JsonValue:
    """Return an object with these fields of which the JSON was sent; anything else unchanged."""
    parsed = _parse(value)
    return parsed if isinstance(parsed, dict) and parsed.keys() >= {*fields} else value


def _is_question(value: JsonValue) -> bool:
    if isinstance(value, dict):
        for field in _TEXTS:
            if value.get(field) is not None:
                return True
    return False


def _as_question(value: JsonValue) -> JsonValue:
    parsed = _parse(value)
    return parsed if parsed is not value and _is_question(parsed) else value


def _is_option(value: JsonValue, labels: tuple[str, ...]) -> bool:
    if labels:
        return present_fields(value).issuperset(labels)
    return present_fields(value) == {_LABEL}


def _as_option(value: JsonValue, labels: tuple[str, ...]) -> JsonValue:
    """Return an option as an object with its label in these fields or, if there are none, as a string."""
    if not labels:
        label = value.get(_LABEL) if isinstance(value, dict) else None
        is_plain = _is_option(value, labels) or (
            isinstance(value, dict)
            and present_fields(value) == {"value", _LABEL}
            and value["value"] == label
        )
        return label if is_plain and isinstance(label, str) else value
    if not isinstance(value, str):
        return value
    parsed = _parse(value)
    return parsed if _is_option(parsed, labels) else dict.fromkeys(labels, value)
