"""The fake workspace: people, conversations, messages, modal stacks, and the clock they share.

Owns state only: no HTTP, no rules of methods. Everything survives the app under test, which may run
in another process and be killed.
"""

import itertools
import pickle
import secrets
import time
from dataclasses import dataclass, field
from typing import TypeVar

from tests.fakes.slack.schema import Json

J = TypeVar("J", Json, list[Json])

TEAM = "T0FAKE"
APP = "A0FAKE"
BOT_USER = "U0BOT"
BOT = "B0BOT"


class Clock:
    """A wall clock that a test may advance."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        """Seconds since the epoch, as this workspace sees them."""
        return time.time() + self.ahead

    def advance(self, seconds: float) -> None:
        """Advance the clock by this many seconds."""
        self.ahead += seconds


@dataclass(slots=True)
class User:
    """A member of the workspace, or of another one that shares a channel with it."""

    id: str
    name: str
    team: str = TEAM
    is_bot: bool = False
    deleted: bool = False

    def payload(self) -> Json:
        """The user as users.info returns it."""
        return {
            "id": self.id, "team_id": self.team, "name": self.name.lower().replace(" ", "."),
            "deleted": self.deleted, "real_name": self.name, "is_bot": self.is_bot, "tz": "Etc/UTC",
            "profile": {"real_name": self.name, "display_name": self.name},
            "is_stranger": self.team != TEAM,
        }  # fmt: skip


@dataclass(slots=True)
class Channel:
    """A conversation: `kind` is channel, group, im or mpim."""

    id: str
    name: str
    kind: str = "channel"
    members: set[str] = field(default_factory=set)
    archived: bool = False

    def payload(self) -> Json:
        """The conversation as conversations.info returns it."""
        described: Json = {
            "id": self.id, "is_channel": self.kind == "channel", "is_group": self.kind == "group",
            "is_im": self.kind == "im", "is_mpim": self.kind == "mpim",
            "is_private": self.kind != "channel", "is_archived": self.archived,
            "is_member": BOT_USER in self.members, "context_team_id": TEAM,
        }  # fmt: skip
        if self.kind == "im":
            described["user"] = next((m for m in sorted(self.members) if m != BOT_USER), BOT_USER)
        else:
            described |= {"name": self.name, "num_members": len(self.members)}
        return described


@dataclass(slots=True, eq=False)
class Message:
    """A message; `history` keeps what earlier revisions looked like, as old clients still show."""

    channel: str
    ts: str
    user: str
    text: str
    blocks: list[Json] = field(default_factory=list)
    thread_ts: str | None = None
    metadata: Json | None = None
    bot: bool = False
    subtype: str | None = None
    ephemeral_to: str | None = None
    edited: str | None = None
    deleted: bool = False
    unfurls: bool = True
    client_msg_id: str | None = None
    files: list[Json] = field(default_factory=list)
    reactions: dict[str, list[str]] = field(default_factory=dict)
    history: list[Json] = field(default_factory=list)

    def payload(self, *, metadata: bool = True) -> Json:
        """The message as in the Web API and interaction payloads: a copy that never changes."""
        described: Json = {"type": "message", "user": self.user, "ts": self.ts, "text": self.text}
        described["team"] = TEAM
        if self.bot:
            described |= {"bot_id": BOT, "app_id": APP}
        if self.blocks:
            described["blocks"] = self.blocks
        optional = {
            "thread_ts": self.thread_ts,
            "subtype": self.subtype,
            "edited": {"user": self.user, "ts": self.edited} if self.edited else None,
            "client_msg_id": self.client_msg_id,
            "files": self.files,
            "is_ephemeral": self.ephemeral_to is not None,
            "metadata": self.metadata if metadata else None,
        }
        described |= {key: value for key, value in optional.items() if value}
        if self.reactions:
            described["reactions"] = [
                {"name": name, "users": users, "count": len(users)}
                for name, users in self.reactions.items()
            ]
        return copied(described)

    def snapshot(self) -> "Snapshot":
        """Return the copy that a client that shows this revision keeps showing, whatever happens to the message."""
        return Snapshot(self.channel, self.payload(), self.ephemeral_to)


def copied(value: J) -> J:
    """A copy of a JSON value; `copy.deepcopy` takes several times as long."""
    made: J = pickle.loads(pickle.dumps(value))
    return made


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A rendered copy of a message, as it was when the copy was made."""

    channel: str
    payload: Json
    ephemeral_to: str | None = None


