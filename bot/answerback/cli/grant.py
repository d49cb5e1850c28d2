"""``answerback grant``: what people have allowed again for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from answerback.cli.options import Json, Reader, Url
from answerback.cli.output import fail, print_result, say
from answerback.presentation.sanitize import as_json, one_line

if TYPE_CHECKING:
    from answerback.cli.api_client import JsonObject
    from answerback_client import AsyncClient

app: Final = typer.Typer(rich_markup_mode="markdown")


@app.callback()
def grant() -> None:
    """List and revoke what people have allowed again for a while."""


@app.command("list")
def list_(url: Url = None, token: Reader = None, json: Json = False) -> None:
    """List the grants that can still be used, newest first.

    Example: `answerback grant list`

    Each line shows the grant's id, what it allows, which agent in which folder, who gave it, its uses, and until when.
    """
    from answerback.cli.api_client import call_service
    from answerback.cli.person_key import resolve_access

    async def read(client: AsyncClient) -> JsonObject:
        return await client.call("GET", "/v1/grants")

    found = call_service(resolve_access(url, token), read)["grants"]
    grants = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    if json:
        print_result(as_json(grants))
    elif grants:
        print_result("\n".join(map(_line, grants)))
    else:
        say("Nothing is allowed again.")


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

    from answerback.cli.api_client import call_service
    from answerback.cli.person_key import resolve_access
    from answerback_client import NotFoundError

    async def call(client: AsyncClient) -> JsonObject:
        try:
            return await client.call("DELETE", f"/v1/grants/{quote(grant_id, safe='')}")
        except NotFoundError:
            fail(f"There is no grant with the id {grant_id}.")

    done = call_service(resolve_access(url, token), call)
    if json:
        print_result(as_json(done))
    say(f"{grant_id}: revoked.")


def _line(found: JsonObject) -> str:
    by = found["by"]
    name = (by.get("name") or by.get("user_id")) if isinstance(by, dict) else None
    uses = f"{found['used']} of {found['uses']} uses"
    parts = (
        *(found["id"], found["text"], f"{found['agent']} in {found['folder']}"),
        *(f"by {name}", uses, f"until {found['expires_at']}"),
    )
    return "  ".join(one_line(str(each)) for each in parts)
