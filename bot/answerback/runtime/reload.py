"""Taking up a changed configuration in a running service: all of it is checked first, then taken as far as can be."""

from __future__ import annotations

from typing import Final

from answerback.api.auth import AgentTokens
from answerback.runtime.config import Settings
from answerback.runtime.from_settings import build_agent_tokens, build_callback_policy, build_routes
from answerback.webhooks.address_policy import CallbackPolicy

RELOADABLE_TABLES: Final = ("agents", "callbacks", "log")
"""The tables that a running service takes up; every other one needs a restart."""


class SettingsReloader:
    """What of a running service follows its configuration.

    Args:
        settings: those that the service was started with.
    """

    def __init__(self, settings: Settings, tokens: AgentTokens, callbacks: CallbackPolicy) -> None:
        self._settings = settings
        self._tokens = tokens
        self._callbacks = callbacks

    def update_from(self, new: Settings) -> list[str]:
        """Takes up new settings, and names the tables with changes that need a restart.

        Raises:
            ConfigError: a table holds what it cannot; then everything stays as it is.
        """
        build_routes(new)
        tokens, callbacks = build_agent_tokens(new), build_callback_policy(new)
        old = self._settings
        # Without tokens the API serves this machine only: that is decided where the listeners are made. A token that
        # is revoked is refused at once, though, also the last one.
        open_or_closed = bool(old.agents) != bool(new.agents)
        taken = [
            name
            for name in RELOADABLE_TABLES
            if not (open_or_closed and name in {"agents", "callbacks"})
        ]
        if self._tokens.required:
            self._tokens.update_from(tokens)
        if not open_or_closed:
            self._callbacks.update_from(callbacks)
        self._settings = old.model_copy(update={name: getattr(new, name) for name in taken})
        return [
            name
            for name in type(new).model_fields
            if getattr(new, name) != getattr(self._settings, name, None)
        ]

    def update_agents_from(self, new: Settings) -> list[str]:
        """Takes up the agents alone; see `update_from`."""
        return self.update_from(self._settings.model_copy(update={"agents": new.agents}))
