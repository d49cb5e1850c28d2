"""The Telegram plug-in: its settings and entry points. Telegram's library is imported only when it is needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

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


class TelegramSettings(ChatSettings):
    """Telegram's settings. The surface is active once ``bot_token`` is set; with ``webhook``, updates come by HTTP."""

    platform = "Telegram"

    webhook: bool = False
    """Whether updates come as requests to the public listener; otherwise they are polled."""

    def needs_bot(self) -> bool:
        """See `ChatSettings.needs_bot`."""
        return False

    def why_unreachable(self) -> str | None:
        """See `ChatSettings.why_unreachable`: updates can always be polled."""
        return None

    def http_actions_setting(self) -> str | None:
        """See `SurfaceSettings.http_actions_setting`."""
        return "telegram.webhook" if self.webhook else None

    def connection(self) -> str:
        """See `SurfaceSettings.connection`."""
        return "HTTP" if self.webhook else "long polling"


class TelegramPlugin(SurfacePlugin[TelegramSettings]):
    """See `SurfacePlugin`."""

    name = "telegram"
    title = "Telegram"
    order = 30
    settings = TelegramSettings
    variables = {"TELEGRAM_BOT_TOKEN": "bot_token"}  # noqa: RUF012 - a ClassVar of the base class
    packages = ("telegram",)
    loggers = ("telegram", "httpx")

    def load(self) -> None:
        """See `SurfacePlugin.load`."""
        from answerback_telegram import adapter, doctor  # noqa: F401 - imported to load them

    async def build(self, settings: TelegramSettings, host: Host, asks: Asks) -> BuiltSurface:
        """See `SurfacePlugin.build`."""
        from answerback_telegram.adapter import TelegramSurface

        surface = TelegramSurface(
            asks,
            bot_token=settings.token,
            http=host.http,
            labels=host.labels,
            responders=settings.responders,
            api_url=settings.api_url,
            webhook_secret=(await host.secret()).hex() if settings.webhook else None,
            public_url=host.public_url,
            now=host.now,
            shared=host.shared,
        )
        return BuiltSurface(surface, hooks=surface.public_routes())

    async def findings(
        self, settings: TelegramSettings, checkup: DoctorContext
    ) -> AsyncIterator[Finding]:
        """See `SurfacePlugin.findings`."""
        from answerback_telegram import doctor

        async for finding in doctor.findings(
            checkup,
            settings.token,
            settings.api_url,
            settings.responders,
            webhook=settings.webhook,
        ):
            yield finding

    def preview(self, ask: Ask, labels: Labels) -> Preview:
        """See `SurfacePlugin.preview`."""
        from answerback.core.view import view_of
        from answerback_telegram import preview, render

        message = render.message(view_of(ask, labels), labels)
        return Preview(payload=message, html=preview.html(message))
