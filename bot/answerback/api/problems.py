"""Errors as RFC 9457 problem documents, and the middleware that no exception gets past.

A problem never contains an answer, a token or a stack trace: unexpected errors are logged here with
the ask's id, and reported in one sentence.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import JsonValue

from answerback.api.auth import CHALLENGE
from answerback.api.json_bodies import dump_json
from answerback.core.errors import (
    CommitUnknownError,
    DeclinedCallError,
    InvalidCallError,
    ProblemError,
    StoreError,
    UnreadableRowError,
)
from answerback.dialects.registry import render_refusal
from answerback.http.request_body import CONTENT_CODINGS

PROBLEM_JSON: Final = "application/problem+json"

logger = logging.getLogger(__name__)


def problem_response(
    status: int,
    title: str,
    detail: str | None = None,
    *,
    more: Mapping[str, JsonValue] | None = None,
    headers: Mapping[str, str] | None = None,
) -> web.Response:
    """Build a problem document response; ``more`` holds members beyond the standard ones."""
    document = {"type": "about:blank", "title": title, "status": status}
    if detail is not None:
        document["detail"] = detail
    body = dump_json({**document, **(more or {})})
    return web.Response(status=status, body=body, content_type=PROBLEM_JSON, headers=headers)


def to_problem_response(error: ProblemError) -> web.Response:
    """Build the problem document for a caller's error; an invalid call includes the tool result for its model."""
    more: dict[str, JsonValue] = {}
    if error.problems:
        more["errors"] = [problem.model_dump() for problem in error.problems]
    if isinstance(error, InvalidCallError):
        more["tool_result"] = render_refusal(error).model_dump()
    headers = CHALLENGE if error.status == HTTPStatus.UNAUTHORIZED else None
    if isinstance(error, DeclinedCallError) and error.retry_after is not None:
        headers = {"Retry-After": f"{error.retry_after:.0f}"}
    return problem_response(error.status, error.title, error.detail, more=more, headers=headers)


def refuse_unsupported(request: web.BaseRequest) -> web.Response | None:
    """Refuse a request with an unsupported Content-Encoding or Expect, whatever its route."""
    coding = request.headers.get("Content-Encoding", "").strip().lower()
    if coding not in {"", "identity", *CONTENT_CODINGS}:
        detail = f"Content-Encoding {coding[:40]!a} is not supported; send gzip, deflate, or the body unencoded."
        headers = {"Accept-Encoding": ", ".join(CONTENT_CODINGS)}
        return problem_response(415, "Unknown Content-Encoding", detail, headers=headers)
    if request.headers.get("Expect", "100-continue").lower() != "100-continue":
        return problem_response(
            417, "Expectation failed", "The only supported Expect is 100-continue."
        )
    return None


@web.middleware
async def problem_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn every exception into a problem document."""
    try:
        return await handler(request)
    except ProblemError as error:
        return to_problem_response(error)
    except web.HTTPException as error:
        if error.status < HTTPStatus.BAD_REQUEST:
            raise
        return _http_problem(request, error)
    except StoreError as error:
        logger.exception("the database failed", extra=_log_fields(request))
        return _store_problem(error)
    except Exception:  # the outermost handler: logged, and reported without details
        logger.exception("a request failed", extra=_log_fields(request))
        return problem_response(
            500,
            "Internal error",
            "This is a bug in Answerback; its log has the details. Read the ask again before you repeat the call.",
        )


def _store_problem(error: StoreError) -> web.Response:
    """The response to a database error. Each request makes at most one change, as its last step."""
    match error:
        case UnreadableRowError():
            return problem_response(500, "Unreadable", str(error))
        case CommitUnknownError():
            title = "Outcome unknown"
            detail = (
                "The database failed while saving, so the change may or may not have been saved. Read the ask"
                " again before you repeat the call; with an `Idempotency-Key` you can repeat it at once."
            )
        case _:
            title = "The database failed"
            detail = "This call changed nothing. Try again."
    return problem_response(503, title, detail, headers={"Retry-After": "1"})


def _http_problem(request: web.Request, error: web.HTTPException) -> web.Response:
    match error.status:
        case 404:
            detail = f"There is nothing at {request.path[:200]}. GET /openapi.json lists all paths."
            return problem_response(404, "Not found", detail)
        case 405:
            allowed = error.headers.get("Allow", "")
            detail = f"{request.method[:20]} is not allowed here; use {allowed}."
            return problem_response(405, "Method not allowed", detail, headers={"Allow": allowed})
        case status:
            return problem_response(status, error.reason)


def _log_fields(request: web.Request) -> dict[str, str]:
    fields = {"method": request.method, "route": _route(request)}
    if ask_id := request.match_info.get("id"):
        fields["ask_id"] = ask_id
    return fields


def _route(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return resource.canonical if resource else request.path
