"""Reload a running service's configuration: check all of it first, then apply what can change without a restart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from answerback.api.auth import AgentTokens
from answerback.runtime.config import Settings
from answerback.runtime.extensions import Extensions
from answerback.runtime.from_settings import (
    build_agent_tokens,
    build_routes,
)
from answerback.service.submission_request import Routes

RELOADABLE_TABLES: Final = ("agents", "people", "routes", "default_route", "limits", "log")
"""The tables of the service that can be reloaded, as some of extensions can; changes to any other need a restart."""


@dataclass(slots=True)
class SettingsReloader:
    settings: Settings
    """The settings in use; at first, those the service was started with."""
    tokens: AgentTokens
    extensions: Extensions
    routes: Routes

    def update_from(self, new: Settings) -> list[str]:
        """Apply new settings, and return the tables whose changes need a restart.

        Raises:
            ConfigError: a table is invalid; then nothing changes.
        """
        routes = build_routes(new)
        tokens, apply_extensions = build_agent_tokens(new), self.extensions.check_reload(new)
        old = self.settings
        # Whether there are tokens decides, when the listeners are created, if the API only serves this machine; it
        # cannot change later. A revoked token is refused at once, though, even the last one.
        switches_tokens = old.uses_tokens != new.uses_tokens
        applied = [
            name
            for name in RELOADABLE_TABLES
            if not (switches_tokens and name == "agents")
            and not (name == "limits" and not self.tokens.required)
        ]
        if self.tokens.required:
            self.tokens.update_from(tokens)
        if not switches_tokens:
            applied += apply_extensions()
        self.routes.default, self.routes.by_name = routes.default, routes.by_name
        self.routes.people.update_from(routes.people)
        self.settings = old.model_copy(update={name: getattr(new, name) for name in applied})
        self.extensions.on_reload()
        return [
            name
            for name in type(new).model_fields
            if getattr(new, name) != getattr(self.settings, name, None)
        ]

    def update_agents_from(self, new: Settings) -> list[str]:
        """Apply only the agents; see `update_from`."""
        return self.update_from(self.settings.model_copy(update={"agents": new.agents}))
