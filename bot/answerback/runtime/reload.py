"""Taking up a changed configuration in a running service: all of it is checked first, then taken as far as can be."""

from __future__ import annotations

from typing import Final

from answerback.api.auth import Tokens
from answerback.runtime.config import Settings
from answerback.runtime.from_settings import callbacks_of, routes_of, tokens_of
from answerback.webhooks.address_policy import Callbacks

TAKEN: Final = ("agents", "callbacks", "log")
"""The tables that a running service takes up; every other one needs a restart."""


class Reloading:
    """What of a running service follows its configuration.

    Args:
        settings: those that the service was started with.
    """

    def __init__(self, settings: Settings, tokens: Tokens, callbacks: Callbacks) -> None:
        self._settings = settings
        self._tokens = tokens
        self._callbacks = callbacks

    def take(self, new: Settings) -> list[str]:
        """Takes up new settings, and names the tables with changes that need a restart.

        Raises:
            ConfigError: a table holds what it cannot; then everything stays as it is.
        """
        routes_of(new)
        tokens, callbacks = tokens_of(new), callbacks_of(new)
        old = self._settings
        # Without tokens the API serves this machine only: that is decided where the listeners are made. A token that
        # is revoked is refused at once, though, also the last one.
        open_or_closed = bool(old.agents) != bool(new.agents)
        taken = [name for name in TAKEN if not (open_or_closed and name in {"agents", "callbacks"})]
        if self._tokens.required:
            self._tokens.take(tokens)
        if not open_or_closed:
            self._callbacks.take(callbacks)
        self._settings = old.model_copy(update={name: getattr(new, name) for name in taken})
        return [
            name
            for name in type(new).model_fields
            if getattr(new, name) != getattr(self._settings, name, None)
        ]

    def take_agents(self, new: Settings) -> list[str]:
        """Takes up the agents alone; see `take`."""
        return self.take(self._settings.model_copy(update={"agents": new.agents}))
