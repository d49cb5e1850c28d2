"""The chat itself: people connect, join a channel, and exchange objects, one per line.

It keeps no state: a person who joins is shown every open ask of the channel from the store, so a restart or a
lost connection is handled like joining.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Destination, Thread
from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import Person
from answerback.ports.surface import Actor, Asks, Rejected, Shown
from answerback.presentation import wording
from answerback_base.sanitize import visible
from linechat.render import MARKS, action_of, message

MAX_LINE = 1_000_000
"""The maximum length of a line, in bytes."""
JsonObject = dict[str, JsonValue]


class LineChat:
    """See `answerback.ports.surface.Surface`."""

    name = "linechat"
    live = True

    def __init__(self, asks: Asks, host: str, port: int, labels: Labels) -> None:
        self.address = (host, port)
        self._asks = asks
        self._labels = labels
        self._is_listening = False
        self._closing = ExitStack()
        self._joined: dict[asyncio.StreamWriter, str] = {}
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        server = await asyncio.start_server(self._on_connect, *self.address, limit=MAX_LINE)
        self._closing.callback(server.close)
        self.address = server.sockets[0].getsockname()[:2]
        self._is_listening = True

    async def stop(self) -> None:
        self._closing.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def unready_reason(self) -> str | None:
        return None if self._is_listening else "Line chat is not listening yet."

    async def show(self, ask: Ask, save: Callable[[Shown], Awaitable[None]]) -> Shown:
        await self._broadcast(
            ask.placement.destination.channel, message(view_of(ask, self._labels), self._labels)
        )
        return Shown(
            ask.revision, {"id": ask.id}, Thread(channel=ask.placement.destination.channel)
        )

    async def remind(self, ask: Ask, number: int) -> None:
        """Send a reminder with its number, by which clients recognise one that was sent again after a crash."""
        subject = wording.subject(view_of(ask, self._labels), self._labels)
        _recipients, note = wording.reminder(ask, number, self._labels)
        text = f"{note} {subject}"
        reminder: JsonObject = {"ask": ask.id, "reminder": number, "text": visible(text)}
        await self._broadcast(ask.placement.destination.channel, reminder)

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        return (ANYONE,)

    def destination_problem(self, destination: Destination) -> str | None:
        if destination.channel and not destination.thread:
            return None
        return "Line chat only has channels: write linechat:CHANNEL."

    async def _broadcast(self, channel: str | None, obj: JsonObject) -> None:
        for writer in [each for each, joined in self._joined.items() if joined == channel]:
            await _send(writer, obj)

    def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = ""
        try:
            while line := await reader.readline():
                received = _parse(line)
                if received is None:
                    await self._note(writer, "Send one JSON object per line.")
                elif "join" in received:
                    name = str(received.get("as") or "")
                    await self._join(writer, str(received["join"]))
                elif not name:
                    await self._note(writer, 'Join first: {"join": CHANNEL, "as": NAME}.')
                else:
                    await self._act(writer, received, name)
        except (ConnectionError, ValueError):
            pass  # the person has left, or sent a line that is too long
        finally:
            self._joined.pop(writer, None)
            writer.close()

    async def _join(self, writer: asyncio.StreamWriter, channel: str) -> None:
        self._joined[writer] = channel
        async for ask in self._asks.each_open(self.name, channel):
            await _send(writer, message(view_of(ask, self._labels), self._labels))
        await _send(writer, {"joined": channel})

    async def _act(self, writer: asyncio.StreamWriter, received: JsonObject, name: str) -> None:
        """Submit one action: the service decides, commits, and has the result shown to everyone."""
        action, revision = action_of(received), received.get("revision")
        if action is None or not isinstance(revision, int):
            await self._note(writer, "Send an action as {ask, revision, do, value}.")
            return
        actor = Actor(Person(surface=self.name, user_id=name, name=name), all_groups=True)
        try:
            result = await self._asks.act(
                str(received.get("ask")), action, actor, revision=revision
            )
        except StoreError:
            await self._note(writer, "Nothing was saved. Try again.")
            return
        if isinstance(result, Rejected):
            await self._reject(writer, result, name)
        await _send(writer, {"done": received.get("ask")})

    async def _reject(self, writer: asyncio.StreamWriter, rejected: Rejected, name: str) -> None:
        """Tell only this person why nothing changed, and show them the current ask."""
        view = view_of(rejected.ask, self._labels) if rejected.ask else None
        await self._note(writer, wording.rejection_note(rejected, self._labels, MARKS, reader=name))
        if view is not None:
            await _send(writer, message(view, self._labels))

    async def _note(self, writer: asyncio.StreamWriter, text: str) -> None:
        await _send(writer, {"note": visible(text)})


async def _send(writer: asyncio.StreamWriter, obj: JsonObject) -> None:
    if not writer.is_closing():
        writer.write(json.dumps(obj).encode() + b"\n")
        await writer.drain()


def _parse(line: bytes) -> JsonObject | None:
    try:
        obj = json.loads(line)
    except ValueError:
        return None
    return obj if isinstance(obj, dict) else None
