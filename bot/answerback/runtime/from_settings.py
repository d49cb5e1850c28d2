"""What settings stand for: the routes, the tokens, where webhooks may go. Starts nothing."""

from __future__ import annotations

from collections.abc import Iterator

from answerback.api.auth import AgentTokens
from answerback.core.errors import ConfigError
from answerback.ports.install_extras import POSTGRES, missing_extra_message
from answerback.runtime.config import Settings, plugin_settings
from answerback.runtime.plugins import Plugins, installed_plugins
from answerback.service.submission_request import Agent, Routes, To, parse_destination
from answerback.webhooks.address_policy import AddressRules, CallbackPolicy


def build_callback_policy(settings: Settings) -> CallbackPolicy:
    """Where webhooks may go, and what signs them.

    Raises:
        ConfigError: callbacks.allow holds what is no host, address or network.
    """
    named = {name: agent.callback_secret for name, agent in settings.agents.items()}
    secrets = named if settings.agents else {None: settings.callbacks.secret}
    return CallbackPolicy(
        AddressRules(settings.callbacks.allow),
        {name: [one.get_secret_value() for one in many] for name, many in secrets.items()},
    )


def check_extras(settings: Settings) -> None:
    """Whether what the configured surfaces and the store need is installed.

    Raises:
        ConfigError: an extra is missing; in words.
    """
    used = [
        plugin for plugin in installed_plugins() if plugin_settings(settings, plugin).configured()
    ]
    sentences = [
        missing_extra_message(each.name, each.packages, f"The surface {each.name}") for each in used
    ]
    if settings.storage.uses_postgres:
        sentences.append(missing_extra_message(*POSTGRES, "`storage.url`"))
    if any(sentences):
        raise ConfigError("\n".join(filter(None, sentences)))


def build_routes(settings: Settings) -> Routes:
    """The configured routes.

    Raises:
        ConfigError: one leads nowhere.
    """
    plugins = installed_plugins()
    for key, to in configured_destinations(settings):
        if wrong := _wrong(to, plugins):
            raise ConfigError(f"{key}: {wrong}")
    return Routes(default=settings.default_route, by_name=settings.routes)


def configured_destinations(settings: Settings) -> Iterator[tuple[str, str | To]]:
    """The places at which the configuration asks, and the key of each."""
    for name, route in settings.routes.items():
        yield f"routes.{name}.to", route.to
        if route.escalate is not None and route.escalate.to is not None:
            yield f"routes.{name}.escalate.to", route.escalate.to
    if settings.default_route not in settings.routes:
        yield "default_route", settings.default_route


def _wrong(to: str | To, plugins: Plugins) -> str | None:
    """Why nothing can be asked at a place; None where it can, as soon as its surface is configured."""
    place = parse_destination(to, plugins.names)
    return place if isinstance(place, str) else plugins.broken.get(place.surface)


def build_agent_tokens(settings: Settings) -> AgentTokens:
    """The tokens of the configured agents."""
    return AgentTokens(
        {
            agent.token_hash: Agent(
                name=name, role=agent.role, routes=agent.routes, label=agent.label
            )
            for name, agent in settings.agents.items()
        }
    )
