"""Approval requests of agent frameworks: LangChain, the AI SDK, Pydantic AI and Google ADK."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pydantic import JsonValue

from answerback.core.answers import format_value
from answerback.core.form import MAX_OPTIONS, MAX_QUESTIONS, AnswerType, Question, When
from answerback.dialects import choice_forms
from answerback.dialects.approvals.approval_request import (
    DECISION,
    YES_NO,
    AnswersById,
    ApprovalRequest,
    Editable,
    EditsById,
    Json,
    Variant,
    options,
    others,
    read_tool_name,
    require_object,
    together,
    yes_or_no,
)
from answerback.dialects.approvals.arguments_markdown import parse_json_arguments
from answerback.dialects.call_reader import ArgumentNode

# --- LangChain's human-in-the-loop middleware -----------------------------------------------------

_LANGCHAIN: Final = {
    "approve": "Approve",
    "edit": "Approve with other arguments",
    "respond": "Answer in place of the tool",
    "reject": "Reject",
}
_DEFAULT: Final = ("approve", "reject")
_QUESTIONS_PER_ACTION: Final = 3
"""An action's decision and its follow-up questions."""
_ACTION_FIELDS: Final = (
    *("type", "id", "tool_call_id", "name", "args", "allowed_decisions", "args_schema"),
)
_ANY_OBJECT: Final[Json] = {"type": "object"}
_NO_EDITS: Final[EditsById] = {}


