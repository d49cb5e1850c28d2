"""A submission checked as the service checks it, but for what only a service knows: its routes and its surfaces."""

from __future__ import annotations

from typing import Final, NamedTuple

from answerback.core.errors import InvalidCallError
from answerback.core.form import Form
from answerback.dialects.registry import parse_call
from answerback.service.submission_request import Plan, Routes, Submission, plan

_ANYWHERE: Final = "anywhere"
"""The surface that stands for the one where the form is to be asked."""


class ValidatedSubmission(NamedTuple):
    """What can be asked."""

    dialect: str
    form: Form
    planned: Plan


def validate_submission(submission: Submission) -> ValidatedSubmission:
    """What a submission asks, and of whom.

    Raises:
        InvalidCallError: every mistake, those of the call and those beside it.
    """
    anywhere = submission.model_copy(update={"to": _ANYWHERE})
    planned = plan(anywhere, Routes(), frozenset({_ANYWHERE}), None)
    problems = planned if isinstance(planned, tuple) else ()
    try:
        dialect, form = parse_call(submission.name, submission.arguments, submission.dialect)
    except InvalidCallError as error:
        raise InvalidCallError(error.tool, [*error.problems, *problems], error.dialect) from None
    if isinstance(planned, tuple):
        raise InvalidCallError(submission.name, planned, dialect)
    return ValidatedSubmission(dialect, form, planned)
