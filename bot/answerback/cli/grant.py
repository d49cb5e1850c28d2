"""``answerback grant``: what people have allowed again for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from answerback_agents.cli.options import Json, Reader, Url
from answerback_agents.cli.output import columns, name_of, print_json, print_rows, say

if TYPE_CHECKING:
    from answerback_agents.cli.api_client import JsonObject

app: Final = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="List and revoke what people have allowed again for a while.",
)


@app.command("list")
def list_(url: Url = None, token: Reader = None, json: Json = False) -> None:
    """List the grants that can still be used, newest first.

    Example: `answerback grant list`

    Each line shows the grant's id, what it allows, which agent in which folder, who gave it, its uses, and until when.
    """
    from answerback_agents.cli.api_client import ROWS, call_api, resolve_access

    found = call_api(resolve_access(url, token), "GET", "/v1/grants")
    print_rows(ROWS.validate_python(found["grants"]), _line, "Nothing is allowed again.", json=json)


@app.command()
def revoke(
    grant_id: Annotated[str, typer.Argument(metavar="GRANT", help="The grant's id.")],
    url: Url = None,
    token: Reader = None,
    json: Json = False,
) -> None:
    """Revoke a grant: people are asked again from now on.

    Example: `answerback grant revoke grant_0123456789abcdef`
    """
    from urllib.parse import quote

    from answerback_agents.cli.api_client import call_api, resolve_access

    done = call_api(resolve_access(url, token), "DELETE", f"/v1/grants/{quote(grant_id, safe='')}")
    if json:
        print_json(done)
    say(f"{grant_id}: revoked.")


def _line(found: JsonObject) -> str:
    return columns(
        found["id"],
        found["text"],
        f"{found['agent']} in {found['folder']}",
        f"by {name_of(found['by'])}",
        f"{found['used']} of {found['uses']} uses",
        f"until {found['expires_at']}",
    )
