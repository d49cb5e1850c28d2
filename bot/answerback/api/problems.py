"""Errors as RFC 9457 problem documents, and the middleware that no exception gets past.

A problem never contains an answer, a token or a stack trace: unexpected errors are logged here with
the ask's id, and reported in one sentence.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from http import HTTPStatus
from typing import Final, NamedTuple, TypeVar

from aiohttp import web
from pydantic import JsonValue

from answerback.api.auth import CHALLENGE
from answerback.core.errors import (
    CommitUnknownError,
    DeclinedCallError,
    InvalidCallError,
    ProblemError,
    StoreError,
    TooManyFilesError,
    UnreadableRowError,
)
from answerback.dialects.registry import render_refusal
from answerback.http.request_body import CONTENT_CODINGS
from answerback.service.json_bodies import dump_json

PROBLEM_JSON: Final = "application/problem+json"

logger = logging.getLogger(__name__)

T = TypeVar("T")


class ProblemDocument(NamedTuple):
    status: int
    body: dict[str, JsonValue]
    headers: Mapping[str, str] | None = None

    def response(self) -> web.Response:
        body = dump_json(self.body)
        return web.Response(
            status=self.status, body=body, content_type=PROBLEM_JSON, headers=self.headers
        )


def problem_document(
    status: int,
    title: str,
    detail: str | None = None,
    *,
    more: Mapping[str, JsonValue] | None = None,
    headers: Mapping[str, str] | None = None,
) -> ProblemDocument:
    """Build a problem document; ``more`` holds members beyond the standard ones."""
    body: dict[str, JsonValue] = {"type": "about:blank", "title": title, "status": status}
    if detail is not None:
        body["detail"] = detail
    return ProblemDocument(status, {**body, **(more or {})}, headers)


def _callers_error(error: ProblemError) -> ProblemDocument:
    """The problem document for a caller's error; an invalid call includes the tool result for its model."""
    more = dict(error.more)
    if error.problems:
        more["errors"] = [problem.model_dump() for problem in error.problems]
    if isinstance(error, InvalidCallError):
        more["tool_result"] = render_refusal(error).model_dump()
    headers = CHALLENGE if error.status == HTTPStatus.UNAUTHORIZED else None
    if isinstance(error, DeclinedCallError) and error.retry_after is not None:
        headers = {"Retry-After": f"{error.retry_after:.0f}"}
    if isinstance(error, TooManyFilesError):
        headers = {"Retry-After": f"{error.retry_after}"}
    return problem_document(error.status, error.title, error.detail, more=more, headers=headers)


def refuse_unsupported(request: web.BaseRequest) -> web.Response | None:
    """Refuse a request with an unsupported Content-Encoding or Expect, whatever its route."""
    coding = request.headers.get("Content-Encoding", "").strip().lower()
    if coding not in {"", "identity", *CONTENT_CODINGS}:
        detail = f"Content-Encoding {coding[:40]!a} is not supported; send gzip, deflate, or the body unencoded."
        headers = {"Accept-Encoding": ", ".join(CONTENT_CODINGS)}
        unknown = problem_document(415, "Unknown Content-Encoding", detail, headers=headers)
        return unknown.response()
    if request.headers.get("Expect", "100-continue").lower() != "100-continue":
        detail = "The only supported Expect is 100-continue."
        return problem_document(417, "Expectation failed", detail).response()
    return None


def problem_response(request: web.Request, error: Exception) -> web.Response:
    """Turn an exception that was just caught into a problem document, or end the connection if the response has begun.

    It awaits no handler, since each waiting agent would hold one frame more.
    """
    match error:
        case web.HTTPException():
            if error.status < HTTPStatus.BAD_REQUEST:
                raise error
            problem = _http_problem(request, error)
        case ProblemError():
            problem = _callers_error(error)
        case StoreError():
            logger.exception("the database failed", extra=_log_fields(request))
            problem = _store_problem(error)
        case _:  # logged, and reported without details
            logger.exception("a request failed", extra=_log_fields(request))
            problem = _internal_problem()
    if request.writer.output_size > 0:
        raise ConnectionAbortedError("A client would read the problem as a part of the response")
    return problem.response()


async def result_or_problem(request: web.Request, work: Awaitable[T]) -> T | ProblemDocument:
    """Return what a part of a request returns, or the problem document for the exception that it raises."""
    try:
        return await work
    except ProblemError as error:
        return _callers_error(error)
    except web.HTTPException:
        raise
    except StoreError as error:
        logger.exception("the database failed", extra=_log_fields(request))
        return _store_problem(error)
    except Exception:  # the other parts of the request go on
        logger.exception("a request failed", extra=_log_fields(request))
        return _internal_problem()


def _internal_problem() -> ProblemDocument:
    return problem_document(
        500,
        "Internal error",
        "This is a bug in Answerback; its log has the details. Read the ask again before you repeat the call.",
    )


def _store_problem(error: StoreError) -> ProblemDocument:
    """The problem document for a database error. Each request makes at most one change, as its last step."""
    match error:
        case UnreadableRowError():
            return problem_document(500, "Unreadable", str(error))
        case CommitUnknownError():
            title = "Outcome unknown"
            detail = (
                "The database failed while saving, so the change may or may not have been saved. Read the ask"
                " again before you repeat the call; with an `Idempotency-Key` you can repeat it at once."
            )
        case _:
            title = "The database failed"
            detail = "This call changed nothing. Try again."
    return problem_document(503, title, detail, headers={"Retry-After": "1"})


def _http_problem(request: web.Request, error: web.HTTPException) -> ProblemDocument:
    match error.status:
        case 404:
            detail = f"There is nothing at {request.path[:200]}. GET /openapi.json lists all paths."
            return problem_document(404, "Not found", detail)
        case 405:
            allowed = error.headers.get("Allow", "")
            detail = f"{request.method[:20]} is not allowed here; use {allowed}."
            return problem_document(405, "Method not allowed", detail, headers={"Allow": allowed})
        case 413:  # the reason that Python gives it depends on its version
            return problem_document(413, "Content too large", error.text)
        case status:
            return problem_document(status, error.reason)


def _log_fields(request: web.Request) -> dict[str, str]:
    fields = {"method": request.method, "route": _route(request)}
    if ask_id := request.match_info.get("id"):
        fields["ask_id"] = ask_id
    return fields


def _route(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return resource.canonical if resource else request.path
