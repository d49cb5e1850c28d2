"""State as Discord writes it on the wire: users, guilds, channels, messages and interactions as JSON.

https://docs.discord.com/developers/resources/message, .../resources/channel, .../resources/guild and
https://docs.discord.com/developers/interactions/receiving-and-responding.
"""

from datetime import UTC, datetime

from tests.fakes.discord.problems import Payload
from tests.fakes.discord.rules import IS_COMPONENTS_V2, walk
from tests.fakes.discord.world import (
    DM_CHANNEL,
    EPHEMERAL,
    Channel,
    Guild,
    Message,
    Role,
    User,
    World,
)

EMPTIED_WITHOUT_INTENT: Payload = {"content": "", "embeds": [], "attachments": [], "components": []}
# Defaults that Discord fills in when it stores a component.
STORED_DEFAULTS: dict[int, Payload] = {
    9: {},
    14: {"divider": True, "spacing": 1},
    17: {"accent_color": None, "spoiler": False},
}


def stamp(at: float) -> str:
    """A moment in seconds since 1970 as ISO 8601."""
    return datetime.fromtimestamp(at, UTC).isoformat()


def numbered(components: list[Payload]) -> list[Payload]:
    """Components as stored: without nulls, each with an `id`, numbered from 1 where none was given."""
    taken = {each["id"] for _, each in walk(components) if each.get("id")}
    free = iter(number for number in range(1, 200) if number not in taken)

    def stored(component: Payload) -> Payload:
        kept = {key: value for key, value in component.items() if value is not None}
        result = {**STORED_DEFAULTS.get(int(kept["type"]), {}), **kept}
        result["id"] = kept.get("id") or next(free)
        if isinstance(kept.get("components"), list):
            result["components"] = [stored(each) for each in kept["components"]]
        for key in ("accessory", "component"):
            if isinstance(kept.get(key), dict):
                result[key] = stored(kept[key])
        return result

    return [stored(each) for each in components]


def user_json(user: User) -> Payload:
    """A user object."""
    return {
        "id": str(user.id),
        "username": user.name,
        "global_name": None if user.bot else user.name.title(),
        "discriminator": "0",
        "avatar": None,
        "bot": user.bot,
        "system": False,
        "public_flags": 0,
        "flags": 0,
    }


def role_json(role: Role) -> Payload:
    """A role object."""
    return {
        "id": str(role.id),
        "name": role.name,
        "color": 0,
        "hoist": False,
        "position": 0,
        "managed": False,
        "permissions": str(int(role.permissions)),
        "mentionable": role.mentionable,
        "flags": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "icon": None,
        "unicode_emoji": None,
    }


def member_json(world: World, guild: Guild, user_id: int, *, with_user: bool = True) -> Payload:
    """A guild member object; inside a message it comes without the user."""
    body: Payload = {
        "roles": [str(each) for each in sorted(guild.members.get(user_id, ()))],
        "nick": None,
        "avatar": None,
        "joined_at": "2026-01-01T00:00:00+00:00",
        "deaf": False,
        "mute": False,
        "pending": False,
        "flags": 0,
        "premium_since": None,
        "communication_disabled_until": None,
        "banner": None,
    }
    return {**body, "user": user_json(world.users[user_id])} if with_user else body


def channel_json(world: World, channel: Channel) -> Payload:
    """A channel object of any type."""
    newest = max(
        (each.id for each in channel.messages.values() if not each.ephemeral), default=None
    )
    body: Payload = {"id": str(channel.id), "type": channel.type, "flags": 0}
    body["last_message_id"] = str(newest) if newest else None
    if channel.type == DM_CHANNEL and channel.recipient_id is not None:
        return {**body, "recipients": [user_json(world.users[channel.recipient_id])]}
    body |= {"guild_id": str(channel.guild_id), "name": channel.name, "rate_limit_per_user": 0}
    body["parent_id"] = str(channel.parent_id) if channel.parent_id else None
    if channel.is_thread:
        return {
            **body,
            "owner_id": str(channel.owner_id),
            "member_count": len(channel.members),
            "message_count": len(channel.messages),
            "total_message_sent": len(channel.messages),
            "applied_tags": [str(each) for each in channel.applied_tags],
            "thread_metadata": {
                "archived": channel.archived,
                "locked": channel.locked,
                "invitable": True,
                "auto_archive_duration": channel.auto_archive,
                "archive_timestamp": stamp(channel.changed_at),
                "create_timestamp": stamp(channel.changed_at),
            },
        }
    overwrites = [
        {
            "id": str(holder),
            "type": int(holder in world.users),
            "allow": str(int(allow)),
            "deny": str(int(deny)),
        }
        for holder, (allow, deny) in channel.overwrites.items()
    ]
    body |= {"position": 0, "topic": None, "nsfw": False, "permission_overwrites": overwrites}
    if channel.tags:
        body["available_tags"] = [
            {"id": str(tag), "name": name, "moderated": False, "emoji_id": None, "emoji_name": None}
            for tag, name in channel.tags.items()
        ]
    return {**body, "flags": 16 if channel.requires_tag else 0}


