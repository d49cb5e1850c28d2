"""The keys of notifications, in the table of the surface whose people are notified: ``[web]``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from answerback.ports.plugin import SurfaceSettings
from answerback.ports.settings_tables import Names
from answerback_base.install_extras import PUSH

SURFACE: Final = "web"
"""The surface whose people can have themselves notified."""


@dataclass(frozen=True, slots=True)
class PushRules:
    """The operator's rules for notifications."""

    headline: bool = False
    """True if a notification shows the headline."""
    deny: bool = False
    """True if a permission can be denied from the notification."""
    anyone: bool = False
    """True if everyone is told of asks that anyone may answer."""
    allow: tuple[str, ...] = ()
    """Push services at addresses that are otherwise refused, as ``callbacks.allow``."""


class PushKeys(SurfaceSettings):
    """Turns notifications on, and says what they show and allow."""

    push: bool = False
    """True if people can have themselves notified in their browsers."""
    push_detail: Literal["agent", "headline"] = "agent"
    """The detail of a notification: the agent that asks, or the headline, too."""
    push_answer: bool = False
    """True if a permission can be denied from the notification."""
    push_anyone: bool = False
    """True if everyone is notified of asks that anyone may answer."""
    push_allow: Names = ()
    """Push services at private or loopback addresses that may be reached."""

    def extras(self) -> Sequence[tuple[str, Sequence[str], str]]:
        own = ((*PUSH, "`web.push`"),) if self.push else ()
        return (*super().extras(), *own)

    def rules(self) -> PushRules:
        return PushRules(
            headline=self.push_detail == "headline",
            deny=self.push_answer,
            anyone=self.push_anyone,
            allow=self.push_allow,
        )
