"""What chat surfaces have in common in the configuration: a bot, and who may answer. Imports no platform's library."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

from pydantic import SecretStr, model_validator

from answerback.ports.plugin import DoctorContext, SurfaceSettings
from answerback.ports.settings_tables import HttpUrl, Names


class ChatSettings(SurfaceSettings):
    """A chat surface's table; there is a surface once ``bot_token`` is set."""

    platform: ClassVar[str]

    bot_token: SecretStr | None = None
    responders: Names = ()
    api_url: HttpUrl | None = None

    @model_validator(mode="after")
    def _has_a_bot(self) -> Self:
        if self.bot_token is None and self.needs_bot():
            words = f"bot_token is missing: without it nothing can be posted to {self.platform}"
            raise ValueError(words)
        if self.bot_token is not None and (wrong := self.why_unreachable()) is not None:
            raise ValueError(wrong)
        return self

    @abstractmethod
    def needs_bot(self) -> bool:
        """Whether something is set that is good for nothing without a bot."""

    @abstractmethod
    def why_unreachable(self) -> str | None:
        """Why clicks cannot come in, and what to add; None where they can."""

    def configured(self) -> bool:
        """See `SurfaceSettings.configured`."""
        return self.bot_token is not None

    @property
    def token(self) -> str:
        """The bot token of a surface that is configured."""
        if self.bot_token is None:
            raise AssertionError("a surface without a bot token is not configured")
        return self.bot_token.get_secret_value()

    def groups(self, checkup: DoctorContext) -> list[str]:
        """The groups among all responders that are configured, without the leading @."""
        people = (*self.responders, *checkup.responders)
        return [who[1:] for who in people if who.startswith("@")]
