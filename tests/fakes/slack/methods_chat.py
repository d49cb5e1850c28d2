"""chat.* and reactions.add: post, change and delete messages.

Owns what Slack does with `text`, `blocks`, `metadata`, threads and ephemerals. Sources:
https://docs.slack.dev/reference/methods/chat.postMessage and its neighbours.
"""

from typing import TYPE_CHECKING

from tests.fakes.slack import rules
from tests.fakes.slack.checks import check_message
from tests.fakes.slack.interactivity import ApiError
from tests.fakes.slack.methods import Method, Methods, flag, readable, required, scope, writable
from tests.fakes.slack.methods_files import check_pictures
from tests.fakes.slack.schema import Json, Problem, units
from tests.fakes.slack.workspace import BOT_USER, TEAM, Channel, Message

if TYPE_CHECKING:
    from tests.fakes.slack.server import FakeSlack

_OWN_CODES = ("msg_too_long", "msg_blocks_too_long", "metadata_too_large")


def refuse(problems: list[Problem]) -> None:
    """Respond as Slack does to invalid blocks.

    Raises:
        ApiError: when there is any problem: `invalid_blocks` with `errors`, or a code of its own.
    """
    if not problems:
        return
    for problem in problems:
        if problem.message in _OWN_CODES:
            raise ApiError(problem.message)
    if problems[0].pointer.startswith("/metadata"):
        raise ApiError("invalid_metadata_format")
    errors = [str(problem) for problem in problems]
    messages = [f"[ERROR] {error}" for error in errors]
    raise ApiError("invalid_blocks", errors=errors, response_metadata={"messages": messages})


def _content(args: Json, *, update: bool = False) -> tuple[str, list[Json]]:
    """The checked text and blocks of a message."""
    blocks = args.get("blocks") or []
    if not isinstance(blocks, list):
        raise ApiError("invalid_blocks_format")
    text = str(args.get("text") or "")
    markdown = args.get("markdown_text")
    if markdown:
        if text or blocks:
            raise ApiError("markdown_text_conflict")
        if units(str(markdown)) > rules.MARKDOWN_TEXT:
            raise ApiError("msg_too_long")
        return str(markdown), []
    if not text.strip() and not blocks and not args.get("attachments"):
        raise ApiError("no_text")
    refuse(check_message({**args, "text": text, "blocks": blocks}, update=update))
    return text[: rules.POST_TEXT_TRUNCATED], blocks


def _thread(slack: "FakeSlack", channel: Channel, args: Json) -> str | None:
    """Check that `thread_ts` names a parent; Slack accepts unknown ones and starts a stray thread."""
    ts = args.get("thread_ts")
    if not ts:
        return None
    parent = slack.workspace.messages[channel.id].get(str(ts))
    if parent is None or parent.deleted:
        raise ApiError("thread_not_found")
    if parent.thread_ts not in (None, parent.ts):
        raise ApiError("cannot_reply_to_message")
    return str(ts)


async def post_message(slack: "FakeSlack", args: Json) -> Json:
    """chat.postMessage."""
    channel = writable(slack, args)
    thread = _thread(slack, channel, args)
    text, blocks = _content(args)
    check_pictures(slack, blocks)
    parts = [text]
    if not blocks and units(text) > rules.POST_TEXT_SPLIT:
        slack.split.append(text)
        size = rules.SPLIT_SIZE
        parts = [text[start : start + size] for start in range(0, len(text), size)]
    posted = [_store(slack, channel, part, blocks, thread, args) for part in parts]
    first = posted[0]
    return {"channel": channel.id, "ts": first.ts, "message": first.payload(metadata=False)}


def _store(
    slack: "FakeSlack", channel: Channel, text: str, blocks: list[Json], thread: str | None,
    args: Json,
) -> Message:  # fmt: skip
    subtype = "thread_broadcast" if thread and flag(args, "reply_broadcast") else None
    message = Message(
        channel.id, slack.workspace.next_ts(), BOT_USER, text,
        slack.workspace.fill_ids(blocks), thread, args.get("metadata"), bot=True, subtype=subtype,
        unfurls=flag(args, "unfurl_links") or flag(args, "unfurl_media", default=True),
    )  # fmt: skip
    slack.workspace.put(message)
    announce(slack, message)
    return message


def announce(slack: "FakeSlack", message: Message) -> None:
    """Notify the app of a new message in a conversation that it is in and may read."""
    channel = slack.workspace.channels[message.channel]
    if not hears(slack, channel):
        return
    slack.emit(message_event(slack, message))


def hears(slack: "FakeSlack", channel: Channel) -> bool:
    """Return True if messages of this conversation reach the app: membership and the kind's scope."""
    kind = {"channel": "channels", "group": "groups"}.get(channel.kind, channel.kind)
    return BOT_USER in channel.members and f"{kind}:history" in slack.scopes


def message_event(slack: "FakeSlack", message: Message) -> Json:
    """The event `message` for a message in its current state."""
    channel = slack.workspace.channels[message.channel]
    event = message.payload() | {
        "channel": channel.id, "channel_type": channel.kind, "event_ts": message.ts,
    }  # fmt: skip
    if message.thread_ts and message.thread_ts != message.ts:
        parent = slack.workspace.messages[channel.id].get(message.thread_ts)
        if parent is not None:
            event["parent_user_id"] = parent.user
    return event


