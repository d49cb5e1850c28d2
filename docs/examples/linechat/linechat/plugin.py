"""The plug-in: the surface's name, its settings, how to build it, and its optional features."""

from __future__ import annotations

import html
import socket
from collections.abc import AsyncIterator

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.plugin import (
    BuiltSurface,
    DoctorContext,
    Finding,
    Host,
    Preview,
    SurfacePlugin,
    SurfaceSettings,
)
from answerback.ports.settings_tables import Port
from answerback.ports.surface import Asks


class LineChatSettings(SurfaceSettings):
    """The table ``[linechat]``; setting ``port`` enables the surface."""

    host: str = "127.0.0.1"
    port: Port | None = None

    def configured(self) -> bool:
        return self.port is not None


class LineChatPlugin(SurfacePlugin[LineChatSettings]):
    name = "linechat"
    title = "Line chat"
    settings = LineChatSettings
    variables = {"LINECHAT_PORT": "port"}  # noqa: RUF012 - a ClassVar of the base class

    def load(self) -> None:
        from linechat import surface  # noqa: F401 - imported to load it

    async def build(self, settings: LineChatSettings, host: Host, asks: Asks) -> BuiltSurface:
        from linechat.surface import LineChat

        return BuiltSurface(LineChat(asks, settings.host, settings.port or 0, host.labels))

    async def findings(
        self, settings: LineChatSettings, checkup: DoctorContext
    ) -> AsyncIterator[Finding]:
        what = f"Line chat: port {settings.port}"
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((settings.host, settings.port or 0))
            except OSError as error:
                yield Finding(
                    what, str(error.strerror), "Stop what uses this port, or change linechat.port."
                )
                return
        yield Finding(what)

    def preview(self, ask: Ask, labels: Labels) -> Preview:
        from linechat.render import message

        payload = message(view_of(ask), labels)
        return Preview(payload=payload, html=f"<pre>{html.escape(str(payload['text']))}</pre>")
