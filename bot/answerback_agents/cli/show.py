"""``answerback show``: shows an ask and its record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from pydantic import JsonValue

from answerback_agents.cli.options import AskId, Json, Reader, Url
from answerback_agents.cli.output import columns, name_of, print_json, print_result
from answerback_base.sanitize import as_json, one_line, visible

if TYPE_CHECKING:
    from answerback_agents.cli.api_client import JsonObject
    from answerback_client import AsyncClient

_RECORD_PAGE: Final = 1000


def command(ask: AskId, url: Url = None, token: Reader = None, json: Json = False) -> None:
    """Show an ask and its record: what was asked, who answered what, and when.

    Example: `answerback show ask_0123456789abcdef`
    """
    from answerback_agents.cli.api_client import call_service, fetch_all, resolve_access
    from answerback_agents.cli.ask_output import describe_ask_back, summary_line
    from answerback_agents.cli.local_service import describe_audience

    path = f"/v1/asks/{quote(ask, safe='')}"

    async def read(client: AsyncClient) -> tuple[JsonObject, list[JsonObject]]:
        found = await client.call("GET", path)
        record = await fetch_all(client, f"{path}/record", {"limit": str(_RECORD_PAGE)}, "entries")
        return found, record

    found, entries = call_service(resolve_access(url, token), read)
    if json:
        print_json({"ask": found, "record": entries})
        return
    about = [describe_audience(found), describe_ask_back(found)] if found["prompt"] else []
    summary = summary_line(found)
    lines = [
        summary,
        *(f"  {one_line(line)}" for line in about if line),
        *(f"    {line}".rstrip() for line in _asked(found["prompt"], summary)),
        *map(_record_line, entries),
    ]
    print_result("\n".join(lines))


def _asked(prompt: JsonValue, summary: str) -> list[str]:
    """The open question, unless the summary has all of it, and its context, as they were written."""
    if not isinstance(prompt, dict):
        return []
    texts = [str(prompt[part]) for part in ("text", "context") if prompt.get(part)]
    return [
        line
        for text in texts
        if one_line(text) not in summary
        for line in visible(text).splitlines()
    ]


def _record_line(entry: JsonObject) -> str:
    """Format a line of the record: when, what happened at which question, by whom, and the details."""
    from answerback_agents.cli.api_client import JSON_OBJECT
    from answerback_agents.cli.ask_output import BY_DEFAULT, local_time

    kind = str(entry["type"])
    body = JSON_OBJECT.validate_python(entry[kind])
    if kind == "response":
        ((kind, inner),) = body.items()
        body = JSON_OBJECT.validate_python(inner)
    if kind == "answered" and body.get("source") == BY_DEFAULT:
        kind = "default used"
    person = name_of(body.pop("by", None))
    indented = as_json({name: value for name, value in body.items() if value is not None})
    details = " ".join(line.strip() for line in indented.splitlines())  # texts keep their blanks
    by = person and f"by {person}"
    shown = columns(local_time(entry["at"]), kind, entry["question_id"], by)
    return shown if details == "{}" else f"{shown}  {visible(details)}"
