"""The sign-ins of a running service: who has which token, the routes for programs, and the commands in chats."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from aiohttp import web

from answerback.ports.commands import Command
from answerback.ports.extension import Configured, KnownAgent, Running, ServiceParts
from answerback_teams.oauth import OAuthEndpoints
from answerback_teams.onboarding_rules import build_rules
from answerback_teams.sign_in_commands import sign_in_commands
from answerback_teams.sign_ins import SignIns
from answerback_teams.values import RulesInForce


class RunningSignIns(Running):
    """The sign-ins of a running service."""

    def __init__(self, parts: ServiceParts) -> None:
        self._labels = parts.configured.labels
        self._in_force = RulesInForce(build_rules(parts.configured))
        self.sign_ins = SignIns(
            parts.store,
            parts.clock,
            self._in_force,
            parts.people,
            parts.surfaces,
            credential_of=parts.credential_of,
            is_taken=parts.is_agent,
        )
        self._endpoints = OAuthEndpoints(
            self.sign_ins, parts.clock, parts.address, parts.proxies, parts.run_to_completion
        )

    async def find_agent(self, token: str) -> KnownAgent | None:
        return await self.sign_ins.find_agent(token)

    async def token_hashes(self) -> Collection[str]:
        return [each.token_hash for each in await self.sign_ins.list_for(None)]

    def routes(self) -> Sequence[web.RouteDef]:
        return self._endpoints.routes()

    def commands(self) -> Sequence[Command]:
        return sign_in_commands(self.sign_ins, self._labels) if self.sign_ins.is_open() else ()

    def for_page(self, surface: str) -> object | None:
        if surface != "web":
            return None
        from answerback_teams.agent_pages import AgentPages

        return AgentPages(self.sign_ins)

    def reload(self, configured: Configured) -> Callable[[], None]:
        rules = build_rules(configured)

        def apply() -> None:
            self._in_force.rules = rules

        return apply
