"""Link an account to a person's page from a terminal: show the code, wait until it is typed, and ask to confirm."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import quote

import typer

from answerback.core.labels import ENGLISH
from answerback_agents.cli.api_client import JsonObject, ServiceAccess, call_api, call_service
from answerback_agents.cli.output import fail, say
from answerback_client import AsyncClient

_POLL_SECONDS = 1.0


def link_account(access: ServiceAccess, name: str, wait: float) -> None:
    """Link an account; exits with 1 if nobody types the code in time, or it is refused."""
    whose = f"?person={quote(name, safe='')}"

    async def await_account(client: AsyncClient) -> JsonObject:
        until = time.monotonic() + wait
        while True:
            shown = (await client.call("GET", f"/v1/links{whose}"))["started"]
            if isinstance(shown, dict) and isinstance(account := shown["typed_by"], dict):
                return account
            if shown is None or time.monotonic() > until:
                fail("Nobody has typed the code and confirmed it.")
            await asyncio.sleep(_POLL_SECONDS)

    started = call_api(access, "POST", f"/v1/links{whose}")
    say(ENGLISH.link_code)
    say(f"/answerback link {started['code']}")
    account = call_service(access, await_account)
    account_id = f"{account['surface']}:{account['user_id']}"
    shown = f"{account['name'] or account['user_id']} ({account_id})"
    say(ENGLISH.link_ask_page.format(account=shown, name=name))
    agreed = typer.confirm("Link it?", err=True)
    path = f"/v1/links/{quote(account_id, safe='')}{whose}"
    call_api(access, "POST" if agreed else "DELETE", path)
    if not agreed:
        fail(ENGLISH.link_cancelled)
    say(f"{account_id} is linked to the page of {name}.")
