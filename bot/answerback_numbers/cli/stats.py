"""``answerback stats``: how many questions agents asked, how they ended, and how long agents waited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from answerback_agents.cli.options import Json, Reader, Url
from answerback_agents.cli.output import columns, print_json, print_result, say

if TYPE_CHECKING:
    from pydantic import JsonValue

    from answerback_agents.cli.api_client import JsonObject

_LISTS: Final = {"weeks": "Week of", "agents": "Agent", "routes": "Route"}


def command(
    weeks: Annotated[
        int, typer.Option(min=1, max=520, help="The weeks to count, with this one.")
    ] = 12,
    url: Url = None,
    token: Reader = None,
    json: Json = False,
) -> None:
    """Print how many questions agents asked, how they ended, and how long agents waited.

    Example: `answerback stats --weeks 4`

    There is a line for each week, agent and route. Below that are the permissions that were allowed each time, with
    what would have saved people from being asked. It needs the operator's key.
    """
    from answerback_agents.cli.api_client import ROWS, call_api, resolve_access

    found = call_api(resolve_access(url, token), "GET", f"/v1/stats?weeks={weeks}")
    if json:
        print_json(found)
        return
    say(f"Waits are stated within {float(str(found['error'])):.0%}. Since {found['since']} (UTC):")
    for name, title in _LISTS.items():
        for row in ROWS.validate_python(found[name]):
            print_result(_line(title, row))
    for row in ROWS.validate_python(found["always_allowed"]):
        print_result(_always_line(row))


def _line(title: str, row: JsonObject) -> str:
    return columns(
        f"{title} {row['name'] or 'none'}",
        f"{row['asks']} asked",
        _ends(row["results"]),
        f"half within {_seconds(row['median_seconds'])}",
        f"90 % within {_seconds(row['ninety_percent_seconds'])}",
    )


def _ends(results: JsonValue) -> str:
    counts = results if isinstance(results, dict) else {}
    return ", ".join(f"{count} {end.replace('_', ' ')}" for end, count in counts.items())


def _always_line(row: JsonObject) -> str:
    grant = f"a grant would do: {row['grant']}" if row["grants"] else "its route allows no grants"
    rule = f"the host's rule would do: {row['rule']}" if row["rule"] else ""
    return columns(f"Allowed {row['times']} times", row["headline"], grant, rule)


def _seconds(seconds: JsonValue) -> str:
    return "–" if seconds is None else f"{seconds} s"