def _read_langchain(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    yield _langchain_request(call, _allowed_decisions(call))


def _langchain_request(
    call: ArgumentNode, offered: Sequence[str], suffix: str = "", said: Json | None = None
) -> ApprovalRequest:
    """Read an action.

    Args:
        said: what is said about all actions in the same call.
        suffix: tells the ids of its questions from those of the other actions in the same call.
    """
    return ApprovalRequest(
        id=f"{DECISION}{suffix}",
        tool=read_tool_name((call, "name")),
        arguments=call.at("args").value,
        compared=(call.at("args"),),
        notes=together(said or {}, action=others(call, *_ACTION_FIELDS)),
        editable=Editable((call.at("args"),), schema=call.at("args_schema").value)
        if "edit" in offered
        else None,
        options=options(**{each: _LANGCHAIN[each] for each in offered}),
        further=tuple(_langchain_follow_ups(call, offered, suffix)),
    )


def _read_langchain_batch(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    """Read all actions of a model's turn. What is allowed is said by the name of the action."""
    allowed: dict[str, Sequence[str]] = {}
    for config in call.items(
        "review_configs", min_items=0, max_items=MAX_OPTIONS, noun="configs", required=False
    ):
        if config.is_object() and (name := config.text("action_name")) is not None:
            allowed[name] = _allowed_decisions(config)
    most = MAX_QUESTIONS // _QUESTIONS_PER_ACTION
    said = others(call, "action_requests", "review_configs")
    actions = call.items("action_requests", min_items=1, max_items=most, noun="actions")
    for i, action in enumerate(actions, 1):
        if action.is_object():
            offered = allowed.get(str(action.at("name").value), _DEFAULT)
            yield _langchain_request(action, offered, f"_{i}", said)


def _allowed_decisions(call: ArgumentNode) -> Sequence[str]:
    """Read the allowed decisions, in our order; approve and reject, if there are none."""
    if not call.has("allowed_decisions"):
        return _DEFAULT
    named: set[JsonValue] = set()
    known = ", ".join(f'"{word}"' for word in _LANGCHAIN)
    for node in call.items(
        "allowed_decisions", min_items=1, max_items=len(_LANGCHAIN), noun="decisions"
    ):
        if isinstance(node.value, str) and node.value in _LANGCHAIN:
            named.add(node.value)
        else:
            message = f"{node.name} is {format_value(node.value)}; it must be one of {known}."
            node.fail("unknown_value", message)
    return [word for word in _LANGCHAIN if word in named]


def _langchain_follow_ups(
    call: ArgumentNode, offered: Sequence[str], suffix: str
) -> list[Question]:
    questions: list[Question] = []
    if "edit" in offered:
        schema: JsonValue = _ANY_OBJECT
        if call.has("args_schema"):
            call.at("args_schema").require_schema()
            schema = call.at("args_schema").value
        args = call.at("args").value
        edit = _follow_up("edit", "args", "With which arguments?", schema, suffix)
        questions.append(edit.with_default({} if args is None else args))
    if "respond" in offered:
        text = "What should the tool return?"
        questions.append(_follow_up("respond", "message", text, suffix=suffix))
    return questions


def _follow_up(
    decision: str, question_id: str, text: str, schema: JsonValue = None, suffix: str = ""
) -> Question:
    """Return a question that is asked only after this decision: for a value that a schema allows, or for a text."""
    question = Question(
        id=f"{question_id}{suffix}",
        text=text,
        answer_type=AnswerType.TEXT if schema is None else AnswerType.SCHEMA,
        when=When(question_id=f"{DECISION}{suffix}", equals=decision),
    )
    return question.model_copy(update={"json_schema": schema})  # it may be nested too deeply


def _langchain_decision(answers: AnswersById, arguments: Json, suffix: str = "") -> JsonValue:
    match answers[f"{DECISION}{suffix}"]:
        case "edit":
            args = answers.get(f"args{suffix}", arguments.get("args"))
            edited: Json = {"name": arguments["name"], "args": {} if args is None else args}
            return {"type": "edit", "edited_action": edited}
        case "respond":
            return {"type": "respond", "message": answers[f"message{suffix}"]}
        case decision:
            return {"type": decision}


def _langchain_edited(
    answers: AnswersById, arguments: Json, edits: EditsById, suffix: str = ""
) -> JsonValue:
    if (args := edits.get(f"{DECISION}{suffix}")) is None:
        return _langchain_decision(answers, arguments, suffix)
    return {"type": "edit", "edited_action": {"name": arguments["name"], "args": args}}


def _langchain_no_decision(_answers: AnswersById, _arguments: Json, reason: str) -> JsonValue:
    return {"type": "reject", "message": reason}


def _langchain_all_edited(answers: AnswersById, arguments: Json, edits: EditsById) -> JsonValue:
    return _langchain_decisions(answers, arguments, edits=edits)


def _langchain_decisions(
    answers: AnswersById, arguments: Json, reason: str | None = None, edits: EditsById = _NO_EDITS
) -> JsonValue:
    """Return a decision for each action.

    Args:
        reason: why some are missing. The first action without a decision is rejected with it, later ones without.
    """
    decisions: list[JsonValue] = []
    listed: Any = arguments["action_requests"]
    for i, action in enumerate(listed, 1):
        if _is_decided(answers, f"_{i}"):
            decisions.append(_langchain_edited(answers, action, edits, f"_{i}"))
        else:
            decisions.append({"type": "reject", **({} if reason is None else {"message": reason})})
            reason = None
    return {"decisions": decisions}


def _langchain_notes(result: Json, notes: AnswersById) -> Json:
    """Only a rejection has a message."""
    return {**result, "message": notes[DECISION]} if result["type"] == "reject" else result


def _langchain_batch_notes(result: Json, notes: AnswersById) -> Json:
    decided: Any = result["decisions"]
    said = [
        {DECISION: notes[key]} if (key := f"{DECISION}_{i}") in notes else None
        for i, _ in enumerate(decided, 1)
    ]
    return {
        "decisions": [
            _langchain_notes(each, note) if note else each
            for each, note in zip(decided, said, strict=True)
        ]
    }


def _is_decided(answers: AnswersById, suffix: str) -> bool:
    """Return True if an action has a decision, with all that the decision needs."""
    decision = answers.get(f"{DECISION}{suffix}")
    more = {"edit": "args", "respond": "message"}.get(str(decision))
    return decision is not None and (more is None or f"{more}{suffix}" in answers)


# --- Vercel's AI SDK ------------------------------------------------------------------------------


_AI_SDK_REQUEST: Final = (
    "type",
    "approvalId",
    "toolCall",
    "toolCallId",
    "isAutomatic",
    "signature",
)
_AI_SDK_TOOL_CALL: Final = (
    *("type", "toolCallId", "toolName", "input", "dynamic", "providerExecuted", "providerMetadata"),
)


def _read_ai_sdk(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    call.label("approvalId")
    tool_call = require_object(call, "toolCall")
    if call.flag("isAutomatic", default=False):
        message = "isAutomatic is true: this is decided already, and nobody need be asked."
        call.fail("unknown_value", message, "isAutomatic")
    yield ApprovalRequest(
        tool=read_tool_name((tool_call, "toolName")),
        arguments=tool_call.at("input").value,
        compared=(tool_call.at("input"),),
        editable=Editable((tool_call.at("input"),)),
        notes=together(
            others(call, *_AI_SDK_REQUEST), toolCall=others(tool_call, *_AI_SDK_TOOL_CALL)
        ),
        options=YES_NO,
    )


def _ai_sdk_edited(_answers: AnswersById, arguments: Json, _edits: EditsById) -> JsonValue:
    """The response has no place for other arguments: the program puts them into the call itself."""
    return _ai_sdk_response(arguments, True)


def _ai_sdk_response(arguments: Json, approved: bool) -> Json:
    kind, approval = "tool-approval-response", arguments["approvalId"]
    return {"type": kind, "approvalId": approval, "approved": approved}


# --- Pydantic AI's deferred tools -----------------------------------------------------------------

_DENIAL_MESSAGE: Final = "The tool call was denied."


_TOOL_CALL_PART: Final = (
    *("tool_name", "tool_call_id", "args", "part_kind", "id", "provider_name", "provider_details"),
)


def _read_pydantic(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    ids: set[str] = set()
    metadata = call.at("metadata")
    for node in call.items("approvals", min_items=1, max_items=MAX_QUESTIONS, noun="approvals"):
        if not node.is_object():
            continue
        call_id = node.label("tool_call_id") or "?"
        choice_forms.require_unique(node, "tool_call_id", call_id, ids)
        yield ApprovalRequest(
            id=call_id,
            tool=read_tool_name((node, "tool_name")),
            arguments=parse_json_arguments(node.at("args").value),
            compared=(node.at("args"), metadata.at(call_id)),
            editable=Editable((node.at("args"),)),
            notes=together(
                # Not by the id of the call, which is another one each time.
                {"metadata": metadata.at(call_id).value} if metadata.has(call_id) else {},
                call=others(call, "approvals", "calls", "metadata"),
                approvals=others(node, *_TOOL_CALL_PART),
            ),
            options=options(approve="Approve", deny="Deny"),
        )


def _pydantic_edited(answers: AnswersById, arguments: Json, edits: EditsById) -> JsonValue:
    return _pydantic_decisions(answers, arguments, edits=edits)


def _pydantic_decisions(
    answers: AnswersById,
    arguments: Json,
    reason: str = _DENIAL_MESSAGE,
    edits: EditsById = _NO_EDITS,
) -> JsonValue:
    """Return a result for each call.

    Args:
        reason: why some have no decision. The first one without is denied with it, later ones without.
    """
    listed: Any = arguments["approvals"]
    results: Json = {}
    for key in (each["tool_call_id"] for each in listed):
        message = _DENIAL_MESSAGE
        if key not in answers:
            message, reason = reason, _DENIAL_MESSAGE
        denied: Json = {"kind": "tool-denied", "message": message}
        approved: Json = {"kind": "tool-approved"}
        if key in edits:
            approved["override_args"] = edits[key]
        results[key] = approved if answers.get(key) == "approve" else denied
    return {"approvals": results}


def _pydantic_notes(result: Json, notes: AnswersById) -> Json:
    """Only a denial has a message."""
    decided: Any = result["approvals"]
    return {
        "approvals": {
            key: {**each, "message": notes[key]}
            if key in notes and each["kind"] == "tool-denied"
            else each
            for key, each in decided.items()
        }
    }


# --- Google ADK -----------------------------------------------------------------------------------


def _read_adk(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    function = require_object(call, "originalFunctionCall")
    confirmation = call.at("toolConfirmation")
    payload = confirmation.at("payload").value
    follow_up = _follow_up("approve", "payload", "With which payload?", {})
    yield ApprovalRequest(
        tool=read_tool_name((function, "name")),
        arguments=function.at("args").value,
        compared=(function.at("args"),),
        notes=together(
            others(call, "originalFunctionCall", "toolConfirmation"),
            originalFunctionCall=others(function, "id", "name", "args"),
            toolConfirmation=others(confirmation, "confirmed"),
        ),
        options=YES_NO,
        further=() if payload is None else (follow_up.with_default(payload),),
    )


def _adk_decision(answers: AnswersById, _arguments: Json) -> JsonValue:
    more: Json = {"payload": answers["payload"]} if "payload" in answers else {}
    return {"confirmed": answers[DECISION] == "approve", **more}


LANGCHAIN: Final = Variant(
    _read_langchain,
    _langchain_decision,
    _langchain_no_decision,
    _langchain_notes,
    _langchain_edited,
)
LANGCHAIN_BATCH: Final = Variant(
    _read_langchain_batch,
    _langchain_decisions,
    _langchain_decisions,
    _langchain_batch_notes,
    _langchain_all_edited,
)
AI_SDK: Final = yes_or_no(_read_ai_sdk, _ai_sdk_response)._replace(render_edited=_ai_sdk_edited)
PYDANTIC_AI: Final = Variant(
    _read_pydantic,
    _pydantic_decisions,
    _pydantic_decisions,
    _pydantic_notes,
    _pydantic_edited,
)
ADK: Final = Variant(_read_adk, _adk_decision, lambda *_: {"confirmed": False})
