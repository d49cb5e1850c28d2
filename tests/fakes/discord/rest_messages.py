"""Routes of messages and reactions: create, get, list, edit, delete.

https://docs.discord.com/developers/resources/message.
"""

from urllib.parse import unquote

from aiohttp import web

from tests.fakes.discord.core import Discord, with_files
from tests.fakes.discord.problems import Payload, RefusalError, invalid
from tests.fakes.discord.request_reader import Incoming, ids, read
from tests.fakes.discord.rules import EDIT_REQUEST, EPHEMERAL, MESSAGE_REQUEST, check_message
from tests.fakes.discord.wire_json import message_json, readable
from tests.fakes.discord.world import Can, Channel, Message

NONCE_LIFE = 300.0
# How many edits of a message older than an hour go through in an hour is not published.
OLD_AFTER, OLD_EDITS_MAX = 3600.0, 5


class Messages:
    """The handlers, over one fake."""

    def __init__(self, discord: Discord) -> None:
        self._discord = discord

    def routes(self) -> list[web.RouteDef]:
        """Return the routes that the server mounts below /api/v10."""
        one = "/channels/{channel}/messages/{message}"
        mine = one + "/reactions/{emoji}/@me"
        return [
            web.post("/channels/{channel}/messages", self.create),
            web.get("/channels/{channel}/messages", self.listing),
            web.get(one, self.get),
            web.patch(one, self.edit),
            web.delete(one, self.delete),
            web.put(mine, self.react),
            web.delete(mine, self.unreact),
        ]

    async def create(self, request: web.Request) -> web.Response:
        """POST /channels/{id}/messages."""
        (channel_id,) = ids(request, "channel")
        incoming = await read(request)
        channel = self._discord.world.channel(channel_id)
        checked(incoming, MESSAGE_REQUEST, None)
        self._demand(channel, incoming)
        return answer(self._view(self.post(channel, incoming)))

    def post(self, channel: Channel, incoming: Incoming, *, id: int | None = None) -> Message:
        """Store an accepted message, or find the one with its nonce."""
        body, discord = incoming.body, self._discord
        now, nonce = discord.clock.now(), body.get("nonce")
        if nonce is not None and body.get("enforce_nonce"):
            for old in channel.messages.values():
                same = str(old.nonce) == str(nonce) and old.author_id == discord.bot.id
                if same and not old.deleted and old.at > now - NONCE_LIFE:
                    return old
        reference = body.get("message_reference") or {}
        reply_to = int(reference["message_id"]) if reference.get("message_id") else None
        target = channel.messages.get(reply_to or 0)
        if reply_to and (target is None or target.deleted or target.ephemeral):
            if reference.get("fail_if_not_exists") is not False:
                raise invalid(("message_reference",), "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
            reply_to = None
        message = Message(
            id or discord.new_id(),
            channel.id,
            discord.bot.id,
            now,
            content=body.get("content") or "",
            components=body.get("components") or [],
            embeds=body.get("embeds") or [],
            attachments=incoming.attachments,
            flags=body.get("flags") or 0,
            nonce=nonce,
            type=19 if reply_to else 0,
            reply_to=reply_to,
        )
        discord.record_pings(message, body.get("allowed_mentions"), edit=False, interaction=False)
        return discord.post(channel, message)

    def _demand(self, channel: Channel, incoming: Incoming) -> None:
        world, bot = self._discord.world, self._discord.bot.id
        world.demand_send(channel, bot)
        if incoming.attachments:
            world.demand(channel, bot, Can.ATTACH_FILES)
        if (
            incoming.body.get("message_reference")
            and not world.permissions(channel, bot) & Can.READ_MESSAGE_HISTORY
        ):
            raise RefusalError(160002)
        recipient = channel.recipient_id
        if recipient is not None and not world.users[recipient].dms_open:
            raise RefusalError(50007)

    async def listing(self, request: web.Request) -> web.Response:
        """GET /channels/{id}/messages?before=&after=&around=&limit=, newest first."""
        (channel_id,) = ids(request, "channel")
        channel = self._discord.world.channel(channel_id)
        self._discord.world.demand(channel, self._discord.bot.id)
        limit = int(request.query.get("limit", "50"))
        if not 1 <= limit <= 100:
            raise invalid(
                ("limit",), "NUMBER_TYPE_COERCE", "int value should be between 1 and 100."
            )
        kept = [
            each for each in channel.messages.values() if not each.deleted and not each.ephemeral
        ]
        if (
            not self._discord.world.permissions(channel, self._discord.bot.id)
            & Can.READ_MESSAGE_HISTORY
        ):
            kept = []
        kept.sort(key=lambda each: each.id, reverse=True)
        if "before" in request.query:
            kept = [each for each in kept if each.id < int(request.query["before"])]
        if "after" in request.query:
            kept = [each for each in kept if each.id > int(request.query["after"])][-limit:]
        return answer([self._view(each) for each in kept[:limit]])

    async def get(self, request: web.Request) -> web.Response:
        """GET one message."""
        message = self._message(request, Can.READ_MESSAGE_HISTORY)
        return answer(self._view(message))

    async def edit(self, request: web.Request) -> web.Response:
        """PATCH a message of the app's own."""
        incoming = await read(request)
        message = self._message(request)
        channel, now = self._discord.world.channels[message.channel_id], self._discord.clock.now()
        if message.author_id != self._discord.bot.id:
            raise RefusalError(50005)
        checked(incoming, EDIT_REQUEST, message_json(self._discord.world, message))
        if channel.archived:
            raise RefusalError(50083)
        if incoming.attachments:
            self._discord.world.demand(channel, self._discord.bot.id, Can.ATTACH_FILES)
        if now - message.at > OLD_AFTER:
            message.old_edits = [each for each in message.old_edits if each > now - OLD_AFTER]
            if len(message.old_edits) >= OLD_EDITS_MAX:
                raise RefusalError(30046)
            message.old_edits.append(now)
        files = with_files(message, incoming.body, incoming.attachments)
        self._discord.change(message, {**incoming.body, **files})
        self._discord.record_pings(
            message, incoming.body.get("allowed_mentions"), edit=True, interaction=False
        )
        return answer(self._view(message))

    async def delete(self, request: web.Request) -> web.Response:
        """DELETE a message."""
        message = self._message(request)
        channel = self._discord.world.channels[message.channel_id]
        if channel.archived:
            raise RefusalError(50083)
        if message.author_id != self._discord.bot.id:
            self._discord.world.demand(channel, self._discord.bot.id, Can.MANAGE_MESSAGES)
        self._discord.delete(message)
        return web.Response(status=204)

    async def react(self, request: web.Request) -> web.Response:
        """PUT the bot's own reaction."""
        message = self._message(request, Can.READ_MESSAGE_HISTORY)
        channel, emoji = (
            self._discord.world.channels[message.channel_id],
            unquote(request.match_info["emoji"]),
        )
        if channel.archived:
            raise RefusalError(50083)
        if emoji.isascii():
            raise RefusalError(10014)
        if emoji not in message.reactions:
            self._discord.world.demand(channel, self._discord.bot.id, Can.ADD_REACTIONS)
        self._discord.react(message, emoji, self._discord.bot.id)
        return web.Response(status=204)

    async def unreact(self, request: web.Request) -> web.Response:
        """DELETE the bot's own reaction."""
        message = self._message(request)
        emoji = unquote(request.match_info["emoji"])
        if self._discord.bot.id in message.reactions.get(emoji, ()):
            self._discord.react(message, emoji, self._discord.bot.id, add=False)
        return web.Response(status=204)

    def _message(self, request: web.Request, *needed: Can) -> Message:
        channel_id, message_id = ids(request, "channel", "message")
        world = self._discord.world
        world.demand(world.channel(channel_id), self._discord.bot.id, *needed)
        return world.message(channel_id, message_id)

    def _view(self, message: Message) -> Payload:
        """A message as REST shows it to the app: the content privilege governs this, too."""
        body = message_json(self._discord.world, message)
        bot = self._discord.bot.id
        if self._discord.application.message_content or readable(self._discord.world, message, bot):
            return body
        return {**body, "content": "", "embeds": [], "attachments": [], "components": []}


def answer(body: object, status: int = 200) -> web.Response:
    """A JSON answer, typed exactly application/json as Discord's are."""
    response = web.json_response(body, status=status)
    response.headers["Content-Type"] = "application/json"
    return response


def checked(incoming: Incoming, schema: str, old: Payload | None) -> None:
    """Refuse a message body that breaks a rule; an ephemeral flag is for interaction answers only."""
    problems = check_message(incoming.body, schema=schema, old=old, files=len(incoming.attachments))
    if any(each.code == "EMPTY_MESSAGE" for each in problems):
        raise RefusalError(50006)
    if problems:
        raise RefusalError(50035, problems)
    if (incoming.body.get("flags") or 0) & EPHEMERAL:
        raise invalid(
            ("flags",), "BASE_TYPE_BITFIELD", "Only answers to interactions can be ephemeral."
        )
