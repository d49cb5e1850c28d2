"""Line chat's stage, and people with a connection each, for the suite that every surface passes."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from linechat.surface import MOST, LineChat
from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.form import AnswerType, Question
from answerback.testing.surface_harness import HarnessStage

CHANNEL = "ops"


class LineStage(HarnessStage):
    """See `answerback.testing.simulated_people.Stage`."""

    place = Destination(surface="linechat", channel=CHANNEL)
    surface: LineChat
    surfaces: Sequence[LineChat]

    def __init__(
        self,
        make: Callable[[], LineChat],
        desk: type[SimulatedLinePerson],
        url: str | None = None,
        replicas: int = 1,
    ) -> None:
        super().__init__(make, url, replicas)
        self._desk = desk
        self._desks: list[SimulatedLinePerson] = []

    async def add_person(self, name: str) -> SimulatedLinePerson:
        desk = self._desk(self, f"{name}{len(self._desks)}")
        self._desks.append(desk)
        await desk.joins()
        return desk

    async def leave(self) -> None:
        """All of them hang up."""
        for desk in self._desks:
            await desk.leaves()


class SimulatedLinePerson:
    """See `answerback.testing.simulated_people.SimulatedPerson`. Each replica has a chat; a person is in all."""

    def __init__(self, stage: LineStage, name: str) -> None:
        self.user_id = self.name = name
        self._stage = stage
        self._joined: LineChat | None = None
        self._writers: deque[asyncio.StreamWriter] = deque()
        self._listening: list[asyncio.Task[None]] = []
        self._bell = asyncio.Event()
        self.heard: list[dict[str, Any]] = []
        self._seen: dict[str, Any] = {}

    async def joins(self) -> None:
        """Connects to every chat and joins the channel, where every open ask is shown."""
        self._joined, before = self._stage.surface, len(self.heard)
        self._writers.clear()
        for chat in self._stage.surfaces:
            reader, writer = await asyncio.open_connection(*chat.address, limit=MOST)
            self._listening.append(asyncio.create_task(self._listen(reader)))
            self._writers.appendleft(writer)
            await self._says({"join": CHANNEL, "as": self.name})
        chats = len(self._stage.surfaces)
        await self.until(lambda: sum("joined" in each for each in self.heard[before:]) == chats)

    async def _rejoins(self) -> None:
        """Joins again where the chats were started anew."""
        if self._joined is not self._stage.surface:
            await self.joins()

    async def leaves(self) -> None:
        """Hangs up."""
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*self._listening)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            self.heard.append(json.loads(line))
            self._bell.set()

    async def until(self, holds: Callable[[], object]) -> None:
        """Waits until something is true of what was heard."""
        while not holds():
            self._bell.clear()
            await self._bell.wait()

    async def _says(self, said: JsonValue) -> None:
        """Says something at one chat after the other."""
        writer = self._writers[0]
        self._writers.rotate(-1)
        writer.write(json.dumps(said).encode() + b"\n")
        await writer.drain()

    # --- seeing ---

    async def look_at(self, ask: Ask) -> None:
        await self._rejoins()
        await self.until(lambda: self._copies(ask.id, ask.revision))
        self._seen = self._copies(ask.id, ask.revision)[-1]

    def _copies(self, ask_id: str, revision: int) -> list[dict[str, Any]]:
        shown = [each for each in self.heard if _shows(each, ask_id)]
        return [each for each in shown if each["revision"] == revision]

    async def read_all_text(self) -> str:
        return str(self._seen["text"])

    def available_actions(self) -> set[str]:
        return set(self._seen["offers"])

    async def read_prefill(self, question: Question) -> JsonValue:
        start: JsonValue = self._seen["start"]
        empty_is_nothing = question.answer_type in {AnswerType.TEXT, AnswerType.MULTI_SELECT}
        return (start or None) if empty_is_nothing else start

    # --- acting ---

    async def answer(self, question: Question, value: JsonValue) -> None:
        await self._does("answer", value)

    async def answer_other(self, text: str) -> None:
        await self._does("other", text, beside=self._seen["beside"])

    async def go_back(self) -> None:
        await self._does("back")

    async def edit(self, ask: Ask, question: Question) -> None:
        await self._does("edit", question.id)

    async def submit(self) -> None:
        await self._does("submit")

    async def reply(self, text: str | None) -> None:
        await self._does("reply", text)

    async def ask_back(self, text: str) -> None:
        await self._does("ask_back", text)

    async def end_turn(self) -> None:
        await self._does("end_turn")

    async def _does(self, do: str, value: JsonValue = None, **more: JsonValue) -> None:
        await self._rejoins()
        before, ask = len(self.heard), self._seen["ask"]
        revision = self._seen["revision"]
        await self._says({"ask": ask, "revision": revision, "do": do, "value": value} | more)
        await self.until(lambda: any(each.get("done") == ask for each in self.heard[before:]))


def _shows(said: dict[str, Any], ask_id: str) -> bool:
    """Whether a line shows an ask: notes and reminders do not."""
    return said.get("ask") == ask_id and "revision" in said


class NotifiedLinePerson(SimulatedLinePerson):
    """Somebody at a chat that tells one person something, and reminds people."""

    async def private_notes(self, count: int) -> list[str]:
        def notes() -> list[str]:
            return [str(each["note"]) for each in self.heard if "note" in each]

        await self.until(lambda: len(notes()) >= count)
        return notes()

    async def count_reminders(self, count: int) -> int:
        def numbers() -> set[int]:
            mine = [each for each in self.heard if each.get("ask") == self._seen["ask"]]
            return {each["reminder"] for each in mine if "reminder" in each}

        await self.until(lambda: len(numbers()) >= count)
        return len(numbers())
