"""The service itself, with who may call it and what extends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from answerback.api.auth import AgentTokens
from answerback.ports.agent_tokens import RulesInForce
from answerback.ports.extension import Configured, ServiceParts
from answerback.runtime import person_keys
from answerback.runtime.desks import build_account_links, build_sign_ins
from answerback.runtime.extensions import Extensions, find_notifying_surface, open_extensions
from answerback.runtime.foundation import Foundation
from answerback.runtime.from_settings import (
    build_agent_tokens,
    build_anonymous_limits,
    build_onboarding,
)
from answerback.runtime.plugins import installed_plugins
from answerback.service.question_routing import Rules
from answerback.service.service import Service

if TYPE_CHECKING:
    from answerback.service.sign_ins import SignIns


@dataclass(frozen=True, slots=True)
class BuiltService:
    """The service, and what decides who may call it."""

    service: Service
    extensions: Extensions
    tokens: AgentTokens
    in_force: RulesInForce
    sign_ins: SignIns | None


async def build_service(on: Foundation) -> BuiltService:
    """Build the service. Its surfaces are built afterwards, and added to those of the foundation.

    Raises:
        ConfigError: the table of an extension is invalid.
        StoreError: what an extension needs, or the linked accounts, cannot be read.
    """
    settings, opened, routes = on.settings, on.opened, on.routes
    links = await build_account_links(settings, opened, routes.people, on.holders)
    extensions = await _open_extensions(on)
    tokens = build_agent_tokens(settings)
    credential_of = person_keys.build_credential_reader(settings, on.holders, tokens)
    in_force = RulesInForce(build_onboarding(settings))
    sign_ins, commands = build_sign_ins(
        settings, opened, routes, on.surfaces, tokens, in_force, credential_of
    )
    service = Service(
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
        commands=[*commands, *([links.command] if links else []), *extensions.commands()],
        account_links=links,
        extensions=extensions.storing(),
    )
    return BuiltService(service, extensions, tokens, in_force, sign_ins)


async def _open_extensions(on: Foundation) -> Extensions:
    settings, opened, tracing = on.settings, on.opened, on.tracing

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
            address=on.sockets.address,
            wake_outbox=on.hooks.deliver,
            on_ended=on.hooks.ended.listen,
            trace_headers=dict if tracing is None else tracing.headers,
            notifying=find_notifying_surface(settings),
            stack=on.stack,
        )

    return await open_extensions(settings, parts)
