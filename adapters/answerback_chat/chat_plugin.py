"""The settings and the plug-in that chat surfaces share. Their modules import a platform's library only when needed.

A surface's package has `adapter.build`, `doctor.findings` and `preview.preview`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from pydantic import SecretStr, model_validator

from answerback.ports.plugin import (
    BuiltSurface,
    DoctorContext,
    Finding,
    Host,
    Preview,
    SurfacePlugin,
    SurfaceSettings,
)
from answerback.ports.settings_tables import HttpUrl, Names

if TYPE_CHECKING:
    from answerback.core.ask import Ask
    from answerback.core.labels import Labels
    from answerback.ports.surface import Asks


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

    def needs_bot(self) -> bool:
        """Return True if a setting is present that is useless without a bot."""
        return False

    def why_unreachable(self) -> str | None:
        """Say why clicks cannot arrive and what to add; None if they can."""
        return None

    def configured(self) -> bool:
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
        names = (who.rpartition(":")[2] for who in people)  # "slack:@S9ENG" is "@S9ENG"
        return [who[1:] for who in names if who.startswith("@")]


S = TypeVar("S", bound=ChatSettings)


class ChatPlugin(SurfacePlugin[S]):
    def load(self) -> None:
        self._module("adapter")
        self._module("doctor")

    async def build(self, settings: S, host: Host, asks: Asks) -> BuiltSurface:
        surface = await self._module("adapter").build(settings, host, asks)
        return BuiltSurface(surface, hooks=surface.routes)

    async def findings(self, settings: S, checkup: DoctorContext) -> AsyncIterator[Finding]:
        async for finding in self._module("doctor").findings(settings, checkup):
            yield finding

    def preview(self, ask: Ask, labels: Labels) -> Preview:
        from answerback.core.view import view_of

        shown: Preview = self._module("preview").preview(view_of(ask, labels), labels)
        return shown

    def _module(self, name: str) -> Any:
        package, _, _ = type(self).__module__.rpartition(".")
        return import_module(f"{package}.{name}")
