"""Builds the desks where people help themselves: connect their agents, and link accounts.

Most services have none of them, so what each needs is imported late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_network
from typing import TYPE_CHECKING

from aiohttp import web

from answerback.api.auth import AgentTokens
from answerback.api.operation import Api
from answerback.core.people import People
from answerback.ports.agent_tokens import RulesInForce
from answerback.ports.commands import Command
from answerback.ports.person_key import KeyHolderSource
from answerback.ports.surface import Surface
from answerback.runtime.config import Settings, plugin_settings
from answerback.runtime.open_store import OpenStore
from answerback.runtime.person_keys import signed_in_by
from answerback.runtime.plugins import installed_plugins
from answerback.service.grants import CredentialOf
from answerback.service.submission_request import Routes

if TYPE_CHECKING:
    from answerback.service.account_links import AccountLinks
    from answerback.service.sign_ins import SignIns


def build_sign_ins(
    settings: Settings,
    opened: OpenStore,
    routes: Routes,
    surfaces: Mapping[str, Surface],
    tokens: AgentTokens,
    in_force: RulesInForce,
    credential_of: CredentialOf,
) -> tuple[SignIns | None, Sequence[Command]]:
    """Build where people connect agents, and the commands by which they do so in a chat."""
    if not tokens.required:
        return None, ()
    from answerback.service.sign_in_commands import sign_in_commands
    from answerback.service.sign_ins import SignIns

    desk = SignIns(
        opened.store,
        opened.clock,
        in_force,
        routes.people,
        surfaces,
        credential_of=credential_of,
        is_taken=tokens.is_agent,
    )
    return desk, sign_in_commands(desk, settings.labels) if desk.is_open() else ()


def oauth_routes(settings: Settings, api: Api, address: str) -> list[web.RouteDef]:
    """Build the routes by which programs sign in."""
    if api.sign_ins is None:
        return []
    from answerback.api.oauth import OAuthEndpoints

    plugins = (plugin_settings(settings, plugin) for plugin in installed_plugins())
    proxies = [ip_network(each) for plugin in plugins for each in plugin.proxies()]
    return OAuthEndpoints(api, api.sign_ins, api.service.clock, address, proxies).routes()


async def build_account_links(
    settings: Settings, opened: OpenStore, people: People, holders: KeyHolderSource
) -> AccountLinks | None:
    """Build the desk where people link accounts to their pages; None if only the operator does.

    Raises:
        StoreError: the links cannot be read.
    """
    if not settings.people_link:
        return None
    from answerback.service.account_links import AccountLinks

    async def credentials() -> dict[str, str]:
        valid = await holders()
        return {each.person.user_id: each.key_hash for each in valid if not each.is_operator}

    store, _, clock = opened
    header = signed_in_by(settings)
    links = AccountLinks(store, clock, people, settings.labels, credentials, header)
    await links.refresh()
    return links
