"""An example call of every dialect, and asks made from them, for the tests of the dialects."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.ask import (
    Ask,
    Change,
    Destination,
    Placement,
    Reason,
    Request,
    Status,
    apply_action,
    end_ask,
)
from answerback.core.errors import InvalidCallError
from answerback.core.form import Form, Question
from answerback.core.walker import Person, start
from answerback.dialects import generous_reader, registry

OPTIONS = [{"label": "A", "description": "first"}, {"label": "B", "description": "second"}]
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "ask_user": (
        "ask_user",
        {
            "questions": [
                {"id": "a", "text": "a?", "answer_type": "text"},
                {"id": "b", "text": "b?", "answer_type": "text"},
            ]
        },
    ),
    "single": ("ask_user", {"question": "a?"}),
    "ask_user_form": (
        "ask_user",
        {
            "questions": [
                {"question": "a?", "options": OPTIONS},
                {"question": "b?", "options": OPTIONS},
            ]
        },
    ),
    "claude": (
        "AskUserQuestion",
        {
            "questions": [
                {"question": f"{q}?", "header": q, "options": OPTIONS, "multiSelect": q == "b"}
                for q in "ab"
            ]
        },
    ),
    "question": (
        "question",
        {
            "questions": [
                {"id": q, "prompt": f"{q}?", "options": [{"value": "A", "label": "Ay"}]}
                for q in "ab"
            ]
        },
    ),
    "tool_question": (
        "tool_question",
        {"tool": "git", "question": {"id": "a", "text": "a?", "answer_type": "text"}},
    ),
    "codex": (
        "request_user_input",
        {"questions": [{"id": q, "question": f"{q}?", "options": OPTIONS} for q in "ab"]},
    ),
    "opencode": (
        "question",
        {
            "questions": [
                {"question": f"{q}?", "options": OPTIONS, "multiple": q == "b"} for q in "ab"
            ]
        },
    ),
    "gemini": (
        "ask_user",
        {
            "questions": [
                {"question": "a?", "type": "choice", "options": OPTIONS},
                {"question": "b?", "type": "text"},
            ]
        },
    ),
    "copilot": ("ask_user", {"question": "a?", "choices": ["A", "B"]}),
    "vscode": (
        "vscode_askQuestions",
        {
            "questions": [
                {"header": q, "question": f"{q}?", "options": OPTIONS, "multiSelect": q == "b"}
                for q in "ab"
            ]
        },
    ),
    "cline": ("ask_question", {"question": "a?", "options": ["A", "B"]}),
    "elicitation": (
        "elicitation/create",
        {
            "message": "a?",
            "requestedSchema": {
                "type": "object",
                "properties": {"n": {"type": "integer", "default": 2}},
            },
        },
    ),
    "openclaw": (
        "ask_user",
        {
            "questions": [
                {"id": q, "header": q, "question": f"{q}?", "options": OPTIONS} for q in "ab"
            ]
        },
    ),
    "deepagents": (
        "ask_user",
        {
            "questions": [
                {"question": f"{q}?", "type": "multiple_choice", "choices": [{"value": "A"}]}
                for q in "ab"
            ]
        },
    ),
    "auggie": ("ask-user", {"question": "a?", "suggested_responses": ["A", "B"]}),
    "continue": ("AskQuestion", {"question": "a?", "options": ["A", "B"]}),
    "cursor": (
        "AskQuestion",
        {
            "questions": [
                {"id": q, "prompt": f"{q}?", "options": [{"id": "A", "label": "Ay"}]} for q in "ab"
            ]
        },
    ),
    "hermes": (
        "clarify",
        {"questions": [{"question": f"{q}?", "choices": ["A", "B"]} for q in "ab"]},
    ),
    "droid": (
        "droid.ask_user",
        {
            "questions": [
                {"index": i, "topic": q, "question": f"{q}?", "options": ["A", "B"]}
                for i, q in enumerate("ab", 1)
            ]
        },
    ),
    "approval": (
        "PermissionRequest",
        {"tool_name": "Bash", "tool_input": {"command": "make"}},
    ),
}


def detected_dialect(name: str, arguments: dict[str, Any]) -> str | None:
    """Return the dialect that a call is read in."""
    found = generous_reader.read_call(name, arguments).detected
    return found.dialect if found else None


def make_ask(dialect: str, arguments: dict[str, Any] | None = None) -> Ask:
    """Return an open ask in a dialect, from its example call or from other arguments."""
    name, default = CALLS[dialect]
    arguments = default if arguments is None else arguments
    found, form, *_ = registry.parse_call(name, arguments)
    assert found == dialect
    request = Request(name=name, dialect=dialect, arguments=arguments, form=form)
    return Ask(
        id="ask_1",
        created_at=0,
        updated_at=0,
        request=request,
        placement=Placement(destination=Destination(surface="web"), responders=("anyone",)),
        walk=start(form),
    )


def act(ask: Ask, *actions: Any) -> Ask:
    for action in actions:
        change = apply_action(ask, action, at=1, by=Person(surface="web", user_id="u"))
        assert isinstance(change, Change), change
        ask = change.ask
    return ask


def form(name: str, arguments: dict[str, Any], dialect: str | None = None) -> Form:
    return registry.parse_call(name, arguments, dialect)[1]


def only_question(name: str, question: dict[str, Any]) -> Question:
    """Return the question that a call with only this question is parsed into."""
    (read,) = form(name, {"questions": [question]}).questions
    return read


def ask_from_call(name: str, arguments: dict[str, Any]) -> Ask:
    dialect, read, strict, *_ = registry.parse_call(name, arguments)
    ask = make_ask("single")
    request = Request(name=name, dialect=dialect, arguments=strict, form=read)
    return Ask(**{**vars(ask), "request": request, "walk": start(read)})


def problem_codes(name: str, arguments: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call(name, arguments)
    return [(problem.pointer, problem.code) for problem in refused.value.problems]


def result(ask: Ask) -> tuple[Any, str]:
    found = registry.render_result(ask)
    assert found is not None
    assert not found.is_error
    return found.structured, found.content


def without_answer(ask: Ask, status: Status) -> Ask:
    return end_ask(ask, status, at=1, reason=Reason(status.value)).ask
