"""Routes of channels, threads and direct messages.

https://docs.discord.com/developers/resources/channel and https://docs.discord.com/developers/topics/threads.
"""

from aiohttp import web

from tests.fakes.discord.core import Discord
from tests.fakes.discord.problems import Payload, Problem, RefusalError, invalid
from tests.fakes.discord.request_reader import Incoming, ids, read
from tests.fakes.discord.rest_messages import Messages, answer
from tests.fakes.discord.rules import check_message
from tests.fakes.discord.spec import check_schema
from tests.fakes.discord.wire_json import channel_json, message_json
from tests.fakes.discord.world import FORUMS, PRIVATE_THREAD, PUBLIC_THREAD, Can, Channel


class Channels:
    """The handlers, over one fake."""

    def __init__(self, discord: Discord, messages: Messages) -> None:
        self._discord, self._messages = discord, messages

    def routes(self) -> list[web.RouteDef]:
        """Return the routes that the server mounts below /api/v10."""
        return [
            web.get("/channels/{channel}", self.get),
            web.patch("/channels/{channel}", self.edit),
            web.delete("/channels/{channel}", self.delete),
            web.post("/channels/{channel}/messages/{message}/threads", self.thread_from_message),
            web.post("/channels/{channel}/threads", self.thread),
            web.post("/users/@me/channels", self.direct),
            web.put("/channels/{channel}/thread-members/@me", self.join),
            web.get("/guilds/{guild}/threads/active", self.active),
        ]

    def _channel(self, request: web.Request, *needed: Can) -> Channel:
        (channel_id,) = ids(request, "channel")
        channel = self._discord.world.channel(channel_id)
        self._discord.world.demand(channel, self._discord.bot.id, *needed)
        return channel

    def _view(self, channel: Channel) -> Payload:
        return channel_json(self._discord.world, channel)

    async def get(self, request: web.Request) -> web.Response:
        """GET a channel."""
        return answer(self._view(self._channel(request)))

    async def edit(self, request: web.Request) -> web.Response:
        """PATCH a thread: archive, unarchive, lock, rename; other channels: the name."""
        channel, body = self._channel(request), (await read(request)).body
        world, bot = self._discord.world, self._discord.bot.id
        if not channel.is_thread:
            refuse(check_schema("UpdateGuildChannelRequestPartial", body))
            world.demand(channel, bot, Can.MANAGE_CHANNELS)
            channel.name = body.get("name") or channel.name
            return answer(self._view(channel))
        refuse(check_schema("UpdateThreadRequestPartial", body))
        only_opens = (
            set(body) <= {"archived", "auto_archive_duration"} and body.get("archived") is False
        )
        manages = world.permissions(channel, bot) & Can.MANAGE_THREADS
        if channel.archived and body.get("archived") is not False:
            raise RefusalError(50083)
        if only_opens and not channel.locked:
            world.demand(channel, bot, Can.SEND_MESSAGES_IN_THREADS)
        elif not manages and (channel.owner_id != bot or channel.locked or "locked" in body):
            raise RefusalError(160005 if channel.locked else 50013)
        channel.name = body.get("name") or channel.name
        channel.auto_archive = body.get("auto_archive_duration") or channel.auto_archive
        self._discord.set_thread(channel, archived=body.get("archived"), locked=body.get("locked"))
        return answer(self._view(channel))

    async def delete(self, request: web.Request) -> web.Response:
        """DELETE a channel or thread."""
        (channel_id,) = ids(request, "channel")
        thread = self._discord.world.channel(channel_id).is_thread
        channel = self._channel(request, Can.MANAGE_THREADS if thread else Can.MANAGE_CHANNELS)
        body = self._view(channel)
        self._discord.remove_channel(channel)
        return answer(body)

    async def thread_from_message(self, request: web.Request) -> web.Response:
        """POST a thread on a message; its id is the message's."""
        channel, body = self._channel(request), (await read(request)).body
        (message_id,) = ids(request, "message")
        refuse(check_schema("CreateTextThreadWithMessageRequest", body))
        message = self._discord.world.message(channel.id, message_id)
        if channel.guild_id is None or channel.is_thread or channel.type in FORUMS:
            raise RefusalError(50024)
        self._discord.world.demand(channel, self._discord.bot.id, Can.CREATE_PUBLIC_THREADS)
        if message.id in self._discord.world.channels:
            raise RefusalError(160004)
        self._demand_room(channel)
        thread = self._discord.add_thread(channel, body["name"], id=message.id)
        thread.auto_archive = body.get("auto_archive_duration") or thread.auto_archive
        message.flags |= 1 << 5
        return answer(self._view(thread), 201)

    async def thread(self, request: web.Request) -> web.Response:
        """POST a thread without a message, or a forum post with its first message."""
        channel, incoming = self._channel(request), await read(request)
        if channel.type in FORUMS:
            return self._forum_post(channel, incoming)
        body = incoming.body
        refuse(check_schema("CreateTextThreadWithoutMessageRequest", body))
        if channel.guild_id is None or channel.is_thread:
            raise RefusalError(50024)
        kind = body.get("type") or PRIVATE_THREAD
        public = kind != PRIVATE_THREAD
        needed = Can.CREATE_PUBLIC_THREADS if public else Can.CREATE_PRIVATE_THREADS
        self._discord.world.demand(channel, self._discord.bot.id, needed)
        self._demand_room(channel)
        thread = self._discord.add_thread(
            channel, body["name"], type=PUBLIC_THREAD if public else PRIVATE_THREAD
        )
        thread.auto_archive = body.get("auto_archive_duration") or thread.auto_archive
        return answer(self._view(thread), 201)

    def _forum_post(self, forum: Channel, incoming: Incoming) -> web.Response:
        body = incoming.body
        problems = check_schema("CreateForumThreadRequest", body)
        if isinstance(body.get("message"), dict):
            found = check_message(
                body["message"],
                schema="BaseCreateMessageCreateRequest",
                files=len(incoming.attachments),
            )
            nested = [Problem(("message", *each.path), each.code, each.message) for each in found]
            problems = nested + [each for each in problems if each.path[:1] != ("message",)]
        refuse(problems)
        self._discord.world.demand(forum, self._discord.bot.id, Can.SEND_MESSAGES)
        tags = [int(each) for each in body.get("applied_tags") or []]
        if forum.requires_tag and not tags:
            raise RefusalError(40067)
        if any(tag not in forum.tags for tag in tags):
            raise invalid(("applied_tags",), "BASE_TYPE_CHOICES", "Unknown tag.")
        self._demand_room(forum)
        thread = self._discord.add_thread(forum, body["name"])
        thread.applied_tags = tags
        first = self._messages.post(
            thread, Incoming(body["message"], incoming.attachments), id=thread.id
        )
        return answer(
            {**self._view(thread), "message": message_json(self._discord.world, first)}, 201
        )

    def _demand_room(self, channel: Channel) -> None:
        world = self._discord.world
        if len(world.active_threads(channel.guild_id or 0)) >= world.max_active_threads:
            raise RefusalError(160006)

    async def join(self, request: web.Request) -> web.Response:
        """PUT the bot into a thread."""
        channel = self._channel(request)
        if channel.archived:
            raise RefusalError(50083)
        channel.members.add(self._discord.bot.id)
        return web.Response(status=204)

    async def active(self, request: web.Request) -> web.Response:
        """GET the active threads of a guild that the bot sees."""
        (guild_id,) = ids(request, "guild")
        bot, world = self._discord.bot.id, self._discord.world
        if guild_id not in world.guilds:
            raise RefusalError(10004)
        threads = [each for each in world.active_threads(guild_id) if world.sees(each, bot)]
        return answer({"threads": [self._view(each) for each in threads], "members": []})

    async def direct(self, request: web.Request) -> web.Response:
        """POST: open the direct message channel with a user."""
        body = (await read(request)).body
        refuse(check_schema("CreatePrivateChannelRequest", body))
        user = self._discord.world.users.get(int(body.get("recipient_id") or 0))
        if user is None:
            raise invalid(("recipient_id",), "UNKNOWN_USER", "Unknown user.")
        if user.bot:
            raise RefusalError(50007)
        return answer(self._view(self._discord.direct(user)))


def refuse(problems: list[Problem]) -> None:
    """Raise Invalid Form Body if there is any problem."""
    if problems:
        raise RefusalError(50035, problems)
