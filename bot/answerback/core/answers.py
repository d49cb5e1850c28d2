"""Check whether a value answers a question: typed checks and JSON equality. Pure."""

from __future__ import annotations

import json
from typing import Final, NamedTuple, assert_never

from pydantic import JsonValue

from answerback.core import refusals
from answerback.core.errors import Problem
from answerback.core.form import AnswerType, Question
from answerback.core.json_schema import schemas
from answerback.core.typed_text import is_blank
from answerback_base import strict_json

_MAX_VIOLATIONS: Final = 20
_MAX_SHOWN: Final = 10


class Accepted(NamedTuple):
    """A value that answers the question, normalised (a multi-select in option order)."""

    value: JsonValue
    note: str | None = None
    """The note given along with the value."""
    own_text: bool = False
    """True if the value is, or ends in, "Something else…" text."""

    def at(self, _pointer: str) -> Accepted:
        """Return itself: an accepted value has no pointers."""
        return self


class Invalid(NamedTuple):
    """A value that does not answer the question; the problems' pointers are into the value."""

    problems: tuple[Problem, ...]

    def at(self, pointer: str) -> Invalid:
        """Return the same problems for a value located at ``pointer``."""
        return Invalid(
            tuple(p.model_copy(update={"pointer": pointer + p.pointer}) for p in self.problems)
        )


def check_answer(question: Question, value: JsonValue) -> Accepted | Invalid:
    """Return the value as it is stored, or every problem with it."""
    match question.answer_type:
        case AnswerType.BOOLEAN:
            return (
                Accepted(value) if isinstance(value, bool) else _wrong_type("true or false", value)
            )
        case AnswerType.TEXT:
            return _check_string(value)
        case AnswerType.SELECT:
            return _check_select(question, value)
        case AnswerType.MULTI_SELECT:
            return _check_multi_select(question, value)
        case AnswerType.SCHEMA:
            value = (
                _without_nulls(question.json_schema, value) if question.null_is_left_out else value
            )
            violations = schemas.violations(question.json_schema, value)
            return Invalid(violations) if violations else Accepted(value)
        case _:
            assert_never(question.answer_type)


def _without_nulls(schema: JsonValue, value: JsonValue) -> JsonValue:
    """Return an object without its null fields, except for those that the schema requires."""
    if not isinstance(schema, dict) or not isinstance(value, dict):
        return value
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return {key: each for key, each in value.items() if each is not None or key in needed}


def check_other(question: Question, text: str, selected: JsonValue) -> Accepted | Invalid:
    """Check whether ``text`` is a valid "Something else…" answer along with the options ``selected`` (None: none).

    If the result can hold both, the text is appended to the selected options; otherwise it replaces them. Text that is
    one of the selected options adds nothing to them.
    The pointers are into the action: ``/text`` and ``/value``.
    """
    if not question.other:
        return Invalid((refusals.TAKES_NO_OTHER_TEXT.problem(),))
    checked = check_text(text).at("/text")
    if isinstance(checked, Invalid):
        return checked
    if question.answer_type is not AnswerType.MULTI_SELECT:
        if selected is None:
            return Accepted(text, own_text=True)
        return Invalid((refusals.OPTION_OR_TEXT.problem(),))
    chosen = _check_multi_select(question, [] if selected is None else selected).at("/value")
    if isinstance(chosen, Invalid) or not question.other_beside:
        return chosen if isinstance(chosen, Invalid) else Accepted(text, own_text=True)
    rows = chosen.value if isinstance(chosen.value, list) else []
    return chosen if text.strip() in rows else Accepted([*rows, text], own_text=True)


def check_with_note(question: Question, value: JsonValue, note: str | None) -> Accepted | Invalid:
    """Check whether ``value`` answers ``question`` and may carry ``note``; a blank note counts as none.

    The pointers are into the action: ``/value`` and ``/note``.
    """
    checked = check_answer(question, value).at("/value")
    if note is None or isinstance(checked, Invalid):
        return checked
    if not question.notes:
        return Invalid((refusals.TAKES_NO_NOTE.problem(),))
    checked_note = _check_string(note).at("/note")
    return (
        checked_note
        if isinstance(checked_note, Invalid)
        else Accepted(checked.value, None if is_blank(note) else note)
    )


def check_text(text: str, most: int | None = None) -> Accepted | Invalid:
    """Check what is written freely, such as "Something else…" or a Reply: any text that is not blank.

    Args:
        most: the characters that are allowed; None: any number.
    """
    if is_blank(text):
        return _invalid("empty", "The text is blank. Type something first.")
    checked = _check_string(text)
    if isinstance(checked, Accepted) and most is not None and len(text) > most:
        return _invalid("too_long", f"The text has {len(text)} characters; {most} are allowed.")
    return checked


def format_value(value: JsonValue) -> str:
    """Format a value for a message, as shortened JSON."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 80 else text[:77] + "…"


def _check_string(value: JsonValue) -> Accepted | Invalid:
    if not isinstance(value, str):
        return _wrong_type("a string", value)
    if not strict_json.is_encodable(value):
        return _invalid(
            "wrong_type", "The text contains half a surrogate pair, which is not valid text."
        )
    return Accepted(value)


def _check_select(question: Question, value: JsonValue) -> Accepted | Invalid:
    if not isinstance(value, str):
        return _wrong_type("the value of one option, a string", value)
    if question.option(value) is None:
        return _invalid(
            "unknown_value", f"{format_value(value)} is not an option; {_choices_hint(question)}."
        )
    return Accepted(value)


def _check_multi_select(question: Question, value: JsonValue) -> Accepted | Invalid:
    if not isinstance(value, list):
        return _wrong_type("an array of option values", value)
    problems: list[Problem] = []
    chosen: set[str] = set()
    known = {option.value for option in question.options}
    for i, item in enumerate(value):
        if len(problems) == _MAX_VIOLATIONS:
            break
        if not isinstance(item, str):
            code, wrong = "wrong_type", "is not the value of an option, a string"
        elif item not in known:
            code, wrong = "unknown_value", f"is not an option; {_choices_hint(question)}"
        elif item in chosen:
            code, wrong = "duplicate_option", "is chosen twice"
        else:
            chosen.add(item)
            continue
        message = f"{format_value(item)} {wrong}."
        problems.append(Problem(pointer=f"/{i}", code=code, message=message))
    if problems:
        return Invalid(tuple(problems))
    return Accepted([option.value for option in question.options if option.value in chosen])


def _choices_hint(question: Question) -> str:
    values = [format_value(option.value) for option in question.options[:_MAX_SHOWN]]
    more = len(question.options) - len(values)
    return "choose one of " + ", ".join(values) + (f" or {more} more" if more else "")


def _wrong_type(expected: str, value: JsonValue) -> Invalid:
    return _invalid("wrong_type", f"{format_value(value)} is not {expected}.")


def _invalid(code: str, message: str) -> Invalid:
    return Invalid((Problem(pointer="", code=code, message=message),))
