"""Routes of the application itself, of guild members and roles, and of the gateway's address.

https://docs.discord.com/developers/resources/application and .../resources/guild.
"""

from aiohttp import web

from tests.fakes.discord.core import Discord
from tests.fakes.discord.interactions import Interactions
from tests.fakes.discord.problems import Payload, RefusalError
from tests.fakes.discord.request_reader import ids, read
from tests.fakes.discord.rest_channels import refuse
from tests.fakes.discord.rest_messages import answer
from tests.fakes.discord.rules import CHAT_INPUT, check_command
from tests.fakes.discord.spec import check_schema
from tests.fakes.discord.wire_json import member_json, role_json, user_json
from tests.fakes.discord.world import Guild

MESSAGE_CONTENT_LIMITED, GUILD_MEMBERS_LIMITED = 1 << 19, 1 << 15
COMMANDS_MAX = 100
SETTABLE_FLAGS = MESSAGE_CONTENT_LIMITED | GUILD_MEMBERS_LIMITED | 1 << 13


class App:
    """The handlers, over one fake."""

    def __init__(self, discord: Discord, interactions: Interactions) -> None:
        self._discord, self._interactions = discord, interactions

    def routes(self) -> list[web.RouteDef]:
        """Return the routes that the server mounts below /api/v10."""
        return [
            web.get("/users/@me", self.me),
            web.get("/oauth2/applications/@me", self.application),
            web.get("/applications/@me", self.application),
            web.patch("/applications/@me", self.edit),
            web.get("/applications/{application}/commands", self.commands),
            web.post("/applications/{application}/commands", self.create_command),
            web.get("/gateway", self.gateway),
            web.get("/gateway/bot", self.gateway_bot),
            web.get("/users/@me/guilds", self.guilds),
            web.get("/users/{user}", self.user),
            web.get("/guilds/{guild}", self.guild),
            web.get("/guilds/{guild}/roles", self.roles),
            web.get("/guilds/{guild}/members/{user}", self.member),
        ]

    async def me(self, request: web.Request) -> web.Response:
        """GET the bot user."""
        return answer(self._discord.me())

    def _application(self) -> Payload:
        app = self._discord.application
        body: Payload = {
            "id": str(app.id),
            "name": "Answerback",
            "icon": None,
            "description": "",
            "summary": "",
            "type": None,
            "bot": user_json(self._discord.bot),
            "bot_public": True,
            "bot_require_code_grant": False,
            "owner": {**user_json(self._discord.bot), "id": "1", "username": "owner", "bot": False},
            "team": None,
            "verify_key": app.public_key,
            "flags": app.flags,
            "hook": True,
            "tags": [],
            "interactions_endpoint_url": app.interactions_endpoint_url,
            "rpc_origins": [],
            "redirect_uris": [],
            "integration_types_config": {"0": {}},
            "approximate_guild_count": len(self._discord.world.guilds),
            "is_monetized": False,
            "storefront_available": False,
            "custom_install_url": None,
        }
        return {**body, **app.settings}

    async def application(self, request: web.Request) -> web.Response:
        """GET the application."""
        return answer(self._application())

    async def edit(self, request: web.Request) -> web.Response:
        """PATCH the application; an interactions endpoint is checked live before it is saved."""
        body, app = (await read(request)).body, self._discord.application
        # The document types `description` as an object; the documentation, which wins, as a string.
        refuse(
            check_schema(
                "ApplicationFormPartial", {k: v for k, v in body.items() if k != "description"}
            )
        )
        if "flags" in body:
            flags = int(body["flags"] or 0)
            if flags & ~SETTABLE_FLAGS:
                raise RefusalError(
                    50035, status=400, extra={"message": "Only LIMITED intent flags can be set."}
                )
            app.message_content = bool(flags & MESSAGE_CONTENT_LIMITED)
            app.guild_members = bool(flags & GUILD_MEMBERS_LIMITED)
        if "interactions_endpoint_url" in body:
            url = body["interactions_endpoint_url"] or None
            if url:
                await self._interactions.check_endpoint(url)
            app.interactions_endpoint_url = url
        own = {"flags", "interactions_endpoint_url"}
        app.settings.update({key: value for key, value in body.items() if key not in own})
        return answer(self._application())

    def _own(self, request: web.Request) -> list[Payload]:
        """The commands of the application that a route names, which has to be the token's."""
        (application_id,) = ids(request, "application")
        if application_id != self._discord.application.id:
            raise RefusalError(20012)
        return self._discord.application.commands

    async def commands(self, request: web.Request) -> web.Response:
        """GET the global commands."""
        return answer(self._own(request))

    async def create_command(self, request: web.Request) -> web.Response:
        """POST a global command: one of the same name and type is replaced, and keeps its id.

        https://docs.discord.com/developers/interactions/application-commands#create-global-application-command
        """
        body, commands = (await read(request)).body, self._own(request)
        refuse(check_command(body))
        new = {"type": CHAT_INPUT, "contexts": None, "integration_types": [0], **body}
        for place, old in enumerate(commands):
            if (old["name"], old["type"]) == (new["name"], new["type"]):
                commands[place] = {**new, "id": old["id"]}
                return answer(commands[place])
        if len(commands) >= COMMANDS_MAX:
            raise RefusalError(30032)
        application = str(self._discord.application.id)
        commands.append({**new, "id": str(self._discord.new_id()), "application_id": application})
        return answer(commands[-1], 201)

    async def gateway(self, request: web.Request) -> web.Response:
        """GET the gateway's address (the one route that needs no token)."""
        return answer({"url": self._discord.gateway.url})

    async def gateway_bot(self, request: web.Request) -> web.Response:
        """GET the gateway's address with the session limits."""
        limit = {"total": 1000, "remaining": 999, "reset_after": 86_400_000, "max_concurrency": 1}
        return answer({"url": self._discord.gateway.url, "shards": 1, "session_start_limit": limit})

    async def guilds(self, request: web.Request) -> web.Response:
        """GET the servers the bot is in."""
        found = self._discord.world.guilds.values()
        return answer([{"id": str(each.id), "name": each.name, "owner": False} for each in found])

    async def user(self, request: web.Request) -> web.Response:
        """GET any user."""
        (user_id,) = ids(request, "user")
        if user_id not in self._discord.world.users:
            raise RefusalError(10013)
        return answer(user_json(self._discord.world.users[user_id]))

    def _guild(self, request: web.Request) -> Guild:
        (guild_id,) = ids(request, "guild")
        guild = self._discord.world.guilds.get(guild_id)
        if guild is None:
            raise RefusalError(10004)
        if self._discord.bot.id not in guild.members:
            raise RefusalError(50001)
        return guild

    async def guild(self, request: web.Request) -> web.Response:
        """GET a server, shortly."""
        guild = self._guild(request)
        roles = [role_json(each) for each in guild.roles.values()]
        return answer({"id": str(guild.id), "name": guild.name, "roles": roles})

    async def roles(self, request: web.Request) -> web.Response:
        """GET the roles of a server."""
        return answer([role_json(each) for each in self._guild(request).roles.values()])

    async def member(self, request: web.Request) -> web.Response:
        """GET one member."""
        guild = self._guild(request)
        (user_id,) = ids(request, "user")
        if user_id not in guild.members:
            raise RefusalError(10007)
        return answer(member_json(self._discord.world, guild, user_id))
