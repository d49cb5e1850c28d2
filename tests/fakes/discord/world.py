"""Discord's state: users, guilds, roles, channels, threads and messages, and who may do what where.

Holds state only: the wire shapes are in shapes.py, the routes in rest_*.py. Ids are snowflakes
(https://docs.discord.com/developers/reference#snowflakes); permission bits are those of
https://docs.discord.com/developers/topics/permissions.
"""

from dataclasses import dataclass, field
from enum import IntFlag

from tests.fakes.discord.problems import Payload, RefusalError

EPOCH_MS = 1_420_070_400_000
TEXT_CHANNEL, DM_CHANNEL, FORUM_CHANNEL, MEDIA_CHANNEL = 0, 1, 15, 16
PUBLIC_THREAD, PRIVATE_THREAD = 11, 12
THREADS = frozenset({10, PUBLIC_THREAD, PRIVATE_THREAD})
FORUMS = frozenset({FORUM_CHANNEL, MEDIA_CHANNEL})
EPHEMERAL = 1 << 6


class Can(IntFlag):
    """The permissions that matter to an app that asks in threads."""

    MANAGE_CHANNELS = 1 << 4
    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    CREATE_PRIVATE_THREADS = 1 << 36
    SEND_MESSAGES_IN_THREADS = 1 << 38


# What a new server gives everybody, as far as this fake knows permissions.
EVERYBODY = (
    Can.ADD_REACTIONS
    | Can.VIEW_CHANNEL
    | Can.SEND_MESSAGES
    | Can.EMBED_LINKS
    | Can.ATTACH_FILES
    | Can.READ_MESSAGE_HISTORY
    | Can.MENTION_EVERYONE
    | Can.CREATE_PUBLIC_THREADS
    | Can.CREATE_PRIVATE_THREADS
    | Can.SEND_MESSAGES_IN_THREADS
)


@dataclass(eq=False)
class User:
    """An account. `dms_open` is False for somebody who does not accept direct messages from this app."""

    id: int
    name: str
    bot: bool = False
    dms_open: bool = True


@dataclass(eq=False)
class Role:
    """A role of a guild; the one with the guild's own id is @everyone."""

    id: int
    name: str
    permissions: int = 0
    mentionable: bool = False


@dataclass(eq=False)
class Guild:
    """A server with its roles and the roles of each member."""

    id: int
    name: str
    roles: dict[int, Role] = field(default_factory=dict)
    members: dict[int, set[int]] = field(default_factory=dict)
    joined_at: float = 1_767_225_600.0
    """When the bot joined."""


@dataclass(eq=False)
class Message:
    """A message as stored. `only_for` is the one user who sees it, for an ephemeral one."""

    id: int
    channel_id: int
    author_id: int
    at: float
    content: str = ""
    components: list[Payload] = field(default_factory=list)
    embeds: list[Payload] = field(default_factory=list)
    attachments: list[Payload] = field(default_factory=list)
    stickers: list[Payload] = field(default_factory=list)
    flags: int = 0
    type: int = 0
    nonce: str | int | None = None
    reply_to: int | None = None
    mentions: list[int] = field(default_factory=list)
    reactions: dict[str, set[int]] = field(default_factory=dict)
    only_for: int | None = None
    interaction: Payload | None = None
    edited_at: float | None = None
    old_edits: list[float] = field(default_factory=list)
    deleted: bool = False
    version: int = 0

    @property
    def ephemeral(self) -> bool:
        """True for a message that only one user sees."""
        return self.only_for is not None


@dataclass(eq=False)
class Channel:
    """A channel, thread or direct message with its messages, oldest first."""

    id: int
    type: int
    name: str = ""
    guild_id: int | None = None
    parent_id: int | None = None
    owner_id: int | None = None
    recipient_id: int | None = None
    archived: bool = False
    locked: bool = False
    auto_archive: int = 4320
    changed_at: float = 0.0
    members: set[int] = field(default_factory=set)
    tags: dict[int, str] = field(default_factory=dict)
    applied_tags: list[int] = field(default_factory=list)
    requires_tag: bool = False
    overwrites: dict[int, tuple[int, int]] = field(default_factory=dict)
    messages: dict[int, Message] = field(default_factory=dict)

    @property
    def is_thread(self) -> bool:
        """True for a public, private or announcement thread."""
        return self.type in THREADS


