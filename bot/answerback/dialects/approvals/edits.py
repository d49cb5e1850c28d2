"""Edits of the calls in permission prompts: which calls people may change, and what a changed one would do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import JsonValue

from answerback.core.answers import Invalid, check_answer
from answerback.core.edited_call import EditableCall, EditedCall, describe_difference
from answerback.core.errors import InvalidCallError, Problem
from answerback.core.form import AnswerType, Form, OptionKind, Question
from answerback.core.json_schema import schemas
from answerback.core.request import Request
from answerback.dialects import registry
from answerback.dialects.approval import VARIANTS
from answerback.dialects.approvals.approval_request import ApprovalRequest, Editable
from answerback.dialects.approvals.arguments_markdown import parse_json_arguments
from answerback.dialects.call_reader import ArgumentNode, ProblemCollector
from answerback_base import json_edits, strict_json

Json = dict[str, JsonValue]
_PLACE: Final = "/edited"
_MAX_CALL: Final = strict_json.MAX_BODY // 2
"""Bytes of an edited call: the rest of the body that it comes in needs room, too."""
_EDIT: Final = "edit"
"""The decision of LangChain that is followed by a question for other arguments."""


def editable_calls(name: str, arguments: Json) -> tuple[EditableCall, ...]:
    """Return the calls in a valid request for permission that its host takes back with other arguments.

    Takes up to half a second for the largest schemas: see `schemas.require_usable`.

    Args:
        arguments: of the request, with numbers that know how the host wrote them.
    """
    return tuple(
        EditableCall(
            question_id=each.id,
            arguments=each.editable.arguments
            if isinstance(each.editable.arguments, str)
            else strict_json.dump_as_written(sent, ensure_ascii=False),
            json_schema=_schema_of(each.editable),
        )
        for each in _requests(name, arguments)
        if each.editable is not None
        and not each.nothing_known
        and isinstance(sent := parse_json_arguments(each.editable.arguments), dict)
    )


def without_edit_questions(form: Form) -> Form:
    """Return a form whose arguments are changed in another way than by a question for them.

    Where approving as it is was not offered, that decision approves, with the arguments as they are or changed.
    """
    questions = [each for each in form.questions if each.when is None or each.when.equals != _EDIT]
    return form.model_copy(update={"questions": tuple(map(_without_edit, questions))})


def _without_edit(question: Question) -> Question:
    edit = question.option(_EDIT)
    if edit is None:
        return question
    once = question.sole_option(OptionKind.ALLOW_ONCE)
    approve = edit.model_copy(update={"label": "Approve", "kind": OptionKind.ALLOW_ONCE})
    others = tuple(each for each in question.options if each is not edit)
    return question.model_copy(update={"options": others if once else (approve, *others)})


def _requests(name: str, arguments: Json) -> Iterator[ApprovalRequest]:
    variant = VARIANTS.get(name)
    if variant is not None and variant.render_edited is not None:
        yield from variant.read(ArgumentNode(arguments, ProblemCollector(arguments, name)))


def _schema_of(editable: Editable) -> JsonValue:
    """Return the schema that edited arguments have to fit; None if there is none that can be checked."""
    schema = editable.schema
    if editable.part is not None:
        text: Json = {editable.part: {"type": "string"}}
        allowed: Json = {"type": "object", "properties": text, "additionalProperties": False}
        return {**allowed, "required": [editable.part]}
    if not isinstance(schema, dict):
        return None
    try:
        schemas.require_usable(schema, schemas.Budget())
    except schemas.InvalidSchemaError:
        return None
    return schema


def read_edit(
    request: Request, call: EditableCall, text: str
) -> EditedCall | tuple[Problem, ...] | None:
    """Read the arguments that a person wants to allow; None if nothing was changed.

    Returns the problems with them, if there are any.
    """
    if len(text.encode("utf-8", "surrogatepass")) > _MAX_CALL:
        return (_problem("too_long", f"The call is too large: {_MAX_CALL} bytes are allowed."),)
    try:
        sent = strict_json.parse(text)
    except strict_json.NotJsonError as error:
        return (_problem("wrong_type", f"edited is not valid JSON: {error}."),)
    if not isinstance(sent, dict):
        return (_problem("wrong_type", "edited must be an object: the whole arguments."),)
    if not strict_json.is_all_encodable(sent):
        return (
            _problem(
                "wrong_type", "edited contains half a surrogate pair, which is not valid text."
            ),
        )
    written = json_edits.merge(call.arguments, text)
    if written == call.arguments:
        return None
    if call.json_schema is not None:
        fits = Question(id="edited", text="", answer_type=AnswerType.SCHEMA)
        checked = check_answer(fits.model_copy(update={"json_schema": call.json_schema}), sent)
        if isinstance(checked, Invalid):
            return checked.at(_PLACE).problems
    return _read_again(request, call, written)


def _read_again(
    request: Request, call: EditableCall, written: str
) -> EditedCall | tuple[Problem, ...]:
    """Read the request with the edited call in it, as if the agent had sent that."""
    edited: Any = strict_json.parse(written)
    arguments = _with_call(request, call.question_id, edited)
    try:
        form = registry.parse_call(request.name, arguments, request.dialect).form
    except InvalidCallError as error:
        return tuple(each.model_copy(update={"pointer": _PLACE}) for each in error.problems)
    question = form.question(call.question_id)
    if question is None or question.nothing_known:
        return (_problem("empty", "Nothing is left in the call that says what would happen."),)
    return EditedCall(
        arguments=written,
        headline=question.text,
        context=question.context,
        difference=describe_difference(call.arguments, written),
    )


def _with_call(request: Request, question_id: str, edited: Json) -> Json:
    """Return the arguments of a request with other ones in place of those of a call in it."""
    found = {each.id: each.editable for each in _requests(request.name, request.arguments)}
    editable = found[question_id]
    assert editable is not None, f"{request.name} takes no other arguments for {question_id}"
    return editable.replaced_in(request.arguments, edited)


def _problem(code: str, message: str) -> Problem:
    return Problem(pointer=_PLACE, code=code, message=message)
