"""The table of the configuration for agents that people connect themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from answerback.ports.settings_tables import ExtensionTable, LimitSettings, Names


class OnboardingSettings(ExtensionTable):
    """``[onboarding]``: people connect their own agents. If any person may, callers need tokens from the start."""

    owners: Names = ()
    """Who may: people and groups as among responders, or ``anyone``; if empty, nobody."""
    agents_per_person: Annotated[int, Field(ge=1, le=1_000)] = 5
    days: Annotated[float, Field(gt=0, le=3_660)] = 90
    """Days for which an agent stays connected."""
    route: str | None = None
    """The only route that these agents may use; by default the default route."""
    limits: LimitSettings = LimitSettings()
    """Their limits; unset keys have those of ``[limits]``."""

    def adds_agents(self) -> bool:
        return bool(self.owners)

    def named_routes(self) -> Mapping[str, str]:
        return {} if self.route is None else {"route": self.route}

    def named_people(self) -> Mapping[str, Sequence[str]]:
        return {"owners": self.owners}
