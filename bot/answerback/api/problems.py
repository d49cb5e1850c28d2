"""What goes wrong, as RFC 9457 problem documents; the API's loop top, past which no exception gets.

No answer, token or stack trace leaves in a problem: what is unexpected is logged here, with the
ask's id, and told as one sentence.
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
    """A problem document as a response; ``more`` are members beyond the standard ones."""
    document = {"type": "about:blank", "title": title, "status": status}
    if detail is not None:
        document["detail"] = detail
    body = dump_json({**document, **(more or {})})
    return web.Response(status=status, body=body, content_type=PROBLEM_JSON, headers=headers)


def to_problem_response(error: ProblemError) -> web.Response:
    """The problem document of a caller's mistake; an invalid call comes with the words for its model."""
    more: dict[str, JsonValue] = {}
    if error.problems:
        more["errors"] = [one.model_dump() for one in error.problems]
    if isinstance(error, InvalidCallError):
        more["tool_result"] = render_refusal(error).model_dump()
    headers = CHALLENGE if error.status == HTTPStatus.UNAUTHORIZED else None
    return problem_response(error.status, error.title, error.detail, more=more, headers=headers)


def refuse_unsupported(request: web.BaseRequest) -> web.Response | None:
    """The refusal of a request that demands what we do not know, whatever its route."""
    coding = request.headers.get("Content-Encoding", "").strip().lower()
    if coding not in {"", "identity", *CONTENT_CODINGS}:
        words = f"Content-Encoding {coding[:40]!a} is not known; send gzip, deflate, or the body as it is."
        headers = {"Accept-Encoding": ", ".join(CONTENT_CODINGS)}
        return problem_response(415, "Unknown Content-Encoding", words, headers=headers)
    if request.headers.get("Expect", "100-continue").lower() != "100-continue":
        return problem_response(
            417, "Expectation failed", "Of Expect only 100-continue is understood."
        )
    return None


@web.middleware
async def problem_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turns every exception into a problem document."""
    try:
        return await handler(request)
    except ProblemError as error:
        return to_problem_response(error)
    except web.HTTPException as error:
        if error.status < HTTPStatus.BAD_REQUEST:
            raise
        return _of_http(request, error)
    except StoreError as error:
        logger.exception("the database failed", extra=_about(request))
        return _of_store(error)
    except Exception:  # the API's loop top: logged, and told without its inside
        logger.exception("a request failed", extra=_about(request))
        return problem_response(
            500,
            "Internal error",
            "Answerback failed at this, by a defect of its own; its log says more. Read the ask again before you"
            " repeat the call.",
        )


def _of_store(error: StoreError) -> web.Response:
    """What is known of a failure of the database: each request changes one thing, and that at its end."""
    match error:
        case UnreadableRowError():
            return problem_response(500, "Unreadable", str(error))
        case CommitUnknownError():
            title = "Outcome unknown"
            words = (
                "The database failed while it saved this, and it is not known whether it is saved. Read the ask"
                " again before you repeat the call; with an `Idempotency-Key` you can repeat it at once."
            )
        case _:
            title = "The database failed"
            words = "Nothing was changed by this call: try again."
    return problem_response(503, title, words, headers={"Retry-After": "1"})


def _of_http(request: web.Request, error: web.HTTPException) -> web.Response:
    match error.status:
        case 404:
            detail = (
                f"There is nothing at {request.path[:200]}; GET /openapi.json lists what there is."
            )
            return problem_response(404, "Not found", detail)
        case 405:
            allowed = error.headers.get("Allow", "")
            detail = f"{request.method[:20]} is not done here; {allowed} is."
            return problem_response(405, "Method not allowed", detail, headers={"Allow": allowed})
        case status:
            return problem_response(status, error.reason)


def _about(request: web.Request) -> dict[str, str]:
    about = {"method": request.method, "route": _route(request)}
    if ask_id := request.match_info.get("id"):
        about["ask_id"] = ask_id
    return about


def _route(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return resource.canonical if resource else request.path
