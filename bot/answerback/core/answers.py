"""Does this value answer this question? Typed checks and JSON equality; pure."""

from __future__ import annotations

import json
from typing import Final, NamedTuple, assert_never

from pydantic import JsonValue

from answerback.core.errors import Problem
from answerback.core.form import AnswerType, Question
from answerback.core.json_schema import schemas

_MAX_VIOLATIONS: Final = 20
_MAX_SHOWN: Final = 10


class Accepted(NamedTuple):
    """The value answers the question; ``value`` is its normal form (a multi-select in option order)."""

    value: JsonValue
    note: str | None = None
    """What stands beside the value."""

    def at(self, _pointer: str) -> Accepted:
        """The same: it points nowhere."""
        return self


class Invalid(NamedTuple):
    """The value does not answer the question; pointers are into the value."""

    problems: tuple[Problem, ...]

    def at(self, pointer: str) -> Invalid:
        """The same problems where the value stands at ``pointer``."""
        return Invalid(
            tuple(p.model_copy(update={"pointer": pointer + p.pointer}) for p in self.problems)
        )


def json_equal(a: JsonValue, b: JsonValue) -> bool:
    """JSON equality by type: true, 1 and "true" differ, 1 and 1.0 are the same number, arrays compare in order."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(json_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(json_equal(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


def check_answer(question: Question, value: JsonValue) -> Accepted | Invalid:
    """Decides whether ``value`` answers ``question``."""
    match question.answer_type:
        case AnswerType.BOOLEAN:
            return Accepted(value) if isinstance(value, bool) else _wrong("true or false", value)
        case AnswerType.TEXT:
            return _check_text(value)
        case AnswerType.SELECT:
            return _check_select(question, value)
        case AnswerType.MULTI_SELECT:
            return _check_multi_select(question, value)
        case AnswerType.SCHEMA:
            value = (
                _without_nulls(question.json_schema, value) if question.null_is_left_out else value
            )
            found = schemas.violations(question.json_schema, value)
            return Invalid(found) if found else Accepted(value)
        case _:
            assert_never(question.answer_type)


def _without_nulls(schema: JsonValue, value: JsonValue) -> JsonValue:
    """An object without the fields that are null and that the schema does not require."""
    if not isinstance(schema, dict) or not isinstance(value, dict):
        return value
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return {key: each for key, each in value.items() if each is not None or key in needed}


def check_other(question: Question, text: str, selected: JsonValue) -> Accepted | Invalid:
    """Decides whether ``text`` can answer as "Something else…", with what is ``selected`` beside it (None: nothing).

    Where the result can hold both, the words become one more row behind the selected options; else they replace them.
    The pointers are into the action: ``/text`` and ``/value``.
    """
    if not question.other:
        message = "This question takes one of its options only, no other text."
        return _unfit("unknown_value", message).at("/action")
    words = check_text(text).at("/text")
    if isinstance(words, Invalid):
        return words
    if question.answer_type is not AnswerType.MULTI_SELECT:
        if selected is None:
            return words
        message = "A single choice takes one option or words of one's own, not both."
        return _unfit("unknown_value", message).at("/value")
    chosen = _check_multi_select(question, [] if selected is None else selected).at("/value")
    if isinstance(chosen, Invalid) or not question.other_beside:
        return chosen if isinstance(chosen, Invalid) else words
    rows = chosen.value if isinstance(chosen.value, list) else []
    return Accepted([*rows, text])


def check_with_note(question: Question, value: JsonValue, note: str | None) -> Accepted | Invalid:
    """Decides whether ``value`` answers ``question``, and whether ``note`` may stand beside it; a blank one is none.

    The pointers are into the action: ``/value`` and ``/note``.
    """
    checked = check_answer(question, value).at("/value")
    if note is None or isinstance(checked, Invalid):
        return checked
    if not question.notes:
        message = "This question takes an answer only, no note beside it."
        return _unfit("unknown_value", message).at("/note")
    read = _check_text(note).at("/note")
    return (
        read
        if isinstance(read, Invalid)
        else Accepted(checked.value, note if note.strip() else None)
    )


def check_text(text: str) -> Accepted | Invalid:
    """Decides whether ``text`` can stand for "Something else…" or a reply: any text that is not blank."""
    if not text.strip():
        return _unfit(
            "empty",
            "Something else needs words: the text is blank. Type an answer, or choose an option.",
        )
    return _check_text(text)


def format_value(value: JsonValue) -> str:
    """A value in a message: JSON, shortened."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 80 else text[:77] + "…"


def _check_text(value: JsonValue) -> Accepted | Invalid:
    if not isinstance(value, str):
        return _wrong("a string", value)
    if not schemas.is_encodable(value):
        return _unfit("wrong_type", "The text holds half a surrogate pair, which is no text.")
    return Accepted(value)


def _check_select(question: Question, value: JsonValue) -> Accepted | Invalid:
    if not isinstance(value, str):
        return _wrong("the value of one option, a string", value)
    if question.option(value) is None:
        return _unfit(
            "unknown_value", f"{format_value(value)} is not an option; {_offered(question)}."
        )
    return Accepted(value)


def _check_multi_select(question: Question, value: JsonValue) -> Accepted | Invalid:
    if not isinstance(value, list):
        return _wrong("an array of option values", value)
    problems: list[Problem] = []
    chosen: set[str] = set()
    known = {option.value for option in question.options}
    for i, item in enumerate(value):
        if len(problems) == _MAX_VIOLATIONS:
            break
        if not isinstance(item, str):
            problems.append(
                _at(
                    i,
                    "wrong_type",
                    f"{format_value(item)} is not the value of an option, a string.",
                )
            )
        elif item not in known:
            problems.append(
                _at(
                    i,
                    "unknown_value",
                    f"{format_value(item)} is not an option; {_offered(question)}.",
                )
            )
        elif item in chosen:
            problems.append(_at(i, "duplicate_option", f"{format_value(item)} is chosen twice."))
        else:
            chosen.add(item)
    if problems:
        return Invalid(tuple(problems))
    return Accepted([option.value for option in question.options if option.value in chosen])


def _offered(question: Question) -> str:
    values = [format_value(option.value) for option in question.options[:_MAX_SHOWN]]
    more = len(question.options) - len(values)
    return "choose one of " + ", ".join(values) + (f" or {more} more" if more else "")


def _wrong(wanted: str, value: JsonValue) -> Invalid:
    return _unfit("wrong_type", f"{format_value(value)} is not {wanted}.")


def _unfit(code: str, message: str) -> Invalid:
    return Invalid((Problem(pointer="", code=code, message=message),))


def _at(index: int, code: str, message: str) -> Problem:
    return Problem(pointer=f"/{index}", code=code, message=message)
