"""The service itself, with who may call it and what extends it."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network

from answerback.api.auth import AgentTokens
from answerback.core.ask import Ask
from answerback.core.intents import ResolvedAction
from answerback.core.person import Person
from answerback.ports.extension import Configured, ServiceParts
from answerback.ports.store_values import Page
from answerback.ports.surface import Acted, Actor, Rejected
from answerback.runtime import person_keys
from answerback.runtime.config import plugin_settings
from answerback.runtime.extensions import Extensions, open_extensions
from answerback.runtime.foundation import Foundation
from answerback.runtime.from_settings import (
    build_agent_tokens,
    build_anonymous_limits,
)
from answerback.runtime.plugins import installed_plugins
from answerback.service.grants import CredentialOf
from answerback.service.question_routing import Rules
from answerback.service.service import Service


@dataclass(frozen=True, slots=True)
class BuiltService:
    """The service, and what decides who may call it."""

    service: Service
    extensions: Extensions
    tokens: AgentTokens


async def build_service(on: Foundation) -> BuiltService:
    """Build the service. Its surfaces are built afterwards, and added to those of the foundation.

    Raises:
        ConfigError: the table of an extension is invalid.
        StoreError: what an extension needs cannot be read.
    """
    settings, opened, routes = on.settings, on.opened, on.routes
    tokens = build_agent_tokens(settings)
    credential_of = person_keys.build_credential_reader(settings, on.holders, tokens)
    late = _Late()
    extensions = late.extensions = await _open_extensions(on, tokens, credential_of, late)
    on.holders.join(extensions.signing_in())
    service = late.service = Service(
        opened.store,
        opened.clock,
        on.surfaces,
        known_surfaces=installed_plugins().names,
        routes=routes,
        rules=Rules(tools=settings.tools),
        labels=settings.labels,
        has_inquiry=settings.inquiry.url is not None,
        check_callback=extensions.callback_problem,
        limits=build_anonymous_limits(settings),
        claim=opened.claim,
        hooks=on.hooks,
        credential_of=credential_of,
        commands=extensions.commands(),
        extensions=extensions.storing(),
        quiet_until=extensions.quiet_until,
        hidden_from=extensions.hidden_from,
    )
    return BuiltService(service, extensions, tokens)


class _Late:
    """The parts that extensions use, but that are built after them."""

    service: Service
    extensions = Extensions({})

    async def act(self, ask_id: str, action: ResolvedAction, actor: Actor) -> Acted | Rejected:
        return await self.service.act(ask_id, action, actor)

    def quiet_until(self, person: Person, at: float) -> float | None:
        return self.extensions.quiet_until(person, at)

    async def list_waiting_for(self, actor: Actor, after: str | None, limit: int) -> Page[Ask]:
        return await self.service.list_waiting_for(actor, after, limit)

    async def is_waiting_for(self, person: Person, ask: Ask) -> bool:
        return await self.service.is_waiting_for(person, ask)

    def list_changed(self, person: Person, ask: Ask) -> None:
        self.service.list_changed(person, ask)


async def _open_extensions(
    on: Foundation, tokens: AgentTokens, credential_of: CredentialOf, late: _Late
) -> Extensions:
    settings, opened, tracing = on.settings, on.opened, on.tracing
    plugins = [plugin_settings(settings, plugin) for plugin in installed_plugins()]
    proxies = [ip_network(each) for plugin in plugins for each in plugin.proxies()]

    def parts(configured: Configured) -> ServiceParts:
        return ServiceParts(
            configured=configured,
            store=opened.store,
            clock=opened.clock,
            claim=opened.claim,
            database_file=settings.storage.file,
            database_name=settings.storage.name,
            people=on.routes.people,
            surfaces=on.surfaces,
            holders=on.holders,
            signed_in_by=person_keys.signed_in_by(settings),
            credential_of=credential_of,
            is_agent=tokens.is_agent,
            address=on.sockets.address,
            proxies=proxies,
            run_to_completion=on.pending_changes.run_to_completion,
            wake_outbox=on.hooks.deliver,
            act=late.act,
            quiet_until=late.quiet_until,
            lists=late,
            on_changed=on.hooks.changed.listen,
            on_ended=on.hooks.ended.listen,
            trace_headers=dict if tracing is None else tracing.headers,
            stack=on.stack,
        )

    return await open_extensions(settings, parts)
