"""Who the bot is on a platform."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class BotIdentity:
    """What the platform has told us so far."""

    bot_user: str | None = None
    """The bot's user id."""