@dataclass(slots=True, eq=False)
class View:
    """An open modal of one person, or the view of their Home."""

    id: str
    user: str
    body: Json
    hash: str
    root: str
    previous: str | None = None
    values: dict[str, dict[str, Json]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def payload(self) -> Json:
        """The view as in the responses of views.* and in interaction payloads."""
        described = {
            "id": self.id, "team_id": TEAM, "type": "modal", "hash": self.hash,
            "root_view_id": self.root, "previous_view_id": self.previous, "app_id": APP,
            "app_installed_team_id": TEAM, "bot_id": BOT, "private_metadata": "",
            "callback_id": "", "external_id": "", "clear_on_close": False,
            "notify_on_close": False, "submit": None, "close": None,
            "state": {"values": self.values},
        } | self.body  # fmt: skip
        return copied(described)


class Workspace:
    """The whole workspace: looked up by id, changed by the Web API and by people."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.users: dict[str, User] = {}
        self.channels: dict[str, Channel] = {}
        self.groups: dict[str, tuple[str, list[str]]] = {}
        self.disabled_groups: set[str] = set()
        self.messages: dict[str, dict[str, Message]] = {}
        self.ephemerals: list[Message] = []
        self.stacks: dict[str, list[View]] = {}
        self.homes: dict[str, View] = {}
        self.sessions: dict[tuple[str, str], list[str]] = {}
        self._last_ts = 0
        self._serial = itertools.count(1)
        self.add_user(BOT_USER, "Answerback", is_bot=True)

    def add_user(self, id: str, name: str = "", *, team: str = TEAM, is_bot: bool = False) -> User:
        """A person (or bot); a `team` other than ours is a Slack Connect guest."""
        self.users[id] = User(id, name or id, team, is_bot)
        return self.users[id]

    def add_channel(
        self, id: str, *members: str, name: str = "", kind: str = "channel", bot: bool = True
    ) -> Channel:
        """A conversation with these members and, by default, the bot."""
        everyone = set(members) | ({BOT_USER} if bot else set())
        self.channels[id] = Channel(id, name or id.lower(), kind, everyone)
        self.messages[id] = {}
        return self.channels[id]

    def add_group(self, id: str, *members: str, handle: str = "") -> None:
        """A user group (`S…`)."""
        self.groups[id] = (handle or id.lower(), list(members))

    def direct(self, user: str) -> Channel:
        """The direct conversation of a person and the bot, created on first use."""
        id = "D" + user.removeprefix("U").removeprefix("W")
        if id not in self.channels:
            self.add_channel(id, user, kind="im")
        return self.channels[id]

    def next_ts(self) -> str:
        """A unique message id that increases with time."""
        now = int(self.clock.now() * 1_000_000)
        self._last_ts = max(now, self._last_ts + 1)
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def next_id(self, prefix: str) -> str:
        """A new id with a prefix."""
        return f"{prefix}{next(self._serial):06d}{secrets.token_hex(3).upper()}"

    def put(self, message: Message) -> Message:
        """Add a message to its conversation, or to the ephemeral messages if it is one."""
        if message.ephemeral_to:
            self.ephemerals.append(message)
        else:
            self.messages[message.channel][message.ts] = message
        return message

    def thread(self, channel: str, ts: str) -> list[Message]:
        """A parent and its replies, oldest first, without deleted ones."""
        found = [m for m in self.messages.get(channel, {}).values() if ts in (m.ts, m.thread_ts)]
        return sorted((m for m in found if not m.deleted), key=lambda m: m.ts)

    def visible(self, channel: str, user: str) -> list[Message]:
        """Return the messages that one person sees in a conversation: all messages there, and those only for them."""
        shown = [m for m in self.messages[channel].values() if not m.deleted]
        shown += [
            m for m in self.ephemerals
            if m.channel == channel and m.ephemeral_to == user and not m.deleted
        ]  # fmt: skip
        return sorted(shown, key=lambda m: m.ts)

    def view(self, view_id: str) -> View | None:
        """An open modal by its id."""
        return next((v for stack in self.stacks.values() for v in stack if v.id == view_id), None)

    def fill_ids(self, blocks: list[Json]) -> list[Json]:
        """Blocks as Slack stores them: those without a block_id or action_id get one."""
        stored = copied(blocks)
        for block in stored:
            block.setdefault("block_id", secrets.token_hex(3))
            elements = [block.get("accessory"), block.get("element")]
            if block.get("type") == "actions":
                elements += block["elements"]
            for element in elements:
                if element is not None and element["type"] != "image":
                    element.setdefault("action_id", secrets.token_hex(3))
        return stored
