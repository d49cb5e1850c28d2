"""The Slack plug-in: its settings and its entry points. Slack's libraries are imported only when needed."""

from __future__ import annotations

from pydantic import SecretStr

from answerback.ports.plugin import Manifest
from answerback_chat.chat_plugin import ChatPlugin, ChatSettings

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
        return bool(self.app_token or self.signing_secret)

    def why_unreachable(self) -> str | None:
        if self.app_token or self.signing_secret:
            return None
        return "clicks cannot be received: add app_token (Socket Mode) or signing_secret (HTTP)"

    def http_actions_setting(self) -> str | None:
        if self.bot_token is None or self.app_token is not None:
            return None
        return "slack.signing_secret without slack.app_token"

    @property
    def secret(self) -> str:
        """The signing secret of a surface that receives clicks by HTTP."""
        if self.signing_secret is None:
            raise AssertionError("without an app token there is a signing secret")
        return self.signing_secret.get_secret_value()

    def connection(self) -> str:
        return "Socket Mode" if self.app_token else "HTTP"


class SlackPlugin(ChatPlugin[SlackSettings]):
    name = "slack"
    title = "Slack"
    order = 10
    settings = SlackSettings
    variables = {  # noqa: RUF012 - a ClassVar of the base class
        "SLACK_BOT_TOKEN": "bot_token",
        "SLACK_APP_TOKEN": "app_token",
        "SLACK_SIGNING_SECRET": "signing_secret",
    }
    packages = ("slack_bolt", "slack_sdk")
    loggers = ("slack_bolt", "slack_sdk")

    def manifest(self) -> Manifest:
        from answerback_slack import manifest

        return Manifest(
            _MANIFEST_HELP, manifest.MODES, manifest.manifest_yaml, manifest.EXAMPLE_URL
        )


def reveal(secret: SecretStr | None) -> str | None:
    """Return the value of a secret, if there is one."""
    return None if secret is None else secret.get_secret_value()
