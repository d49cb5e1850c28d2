"""The work of ``answerback ask``: submits a form from a shell, waits, and prints the tool result."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, NoReturn

import aiohttp
from pydantic import JsonValue

from answerback.cli.api_client import START_HINT, TOKEN_HINT
from answerback.cli.form_files import EXIT_INVALID, read_call
from answerback.cli.output import EXIT_FAILED, console, fail, print_result, say, warn
from answerback.cli.service_address import resolve_url
from answerback.core.ask import Status
from answerback.core.clarification import CLARIFY
from answerback.core.walker import Source
from answerback.presentation.sanitize import as_json, one_line

EXIT_CODES: Final = {
    Status.ANSWERED: 0,
    Status.CANCELLED: 3,
    Status.TURN_ENDED: 4,
    Status.EXPIRED: 5,
    Status.WITHDRAWN: 6,
    Status.FAILED: 7,
}
EXIT_STILL_OPEN: Final = 8
EXIT_ASKED_BACK: Final = 9
_LONG_POLL: Final = 60.0
"""Seconds that one long poll lasts: short enough that no proxy on the way cuts it off."""
_LONG_POLL_GRACE: Final = 15.0
_PAUSE: Final = 0.5


def run(
    form: str,
    to: str | None,
    wait: float,
    url: str | None,
    token: str | None,
    *,
    clarify: bool,
    content: bool,
    whole: bool,
) -> None:
    """Submit, wait and print; ends the command with the exit status for how the ask ended."""
    call = read_call(form)
    if to is not None:
        call["to"] = to
    if clarify:
        call["accepts"] = [CLARIFY]
    base = resolve_url(url)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    ask = asyncio.run(_ask(base, headers, call, wait))
    if ask["status"] == Status.OPEN:
        exit_still_open(ask, content=content, whole=whole)
    exit_with_outcome(ask, content=content, whole=whole)


def describe_status(ask: Mapping[str, JsonValue]) -> str:
    """Describe an ask's status; defaults taken at a deadline are no answer."""
    status = str(ask["status"]).replace("_", " ")
    sources = ask["sources"] if isinstance(ask["sources"], dict) else {}
    defaults = [name for name, source in sources.items() if source == Source.DEFAULT]
    if not defaults:
        return status
    if len(defaults) == len(sources):
        return "defaults used: nobody answered in time"
    return f"{status}, with defaults for {', '.join(defaults)}: nobody answered these in time"


def describe_ask_back(ask: Mapping[str, JsonValue]) -> str:
    """Describe what a person asked back; empty if nobody did."""
    clarify = ask["clarify"]
    if not isinstance(clarify, dict):
        return ""
    by = clarify["by"]
    name = by.get("name") if isinstance(by, dict) else None
    return f"{name or 'Someone'} asks back: {clarify['text']}"


def exit_still_open(ask: Mapping[str, JsonValue], *, content: bool, whole: bool) -> NoReturn:
    """End the command while the ask is open. If a person asked back, that is the result, for the agent to explain.

    Args:
        content: print only the text of the question that was asked back.
        whole: print the whole ask in place of what was asked back.
    """
    keep_waiting = f"`answerback wait {ask['id']}`"
    asked = ask["clarify"]
    if not isinstance(asked, dict):
        warn(
            f"Nobody has answered yet. {ask['id']} stays open. To keep waiting, run {keep_waiting}."
        )
        sys.exit(EXIT_STILL_OPEN)
    print_result(str(asked["text"]) if content else as_json(dict(ask) if whole else asked))
    say(f"{one_line(describe_ask_back(ask))}")
    say(f"Explain it with `answerback explain {ask['id']} TEXT`, then run {keep_waiting}.")
    sys.exit(EXIT_ASKED_BACK)


def exit_with_outcome(ask: dict[str, JsonValue], *, content: bool, whole: bool) -> NoReturn:
    """Print the result of an ended ask, and end the command with the exit status for how it ended.

    Args:
        content: print only the text for the model.
        whole: print the whole ask in place of the tool result.
    """
    tool_result = ask["tool_result"]
    status = Status(str(ask["status"]))
    if content and isinstance(tool_result, dict):
        print_result(str(tool_result["content"]))
    else:  # the result is null if the turn ended: nothing goes back to the model
        print_result(as_json(ask if whole else tool_result))
    say(f"{ask['id']}: {describe_status(ask)}.")
    sys.exit(EXIT_CODES[status])


async def _ask(
    base: str, headers: dict[str, str], call: dict[str, JsonValue], wait: float
) -> dict[str, JsonValue]:
    timeout = aiohttp.ClientTimeout(total=_LONG_POLL + _LONG_POLL_GRACE)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as http:
        ask = await _submit(http, base, call)
        thread = ask["thread"]
        where = thread.get("url") if isinstance(thread, dict) else None
        say(f"{ask['id']}: asked at {where or ask['surface']}")
        try:
            with console().status("Waiting for the answers…"):
                return await _wait(http, f"{base}/v1/asks/{ask['id']}", ask, wait)
        except asyncio.CancelledError:
            warn(f"{ask['id']} stays open. To withdraw it, run `answerback withdraw {ask['id']}`.")
            raise


async def _submit(
    http: aiohttp.ClientSession, base: str, call: dict[str, JsonValue]
) -> dict[str, JsonValue]:
    key = {"Idempotency-Key": secrets.token_hex(16)}
    try:
        async with http.post(f"{base}/v1/asks", json=call, headers=key) as response:
            body = await response.json(content_type=None)
            if response.status < HTTPStatus.BAD_REQUEST:
                return dict(body)
    except asyncio.CancelledError:
        warn("The form may have been submitted already. `answerback list` shows the open asks.")
        raise
    except (aiohttp.InvalidURL, ValueError):
        fail(f"{base} is not a valid Answerback address. Use http://host:port.")
    except (aiohttp.ClientError, TimeoutError):
        fail(f"Cannot reach Answerback at {base}. {START_HINT}")
    if response.status == HTTPStatus.UNPROCESSABLE_ENTITY and "tool_result" in body:
        for problem in body["errors"]:
            warn(one_line(f"{problem['pointer'] or '/'}: {problem['code']}: {problem['message']}"))
        print_result(as_json(body["tool_result"]))
        sys.exit(EXIT_INVALID)
    refused = f"{base} refused the ask: {body.get('detail') or body['title']}"
    return fail(
        f"{refused} {TOKEN_HINT}" if response.status == HTTPStatus.UNAUTHORIZED else refused
    )


async def _wait(
    http: aiohttp.ClientSession, address: str, ask: dict[str, JsonValue], wait: float
) -> dict[str, JsonValue]:
    """Wait until the ask has ended, somebody asks back, or the time is up; keeps waiting if the service is down."""
    loop = asyncio.get_running_loop()
    until = loop.time() + wait
    while ask["status"] == Status.OPEN and (left := until - loop.time()) > 0:
        prefer = {"Prefer": f"wait={max(1, int(min(left, _LONG_POLL)))}"}
        try:
            async with asyncio.timeout(left), http.get(address, headers=prefer) as response:
                body = await response.json(content_type=None)
                if response.status < HTTPStatus.BAD_REQUEST:
                    ask = body
                    if describe_ask_back(ask):
                        return ask
                    continue
                if response.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                    fail(f"{address}: {body.get('detail') or body['title']}", EXIT_FAILED)
        except (aiohttp.ClientError, TimeoutError, ValueError):
            pass  # down or restarting: the loop tries again
        await asyncio.sleep(min(_PAUSE, max(0.0, until - loop.time())))
    return ask
