"""The settings of agents: their tokens and limits."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from answerback.ports.settings_tables import LimitSettings, Names, Secrets, Table
from answerback.service.question_routing import NotBlank

TOKEN_HASH_PATTERN: Final = r"^sha256:[0-9a-f]{64}$"


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
