"""The Discord plug-in: its settings and entry points. Discord's library is imported only when it is needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from answerback.ports.plugin import (
    BuiltSurface,
    DoctorContext,
    Finding,
    Host,
    Preview,
    SurfacePlugin,
)
from answerback_chat.chat_settings import ChatSettings

if TYPE_CHECKING:
    from answerback.core.ask import Ask
    from answerback.core.labels import Labels
    from answerback.ports.surface import Asks


class DiscordSettings(ChatSettings):
    """Discord's settings. The surface is active once ``bot_token`` is set; with ``public_key``, clicks come by HTTP."""

    platform = "Discord"

    public_key: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{64}$")] | None = None
    gateway: bool = True
    message_content: bool = True
    """Whether to request the privileged intent that lets the bot read every typed message."""
    shards: Annotated[int, Field(ge=1)] | Literal["auto"] = 1
    """How many gateway connections share the servers."""

    def needs_bot(self) -> bool:
        """See `ChatSettings.needs_bot`."""
        return self.public_key is not None

    def why_unreachable(self) -> str | None:
        """See `ChatSettings.why_unreachable`."""
        if self.gateway or self.public_key is not None:
            return None
        return "clicks cannot be received: set public_key, or leave gateway on"

    def http_actions_setting(self) -> str | None:
        """See `SurfaceSettings.http_actions_setting`."""
        return "discord.public_key" if self.public_key else None

    def connection(self) -> str:
        """See `SurfaceSettings.connection`."""
        return "HTTP" if self.public_key else "gateway"


class DiscordPlugin(SurfacePlugin[DiscordSettings]):
    """See `SurfacePlugin`."""

    name = "discord"
    title = "Discord"
    order = 20
    settings = DiscordSettings
    variables = {  # noqa: RUF012 - a ClassVar of the base class
        "DISCORD_BOT_TOKEN": "bot_token",
        "DISCORD_PUBLIC_KEY": "public_key",
    }
    packages = ("discord", "nacl")
    loggers = ("discord",)

    def load(self) -> None:
        """See `SurfacePlugin.load`."""
        from answerback_discord import adapter, doctor  # noqa: F401 - imported to load them

    async def build(self, settings: DiscordSettings, host: Host, asks: Asks) -> BuiltSurface:
        """See `SurfacePlugin.build`."""
        from answerback_discord.adapter import DiscordSurface

        surface = DiscordSurface(
            asks,
            bot_token=settings.token,
            http=host.http,
            now=host.now,
            labels=host.labels,
            public_key=settings.public_key,
            responders=settings.responders,
            api_url=settings.api_url,
            gateway=settings.gateway,
            content=settings.message_content,
            shards=settings.shards,
            shared=host.shared,
        )
        return BuiltSurface(surface, hooks=surface.public_routes())

    async def findings(
        self, settings: DiscordSettings, checkup: DoctorContext
    ) -> AsyncIterator[Finding]:
        """See `SurfacePlugin.findings`."""
        from answerback_discord import doctor

        setup = doctor.Setup(
            bot_token=settings.token,
            public_key=settings.public_key,
            public_url=checkup.public_url,
            api_url=settings.api_url,
            content=settings.gateway and settings.message_content,
            gateway=settings.gateway,
            channels=checkup.channels,
            roles=settings.groups(checkup),
            fix=checkup.fix,
        )
        async for finding in doctor.findings(setup, checkup.http):
            yield finding

    def preview(self, ask: Ask, labels: Labels) -> Preview:
        """See `SurfacePlugin.preview`."""
        from answerback.core.view import view_of
        from answerback_discord import preview, render

        message = render.message(view_of(ask, labels), labels)
        return Preview(payload=message, html=preview.html(message))
