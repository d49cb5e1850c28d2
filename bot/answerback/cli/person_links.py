"""Link an account to somebody's page from a terminal: show the code, wait until it is typed, and ask to confirm."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import quote

from answerback.cli.api_client import JsonObject, call_service
from answerback.cli.output import fail, say
from answerback.cli.person_key import ServiceAccess
from answerback.core.labels import ENGLISH
from answerback_client import AsyncClient, NotFoundError

_POLL_SECONDS = 1.0


def link_account(access: ServiceAccess, name: str, wait: float) -> None:
    """Link an account; exits with 1 if nobody types the code in time, or it is refused."""
    whose = f"?person={quote(name, safe='')}"

    async def start(client: AsyncClient) -> JsonObject:
        return await client.call("POST", f"/v1/links{whose}")

    async def await_account(client: AsyncClient) -> JsonObject:
        until = time.monotonic() + wait
        while True:
            shown = (await client.call("GET", f"/v1/links{whose}"))["started"]
            if isinstance(shown, dict) and isinstance(account := shown["typed_by"], dict):
                return account
            if shown is None or time.monotonic() > until:
                fail("Nobody has typed the code and confirmed it.")
            await asyncio.sleep(_POLL_SECONDS)

    started = call_service(access, start)
    say(ENGLISH.link_code)
    say(f"/answerback link {started['code']}")
    account = call_service(access, await_account)
    account_id = f"{account['surface']}:{account['user_id']}"
    shown = f"{account['name'] or account['user_id']} ({account_id})"
    say(ENGLISH.link_ask_page.format(account=shown, name=name))
    agreed = input("Link it? [y/N] ").strip().lower() in {"y", "yes"}

    async def decide(client: AsyncClient) -> JsonObject:
        method = "POST" if agreed else "DELETE"
        return await client.call(method, f"/v1/links/{quote(account_id, safe='')}{whose}")

    call_service(access, decide)
    if not agreed:
        fail(ENGLISH.link_cancelled)
    say(f"{account_id} is linked to the page of {name}.")


def linked_accounts(access: ServiceAccess) -> list[JsonObject]:
    """Return the linked accounts."""

    async def read(client: AsyncClient) -> JsonObject:
        return await client.call("GET", "/v1/links")

    found = call_service(access, read)["links"]
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def remove_link(access: ServiceAccess, account: str) -> None:
    """Remove a link; exits with 1 if there is none such."""

    async def call(client: AsyncClient) -> JsonObject:
        try:
            return await client.call("DELETE", f"/v1/links/{quote(account, safe='')}")
        except NotFoundError:
            fail(f"{account} is not linked. `answerback person links` shows which accounts are.")

    call_service(access, call)