def guild_json(world: World, guild: Guild, bot_id: int) -> Payload:
    """A guild as GUILD_CREATE carries it to the bot."""
    places = [
        each
        for each in world.channels.values()
        if each.guild_id == guild.id and world.sees(each, bot_id)
    ]
    return {
        "id": str(guild.id),
        "name": guild.name,
        "owner_id": str(next(iter(guild.members))),
        "unavailable": False,
        "roles": [role_json(each) for each in guild.roles.values()],
        "channels": [channel_json(world, each) for each in places if not each.is_thread],
        "threads": [
            channel_json(world, each) for each in places if each.is_thread and not each.archived
        ],
        "members": [member_json(world, guild, bot_id)],
        "member_count": len(guild.members),
        "emojis": [],
        "stickers": [],
        "features": [],
        "presences": [],
        "voice_states": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
        "icon": None,
        "splash": None,
        "discovery_splash": None,
        "banner": None,
        "description": None,
        "afk_channel_id": None,
        "afk_timeout": 300,
        "verification_level": 0,
        "default_message_notifications": 1,
        "explicit_content_filter": 0,
        "mfa_level": 0,
        "application_id": None,
        "system_channel_id": None,
        "system_channel_flags": 0,
        "rules_channel_id": None,
        "public_updates_channel_id": None,
        "preferred_locale": "en-US",
        "premium_tier": 0,
        "nsfw_level": 0,
        "premium_progress_bar_enabled": False,
        "large": False,
        "joined_at": stamp(guild.joined_at),
        "safety_alerts_channel_id": None,
        "vanity_url_code": None,
        "nsfw": False,
        "region": "deprecated",
    }


def message_json(world: World, message: Message, *, nested: bool = False) -> Payload:
    """A message object; `nested` leaves out the message it replies to."""
    channel = world.channels[message.channel_id]
    body: Payload = {
        "id": str(message.id),
        "channel_id": str(message.channel_id),
        "type": message.type,
        "author": user_json(world.users[message.author_id]),
        "content": message.content,
        "components": message.components,
        "embeds": message.embeds,
        "attachments": message.attachments,
        "flags": message.flags | (EPHEMERAL if message.ephemeral else 0),
        "timestamp": stamp(message.at),
        "edited_timestamp": stamp(message.edited_at) if message.edited_at else None,
        "mentions": [
            user_json(world.users[each]) for each in message.mentions if each in world.users
        ],
        "mention_roles": [],
        "mention_everyone": False,
        "pinned": False,
        "tts": False,
    }
    if channel.is_thread:
        body["position"] = len(channel.messages)
    if message.nonce is not None:
        body["nonce"] = message.nonce
    if message.stickers:
        body["sticker_items"] = message.stickers
    if message.reactions:
        body["reactions"] = [
            {
                "emoji": {"id": None, "name": emoji},
                "count": len(who),
                "me": any(world.users[u].bot for u in who),
                "count_details": {"burst": 0, "normal": len(who)},
                "burst_colors": [],
                "me_burst": False,
            }
            for emoji, who in message.reactions.items()
        ]
    if message.interaction:
        application = str(message.author_id)
        body |= {"webhook_id": application, "application_id": application}
        body["interaction_metadata"] = message.interaction
    if message.reply_to is not None:
        body["message_reference"] = {
            "type": 0,
            "message_id": str(message.reply_to),
            "channel_id": str(message.channel_id),
        }
        if channel.guild_id:
            body["message_reference"]["guild_id"] = str(channel.guild_id)
        target = channel.messages.get(message.reply_to)
        if not nested:
            gone = target is None or target.deleted
            body["referenced_message"] = (
                None if gone or target is None else message_json(world, target, nested=True)
            )
    return body


def gateway_message(world: World, message: Message, bot_id: int, *, content: bool) -> Payload:
    """A message as an event carries it; `content` tells whether the app may read what others write.

    https://docs.discord.com/developers/events/gateway#message-content-intent
    """
    channel = world.channels[message.channel_id]
    body = message_json(world, message)
    if channel.guild_id is not None:
        body["guild_id"] = str(channel.guild_id)
        guild = world.guilds[channel.guild_id]
        body["member"] = member_json(world, guild, message.author_id, with_user=False)
    return (
        body if content or readable(world, message, bot_id) else {**body, **EMPTIED_WITHOUT_INTENT}
    )


def readable(world: World, message: Message, bot_id: int) -> bool:
    """May the app read this message without the MESSAGE_CONTENT privilege?"""
    direct = world.channels[message.channel_id].guild_id is None
    return direct or message.author_id == bot_id or bot_id in message.mentions


def is_v2(message: Message) -> bool:
    """Is this a Components V2 message?"""
    return bool(message.flags & IS_COMPONENTS_V2)
