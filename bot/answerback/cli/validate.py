"""Checks a submission like the service does, except for what only a service knows: its routes and surfaces."""

from __future__ import annotations

from typing import Final

from answerback.core.errors import InvalidCallError
from answerback.dialects.registry import ParsedCall, parse_call
from answerback.service.submission_plan import Plan, plan
from answerback.service.submission_request import Routes, Submission

_ANYWHERE: Final = "anywhere"
"""A placeholder for the surface that the form will be asked on."""


def validate_submission(submission: Submission) -> tuple[ParsedCall, Plan]:
    """Validate a submission.

    Raises:
        InvalidCallError: with every error, in the call and in its envelope.
    """
    anywhere = submission.model_copy(update={"to": _ANYWHERE})
    planned = plan(anywhere, Routes(), frozenset({_ANYWHERE}), None)
    problems = planned if isinstance(planned, tuple) else ()
    try:
        call = parse_call(submission.name, submission.arguments, submission.dialect)
    except InvalidCallError as error:
        raise InvalidCallError(error.tool, [*error.problems, *problems], error.dialect) from None
    if isinstance(planned, tuple):
        raise InvalidCallError(submission.name, planned, call.dialect)
    return call, planned