def _own(slack: "FakeSlack", args: Json, code: str) -> tuple[Channel, Message]:
    id = required(args, "channel")
    if id[:1] in "UW":
        raise ApiError("channel_not_found")  # this needs the D… id, not the user's
    channel = readable(slack, args)
    if channel.archived:
        raise ApiError("is_archived")
    message = slack.workspace.messages[channel.id].get(required(args, "ts"))
    if message is None or message.deleted:
        raise ApiError("message_not_found")
    if not message.bot:
        raise ApiError(code)
    return channel, message


async def update(slack: "FakeSlack", args: Json) -> Json:
    """chat.update: blocks are replaced, and removed when only text is sent."""
    channel, message = _own(slack, args, "cant_update_message")
    text, blocks = _content(args, update=True)
    check_pictures(slack, blocks)
    if slack.keeps_rich_text and _is_rich(message.blocks) and not _is_rich(blocks):
        raise ApiError("block_mismatch")
    revise(slack, message, text, blocks)
    if args.get("metadata") is not None:
        message.metadata = args["metadata"]
    result = message.payload(metadata=False)
    return {"channel": channel.id, "ts": message.ts, "text": text, "message": result}


def _is_rich(blocks: list[Json]) -> bool:
    """The strictest reading of `block_mismatch`: rich text anywhere in the message counts."""
    return any(block["type"] == "rich_text" for block in blocks)


def revise(slack: "FakeSlack", message: Message, text: str, blocks: list[Json]) -> None:
    """Change the content of a message; the previous content is kept in its history."""
    before = message.payload()
    message.history.append(before)
    message.text, message.blocks = text, slack.workspace.fill_ids(blocks)
    message.edited = f"{int(slack.clock.now())}.000000"  # Slack reports whole seconds here
    slack.changed()
    _changed(slack, message, "message_changed", before)


async def delete(slack: "FakeSlack", args: Json) -> Json:
    """chat.delete."""
    channel, message = _own(slack, args, "cant_delete_message")
    remove(slack, message)
    return {"channel": channel.id, "ts": message.ts}


def remove(slack: "FakeSlack", message: Message) -> None:
    """Delete a message."""
    before = message.payload()
    message.deleted = True
    slack.changed()
    if message.ephemeral_to is None:
        _changed(slack, message, "message_deleted", before)


def _changed(slack: "FakeSlack", message: Message, subtype: str, before: Json) -> None:
    channel = slack.workspace.channels[message.channel]
    if message.ephemeral_to is not None or not hears(slack, channel):
        return
    event: Json = {
        "type": "message", "subtype": subtype, "hidden": True, "channel": channel.id,
        "channel_type": channel.kind, "ts": slack.workspace.next_ts(), "previous_message": before,
    }  # fmt: skip
    if subtype == "message_changed":
        event["message"] = message.payload()
    else:
        event["deleted_ts"] = message.ts
    slack.emit(event)


async def post_ephemeral(slack: "FakeSlack", args: Json) -> Json:
    """chat.postEphemeral: shown in a thread only when that already has replies."""
    channel = writable(slack, args)
    user = required(args, "user")
    if user not in channel.members:
        raise ApiError("user_not_in_channel")
    thread = _thread(slack, channel, args)
    text, blocks = _content(
        args, update=True
    )  # for a text that is split nothing is documented here
    message = Message(
        channel.id, slack.workspace.next_ts(), BOT_USER, text,
        slack.workspace.fill_ids(blocks), thread, bot=True, ephemeral_to=user,
    )  # fmt: skip
    if thread and len(slack.workspace.thread(channel.id, thread)) < 2:
        message.deleted = True  # Slack responds ok and shows nothing
    slack.workspace.put(message)
    return {"message_ts": message.ts}


async def permalink(slack: "FakeSlack", args: Json) -> Json:
    """chat.getPermalink."""
    channel = readable(slack, args)
    ts = required(args, "message_ts")
    message = slack.workspace.messages[channel.id].get(ts)
    if message is None or message.deleted:
        raise ApiError("message_not_found")
    link = f"https://fake.slack.com/archives/{channel.id}/p{ts.replace('.', '')}"
    if message.thread_ts:
        link += f"?thread_ts={message.thread_ts}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


async def add_reaction(slack: "FakeSlack", args: Json) -> Json:
    """reactions.add."""
    channel = readable(slack, args)
    if BOT_USER not in channel.members:
        raise ApiError("not_in_channel")
    name, ts = required(args, "name").strip(":"), required(args, "timestamp")
    message = slack.workspace.messages[channel.id].get(ts)
    if message is None or message.deleted:
        raise ApiError("message_not_found")
    if not name.replace("_", "").replace("-", "").replace("+", "").isalnum():
        raise ApiError("invalid_name")
    if BOT_USER in message.reactions.setdefault(name, []):
        raise ApiError("already_reacted")
    message.reactions[name].append(BOT_USER)
    return {}


async def auth_test(slack: "FakeSlack", args: Json) -> Json:
    """auth.test."""
    return {
        "url": "https://fake.slack.com/", "team": "Fake", "user": "answerback", "team_id": TEAM,
        "user_id": BOT_USER, "bot_id": "B0BOT", "is_enterprise_install": False,
    }  # fmt: skip


_WRITE = scope("chat:write")
METHODS: Methods = {
    "auth.test": Method(auth_test),
    "chat.postMessage": Method(post_message, _WRITE),
    "chat.update": Method(update, _WRITE),
    "chat.delete": Method(delete, _WRITE),
    "chat.postEphemeral": Method(post_ephemeral, _WRITE),
    "chat.getPermalink": Method(permalink),
    "reactions.add": Method(add_reaction, scope("reactions:write")),
}
