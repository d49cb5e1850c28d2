"""The fake's core: one bot application, the world it lives in, and the actions that the other parts share.

Routes, gateway and simulated people all act through this object. It keeps everything in memory and outlives the
adapter that talks to it, so an adapter process can be killed and started again against it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from nacl.signing import SigningKey

from tests.fakes.discord.attachments import Attachments
from tests.fakes.discord.clock import Bell, Clock
from tests.fakes.discord.faults import Faults
from tests.fakes.discord.gateway import Gateway
from tests.fakes.discord.mentions import pings
from tests.fakes.discord.problems import Payload
from tests.fakes.discord.wire_json import (
    channel_json,
    gateway_message,
    member_json,
    numbered,
    role_json,
    user_json,
)
from tests.fakes.discord.world import (
    DM_CHANNEL,
    EVERYBODY,
    FORUM_CHANNEL,
    PUBLIC_THREAD,
    TEXT_CHANNEL,
    Can,
    Channel,
    Guild,
    Message,
    Role,
    User,
    World,
)

GUILDS, GUILD_MEMBERS, GUILD_MESSAGES, GUILD_REACTIONS = 1 << 0, 1 << 1, 1 << 9, 1 << 10
DIRECT_MESSAGES = 1 << 12
BOT_PERMISSIONS = 309_237_713_920


@dataclass(frozen=True, slots=True)
class Ping:
    """A message or edit of the app that notified somebody."""

    message_id: int
    whom: tuple[str, ...]
    edit: bool
    text: str


@dataclass
class Application:
    """The app as its portal page shows it."""

    id: int
    token: str
    signing_key: SigningKey
    message_content: bool = True
    guild_members: bool = False
    interactions_endpoint_url: str | None = None
    settings: Payload = field(default_factory=dict)
    commands: list[Payload] = field(default_factory=list)
    """Its global commands, as they were created."""

    @property
    def public_key(self) -> str:
        """The key that verifies interactions, in hex."""
        return self.signing_key.verify_key.encode().hex()

    @property
    def flags(self) -> int:
        """The LIMITED intent flags: MESSAGE_CONTENT 1<<19, GUILD_MEMBERS 1<<15."""
        return (1 << 19) * self.message_content | (1 << 15) * self.guild_members


class Discord:
    """State and shared actions; see the server for the sockets."""

    def __init__(self) -> None:
        self.clock, self.bell, self.world = Clock(), Bell(), World()
        self.faults = Faults(self.bell)
        self.pings: list[Ping] = []
        app_id = self.world.new_id(self.clock.now() - 3600)
        self.bot = User(app_id, "answerback", bot=True)
        self.world.users[app_id] = self.bot
        self.application = Application(app_id, f"{app_id}.fake.token", SigningKey.generate())
        self.gateway = Gateway(self)
        self.attachments = Attachments(self.new_id, self.bell)

    def new_id(self) -> int:
        """Return a new snowflake for the current time."""
        return self.world.new_id(self.clock.now())

    # ---- what a test sets up ----

    def add_guild(self, name: str = "Acme", *, bot_permissions: int = BOT_PERMISSIONS) -> Guild:
        """A server that has installed the app with these permissions."""
        guild = Guild(self.new_id(), name)
        guild.roles[guild.id] = Role(guild.id, "@everyone", EVERYBODY)
        owner, role = self.add_user("owner"), self.add_role(guild, "answerback", bot_permissions)
        guild.members = {owner.id: set(), self.bot.id: {role.id}}
        self.world.guilds[guild.id] = guild
        self.gateway.guild_added(guild)
        return guild

    def add_role(
        self, guild: Guild, name: str, permissions: int = 0, *, mentionable: bool = False
    ) -> Role:
        """A role of a guild."""
        role = Role(self.new_id(), name, permissions, mentionable)
        guild.roles[role.id] = role
        return role

    def add_user(
        self, name: str, *guilds: Guild, roles: tuple[Role, ...] = (), dms_open: bool = True
    ) -> User:
        """A person, member of these guilds with those of the roles that belong to each."""
        user = User(self.new_id(), name, dms_open=dms_open)
        self.world.users[user.id] = user
        for guild in guilds:
            guild.members[user.id] = {role.id for role in roles if role.id in guild.roles}
        return user

    def add_channel(
        self, guild: Guild, name: str = "general", *, type: int = TEXT_CHANNEL
    ) -> Channel:
        """A text channel (or one of another type)."""
        return self._added(Channel(self.new_id(), type, name, guild.id))

    def add_forum(
        self,
        guild: Guild,
        name: str = "questions",
        *,
        tags: tuple[str, ...] = (),
        requires_tag: bool = False,
    ) -> Channel:
        """A forum channel, with the names of its tags."""
        forum = Channel(self.new_id(), FORUM_CHANNEL, name, guild.id, requires_tag=requires_tag)
        forum.tags = {self.new_id(): tag for tag in tags}
        return self._added(forum)

    def add_thread(
        self,
        parent: Channel,
        name: str = "work",
        *,
        type: int = PUBLIC_THREAD,
        owner: int | None = None,
        id: int | None = None,
    ) -> Channel:
        """A thread of a channel; the bot is a member of it."""
        thread = Channel(
            id or self.new_id(), type, name, parent.guild_id, parent.id, owner or self.bot.id
        )
        thread.members, thread.changed_at = {thread.owner_id or 0, self.bot.id}, self.clock.now()
        self.world.channels[thread.id] = thread
        self.gateway.dispatch(
            "THREAD_CREATE", channel_json(self.world, thread), GUILDS, thread.guild_id
        )
        self.bell.ring()
        return thread

    def deny(self, channel: Channel, permission: Can, *, whom: int | None = None) -> None:
        """Take a permission from the bot (or somebody else) in one channel and its threads."""
        holder = whom or self.bot.id
        allow, denied = channel.overwrites.get(holder, (0, 0))
        channel.overwrites[holder] = (allow & ~permission, denied | permission)
        self._changed(channel)

    def allow(self, channel: Channel, permission: Can) -> None:
        """Give the bot a permission back that `deny` took."""
        allow, denied = channel.overwrites.get(self.bot.id, (0, 0))
        channel.overwrites[self.bot.id] = (allow, denied & ~permission)
        self._changed(channel)

    def _changed(self, channel: Channel) -> None:
        body = channel_json(self.world, channel)
        self.gateway.dispatch("CHANNEL_UPDATE", body, GUILDS, channel.guild_id)
        self.bell.ring()

    def grant(self, role: Role, permissions: int) -> None:
        """Change what a role may do everywhere in its guild."""
        guild = next(each for each in self.world.guilds.values() if role.id in each.roles)
        role.permissions = permissions
        body: Payload = {"guild_id": str(guild.id), "role": role_json(role)}
        self.gateway.dispatch("GUILD_ROLE_UPDATE", body, GUILDS, guild.id)
        self.bell.ring()

    def assign(self, guild: Guild, user: User, roles: set[int]) -> None:
        """Change the roles of a member; changes of the bot's own are sent without the privileged intent."""
        guild.members[user.id] = roles
        body: Payload = {
            **member_json(self.world, guild, user.id),
            "guild_id": str(guild.id),
            "user": user_json(user),
        }
        intent = 0 if user is self.bot else GUILD_MEMBERS
        self.gateway.dispatch("GUILD_MEMBER_UPDATE", body, intent, guild.id)
        self.bell.ring()

    def direct(self, user: User) -> Channel:
        """The direct message channel between a person and the bot."""
        for channel in self.world.channels.values():
            if channel.type == DM_CHANNEL and channel.recipient_id == user.id:
                return channel
        return self._added(Channel(self.new_id(), DM_CHANNEL, recipient_id=user.id))

    def _added(self, channel: Channel) -> Channel:
        self.world.channels[channel.id] = channel
        if channel.guild_id is not None:
            self.gateway.dispatch(
                "CHANNEL_CREATE", channel_json(self.world, channel), GUILDS, channel.guild_id
            )
        self.bell.ring()
        return channel

    # ---- what routes and people do ----

    def post(self, channel: Channel, message: Message) -> Message:
        """Store a message and send it over the gateway; this reopens a thread that is archived but not locked."""
        message.components = numbered(message.components)
        channel.messages[message.id] = message
        if channel.is_thread:
            channel.members.add(message.author_id)
            if channel.archived and not message.ephemeral:
                self.set_thread(channel, archived=False)
        if not message.ephemeral:
            self._tell("MESSAGE_CREATE", message)
        self.bell.ring()
        return message

    def change(self, message: Message, body: Payload) -> None:
        """Apply the fields of an accepted edit."""
        if "attachments" in body:
            named = {str(each.get("id")) for each in body["attachments"] or []}
            new = [each for each in body["attachments"] or [] if "url" in each]
            kept = [each for each in message.attachments if each["id"] in named]
            message.attachments = [each for each in kept if each not in new] + new
        for key in ("content", "embeds", "components"):
            if key in body:
                empty = "" if key == "content" else []
                setattr(message, key, body[key] if body[key] is not None else empty)
        if "components" in body:
            message.components = numbered(message.components)
        message.flags = (message.flags | (body.get("flags") or 0)) & ~64
        message.edited_at = self.world.moment(self.clock.now())
        message.version += 1
        if not message.ephemeral:
            self._tell("MESSAGE_UPDATE", message)
        self.bell.ring()

    def record_pings(
        self, message: Message, allowed: Payload | None, *, edit: bool, interaction: bool
    ) -> None:
        """Record whom a create or edit by the app notified."""
        channel = self.world.channels[message.channel_id]
        target = channel.messages.get(message.reply_to or 0)
        shown = {"content": message.content, "components": message.components}
        replied_to = target.author_id if target and not edit else None
        whom = pings(shown, allowed, interaction=interaction, replied_to=replied_to)
        if whom:
            self.pings.append(Ping(message.id, tuple(whom), edit, message.content))

    def delete(self, message: Message) -> None:
        """Remove a message, as its author or a moderator would."""
        message.deleted = True
        message.version += 1
        channel = self.world.channels[message.channel_id]
        if not message.ephemeral:
            body: Payload = {"id": str(message.id), "channel_id": str(channel.id)}
            body |= {"guild_id": str(channel.guild_id)} if channel.guild_id else {}
            self.gateway.dispatch("MESSAGE_DELETE", body, self._intent(channel), channel.guild_id)
        self.bell.ring()

    def delete_all(self, channel: Channel, messages: Sequence[Message]) -> None:
        """Remove several messages at once, as a moderator's app would."""
        for message in messages:
            message.deleted = True
            message.version += 1
        ids = [str(message.id) for message in messages]
        body: Payload = {"ids": ids, "channel_id": str(channel.id)}
        body["guild_id"] = str(channel.guild_id)
        self.gateway.dispatch("MESSAGE_DELETE_BULK", body, GUILD_MESSAGES, channel.guild_id)
        self.bell.ring()

    def remove_channel(self, channel: Channel) -> None:
        """Delete a channel or thread with all that is in it, a channel's threads among it."""
        del self.world.channels[channel.id]
        for thread in [t for t in self.world.channels.values() if t.parent_id == channel.id]:
            del self.world.channels[thread.id]
        event = "THREAD_DELETE" if channel.is_thread else "CHANNEL_DELETE"
        body = channel_json(self.world, channel)
        if (
            channel.is_thread
        ):  # https://docs.discord.com/developers/events/gateway-events#thread-delete
            body = {key: body[key] for key in ("id", "guild_id", "parent_id", "type")}
        self.gateway.dispatch(event, body, GUILDS, channel.guild_id)
        self.bell.ring()

    def remove_guild(self, guild: Guild) -> None:
        """Remove the bot from a server."""
        del guild.members[self.bot.id]
        self.gateway.dispatch("GUILD_DELETE", {"id": str(guild.id)}, GUILDS, guild.id)
        self.bell.ring()

    def add_bot_again(self, guild: Guild) -> None:
        """Add the bot to a server that it was removed from, with its role."""
        [role] = [each.id for each in guild.roles.values() if each.name == "answerback"]
        guild.members[self.bot.id] = {role}
        guild.joined_at = self.clock.now()
        self.gateway.guild_added(guild)

    def outage(self, guild: Guild) -> None:
        """A server becomes unavailable for a while."""
        body: Payload = {"id": str(guild.id), "unavailable": True}
        self.gateway.dispatch("GUILD_DELETE", body, GUILDS, guild.id)

    def remove_role(self, guild: Guild, role: Role) -> None:
        """Delete a role; its members lose it."""
        del guild.roles[role.id]
        for roles in guild.members.values():
            roles.discard(role.id)
        body: Payload = {"guild_id": str(guild.id), "role_id": str(role.id)}
        self.gateway.dispatch("GUILD_ROLE_DELETE", body, GUILDS, guild.id)
        self.bell.ring()

    def set_thread(
        self, thread: Channel, *, archived: bool | None = None, locked: bool | None = None
    ) -> None:
        """Archive, unarchive, lock or unlock a thread."""
        thread.archived = thread.archived if archived is None else archived
        thread.locked = thread.locked if locked is None else locked
        thread.changed_at = self.clock.now()
        self.gateway.dispatch(
            "THREAD_UPDATE", channel_json(self.world, thread), GUILDS, thread.guild_id
        )
        self.bell.ring()

    def react(self, message: Message, emoji: str, user_id: int, *, add: bool = True) -> None:
        """Add a reaction to a message, or remove it."""
        who = message.reactions.setdefault(emoji, set())
        (who.add if add else who.discard)(user_id)
        if not who:
            del message.reactions[emoji]
        channel = self.world.channels[message.channel_id]
        body: Payload = {
            "user_id": str(user_id),
            "channel_id": str(channel.id),
            "message_id": str(message.id),
            "type": 0,
            "emoji": {"id": None, "name": emoji},
            "burst": False,
            "message_author_id": str(message.author_id),
        }
        body |= {"guild_id": str(channel.guild_id)} if channel.guild_id else {}
        event = "MESSAGE_REACTION_ADD" if add else "MESSAGE_REACTION_REMOVE"
        self.gateway.dispatch(event, body, GUILD_REACTIONS, channel.guild_id)
        self.bell.ring()

    def me(self) -> Payload:
        """The bot's own user object."""
        return {
            **user_json(self.bot),
            "verified": True,
            "mfa_enabled": True,
            "locale": "en-US",
            "email": None,
        }

    def _intent(self, channel: Channel) -> int:
        return DIRECT_MESSAGES if channel.guild_id is None else GUILD_MESSAGES

    def _tell(self, event: str, message: Message) -> None:
        channel = self.world.channels[message.channel_id]
        if not self.world.sees(channel, self.bot.id):
            return
        self.gateway.dispatch(
            event,
            lambda content: gateway_message(self.world, message, self.bot.id, content=content),
            self._intent(channel),
            channel.guild_id,
        )


def with_files(message: Message, body: Payload, files: Sequence[Payload]) -> Payload:
    """The attachments of an edit that brings files: what it names or leaves alone, and the new ones."""
    return (
        {"attachments": [*(body.get("attachments", message.attachments) or []), *files]}
        if files
        else {}
    )
