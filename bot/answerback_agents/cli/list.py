"""``answerback list``: lists the asks that are waiting for an answer, or have ended."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import typer

from answerback_agents.cli.options import Json, Reader, Url
from answerback_agents.cli.output import EXIT_USAGE, fail, print_rows

_PAGE: Final = 200
_PLACES: Final = {"high": 0, "normal": 1, "low": 2}
"""The places of urgencies in the list."""


Status = Literal["open", "answered", "cancelled", "turn_ended", "expired", "withdrawn", "failed"]
"""The statuses of an ask, as in the API."""


def command(
    everything: Annotated[
        bool, typer.Option("--all", help="Include asks that have ended.")
    ] = False,
    status: Annotated[Status, typer.Option(help="Only asks with this status.")] = "open",
    agent: Annotated[str | None, typer.Option(help="Only asks by this agent.")] = None,
    project: Annotated[str | None, typer.Option(help="Only asks from this project.")] = None,
    answered_by: Annotated[
        str | None,
        typer.Option(
            help="Only ended asks that this person answered, such as web:ann@example.com."
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--from", help="Only asks from this day or time on (UTC).")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", help="Only asks before this day or time (UTC).")
    ] = None,
    url: Url = None,
    token: Reader = None,
    json: Json = False,
) -> None:
    """List the asks that are waiting for an answer.

    The most urgent come first, and then those that were asked first.

    Example: `answerback list --all --project app --from 2026-11-01`

    Each line shows the ask's id, when it was submitted, who asked, where it is shown, and the current question.
    An agent's token lists that agent's asks; the person's key lists those of all agents.
    """
    from answerback_agents.cli.api_client import call_service, fetch_all, resolve_access
    from answerback_agents.cli.ask_output import summary_line

    if answered_by is not None and ":" not in answered_by:
        text = "--answered-by takes a surface and an id, such as web:ann@example.com."
        fail(text, EXIT_USAGE)
    filters = {"agent": agent, "project": project, "answered_by": answered_by}
    filters |= {"from": since, "to": until}
    narrowed = {name: value for name, value in filters.items() if value is not None}
    ended = everything or (answered_by is not None and status == "open")
    query = {"limit": str(_PAGE)} | ({} if ended else {"status": status}) | narrowed
    path = "/v1/search" if narrowed else "/v1/asks"

    access = resolve_access(url, token)
    asks = call_service(access, lambda client: fetch_all(client, path, query, "asks"))[::-1]
    if not ended:
        asks.sort(key=lambda ask: _PLACES.get(str(ask.get("urgency")), 1))  # else in order
    open_only = status == "open" and not everything and not narrowed
    nothing = "Nothing is waiting for an answer." if open_only else "There are no such asks."
    print_rows(asks, summary_line, nothing, json=json)
