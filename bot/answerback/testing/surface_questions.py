"""Questions that the contract tests ask, and a surface's default labels."""

from __future__ import annotations

from answerback.core.form import AnswerType, Option, Question
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

WHICH = Question(
    id="which",
    text="Which ones?",
    answer_type=AnswerType.MULTI_SELECT,
    options=tuple(Option(value=v, label=v.upper()) for v in "abc"),
)
