"""The Slack surface with a real store, service and display worker, connected to the fake Slack, in either mode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from aiohttp import web

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.ports.claims import SOLE_CLAIM, SharedLeases
from answerback.ports.plugin import Host
from answerback.ports.store import Store
from answerback.ports.surface import Surface
from answerback.runtime.sockets import chat_http_session
from answerback.service.service import Service
from answerback.service.submission_request import Submission
from answerback.workers.message_sync import MessageSync, SyncPace
from answerback_chat.delays import Delays
from answerback_slack.adapter import SlackSurface
from answerback_slack.plugin import SlackSettings
from answerback_testing.example_commands import EXAMPLE_COMMANDS
from answerback_testing.manual_timers import ManualTimers
from answerback_testing.surface_harness import follow_other_replicas
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.slack.person import Person
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.workspace import Message
from tests.surface_setups import create_host, open_store

Mode = Literal["socket", "http"]
MODES: tuple[Mode, ...] = ("socket", "http")
CHANNEL = "C0OPS"
LABELS = Labels()


@dataclass
class App:
    """The running parts of Answerback that are connected to a Slack."""

    surface: SlackSurface
    service: Service
    store: Store
    shower: MessageSync
    timers: ManualTimers = field(default_factory=ManualTimers)
    """Those of the message sync."""


@dataclass
class Rig:
    """Everything running, with one channel and Ada and Bob in it."""

    slack: FakeSlack
    app: App
    ada: Person
    bob: Person

    async def submit(self, *questions: dict[str, Any], **fields: Any) -> Ask:
        """Submit an ``ask_user`` call to the channel, by default for Ada; it is shown when this returns."""
        body = {
            "name": "ask_user",
            "arguments": {"questions": list(questions)},
            "to": f"slack:{CHANNEL}",
            "responders": [self.ada.id],
            **fields,
        }
        submitted = await self.app.service.submit(Submission.model_validate(body))
        return await self.shown(submitted.ask)

    async def shown(self, ask: Ask | str) -> Ask:
        """The ask's state once nothing is waiting to be shown."""
        await self.app.shower.wait_until_idle()
        stored = await self.app.store.asks.get(ask if isinstance(ask, str) else ask.id)
        assert stored is not None
        return stored

    def live(self, ask: Ask) -> Message:
        """The ask's message."""
        found = [m for m in self.slack.messages(self.channel_of(ask)) if belongs(m, ask.id)]
        assert len(found) == 1, f"{len(found)} messages of {ask.id}"
        return found[0]

    def channel_of(self, ask: Ask) -> str:
        """The channel where an ask is shown."""
        return (ask.placement.thread.channel if ask.placement.thread else None) or CHANNEL

    async def wait_for_notes(
        self, person: Person, count: int = 1, channel: str = CHANNEL
    ) -> list[str]:
        """The private notes to a person, once there are this many."""
        await self.slack.until(lambda: len(person.private_notes(channel)) >= count)
        return person.private_notes(channel)

    async def type_answer(self, ask: Ask, text: str, person: Person | None = None) -> Message:
        """Mention the bot in the ask's thread, once the question has been there for a while."""
        self.slack.clock.advance(2)
        thread = self.live(ask).ts
        return await (person or self.ada).mention_bot(CHANNEL, text, thread=thread)

    async def wait_until_marked(self, said: Message) -> None:
        """Wait for the mark on an accepted message."""
        await self.slack.until(lambda: said.reactions)
        assert said.reactions == {"white_check_mark": ["U0BOT"]}

    async def wait_for_offers(self) -> list[Message]:
        """The private notes that offer Ada to use her message, once there is one."""

        def found() -> list[Message]:
            shown = self.ada.messages(CHANNEL)
            return [m for m in shown if LABELS.use_text in self.ada.sees(m).buttons]

        await self.slack.until(found)
        return found()


def belongs(message: Message, ask_id: str) -> bool:
    """Return True if a message is the live message of an ask."""
    metadata = message.metadata or {}
    mine = metadata.get("event_type") == "answerback_ask"
    return mine and metadata["event_payload"]["ask_id"] == ask_id


def create_surface(
    service: Service, slack: FakeSlack, host: Host, mode: Mode, delays: Delays = PATIENT
) -> SlackSurface:
    """Create the surface of a service."""
    tokens = {"app_token": slack.app_token} if mode == "socket" else {}
    settings = {"signing_secret": slack.signing_secret, "api_url": slack.api_url, **tokens}
    configured = SlackSettings.model_validate({"bot_token": slack.bot_token, **settings})
    return SlackSurface(service, configured, host, delays)


@asynccontextmanager
async def run_app(
    slack: FakeSlack,
    database: Path | str,
    mode: Mode,
    on_serving: Callable[[str], Awaitable[None]] | None = None,
    delays: Delays = PATIENT,
) -> AsyncIterator[App]:
    """Run the service with its Slack surface, as in one process.

    Args:
        database: an SQLite file, or a ``storage.url``.
        on_serving: called with the URL that receives Slack's requests; without it, the fake Slack is configured.
    """
    async with AsyncExitStack() as stack:
        store, claim, clock = await stack.enter_async_context(open_store(database))
        http = await stack.enter_async_context(chat_http_session())
        surfaces: dict[str, Surface] = {}
        names = frozenset({"slack"})
        service = Service(
            store,
            clock,
            surfaces,
            known_surfaces=names,
            claim=claim,
            commands=EXAMPLE_COMMANDS,
        )
        shared = None if claim is SOLE_CLAIM else SharedLeases(store.leases, claim.holder)
        surface = surfaces["slack"] = create_surface(
            service, slack, create_host(http, shared=shared), mode, delays
        )
        timers = ManualTimers()
        shower = MessageSync(service, pace=SyncPace(first_pause=0.02), call_later=timers.call_later)
        await stack.enter_async_context(follow_other_replicas(service, shower))
        stack.push_async_callback(shower.stop)
        stack.push_async_callback(surface.stop)
        await surface.start()
        if mode == "http":
            url = await _served(surface, stack)
            if on_serving is None:
                slack.deliver_to(url)
            else:
                await on_serving(url)
        await shower.sweep(100)
        yield App(surface, service, store, shower, timers)


async def _served(surface: SlackSurface, stack: AsyncExitStack) -> str:
    app = web.Application()
    app.add_routes(surface.routes)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2, auto_decompress=False)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    return f"http://{host}:{port}/slack/events"


@asynccontextmanager
async def workspace() -> AsyncIterator[tuple[FakeSlack, Person, Person]]:
    """A fake Slack with one channel, and Ada and Bob in it."""
    async with FakeSlack() as slack:
        ada, bob = slack.person("U0ADA", "ada"), slack.person("U0BOB", "bob")
        slack.workspace.add_channel(CHANNEL, ada.id, bob.id, name="ops")
        yield slack, ada, bob
        assert slack.split == []  # of the several messages only the first would be known


@asynccontextmanager
async def rig(
    tmp_path: Path, mode: Mode = "socket", delays: Delays = PATIENT
) -> AsyncIterator[Rig]:
    """A new workspace with the surface connected to it."""
    async with (
        workspace() as (slack, ada, bob),
        run_app(slack, tmp_path / "answerback.db", mode, delays=delays) as app,
    ):
        yield Rig(slack, app, ada, bob)
