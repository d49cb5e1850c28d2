"""Builds what lets people connect their own agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_network

from aiohttp import web

from answerback.api.auth import AgentTokens
from answerback.api.oauth import OAuthEndpoints
from answerback.api.operation import Api
from answerback.ports.agent_tokens import RulesInForce
from answerback.ports.commands import Command
from answerback.ports.surface import Surface
from answerback.runtime.config import Settings, plugin_settings
from answerback.runtime.open_store import OpenStore
from answerback.runtime.plugins import installed_plugins
from answerback.service.grants import CredentialOf
from answerback.service.sign_in_commands import sign_in_commands
from answerback.service.sign_ins import SignIns
from answerback.service.submission_request import Routes


def build_sign_ins(
    settings: Settings,
    opened: OpenStore,
    routes: Routes,
    surfaces: Mapping[str, Surface],
    tokens: AgentTokens,
    trust: tuple[RulesInForce, CredentialOf],
) -> tuple[SignIns, Sequence[Command]]:
    """Build where people connect agents, and the commands by which they do so in a chat."""
    in_force, credential_of = trust
    parts = (opened.store, opened.clock, in_force, routes.people, surfaces)
    desk = SignIns(*parts, credential_of, tokens.is_agent)
    return desk, sign_in_commands(desk, settings.labels) if desk.is_open() else ()


def oauth_routes(
    settings: Settings, api: Api, sign_ins: SignIns, address: str
) -> list[web.RouteDef]:
    """Build the routes by which programs sign in."""
    plugins = (plugin_settings(settings, plugin) for plugin in installed_plugins())
    proxies = [ip_network(each) for plugin in plugins for each in plugin.proxies()]
    return OAuthEndpoints(api, sign_ins, api.service.clock, address, proxies).routes()
