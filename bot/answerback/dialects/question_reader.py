"""Read a typed question: the format and the rules shared by `ask_user`, `single` and `tool_question`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pydantic import JsonValue

from answerback.core.answers import Invalid, check_answer, format_value
from answerback.core.form import MAX_LABEL, AnswerType, Option, Persistence, Question, When
from answerback.core.json_schema.schemas import violations
from answerback.dialects import choice_forms
from answerback.dialects.call_reader import ArgumentNode
from answerback_base import strict_json

OPTIONS: Final[dict[str, tuple[str, ...]]] = {"options": ()}
"""Options are strings."""
FIELDS: Final = ("context", "answer_type", "options", "schema", "default")
_TYPES: Final = tuple(kind.value for kind in AnswerType)
_MAX_IDS: Final = 20
"""Earlier ids listed in the message about an unknown one."""


_REQUIRED_FIELDS: Final = {
    AnswerType.SELECT: "options",
    AnswerType.MULTI_SELECT: "options",
    AnswerType.SCHEMA: "schema",
}
_YIELDS: Final = {
    AnswerType.BOOLEAN: "it yields true or false",
    AnswerType.TEXT: "it yields a string",
    AnswerType.SELECT: "it yields the value of one option",
    AnswerType.MULTI_SELECT: "it yields an array of option values in option order",
    AnswerType.SCHEMA: "its schema does not allow it",
}
NON_SCHEMA_TYPES: Final = tuple(kind for kind in AnswerType if kind != AnswerType.SCHEMA)
"""The answer types of the dialects without schemas."""


def read_question(
    node: ArgumentNode,
    *,
    id: str | None,
    text: str | None,
    types: Collection[str] = _TYPES,
    default_type: AnswerType | None = None,
    earlier: dict[str, Question | None] | None = None,
    exclusive: bool = True,
    persistence: Persistence = Persistence.NONE,
) -> Question | None:
    """Read a typed question, or return None if problems with it were recorded.

    Args:
        id: the question's id, already read; None if it was invalid.
        text: its text, likewise.
        types: the answer types of the dialect.
        default_type: the answer type if the call gives none; None: the call must give one.
        earlier: the earlier questions by id, for its condition; None for an invalid one, against which it is not
            checked. Without it, the dialect has no conditions.
    """
    when = _when(node, earlier) if earlier is not None and node.has("when") else None
    before = node.problems.count
    context = node.text("context", required=False, blank=True)
    type_name = node.choice("answer_type", types, default_type.value if default_type else None)
    kind = AnswerType(type_name) if type_name is not None else None
    required = _REQUIRED_FIELDS.get(kind) if kind is not None else None
    options = _options(node, kind) if node.has("options") or required == "options" else ()
    schema = _schema(node, kind) if node.has("schema") or required == "schema" else None
    invalid = node.problems.count > before
    if kind is None or (invalid and required is not None):
        return None
    question = Question(
        id=id or "?",
        text=text or "?",
        context=context or None,
        answer_type=kind,
        options=options,
        json_schema=schema,
        when=when,
        exclusive=exclusive,
        persistence=persistence,
    )
    if isinstance(node.value, dict) and "default" in node.value:
        question = _with_default(node, question)
    return None if id is None or text is None or node.problems.count > before else question


def _when(node: ArgumentNode, earlier: dict[str, Question | None]) -> When | None:
    when = node.at("when")
    if not when.is_object(("question_id", "equals")):
        return None
    question_id = when.text("question_id", max_chars=MAX_LABEL)
    if not isinstance(when.value, dict) or "equals" not in when.value:
        when.fail(
            "required",
            f"{when.name}.equals is missing: it must be the expected answer, or null for skipped.",
            "equals",
        )
        return None
    if question_id is None:
        return None
    if question_id not in earlier:
        ids = _ids(earlier)
        message = f'{when.name} refers to "{question_id}", which is not an earlier question; earlier ids: {ids}.'
        when.fail("forward_reference", message, "question_id")
        return None
    question = earlier[question_id]
    equals = when.value["equals"]
    if question is not None and not _can_be(question, equals):
        value = format_value(equals)
        message = f'{when.name}.equals is {value}, which "{question_id}" can never be{_yield_hint(question)}.'
        when.fail("unsatisfiable_when", message, "equals")
        return None
    return When(question_id=question_id, equals=equals)


def _ids(earlier: Collection[str]) -> str:
    """List the ids of earlier questions; if there are many, the last ones."""
    shown = [f'"{i}"' if len(i) <= 80 else format_value(i) for i in list(earlier)[-_MAX_IDS:]]
    more = len(earlier) - len(shown)
    return (f"{more} more, " if more else "") + ", ".join(shown) or "none"


def _options(node: ArgumentNode, kind: AnswerType | None) -> tuple[Option, ...]:
    child = node.at("options")
    if kind is not None and _REQUIRED_FIELDS.get(kind) != "options":
        child.fail(
            "options_forbidden",
            f"{child.name} is for the answer_type select or multi_select only; this is {kind}.",
        )
        return ()
    if not child.value:
        if kind is not None:
            child.fail(
                "options_required",
                f"{child.name} is missing or empty: {kind} needs at least one option.",
            )
        return ()
    return choice_forms.read_plain_options(node, "options")


def _schema(node: ArgumentNode, kind: AnswerType | None) -> JsonValue:
    child = node.at("schema")
    if kind != AnswerType.SCHEMA:
        if kind is not None:
            child.fail(
                "schema_forbidden",
                f'{child.name} is for answer_type "schema" only; this is {kind}.',
            )
        return None
    if child.value is None:
        child.fail(
            "schema_required", f'{child.name} is missing: answer_type "schema" needs a JSON Schema.'
        )
        return None
    child.require_schema()
    return child.value


def _with_default(node: ArgumentNode, question: Question) -> Question:
    child = node.at("default")
    schema = question.answer_type is AnswerType.SCHEMA
    if child.value is None and not schema:
        return question
    if schema:
        return _with_schema_default(child, question)
    checked = check_answer(question, child.value)
    if isinstance(checked, Invalid):
        first = checked.problems[0]
        code = "default_not_in_options" if first.code == "unknown_value" else "default_type"
        child.fail(code, f"{child.name} does not fit the question: {first.message}")
        return question
    return question.with_default(checked.value)


def _with_schema_default(child: ArgumentNode, question: Question) -> Question:
    """Return the question with what its editor starts from, which may be incomplete but not of a wrong type.

    Null is not given, as in any field, unless the schema allows it.
    """
    if not strict_json.is_all_encodable(child.value):
        message = f"{child.name} contains half a surrogate pair, which is not valid text."
        child.fail("default_type", message)
        return question
    problems = violations(question.json_schema, child.value)
    if child.value is None and problems:
        return question
    if wrong := next((each for each in problems if each.code == "wrong_type"), None):
        message = f"{child.name} does not fit the question: {wrong.message}"
        path = wrong.pointer.split("/")[1:]
        child.fail(
            "default_type", message, *(int(part) if part.isdecimal() else part for part in path)
        )
    return question.with_default(child.value)


def _can_be(question: Question, value: JsonValue) -> bool:
    if value is None and question.when is not None:
        return True
    checked = check_answer(question, value)
    # A multi-select yields its values in option order only.
    return not isinstance(checked, Invalid) and checked.value == value


def _yield_hint(question: Question) -> str:
    never_skipped = "" if question.when else ", and is never skipped"
    return f"; {_YIELDS[question.answer_type]}{never_skipped}"
