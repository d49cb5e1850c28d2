"""The configured surfaces, built with the service and started."""

from __future__ import annotations

import asyncio
from functools import partial

from answerback.ports.claims import SOLE_CLAIM, SharedLeases
from answerback.ports.plugin import BuiltSurface, Host
from answerback.runtime.built_service import BuiltService
from answerback.runtime.config import plugin_settings
from answerback.runtime.foundation import Foundation
from answerback.runtime.plugins import installed_plugins
from answerback.runtime.replica_lifecycle import release_claims


async def start_surfaces(on: Foundation, built: BuiltService) -> list[BuiltSurface]:
    """Build the configured surfaces, and start them. They stop with the stack."""
    surfaces = await _build_surfaces(on, built)
    on.surfaces.update((each.surface.name, each.surface) for each in surfaces)
    if on.opened.claim is not SOLE_CLAIM:
        # After the surfaces have stopped: until then they do the claimed work.
        on.stack.push_async_callback(release_claims, built.service, on.cut_off)
    for surface in on.surfaces.values():
        on.stack.push_async_callback(surface.stop)
        await surface.start()
    return surfaces


async def _build_surfaces(on: Foundation, built: BuiltService) -> list[BuiltSurface]:
    settings, (store, claim, clock) = on.settings, on.opened
    surfaces = []
    for plugin in installed_plugins():
        plugin_config = plugin_settings(settings, plugin)
        if plugin_config.configured():
            await asyncio.to_thread(plugin.load)  # the parts that extensions add may need it
            host = Host(
                http=on.http,
                labels=settings.labels,
                secret=partial(store.secret, plugin.name),
                local_url=on.sockets.api_url,
                public_url=on.sockets.public_url,
                holders=on.holders,
                tokens=settings.uses_tokens,
                agents={
                    name: agent.label or name
                    for name, agent in settings.agents.items()
                    if agent.role == "agent"
                },
                now=clock.now,
                additions=built.extensions.for_page(plugin.name),
                shared=None if claim is SOLE_CLAIM else SharedLeases(store.leases, claim.holder),
            )
            surfaces.append(await plugin.build(plugin_config, host, built.service))
    return surfaces
