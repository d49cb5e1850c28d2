"""Parse Slack's events, strictly: each field that is used is well-formed or absent, or the event is not for us.

Shapes: https://docs.slack.dev/reference/events
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from answerback_slack import ids

_Channel: TypeAlias = Annotated[str, msgspec.Meta(pattern=rf"\A{ids.CHANNEL.pattern}\Z")]
_User: TypeAlias = Annotated[str, msgspec.Meta(pattern=rf"\A{ids.USER.pattern}\Z")]
_Group: TypeAlias = Annotated[str, msgspec.Meta(pattern=rf"\A{ids.GROUP.pattern}\Z")]
_Ts: TypeAlias = Annotated[str, msgspec.Meta(pattern=rf"\A{ids.TS.pattern}\Z")]


class ChangedMessage(msgspec.Struct, frozen=True):
    """A message before or after a change."""

    subtype: str | None = None
    ts: _Ts | None = None
    thread_ts: _Ts | None = None


class Subteam(msgspec.Struct, frozen=True):
    """A user group."""

    id: _Group
    date_delete: int | None = None


class RevokedTokens(msgspec.Struct, frozen=True):
    """Who had the tokens that were revoked."""

    bot: list[str] | None = None


class Event(msgspec.Struct, frozen=True):
    """The fields of all events that are used."""

    type: str
    subtype: str | None = None
    channel: _Channel | None = None
    user: _User | None = None
    tab: str | None = None
    thread_ts: _Ts | None = None
    event_ts: _Ts | None = None
    deleted_ts: _Ts | None = None
    message: ChangedMessage | None = None
    previous_message: ChangedMessage | None = None
    old_channel_id: _Channel | None = None
    new_channel_id: _Channel | None = None
    subteam: Subteam | None = None
    subteam_id: _Group | None = None
    tokens: RevokedTokens | None = None


def parse_event(event: object) -> Event:
    """Parse an event.

    Raises:
        msgspec.ValidationError: it has not the shape of an event that concerns us; the message says where.
    """
    return msgspec.convert(event, Event)
