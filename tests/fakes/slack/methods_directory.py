"""conversations.*, users.*, usergroups.*, bots.info, apps.connections.open: people and conversations.

Owns look-ups, the opening of direct conversations, and tickets for Socket Mode.
"""

from typing import TYPE_CHECKING

from tests.fakes.slack.interactivity import ApiError
from tests.fakes.slack.methods import Method, Methods, by_kind, flag, readable, required, scope
from tests.fakes.slack.schema import Json
from tests.fakes.slack.workspace import APP, BOT, BOT_USER, TEAM, Message

if TYPE_CHECKING:
    from tests.fakes.slack.server import FakeSlack


async def open_conversation(slack: "FakeSlack", args: Json) -> Json:
    """conversations.open: a direct conversation with one person, or with up to eight."""
    users = [user for user in required(args, "users").split(",") if user]
    if len(users) > 8:
        raise ApiError("too_many_users")
    for user in users:
        if user not in slack.workspace.users:
            raise ApiError("user_not_found")
        if slack.workspace.users[user].deleted:
            raise ApiError("user_disabled")
    if len(users) == 1:
        return {"channel": slack.workspace.direct(users[0]).payload()}
    id = "G" + "".join(sorted(user[1:] for user in users))
    if id not in slack.workspace.channels:
        slack.workspace.add_channel(id, *users, kind="mpim")
    return {"channel": slack.workspace.channels[id].payload()}


async def info(slack: "FakeSlack", args: Json) -> Json:
    """conversations.info."""
    return {"channel": readable(slack, args).payload()}


async def members(slack: "FakeSlack", args: Json) -> Json:
    """conversations.members, in pages."""
    everyone = sorted(readable(slack, args).members)
    page, cursor = _page(everyone, args)
    return {"members": page, "response_metadata": {"next_cursor": cursor}}


def _page(items: list[Message] | list[str], args: Json) -> tuple[list[Message] | list[str], str]:
    start = int(args.get("cursor") or 0)
    end = start + int(args.get("limit") or 100)
    return items[start:end], str(end) if end < len(items) else ""


def _listed(messages: list[Message], args: Json) -> Json:
    page, cursor = _page(messages, args)
    metadata = flag(args, "include_all_metadata")
    result = [m.payload(metadata=metadata) for m in page if isinstance(m, Message)]
    return {
        "messages": result, "has_more": bool(cursor), "response_metadata": {"next_cursor": cursor},
    }  # fmt: skip


def _between(message: Message, args: Json) -> bool:
    oldest, latest = args.get("oldest"), args.get("latest")
    inclusive = flag(args, "inclusive")
    if oldest and not (message.ts > str(oldest) or (inclusive and message.ts == str(oldest))):
        return False
    return not latest or message.ts < str(latest) or (inclusive and message.ts == str(latest))


async def replies(slack: "FakeSlack", args: Json) -> Json:
    """conversations.replies: the parent, then its replies, oldest first."""
    channel = _member(slack, args)
    ts = required(args, "ts")
    thread = slack.workspace.thread(channel, ts)
    if not thread:
        raise ApiError("thread_not_found")
    found = [m for m in thread if m.ts == ts or _between(m, args)]
    answer = _listed(found, args)
    count = len(thread) - 1
    for message in answer["messages"]:
        if message["ts"] == ts and count:
            message |= {"thread_ts": ts, "reply_count": count, "latest_reply": thread[-1].ts}
    return answer


async def history(slack: "FakeSlack", args: Json) -> Json:
    """conversations.history: newest first, without replies."""
    channel = _member(slack, args)
    every = sorted(slack.workspace.messages[channel].values(), key=lambda m: m.ts, reverse=True)
    found = [
        m for m in every
        if not m.deleted and m.thread_ts in (None, m.ts) and _between(m, args)
    ]  # fmt: skip
    return _listed(found, args)


def _member(slack: "FakeSlack", args: Json) -> str:
    channel = readable(slack, args)
    if BOT_USER not in channel.members:
        raise ApiError("not_in_channel")
    return channel.id


async def user_info(slack: "FakeSlack", args: Json) -> Json:
    """users.info."""
    user = slack.workspace.users.get(required(args, "user"))
    if user is None:
        raise ApiError("user_not_found")
    return {"user": user.payload()}


async def groups(slack: "FakeSlack", args: Json) -> Json:
    """usergroups.list."""
    with_users = flag(args, "include_users")
    result = []
    for id, (handle, people) in slack.workspace.groups.items():
        disabled = id in slack.workspace.disabled_groups
        if disabled and not flag(args, "include_disabled"):
            continue
        group: Json = {"id": id, "team_id": TEAM, "handle": handle, "name": handle}
        group |= {"date_update": 1_764_000_000, "date_delete": 1_764_000_000 if disabled else 0}
        group |= {"user_count": len(people)} if flag(args, "include_count") else {}
        result.append(group | ({"users": people} if with_users else {}))
    return {"usergroups": result}


async def group_users(slack: "FakeSlack", args: Json) -> Json:
    """usergroups.users.list."""
    group = slack.workspace.groups.get(required(args, "usergroup"))
    if group is None:
        raise ApiError("no_such_subteam")
    return {"users": list(group[1])}


async def bot_info(slack: "FakeSlack", args: Json) -> Json:
    """bots.info."""
    if args.get("bot") not in (None, BOT):
        raise ApiError("bot_not_found")
    return {"bot": {"id": BOT, "app_id": APP, "user_id": BOT_USER, "name": "Answerback"}}


async def connections_open(slack: "FakeSlack", args: Json) -> Json:
    """apps.connections.open: a one-time socket URL."""
    base = slack.url.replace("http://", "ws://")
    return {"url": f"{base}link/?ticket={slack.socket.ticket()}&app_id={APP}"}


METHODS: Methods = {
    "conversations.open": Method(open_conversation, scope("im:write", "mpim:write")),
    "conversations.info": Method(info, by_kind("read")),
    "conversations.members": Method(members, by_kind("read")),
    "conversations.replies": Method(replies, by_kind("history")),
    "conversations.history": Method(history, by_kind("history")),
    "users.info": Method(user_info, scope("users:read")),
    "usergroups.list": Method(groups, scope("usergroups:read")),
    "usergroups.users.list": Method(group_users, scope("usergroups:read")),
    "bots.info": Method(bot_info, scope("users:read")),
    "apps.connections.open": Method(
        connections_open, scope("connections:write"), app_level=True),
}  # fmt: skip
