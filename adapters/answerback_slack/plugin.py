"""The Slack plug-in: its settings and its entry points. Slack's libraries are imported only when needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, cast

from pydantic import JsonValue, SecretStr

from answerback.ports.plugin import (
    BuiltSurface,
    DoctorContext,
    Finding,
    Host,
    Manifest,
    Preview,
    SurfacePlugin,
)
from answerback_chat.chat_settings import ChatSettings

if TYPE_CHECKING:
    from answerback.core.ask import Ask
    from answerback.core.labels import Labels
    from answerback.ports.surface import Asks

_MANIFEST_HELP = """Print the manifest of the Slack app, as YAML.

Paste it at https://api.slack.com/apps under *Create New App*, *From a manifest*.

A mode that ends in `-agent` has Slack show the app as an agent: its threads have a status and a Stop button.

Example: `answerback manifest slack --mode socket`
"""


class SlackSettings(ChatSettings):
    """Settings of the Slack surface, which is on once ``bot_token`` is set. ``app_token`` selects Socket Mode."""

    platform = "Slack"

    app_token: SecretStr | None = None
    signing_secret: SecretStr | None = None

    def needs_bot(self) -> bool:
        """See `ChatSettings.needs_bot`."""
        return bool(self.app_token or self.signing_secret)

    def why_unreachable(self) -> str | None:
        """See `ChatSettings.why_unreachable`."""
        if self.app_token or self.signing_secret:
            return None
        return "clicks cannot be received: add app_token (Socket Mode) or signing_secret (HTTP)"

    def http_actions_setting(self) -> str | None:
        """See `SurfaceSettings.http_actions_setting`."""
        if self.bot_token is None or self.app_token is not None:
            return None
        return "slack.signing_secret without slack.app_token"

    def connection(self) -> str:
        """See `SurfaceSettings.connection`."""
        return "Socket Mode" if self.app_token else "HTTP"


class SlackPlugin(SurfacePlugin[SlackSettings]):
    """See `SurfacePlugin`."""

    name = "slack"
    title = "Slack"
    order = 10
    settings = SlackSettings
    variables = {  # noqa: RUF012 - a ClassVar of the base class
        "SLACK_BOT_TOKEN": "bot_token",
        "SLACK_APP_TOKEN": "app_token",
        "SLACK_SIGNING_SECRET": "signing_secret",
    }
    packages = ("msgspec", "slack_bolt", "slack_sdk")
    loggers = ("slack_bolt", "slack_sdk")

    def load(self) -> None:
        """See `SurfacePlugin.load`."""
        from answerback_slack import adapter, doctor  # noqa: F401 - to have them loaded

    async def build(self, settings: SlackSettings, host: Host, asks: Asks) -> BuiltSurface:
        """See `SurfacePlugin.build`."""
        from answerback_slack.adapter import SlackSurface

        surface = SlackSurface(
            asks,
            bot_token=settings.token,
            app_token=_secret_value(settings.app_token),
            signing_secret=_secret_value(settings.signing_secret),
            responders=settings.responders,
            api_url=settings.api_url,
            labels=host.labels,
            http=host.http,
            now=host.now,
            shared=host.shared,
        )
        return BuiltSurface(surface, hooks=surface.public_routes())

    async def findings(
        self, settings: SlackSettings, checkup: DoctorContext
    ) -> AsyncIterator[Finding]:
        """See `SurfacePlugin.findings`."""
        from answerback_slack import doctor

        setup = doctor.Setup(
            bot_token=settings.token,
            app_token=_secret_value(settings.app_token),
            signing_secret=_secret_value(settings.signing_secret),
            public_url=checkup.public_url,
            api_url=settings.api_url,
            channels=checkup.channels,
            groups=settings.groups(checkup),
        )
        async for finding in doctor.findings(setup, checkup.http):
            yield finding

    def preview(self, ask: Ask, labels: Labels) -> Preview:
        """See `SurfacePlugin.preview`."""
        from answerback.core.view import view_of
        from answerback_slack import preview, render
        from answerback_slack.mentions import mention

        view = view_of(ask, labels)
        message = render.render(view, labels, {who: mention(who) for who in view.responders})
        blocks = cast("JsonValue", message.blocks)
        return Preview(
            payload={"text": message.text, "blocks": blocks},
            html=preview.blocks_to_html(message.blocks),
            source={"blocks": blocks},
            hint="It can be pasted into Slack's Block Kit Builder.",
        )

    def manifest(self) -> Manifest:
        """See `SurfacePlugin.manifest`."""
        from answerback_slack import manifest

        return Manifest(
            _MANIFEST_HELP, manifest.MODES, manifest.manifest_yaml, manifest.EXAMPLE_URL
        )


def _secret_value(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()
