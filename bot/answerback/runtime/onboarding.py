"""Builds what lets people connect their own agents."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_network

from aiohttp import web

from answerback.api.auth import AgentTokens
from answerback.api.oauth import OAuthEndpoints
from answerback.api.operation import Api
from answerback.ports.agent_tokens import RulesInForce
from answerback.runtime.config import Settings, plugin_settings
from answerback.runtime.plugins import installed_plugins
from answerback.service.grants import CredentialOf
from answerback.service.service import Service
from answerback.service.sign_ins import SignIns


def build_sign_ins(
    service: Service, tokens: AgentTokens, in_force: RulesInForce, credential_of: CredentialOf
) -> SignIns:
    """Build where people connect agents."""
    parts = (service.store, service.clock, in_force, service.people, service.surfaces)
    return SignIns(*parts, credential_of, tokens.is_agent)


def oauth_routes(
    settings: Settings, api: Api, sign_ins: SignIns, address: Callable[[], str]
) -> list[web.RouteDef]:
    """Build the routes by which programs sign in."""
    plugins = (plugin_settings(settings, plugin) for plugin in installed_plugins())
    proxies = [ip_network(each) for plugin in plugins for each in plugin.proxies()]
    return OAuthEndpoints(api, sign_ins, api.service.clock, address, proxies).routes()
