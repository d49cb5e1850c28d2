"""A real slack-bolt app on the fake Slack, over Socket Mode or signed HTTP, that records what it receives."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack.schema import Json
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.workspace import Message


@dataclass
class World:
    """The fake, an app on it, and the payloads that the app received."""

    slack: FakeSlack
    client: AsyncWebClient
    app: AsyncApp
    received: list[Json] = field(default_factory=list)
    handler: AsyncSocketModeHandler | None = None
    answer: Json = field(default_factory=dict)

    async def ask(self, *blocks: Json, channel: str = "C1") -> Message:
        """Post blocks and return the stored message."""
        posted = await self.client.chat_postMessage(
            channel=channel, text="t", blocks=list(blocks), unfurl_links=False
        )
        return self.slack.workspace.messages[posted["channel"]][posted["ts"]]


def listen(world: World) -> None:
    """Record every payload; answer suggestions and submissions with `world.answer`."""

    async def on_interaction(ack: object, body: Json) -> None:
        world.received.append(body)
        await ack(**world.answer)  # type: ignore[operator]

    async def on_event(event: Json) -> None:
        world.received.append(event)

    world.app.action({"action_id": "press"})(on_interaction)
    for action_id in ("menu", "many", "value", "end"):
        world.app.action(action_id)(on_interaction)
    world.app.options("find")(on_interaction)
    world.app.action("find")(on_interaction)
    world.app.view("form")(on_interaction)
    world.app.view_closed("form")(on_interaction)
    world.app.event("message")(on_event)
    world.app.event("app_mention")(on_event)


@asynccontextmanager
async def running(mode: str, *, ping_interval: float = 10) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(FakeSlack())
        session = await stack.enter_async_context(aiohttp.ClientSession())
        slack.workspace.add_channel("C1", "U1", "U2")
        slack.person("U1", "Ada")
        slack.person("U2", "Bo")
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url, session=session)
        app = AsyncApp(
            name="world",
            client=client,
            signing_secret=slack.signing_secret,
            process_before_response=True,
        )
        world = World(slack, client, app)
        listen(world)
        if mode == "socket":
            world.handler = AsyncSocketModeHandler(
                app, slack.app_token, ping_interval=ping_interval
            )
            await world.handler.connect_async()  # type: ignore[no-untyped-call]
            stack.push_async_callback(world.handler.close_async)
            await slack.socket.connected()
        else:

            async def serve(request: web.Request) -> web.StreamResponse:
                return await to_aiohttp_response(
                    await app.async_dispatch(await to_bolt_request(request))
                )

            server = web.Application()
            server.router.add_post("/slack/events", serve)
            runner = web.AppRunner(server)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            slack.deliver_to(f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events")
        yield world
