"""The settings that chat surfaces share: a bot, and who may answer. Imports no platform's library."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

from pydantic import SecretStr, model_validator

from answerback.ports.plugin import DoctorContext, SurfaceSettings
from answerback.ports.settings_tables import HttpUrl, Names


class ChatSettings(SurfaceSettings):
    """A chat surface's settings table; setting ``bot_token`` enables the surface."""

    platform: ClassVar[str]

    bot_token: SecretStr | None = None
    responders: Names = ()
    api_url: HttpUrl | None = None

    @model_validator(mode="after")
    def _has_a_bot(self) -> Self:
        if self.bot_token is None and self.needs_bot():
            message = f"bot_token is missing: without it nothing can be posted to {self.platform}"
            raise ValueError(message)
        if self.bot_token is not None and (problem := self.why_unreachable()) is not None:
            raise ValueError(problem)
        return self

    @abstractmethod
    def needs_bot(self) -> bool:
        """Whether a setting is present that is useless without a bot."""

    @abstractmethod
    def why_unreachable(self) -> str | None:
        """Say why clicks cannot arrive and what to add; None if they can."""

    def configured(self) -> bool:
        """See `SurfaceSettings.configured`."""
        return self.bot_token is not None

    @property
    def token(self) -> str:
        """The bot token of a configured surface."""
        if self.bot_token is None:
            raise AssertionError("a surface without a bot token is not configured")
        return self.bot_token.get_secret_value()

    def groups(self, checkup: DoctorContext) -> list[str]:
        """Return the groups among all configured responders, without the leading @."""
        people = (*self.responders, *checkup.responders)
        return [who[1:] for who in people if who.startswith("@")]
