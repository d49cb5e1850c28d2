"""Submits a form, and waits for its answers."""

from __future__ import annotations

import asyncio
import math
import secrets
import sys
from collections.abc import Mapping
from functools import partial
from typing import Final, NoReturn

from pydantic import JsonValue

from answerback_agents.bridges.ask_people import with_saved_files
from answerback_agents.cli.api_client import ROWS, START_HINT, TOKEN_HINT
from answerback_agents.cli.output import EXIT_USAGE, console, fail, print_json, say, warn
from answerback_base.sanitize import one_line
from answerback_client import (
    Ask,
    AskedBackError,
    AsyncClient,
    ClientError,
    RefusedError,
    StillOpenError,
    UnauthorizedError,
    UnreachableError,
)

_PATIENCE: Final = math.inf
"""A service that is down while people answer is waited for."""
_RESPONSE_PATIENCE: Final = 20.0
"""Seconds for which a submission is repeated whose response was lost."""
_MAY_BE_OPEN: Final = (
    "The form may have been submitted already. `answerback list` shows the open asks."
)


async def ask_and_wait(
    base: str, token: str | None, call: Mapping[str, JsonValue], wait: float
) -> dict[str, JsonValue]:
    """Submit, and wait for some seconds; returns the ask as it is then, or once a person asks back."""
    async with AsyncClient(base, token, patience=_PATIENCE) as client:
        ask = await _submit(base, token, call)
        thread = ask.json["thread"]
        where = thread.get("url") if isinstance(thread, dict) else None
        say(f"{ask.id}: asked at {where or ask.json['surface']}")
        try:
            with console().status("Waiting for the answers…"):
                ended = await client.wait(ask.id, timeout=wait)
            return (await with_saved_files(client, ended)).json
        except (AskedBackError, StillOpenError) as error:
            return error.ask.json
        except UnreachableError:
            return ask.json  # the time was up while the service was down
        except ClientError as error:
            fail(f"{base}: {error}")
        except asyncio.CancelledError:
            warn(f"{ask.id} stays open. To withdraw it, run `answerback withdraw {ask.id}`.")
            raise


async def _submit(url: str, token: str | None, call: Mapping[str, JsonValue]) -> Ask:
    """Submit at once: a service that is down is reported, unless it may have taken the form."""
    headers = {"Idempotency-Key": secrets.token_hex(16)}
    lost = False
    try:
        async with AsyncClient(url, token, patience=_RESPONSE_PATIENCE) as client:
            submit = partial(client.call, "POST", "/v1/asks", json=call, headers=headers)
            try:
                return Ask.of(await submit(repeat=False))
            except UnreachableError as error:
                if not (lost := error.may_have_acted):
                    raise
                warn(f"{error} Trying again…")
                return Ask.of(await submit())
    except asyncio.CancelledError:
        warn(_MAY_BE_OPEN)
        raise
    except UnreachableError as error:
        fail(f"{error} {_MAY_BE_OPEN if lost else START_HINT}")
    except RefusedError as error:
        if "tool_result" in error.problem:
            _exit_invalid(error.problem)
        hint = f" {TOKEN_HINT}" if isinstance(error, UnauthorizedError) else ""
        fail(f"{url} refused the ask: {error}{hint}")
    except ClientError as error:
        fail(str(error))


def _exit_invalid(problem: Mapping[str, JsonValue]) -> NoReturn:
    for each in ROWS.validate_python(problem["errors"]):
        warn(one_line(f"{each['pointer'] or '/'}: {each['code']}: {each['message']}"))
    print_json(problem["tool_result"])
    sys.exit(EXIT_USAGE)
