"""Questions that the contract tests ask, and a surface's default labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.form import AnswerType, Option, OptionKind, Question
from answerback.core.labels import Labels

LABELS = Labels()
GO = Question(id="go", text="Apply the migration?", answer_type=AnswerType.BOOLEAN)
AGAIN = Question(id="again", text="To the replicas too?", answer_type=AnswerType.BOOLEAN)
WHY = Question(id="why", text="Why so?", answer_type=AnswerType.TEXT)
WHERE = Question(
    id="where",
    text="Where to?",
    answer_type=AnswerType.SELECT,
    options=tuple(Option(value=v, label=label) for v, label in (("s", "staging"), ("p", "prod"))),
)
ALLOW = Option(value="allow", label="Allow once", kind=OptionKind.ALLOW_ONCE)
DENY = Option(value="deny", label="Deny", kind=OptionKind.DENY)

WHICH = Question(
    id="which",
    text="Which ones?",
    answer_type=AnswerType.MULTI_SELECT,
    options=tuple(Option(value=v, label=v.upper()) for v in "abc"),
)

NUMBERED = Question(
    id="numbered",
    text="How many?",
    answer_type=AnswerType.SELECT,
    options=tuple(Option(value=v, label=v) for v in ("2", "4", "8")),
)
"""Options whose names are numbers, some of them those of other positions."""

QUOTED = Question(
    id="quoted",
    text="Where do we meet?",
    answer_type=AnswerType.SELECT,
    options=tuple(
        Option(value=v, label=label)
        for v, label in (("c", "caf\u00e9"), ("d", "Don't know"), ("r", "ＲＯＯＭ 2"))
    ),
    other=True,
)
"""Options that people type with other characters than the agent did."""

TYPED_ANSWERS: Final[Sequence[tuple[Question, str, JsonValue]]] = (
    (WHERE, "Prod", "p"),
    (WHERE, "1", "s"),
    (WHERE, "２", "p"),
    (WHERE, "2\ufe0f\u20e3", "p"),
    (WHERE, "#2", "p"),
    (WHERE, "٢", "p"),
    (WHERE, "二", "p"),
    (WHERE, "\u2067staging\u2069", "s"),
    (QUOTED, "cafe\u0301", "c"),
    (QUOTED, "DON’T  KNOW", "d"),
    (QUOTED, "room 2", "r"),
    (NUMBERED, "8", "8"),
    (NUMBERED, "３", "8"),
    (NUMBERED, "1", "2"),
    (WHICH, "b, 1", ["a", "b"]),
    (WHICH, "1，3", ["a", "c"]),
    (WHICH, "1、3", ["a", "c"]),
    (WHICH, "A، c", ["a", "c"]),
    (WHICH, "a; C；", ["a", "c"]),
)
"""Texts that people type at a question, each with the answer that it is, wherever they type it."""
