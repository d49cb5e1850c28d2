"""Submits a form, and waits for its answers."""

from __future__ import annotations

import asyncio
import secrets
import sys
from http import HTTPStatus
from typing import Final

import aiohttp
from pydantic import JsonValue

from answerback.cli.api_client import START_HINT, TOKEN_HINT
from answerback.cli.ask_output import describe_ask_back
from answerback.cli.form_files import EXIT_INVALID
from answerback.cli.output import EXIT_FAILED, console, fail, print_result, say, warn
from answerback.core.ask import Status
from answerback.presentation.sanitize import as_json, one_line

_LONG_POLL: Final = 60.0
"""Seconds that one long poll lasts: short enough that no proxy on the way cuts it off."""
_LONG_POLL_GRACE: Final = 15.0
_PAUSE: Final = 0.5


async def ask_and_wait(
    base: str, headers: dict[str, str], call: dict[str, JsonValue], wait: float
) -> dict[str, JsonValue]:
    """Submit, and wait for some seconds; returns the ask as it is then."""
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
