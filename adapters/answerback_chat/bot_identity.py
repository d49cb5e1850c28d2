"""Who the bot is on a platform."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class BotIdentity:
    """The bot's own account, as far as the platform has told us."""

    bot_user: str | None = None
    """The bot's user id."""
