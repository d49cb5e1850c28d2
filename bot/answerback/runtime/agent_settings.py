"""The settings of agents: their tokens and limits, and what holds for agents that people connect themselves."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from answerback.ports.settings_tables import Names, Secrets, Table
from answerback.service.question_routing import NotBlank

TOKEN_HASH_PATTERN: Final = r"^sha256:[0-9a-f]{64}$"


class LimitSettings(Table):
    """How much an agent may ask; 0 means no limit. Unset keys have the default."""

    asks_per_minute: Annotated[int, Field(ge=0, le=100_000)] | None = None
    open_asks: Annotated[int, Field(ge=0, le=100_000)] | None = None
    """Asks that wait for people at the same time."""
    open_asks_per_conversation: Annotated[int, Field(ge=0, le=100_000)] | None = None


class AgentSettings(Table):
    """One token: an agent's or, with the role ``surface``, a custom front end's."""

    token_hash: Annotated[str, Field(pattern=TOKEN_HASH_PATTERN)]
    role: Literal["agent", "surface"] = "agent"
    routes: Names = ()
    """The routes it may use; if empty, all routes and also places by address."""
    callback_secret: Secrets = ()
    """The secrets that sign its webhooks; more than one during rotation."""
    label: Annotated[NotBlank, Field(max_length=100)] | None = None
    """The name that people see as the one who asks; by default the agent's name."""
    limits: LimitSettings = LimitSettings()
    """Its own limits; unset keys have those of ``[limits]``."""
    owner: str | None = None
    """The person in ``[people]`` on whose behalf it asks."""


class OnboardingSettings(Table):
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