class World:
    """All of it, and the questions the routes ask of it."""

    def __init__(self) -> None:
        self.users: dict[int, User] = {}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.max_active_threads = 1000
        self._last_ms = 0

    def new_id(self, at: float) -> int:
        """The next snowflake for a moment given in seconds since 1970; ids never repeat or go back."""
        return (round(self.moment(at) * 1000) - EPOCH_MS) << 22

    def moment(self, at: float) -> float:
        """The first whole millisecond from a moment on in which nothing has happened yet.

        A person types after they have seen, and never in the millisecond of it, as a test can.
        """
        self._last_ms = max(int(at * 1000), self._last_ms + 1)
        return self._last_ms / 1000

    def channel(self, channel_id: int) -> Channel:
        """The channel, thread or direct message with this id."""
        if channel_id not in self.channels:
            raise RefusalError(10003)
        return self.channels[channel_id]

    def message(self, channel_id: int, message_id: int) -> Message:
        """A message that still exists and that the app may fetch (an ephemeral one it may not)."""
        message = self.channel(channel_id).messages.get(message_id)
        if message is None or message.deleted or message.ephemeral:
            raise RefusalError(10008)
        return message

    def permissions(self, channel: Channel, user_id: int) -> Can:
        """Return a user's permissions in a channel; a thread takes its parent's overwrites."""
        if channel.guild_id is None:
            inside = user_id == channel.recipient_id or self.users[user_id].bot
            return EVERYBODY if inside else Can(0)
        guild = self.guilds[channel.guild_id]
        if user_id not in guild.members:
            return Can(0)
        roles = [guild.id, *sorted(guild.members[user_id])]
        value = 0
        for role in roles:
            value |= int(guild.roles[role].permissions)  # operators of enum.Flag are slow
        place = (
            self.channels[channel.parent_id] if channel.is_thread and channel.parent_id else channel
        )
        for holder in [*roles, user_id]:
            allow, deny = place.overwrites.get(holder, (0, 0))
            value = (value & ~deny) | allow
        if not value & int(Can.VIEW_CHANNEL):
            return Can(0)
        return Can(value)

    def sees(self, channel: Channel, user_id: int) -> bool:
        """Can this user see the channel at all? A private thread is its members' and moderators'."""
        can = self.permissions(channel, user_id)
        if channel.type == PRIVATE_THREAD and user_id not in channel.members:
            return bool(can & Can.MANAGE_THREADS)
        return bool(can & Can.VIEW_CHANNEL)

    def demand(self, channel: Channel, user_id: int, *needed: Can) -> None:
        """Refuse with 50001 what the user cannot see, with 50013 what they see but may not do."""
        if not self.sees(channel, user_id):
            raise RefusalError(50001)
        can = self.permissions(channel, user_id)
        if any(not can & each for each in needed):
            raise RefusalError(50013)

    def demand_send(self, channel: Channel, user_id: int) -> None:
        """Refuse a message or edit that this user may not post here."""
        if channel.type in FORUMS:
            raise RefusalError(50008)
        thread = channel.is_thread
        self.demand(channel, user_id, Can.SEND_MESSAGES_IN_THREADS if thread else Can.SEND_MESSAGES)
        if channel.locked and not self.permissions(channel, user_id) & Can.MANAGE_THREADS:
            raise RefusalError(160005)

    def active_threads(self, guild_id: int) -> list[Channel]:
        """The threads of a guild that are not archived."""
        return [
            each
            for each in self.channels.values()
            if each.is_thread and each.guild_id == guild_id and not each.archived
        ]
