"""Asks for tests."""

from __future__ import annotations

import dataclasses
from typing import Any

from answerback.core import walker
from answerback.core.ask import PARTS, Ask, Destination, Request
from answerback.core.form import AnswerType, Form, Option, Question, When

FORM = Form(
    questions=(
        Question(id="apply", text="Apply the migration?", answer_type=AnswerType.BOOLEAN),
        Question(
            id="env",
            text="Which environment?",
            answer_type=AnswerType.SELECT,
            options=(Option(value="staging", label="staging"), Option(value="prod", label="prod")),
            default="staging",
            has_default=True,
            when=When(question_id="apply", equals=True),
        ),
        Question(id="why", text="Why?", answer_type=AnswerType.TEXT),
    )
)


def new_ask(
    number: int | str = 1,
    *,
    to: Destination | None = None,
    at: float = 1_000.0,
    form: Form = FORM,
    request: dict[str, Any] | None = None,
    **fields: Any,
) -> Ask:
    """Return an open ask at its first question, by default in ``#C1`` on Slack."""
    sent: dict[str, Any] = {
        "name": "ask_user",
        "dialect": "ask_user",
        "arguments": {"questions": []},
        "repaired": ("/questions",),
        "sent": {"questions": "[]"},
    }
    values: dict[str, Any] = {
        "id": f"ask_{number}",
        "created_at": at,
        "updated_at": at,
        "request": Request(form=form, **(sent | (request or {}))),
        "destination": to or Destination(surface="slack", channel="C1"),
        "responders": ("U1", "@S9"),
        "walk": walker.start(form),
    }
    return build_ask(values | fields)


def build_ask(values: dict[str, Any]) -> Ask:
    """Return an ask with these values of its own and of its parts, such as its placement."""
    own = dict(values)
    for part, kind in PARTS.items():
        names = [each.name for each in dataclasses.fields(kind)]
        own.setdefault(part, kind(**{name: own.pop(name) for name in names if name in own}))
    return Ask(**own)


def with_values(ask: Ask, **values: Any) -> Ask:
    """Return an ask with other values of its own and of its parts."""
    own = vars(ask) | values
    for part, kind in PARTS.items():
        names = [each.name for each in dataclasses.fields(kind)]
        changed = {name: own.pop(name) for name in names if name in own}
        own[part] = dataclasses.replace(own[part], **changed)
    return Ask(**own)
