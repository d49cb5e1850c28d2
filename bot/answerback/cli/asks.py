"""The work of ``answerback list``, ``show``, ``wait``, ``explain`` and ``withdraw``, over the service's API."""

from __future__ import annotations

import math
import sys
from datetime import datetime
from typing import Final
from urllib.parse import quote, urlencode

from pydantic import JsonValue, TypeAdapter

from answerback.cli import people_text
from answerback.cli.api_client import call_service
from answerback.cli.ask import (
    describe_ask_back,
    describe_status,
    exit_still_open,
    exit_with_outcome,
)
from answerback.cli.form_files import EXIT_INVALID
from answerback.cli.output import fail, print_result, say
from answerback.cli.person_key import ServiceAccess, resolve_access
from answerback.cli.service_address import resolve_url
from answerback.core.ask import Status
from answerback.core.walker import Source
from answerback.presentation.sanitize import as_json, one_line
from answerback.presentation.text_fitting import shorten
from answerback.runtime.config_file import load_settings
from answerback_client import (
    Ask,
    AsyncClient,
    EndedError,
    InvalidCallError,
    StillOpenError,
    UnreachableError,
)

Json = dict[str, JsonValue]

_PAGE: Final = 200
_MAX_QUESTION_LENGTH: Final = 120
"""The maximum length of a question in a line, in characters: `show` prints all of it in the record."""
_RECORD_PAGE: Final = 1000
_OBJECT: Final = TypeAdapter(Json)
_ROWS: Final = TypeAdapter(list[Json])


def list_asks(
    url: str | None, token: str | None, status: Status | None, *, json_output: bool
) -> None:
    """Print the asks with the given status (None: all asks), oldest first."""
    query = {"limit": str(_PAGE)} | ({"status": status.value} if status else {})

    async def read(client: AsyncClient) -> list[Json]:
        return await _fetch_all(client, "/v1/asks", query, "asks")

    asks = call_service(resolve_access(url, token), read)[::-1]
    if json_output:
        print_result(as_json(asks))
    elif asks:
        print_result("\n".join(map(_summary_line, asks)))
    else:
        say(
            "Nothing is waiting for an answer."
            if status is Status.OPEN
            else "There are no such asks."
        )


def show(ask_id: str, url: str | None, token: str | None, *, json_output: bool) -> None:
    """Print an ask and its record."""
    path = f"/v1/asks/{quote(ask_id, safe='')}"

    async def read(client: AsyncClient) -> tuple[Json, list[Json]]:
        ask = await client.call("GET", path)
        return ask, await _fetch_all(
            client, f"{path}/record", {"limit": str(_RECORD_PAGE)}, "entries"
        )

    ask, entries = call_service(resolve_access(url, token), read, ask_id)
    if json_output:
        print_result(as_json({"ask": ask, "record": [*entries]}))
        return
    labels = load_settings().labels
    about = [people_text.audience(ask, labels), describe_ask_back(ask)] if ask["prompt"] else []
    print_result(
        "\n".join(
            [
                _summary_line(ask),
                *(f"  {one_line(line)}" for line in about if line),
                *map(_record_line, entries),
            ]
        )
    )


def wait(
    ask_id: str,
    seconds: float,
    url: str | None,
    token: str | None,
    *,
    content: bool,
    json_output: bool,
) -> None:
    """Wait until an ask has ended, even if the service restarts; prints and exits like ``answerback ask``."""
    base = resolve_url(url)

    async def read(client: AsyncClient) -> Ask:
        ask = await client.get(ask_id)
        async with AsyncClient(base, token, patience=math.inf) as patient:
            try:
                return await patient.wait(ask_id, timeout=seconds)
            except (StillOpenError, UnreachableError) as error:
                return error.ask if isinstance(error, StillOpenError) else ask

    ask = call_service(ServiceAccess(base, token), read, ask_id)
    if ask.open:
        exit_still_open(ask.json, content=content, whole=json_output)
    exit_with_outcome(ask.json, content=content, whole=json_output)


def explain(
    ask_id: str, text: str, url: str | None, token: str | None, *, json_output: bool
) -> None:
    """Answer what someone asked back; the explanation is shown below the question, which stays open."""
    explanation = sys.stdin.buffer.read().decode(errors="replace") if text == "-" else text

    async def call(client: AsyncClient) -> Ask:
        try:
            return await client.add_context(ask_id, explanation)
        except InvalidCallError as error:
            fail("\n".join(error.messages), EXIT_INVALID)
        except EndedError as error:
            fail(
                f"{ask_id} has already ended: {describe_status(error.ask.json)}. "
                f"`answerback wait {ask_id}` prints the result."
            )

    done = call_service(ServiceAccess(resolve_url(url), token), call, ask_id)
    if json_output:
        print_result(as_json(done.json))
    say(f"{ask_id}: explained. To keep waiting, run `answerback wait {ask_id}`.")


def withdraw(ask_id: str, url: str | None, token: str | None, *, json_output: bool) -> None:
    """Withdraw an ask, so that nobody can answer it any more."""

    async def call(client: AsyncClient) -> Ask:
        try:
            return await client.withdraw(ask_id)
        except EndedError as error:
            fail(f"{ask_id} has already ended: {describe_status(error.ask.json)}.")

    done = call_service(ServiceAccess(resolve_url(url), token), call, ask_id)
    if json_output:
        print_result(as_json(done.json))
    say(f"{ask_id}: withdrawn.")


async def _fetch_all(
    client: AsyncClient, path: str, query: dict[str, str], rows: str
) -> list[Json]:
    """Fetch all rows of all pages."""
    fetched: list[Json] = []
    after: JsonValue = ""
    while after is not None:
        more = {"after": str(after)} if after else {}
        page = await client.call("GET", f"{path}?{urlencode(query | more)}")
        fetched += _ROWS.validate_python(page[rows])
        after = page["next"]
    return fetched


def _summary_line(ask: Json) -> str:
    prompt = ask["prompt"]
    text = prompt["text"] if isinstance(prompt, dict) else describe_status(ask)
    what = shorten(one_line(str(text)), _MAX_QUESTION_LENGTH)
    closes = (
        f"closes {_local_time(ask['expires_at'])}"
        if isinstance(prompt, dict) and ask["expires_at"]
        else ""
    )
    parts = (ask["id"], _local_time(ask["created_at"]), ask["asked_by"], ask["surface"], what)
    return "  ".join(
        one_line(str(part)) for part in (*parts, closes, describe_ask_back(ask)) if part
    )


def _record_line(entry: Json) -> str:
    """Format a line of the record: when, what happened at which question, by whom, and the details."""
    kind = str(entry["type"])
    body = _OBJECT.validate_python(entry[kind])
    if kind == "response":
        ((kind, inner),) = body.items()
        body = _OBJECT.validate_python(inner)
    if kind == "answered" and body.get("source") == Source.DEFAULT:
        kind = "default used"
    person = body.pop("by", None)
    by = f"by {person['name'] or person['user_id']}" if isinstance(person, dict) else ""
    details = as_json({name: value for name, value in body.items() if value is not None})
    parts = (
        _local_time(entry["at"]),
        kind,
        entry["question_id"] or "",
        by,
        details if details != "{}" else "",
    )
    return "  ".join(one_line(str(part)) for part in parts if part)


def _local_time(value: JsonValue) -> str:
    return datetime.fromisoformat(str(value)).astimezone().strftime("%Y-%m-%d %H:%M")
