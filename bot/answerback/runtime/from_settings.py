"""Build routes and tokens from the settings. Starts nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from answerback.api.auth import AgentTokens
from answerback.core.ask import Destination
from answerback.core.errors import ConfigError
from answerback.core.people import People
from answerback.ports.settings_tables import LimitSettings
from answerback.ports.store_values import NO_LIMITS, AskLimits
from answerback.runtime.config import Settings, plugin_settings
from answerback.runtime.plugins import Plugins, installed_plugins
from answerback.service.submission_plan import OWNER, parse_destination
from answerback.service.submission_request import Agent, Routes, To
from answerback_base.install_extras import OTEL, missing_extra_message

_AGENT_LIMITS: Final = AskLimits(
    asks_per_minute=60, open_asks=200, open_asks_per_conversation=20, unclaimed_files=30
)
"""The limits of an agent with a token, unless the configuration sets others."""


def check_extras(settings: Settings) -> None:
    """Check that the packages of the configured surfaces and the store are installed.

    Raises:
        ConfigError: an extra is missing.
    """
    configured = [
        plugin for plugin in installed_plugins() if plugin_settings(settings, plugin).configured()
    ]
    missing = [
        missing_extra_message(plugin.name, plugin.packages, f"The surface {plugin.name}")
        for plugin in configured
    ]
    missing += [
        missing_extra_message(*extra)
        for plugin in configured
        for extra in plugin_settings(settings, plugin).extras()
    ]
    missing.append(missing_extra_message(*settings.storage.plugin.extra, "`storage.url`"))
    if settings.tracing.endpoint is not None:
        missing.append(missing_extra_message(*OTEL, "`tracing.endpoint`"))
    if any(missing):
        raise ConfigError("\n".join(filter(None, missing)))


def build_routes(settings: Settings) -> Routes:
    """Build the configured routes.

    Raises:
        ConfigError: a route's destination is invalid.
    """
    plugins = installed_plugins()
    for key, to in configured_destinations(settings):
        if problem := _destination_problem(to, plugins):
            raise ConfigError(f"{key}: {problem}")
    people = build_people(settings)
    return Routes(default=settings.default_route, by_name=settings.routes, people=people)


def build_people(settings: Settings) -> People:
    people = settings.people
    return People(
        {name: person.ids for name, person in people.items()},
        {name: person.name for name, person in people.items() if person.name is not None},
    )


def configured_destinations(settings: Settings) -> Iterator[tuple[str, str | To]]:
    """Yield the places that the configuration names, with the key of each."""
    for name, route in settings.routes.items():
        if route.to != OWNER:
            yield f"routes.{name}.to", route.to
        if route.escalate is not None and route.escalate.to is not None:
            yield f"routes.{name}.escalate.to", route.escalate.to
    if settings.default_route not in {*settings.routes, OWNER}:
        yield "default_route", settings.default_route


def unconfigured_destinations(settings: Settings) -> dict[str, list[str]]:
    """Collect the keys that name places on surfaces that are not configured, by those surfaces' names."""
    plugins = installed_plugins()
    unconfigured = {
        plugin.name for plugin in plugins if not plugin_settings(settings, plugin).configured()
    }
    found: dict[str, list[str]] = {}
    for key, to in configured_destinations(settings):
        place = parse_destination(to, plugins.names)
        if not isinstance(place, str) and place.surface in unconfigured:
            found.setdefault(place.surface, []).append(key)
    return found


def how_to_configure(surface: str) -> str:
    """Say what turns a surface on, such as "Set CHAT_TOKEN in the environment, or chat.token in the configuration"."""
    variables = installed_plugins().usable[surface].variables
    if not variables:
        return f"Configure it in the table [{surface}]"
    variable, key = next(iter(variables.items()))
    return f"Set {variable} in the environment, or {surface}.{key} in the configuration"


def _destination_problem(to: str | To, plugins: Plugins) -> str | None:
    """Return why nobody can be asked at a place; None if they can, once its surface is configured."""
    place = parse_destination(to, plugins.names)
    return place if isinstance(place, str) else plugins.broken.get(place.surface)


def build_agent_tokens(settings: Settings) -> AgentTokens:
    return AgentTokens(
        {
            agent.token_hash: Agent(
                name=name,
                token_hash=agent.token_hash,
                role=agent.role,
                routes=agent.routes,
                label=agent.label,
                owner=agent.owner,
                limits=build_agent_limits(settings, agent.limits),
            )
            for name, agent in settings.agents.items()
        },
        required=settings.uses_tokens,
    )


def surface_of_route(settings: Settings, name: str) -> str | None:
    """Return the surface where a route asks; None if that depends on the ask."""
    route = settings.routes.get(name)
    place = parse_destination(route.to if route else name, installed_plugins().names)
    return place.surface if isinstance(place, Destination) else None


def build_agent_limits(settings: Settings, table: LimitSettings) -> AskLimits:
    """Build the limits of an agent with a token."""
    return _build_limits(_AGENT_LIMITS, settings.limits, table)


def build_anonymous_limits(settings: Settings) -> AskLimits:
    """Build the limits for asks without a token: only those that are set, since all programs here share them."""
    return _build_limits(NO_LIMITS, settings.limits)


def _build_limits(default: AskLimits, *tables: LimitSettings) -> AskLimits:
    """Build limits from tables of which each takes precedence over the one before."""
    for table in tables:
        default = replace(default, **table.model_dump(exclude_none=True))
    return default
