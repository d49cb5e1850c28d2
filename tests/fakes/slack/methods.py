"""A Web API method: its implementation, the scopes that allow it, and the kind of token that it needs.

Owns `Method` and the reading of arguments that come as JSON, form or query string.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.fakes.slack.interactivity import ApiError
from tests.fakes.slack.schema import Json
from tests.fakes.slack.workspace import BOT_USER, Channel

if TYPE_CHECKING:
    from tests.fakes.slack.server import FakeSlack

Run = Callable[["FakeSlack", Json], Awaitable[Json]]
Scopes = Callable[["FakeSlack", Json], tuple[str, ...]]


def no_scope(slack: "FakeSlack", args: Json) -> tuple[str, ...]:
    """For methods that any token of the right kind may call."""
    return ()


def scope(*names: str) -> Scopes:
    """Any of these scopes allows the method."""
    return lambda slack, args: names


def by_kind(suffix: str) -> Scopes:
    """The scope follows the kind of conversation: channels:history, im:history, …"""
    prefix = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}

    def needed(slack: "FakeSlack", args: Json) -> tuple[str, ...]:
        channel = slack.workspace.channels.get(str(args.get("channel")))
        kinds = [channel.kind] if channel is not None else list(prefix)
        return tuple(f"{prefix[kind]}:{suffix}" for kind in kinds)

    return needed


@dataclass(frozen=True, slots=True)
class Method:
    """One method of the Web API."""

    run: Run
    scopes: Scopes = field(default=no_scope)
    app_level: bool = False


Methods = dict[str, Method]


def flag(args: Json, key: str, *, default: bool = False) -> bool:
    """A boolean argument, as JSON or as text."""
    value = args.get(key, default)
    return value if isinstance(value, bool) else str(value).lower() in ("1", "true")


def required(args: Json, key: str) -> str:
    """A required text argument.

    Raises:
        ApiError: `invalid_arguments` with the pointer of what is missing.
    """
    value = args.get(key)
    if value in (None, ""):
        detail = {"messages": [f"[ERROR] missing required field: {key}"]}
        raise ApiError("invalid_arguments", response_metadata=detail)
    return str(value)


def readable(slack: "FakeSlack", args: Json) -> Channel:
    """The conversation named by `channel`, when the bot may read it."""
    channel = slack.workspace.channels.get(str(args.get("channel")))
    if channel is None or (channel.kind != "channel" and BOT_USER not in channel.members):
        raise ApiError("channel_not_found")
    return channel


def writable(slack: "FakeSlack", args: Json) -> Channel:
    """The conversation named by `channel` (a user's id means the direct one), when open to posts."""
    id = required(args, "channel")
    if id in slack.workspace.users and id[:1] in "UW":
        if slack.workspace.users[id].deleted:
            raise ApiError("channel_not_found")
        return slack.workspace.direct(id)
    channel = readable(slack, args)
    if channel.archived:
        raise ApiError("is_archived")
    public = channel.kind == "channel" and "chat:write.public" in slack.scopes
    if BOT_USER not in channel.members and not public:
        raise ApiError("not_in_channel")
    return channel
