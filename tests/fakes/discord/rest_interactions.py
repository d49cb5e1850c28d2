"""Routes that an interaction's token opens: the callback, follow-ups, and edits of the original answer.

https://docs.discord.com/developers/interactions/receiving-and-responding#endpoints. They need no bot token.
"""

from aiohttp import web

from tests.fakes.discord.core import Discord
from tests.fakes.discord.interactions import LOADING, Interaction, Interactions
from tests.fakes.discord.problems import Payload, RefusalError
from tests.fakes.discord.request_reader import Incoming, ids, read
from tests.fakes.discord.rest_messages import answer
from tests.fakes.discord.rules import check_message
from tests.fakes.discord.wire_json import message_json
from tests.fakes.discord.world import Message


class Responses:
    """The handlers, over one fake."""

    def __init__(self, discord: Discord, interactions: Interactions) -> None:
        self._discord, self._interactions = discord, interactions

    def routes(self) -> list[web.RouteDef]:
        """Return the routes that the server mounts below /api/v10."""
        hook = "/webhooks/{application}/{token}"
        one = hook + "/messages/{message}"
        return [
            web.post("/interactions/{interaction}/{token}/callback", self.callback),
            web.post(hook, self.follow_up),
            web.get(one, self.get),
            web.patch(one, self.edit),
            web.delete(one, self.delete),
        ]

    async def callback(self, request: web.Request) -> web.Response:
        """POST the initial answer."""
        (interaction_id,) = ids(request, "interaction")
        incoming = await read(request)
        self._interactions.find(interaction_id, request.match_info["token"])
        found = self._interactions.answer(
            interaction_id, request.match_info["token"], incoming.body, incoming.attachments
        )
        if request.query.get("with_response", "").lower() not in {"1", "true"}:
            return web.Response(status=204)
        kind = incoming.body["type"]
        interaction: Payload = {"id": str(found.id), "type": found.type}
        resource: Payload = {"type": kind}
        if found.original is not None and kind in {4, 5, 7}:
            interaction |= {
                "response_message_id": str(found.original.id),
                "response_message_loading": bool(found.original.flags & LOADING),
                "response_message_ephemeral": found.original.ephemeral,
            }
            resource["message"] = message_json(self._discord.world, found.original)
        return answer({"interaction": interaction, "resource": resource})

    def _found(self, request: web.Request) -> Interaction:
        (application,) = ids(request, "application")
        if application != self._discord.application.id:
            raise RefusalError(10015)
        return self._interactions.by_token(request.match_info["token"])

    def _message(self, request: web.Request, found: Interaction) -> Message:
        name = request.match_info["message"]
        message = found.original
        if name != "@original":
            (wanted,) = ids(request, "message")
            message = next((each for each in found.notes if each.id == wanted), None)
            if message is None and found.message is not None and found.message.id == wanted:
                message = found.channel.messages.get(wanted)
        if message is None or message.deleted:
            raise RefusalError(10008)
        return message

    async def follow_up(self, request: web.Request) -> web.Response:
        """POST a further message."""
        found, incoming = self._found(request), await read(request)
        self._check(incoming)
        waiting = found.original
        if found.deferred_reply and waiting is not None and waiting.flags & LOADING:
            # The first follow-up after a deferral takes the place of the loading message.
            self._interactions.edit(waiting, incoming.body, incoming.attachments)
            return answer(message_json(self._discord.world, waiting))
        message = self._interactions.respond(found, incoming.body, incoming.attachments)
        return answer(message_json(self._discord.world, message))

    def _check(self, incoming: Incoming) -> None:
        problems = check_message(
            incoming.body, schema="IncomingWebhookRequestPartial", files=len(incoming.attachments)
        )
        if any(each.code == "EMPTY_MESSAGE" for each in problems):
            raise RefusalError(50006)
        if problems:
            raise RefusalError(50035, problems)

    async def get(self, request: web.Request) -> web.Response:
        """GET the original answer or a follow-up."""
        message = self._message(request, self._found(request))
        return answer(message_json(self._discord.world, message))

    async def edit(self, request: web.Request) -> web.Response:
        """PATCH the original answer or a follow-up."""
        found = self._found(request)
        incoming, message = await read(request), self._message(request, found)
        self._interactions.edit(message, incoming.body, incoming.attachments)
        return answer(message_json(self._discord.world, message))

    async def delete(self, request: web.Request) -> web.Response:
        """DELETE the original answer or a follow-up."""
        self._discord.delete(self._message(request, self._found(request)))
        return web.Response(status=204)
