"""Parse the gateway's events about places, strictly: each field that is used is well-formed or absent.

Shapes: https://docs.discord.com/developers/events/gateway-events
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Snowflake: TypeAlias = Annotated[str, Field(pattern=r"\A[0-9]{1,20}\z")]
"""An id: https://docs.discord.com/developers/reference#snowflakes"""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class User(_Part):
    id: Snowflake | None = None


class ThreadState(_Part):
    locked: bool = False


class Place(_Part):
    id: Snowflake


class Event(_Part):
    """The fields of all events that are used."""

    id: Snowflake | None = None
    ids: tuple[Snowflake, ...] = Field((), strict=False)
    channel_id: Snowflake | None = None
    guild_id: Snowflake | None = None
    parent_id: Snowflake | None = None
    role_id: Snowflake | None = None
    type: int | None = None
    unavailable: bool = False
    thread_metadata: ThreadState | None = None
    joined_at: datetime | None = Field(None, strict=False)
    channels: tuple[Place, ...] = Field((), strict=False)
    user: User | None = None
