"""The Discord plug-in: its settings and entry points. Discord's library is imported only when it is needed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from answerback_chat.chat_plugin import ChatPlugin, ChatSettings


class DiscordSettings(ChatSettings):
    """Discord's settings. The surface is active once ``bot_token`` is set; with ``public_key``, clicks come by HTTP."""

    platform = "Discord"

    public_key: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{64}$")] | None = None
    gateway: bool = True
    message_content: bool = True
    """True if to request the privileged intent that lets the bot read every typed message."""
    shards: Annotated[int, Field(ge=1)] | Literal["auto"] = 1
    """The number of gateway connections that share the servers."""

    def needs_bot(self) -> bool:
        return self.public_key is not None

    def why_unreachable(self) -> str | None:
        if self.gateway or self.public_key is not None:
            return None
        return "clicks cannot be received: set public_key, or leave gateway on"

    def http_actions_setting(self) -> str | None:
        return "discord.public_key" if self.public_key else None

    def connection(self) -> str:
        return "HTTP" if self.public_key else "gateway"


class DiscordPlugin(ChatPlugin[DiscordSettings]):
    name = "discord"
    title = "Discord"
    order = 20
    settings = DiscordSettings
    variables = {  # noqa: RUF012 - a ClassVar of the base class
        "DISCORD_BOT_TOKEN": "bot_token",
        "DISCORD_PUBLIC_KEY": "public_key",
    }
    packages = ("discord",)
    loggers = ("discord",)
