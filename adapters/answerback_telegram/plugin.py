"""The Telegram plug-in: its settings and entry points. Telegram's library is imported only when it is needed."""

from __future__ import annotations

from answerback_chat.chat_plugin import ChatPlugin, ChatSettings


class TelegramSettings(ChatSettings):
    """Telegram's settings. The surface is active once ``bot_token`` is set; with ``webhook``, updates come by HTTP."""

    platform = "Telegram"

    webhook: bool = False
    """True if updates come as requests to the public listener; otherwise they are polled."""

    rich_messages: bool = False
    """True if asks are rich messages: up to 32,768 characters, and tables. Older apps show a placeholder instead."""

    def http_actions_setting(self) -> str | None:
        return "telegram.webhook" if self.webhook else None

    def public_address_setting(self) -> str | None:
        return self.http_actions_setting()

    def connection(self) -> str:
        return "HTTP" if self.webhook else "long polling"


class TelegramPlugin(ChatPlugin[TelegramSettings]):
    name = "telegram"
    title = "Telegram"
    order = 30
    settings = TelegramSettings
    variables = {"TELEGRAM_BOT_TOKEN": "bot_token"}  # noqa: RUF012 - a ClassVar of the base class
    packages = ("telegram",)
    loggers = ("telegram", "httpx")
