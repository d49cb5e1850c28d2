"""The client's errors, and how responses are read: with the standard library only, for programs that start fast."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias

Json = dict[str, Any]

MAX_RESPONSE: Final = 4 * 2**20
"""Bytes of a response: a form of the largest size that the service accepts stays far below."""
_MAX_EXPLANATION: Final = 2_000
"""Characters of a refusal that are passed on."""


class ClientError(Exception):
    """The base class of this client's errors."""


class ForeignServiceError(ClientError):
    """The program that answered is not the service, or does not know the token, which was not sent then."""


class UnreachableError(ClientError):
    """The service cannot be reached, or only answers with server errors (5xx). Existing asks are not affected."""

    may_have_acted = False
    """True if the service may have done what the call asks for, because the response to one of the tries was lost."""


class UnsentError(UnreachableError):
    """The request was not sent: nothing listens, or the listener did not prove that it knows the token."""


def reason_of(error: BaseException) -> str:
    """Return why a connection failed, for people, as the end of a sentence without the addresses and calls in the
    error."""
    if isinstance(error, TimeoutError):
        return "the request timed out"
    cause = getattr(error, "os_error", error)
    number = getattr(cause, "errno", None)
    if isinstance(number, int) and number > 0:  # resolvers' errors have a negative number, or none
        return os.strerror(number)
    return str(getattr(cause, "strerror", None) or cause)


class RefusedError(ClientError):
    """The service refused the call. ``status`` is the HTTP status, ``problem`` the whole problem document."""

    def __init__(self, status: int, problem: Json) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or f"HTTP {status}"))
        self.status = status
        self.problem = problem

    @property
    def explanation(self) -> str:
        """The words for a model, or for the person who reads a program's log."""
        result = self.problem.get("tool_result")
        if isinstance(result, dict) and isinstance(content := result.get("content"), str):
            return content[:_MAX_EXPLANATION]
        title, detail = self.problem.get("title"), self.problem.get("detail")
        said = f"{title}. {detail or ''}".strip() if title else str(self)
        return said[:_MAX_EXPLANATION]


class UnauthorizedError(RefusedError):
    """The token is missing, unknown, or does not allow this call (401, 403)."""


class NotFoundError(RefusedError):
    """The ask does not exist, or belongs to another agent (404)."""


class TooManyAsksError(RefusedError):
    """The agent has reached one of its limits; it may try again after ``retry_after`` seconds."""

    retry_after = 0.0


Refusals: TypeAlias = Mapping[int, type[RefusedError]]
REFUSALS: Final[dict[int, type[RefusedError]]] = {
    401: UnauthorizedError,
    403: UnauthorizedError,
    404: NotFoundError,
    429: TooManyAsksError,
}
"""Statuses that have errors of their own."""


def parse_body(url: str, raw: bytes, status: int = HTTPStatus.OK) -> Json:
    """Return a JSON object.

    Args:
        url: the address of the service, for errors.
        status: of its response.

    Raises:
        ForeignServiceError: it is none, so this is not Answerback.
    """
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict):
        return body
    message = f"The server at {url} is not Answerback (HTTP {status:d}, no JSON object)."
    raise ForeignServiceError(message)


def check_response(
    url: str, status: int, raw: bytes, retry_after: str | None, refusals: Refusals = REFUSALS
) -> None:
    """Raise an error if a response reports one.

    Args:
        url: the address of the service, for errors.
        raw: the response's body.
        retry_after: its header of this name.
        refusals: the statuses that have errors of their own.

    Raises:
        RefusedError: the service refused the call; one of its subclasses.
        UnreachableError: the service cannot answer now.
        ForeignServiceError: it is not Answerback.
    """
    if status < HTTPStatus.BAD_REQUEST:
        return
    try:
        body = parse_body(url, raw, status)
    except ForeignServiceError as error:
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UnreachableError(f"{url} answered HTTP {status}.") from error
        raise
    # 501 does not pass: the service lacks a part.
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.NOT_IMPLEMENTED:
        raise UnreachableError(f"{url} answered HTTP {status}.")
    # A 409 without an ask has another cause, such as erasing an ask that is still open.
    is_specific = status != HTTPStatus.CONFLICT or "revision" in body
    refusal = (refusals.get(status, RefusedError) if is_specific else RefusedError)(status, body)
    if isinstance(refusal, TooManyAsksError):
        refusal.retry_after = float(retry_after) if retry_after and retry_after.isdecimal() else 0.0
    raise refusal
