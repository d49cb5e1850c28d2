"""Run the whole service from its settings, and shut it down again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from answerback.ports.plugin import OperatorPages
from answerback.runtime.background import start_background
from answerback.runtime.built_service import build_service
from answerback.runtime.config import Settings
from answerback.runtime.extensions import Extensions, check_extensions
from answerback.runtime.foundation import lay_foundation
from answerback.runtime.from_settings import check_extras
from answerback.runtime.listeners import start_listeners
from answerback.runtime.machine import THIS_MACHINE, Machine
from answerback.runtime.reload import SettingsReloader
from answerback.runtime.surfaces import start_surfaces
from answerback.service.service import Service


@dataclass(frozen=True, slots=True)
class RunningService:
    """A running service: its addresses, and its parts for commands that run in the same process."""

    api_url: str
    public_url: str | None
    inbox_url: str
    """The inbox with the operator's key in the URL: only for the operator. Empty if no surface has an inbox."""
    operator_pages: OperatorPages | None
    """The pages that the operator may open, if a surface has any."""
    service: Service
    reloader: SettingsReloader
    """Applies changed settings."""
    extensions: Extensions


@asynccontextmanager
async def run_service(
    settings: Settings, machine: Machine = THIS_MACHINE
) -> AsyncIterator[RunningService]:
    """Run the whole service until the context exits: its parts, one after the other, each on those before.

    Raises:
        ConfigError: an address cannot be bound, or a route is invalid.
        StoreError: the database cannot be opened.
    """
    check_extras(settings)
    check_extensions(settings)
    async with AsyncExitStack() as stack:
        foundation = await lay_foundation(settings, machine, stack)
        built = await build_service(foundation)
        surfaces = await start_surfaces(foundation, built)
        background = await start_background(foundation, built)
        await start_listeners(foundation, built, surfaces, background)
        pages = (each.operator_pages for each in surfaces)
        operator_pages = next((each for each in pages if each is not None), None)
        yield RunningService(
            foundation.sockets.api_url,
            foundation.sockets.public_url,
            "" if operator_pages is None else await operator_pages.inbox_url(),
            operator_pages,
            built.service,
            SettingsReloader(settings, built.tokens, built.extensions, foundation.routes),
            built.extensions,
        )
