"""The chat itself: people connect, join a channel, read objects and send objects, one a line.

It keeps nothing: who joins is shown every open ask of the channel as it is stored, so a restart or a
lost connection is the same case as joining.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Destination, Thread
from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import Person
from answerback.ports.surface import Actor, Asks, Rejected, Shown
from answerback_chat import wording
from answerback_chat.sanitize import visible
from linechat.render import action_of, message

MOST = 1_000_000
"""Bytes in a line, at the most."""
Said = dict[str, JsonValue]


class LineChat:
    """See `answerback.ports.surface.Surface`."""

    name = "linechat"
    live = True

    def __init__(self, host: str, port: int, labels: Labels) -> None:
        self.address = (host, port)
        self._labels = labels
        self._asks: Asks | None = None
        self._server: asyncio.Server | None = None
        self._joined: dict[asyncio.StreamWriter, str] = {}
        self._talks: set[asyncio.Task[None]] = set()

    async def start(self, asks: Asks) -> None:
        self._asks = asks
        self._server = await asyncio.start_server(self._welcome, *self.address, limit=MOST)
        self.address = self._server.sockets[0].getsockname()[:2]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._talks:
            task.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    def unready_reason(self) -> str | None:
        return None if self._server is not None else "Line chat does not listen yet."

    async def show(self, ask: Ask, save: Callable[[Shown], Awaitable[None]]) -> Shown:
        await self._tell(ask.destination.channel, message(view_of(ask), self._labels))
        return Shown(ask.revision, {"id": ask.id}, Thread(channel=ask.destination.channel))

    async def remind(self, ask: Ask, number: int) -> None:
        """Says so once a number: who joined anew, or was told before a crash, knows a number again."""
        view = view_of(ask)
        about = wording.reminder_subject(view, self._labels)
        words = f"{self._labels.reminder.format(label=view.label)} {about}"
        said: Said = {"ask": ask.id, "reminder": number, "text": visible(words)}
        await self._tell(ask.destination.channel, said)

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        return (ANYONE,)

    def destination_problem(self, destination: Destination) -> str | None:
        if destination.channel and not destination.thread:
            return None
        return "Line chat has channels only: write linechat:CHANNEL."

    async def _tell(self, channel: str | None, said: Said) -> None:
        for writer in [one for one, joined in self._joined.items() if joined == channel]:
            await _send(writer, said)

    def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._talk(reader, writer))
        self._talks.add(task)
        task.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = ""
        try:
            while line := await reader.readline():
                said = _read(line)
                if said is None:
                    await self._note(writer, "Each line is one JSON object.")
                elif "join" in said:
                    name = str(said.get("as") or "")
                    await self._join(writer, str(said["join"]))
                elif not name:
                    await self._note(writer, 'First: {"join": CHANNEL, "as": NAME}.')
                else:
                    await self._act(writer, said, name)
        except (ConnectionError, ValueError):
            pass  # the person has left, or sent a line that is too long
        finally:
            self._joined.pop(writer, None)
            writer.close()

    async def _join(self, writer: asyncio.StreamWriter, channel: str) -> None:
        self._joined[writer] = channel
        if self._asks is not None:
            async for ask in self._asks.each_open(self.name, channel):
                await _send(writer, message(view_of(ask), self._labels))
        await _send(writer, {"joined": channel})

    async def _act(self, writer: asyncio.StreamWriter, said: Said, name: str) -> None:
        """One action: the service decides, commits, and has the result shown to all."""
        action, revision = action_of(said), said.get("revision")
        if action is None or self._asks is None or not isinstance(revision, int):
            await self._note(writer, "An action is {ask, revision, do, value}.")
            return
        actor = Actor(Person(surface=self.name, user_id=name, name=name), all_groups=True)
        try:
            done = await self._asks.act(str(said.get("ask")), action, actor, revision=revision)
        except StoreError:
            await self._note(writer, "Nothing was saved. Try again.")
            return
        if isinstance(done, Rejected):
            await self._reject(writer, done, name)
        await _send(writer, {"done": said.get("ask")})

    async def _reject(self, writer: asyncio.StreamWriter, rejected: Rejected, name: str) -> None:
        """Nothing changed: this person alone is told why, and how the ask stands."""
        view = view_of(rejected.ask) if rejected.ask else None
        who = ", ".join(rejected.ask.responders) if rejected.ask else ""
        await self._note(
            writer, wording.rejection_note(rejected, view, self._labels, who, reader=name)
        )
        if view is not None:
            await _send(writer, message(view, self._labels))

    async def _note(self, writer: asyncio.StreamWriter, words: str) -> None:
        await _send(writer, {"note": visible(words)})


async def _send(writer: asyncio.StreamWriter, said: Said) -> None:
    if not writer.is_closing():
        writer.write(json.dumps(said).encode() + b"\n")
        await writer.drain()


def _read(line: bytes) -> Said | None:
    try:
        said = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None
