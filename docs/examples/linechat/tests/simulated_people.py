"""Line chat's stage and simulated people, each with their own connection, for the contract of surfaces."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from linechat.surface import MAX_LINE, LineChat
from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.form import AnswerType, Question
from answerback.ports.surface import Asks
from answerback_testing.simulated_people import SimulatedPerson
from answerback_testing.surface_harness import HarnessStage

CHANNEL = "ops"


class LineStage(HarnessStage):
    """See `answerback_testing.simulated_people.Stage`."""

    place = Destination(surface="linechat", channel=CHANNEL)
    surface: LineChat
    surfaces: Sequence[LineChat]

    def __init__(
        self,
        make: Callable[[Asks], LineChat],
        person: type[SimulatedLinePerson],
        url: str | None = None,
        replicas: int = 1,
    ) -> None:
        super().__init__(make, url, replicas)
        self._person_class = person
        self._people: list[SimulatedLinePerson] = []

    async def add_person(self, name: str) -> SimulatedLinePerson:
        person = self._person_class(self, f"{name}{len(self._people)}")
        self._people.append(person)
        await person.join()
        return person

    async def disconnect(self) -> None:
        """Disconnect everyone."""
        for person in self._people:
            await person.disconnect()


class SimulatedLinePerson:
    """See `answerback_testing.simulated_people.SimulatedPerson`. Each replica has its own chat; a person joins all."""

    def __init__(self, stage: LineStage, name: str) -> None:
        self.user_id = self.name = name
        self._stage = stage
        self._joined: LineChat | None = None
        self._writers: deque[asyncio.StreamWriter] = deque()
        self._listening: list[asyncio.Task[None]] = []
        self._received = asyncio.Event()
        self.received: list[dict[str, Any]] = []
        self._seen: dict[str, Any] = {}

    async def join(self) -> None:
        """Connect to every chat and join the channel, where every open ask is shown."""
        self._joined, before = self._stage.surface, len(self.received)
        self._writers.clear()
        for chat in self._stage.surfaces:
            reader, writer = await asyncio.open_connection(*chat.address, limit=MAX_LINE)
            self._listening.append(asyncio.create_task(self._listen(reader)))
            self._writers.appendleft(writer)
            await self._send({"join": CHANNEL, "as": self.name})
        chats = len(self._stage.surfaces)
        await self.wait_until(
            lambda: sum("joined" in each for each in self.received[before:]) == chats
        )

    async def _rejoin_after_restart(self) -> None:
        """Join again if the chats were restarted."""
        if self._joined is not self._stage.surface:
            await self.join()

    async def disconnect(self) -> None:
        """Disconnect from every chat."""
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*self._listening)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            self.received.append(json.loads(line))
            self._received.set()

    async def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition on the received lines holds."""
        while not condition():
            self._received.clear()
            await self._received.wait()

    async def _send(self, obj: JsonValue) -> None:
        """Send an object to one of the chats, taking them in turn."""
        writer = self._writers[0]
        self._writers.rotate(-1)
        writer.write(json.dumps(obj).encode() + b"\n")
        await writer.drain()

    # --- seeing ---

    async def look_at(self, ask: Ask) -> None:
        await self._rejoin_after_restart()
        await self.wait_until(lambda: self._copies(ask.id, ask.revision))
        self._seen = self._copies(ask.id, ask.revision)[-1]

    def _copies(self, ask_id: str, revision: int) -> list[dict[str, Any]]:
        shown = [each for each in self.received if _shows(each, ask_id)]
        return [each for each in shown if each["revision"] == revision]

    async def read_all_text(self) -> str:
        return str(self._seen["text"])

    def available_actions(self) -> set[str]:
        return set(self._seen["offers"])

    async def read_prefill(self, question: Question) -> JsonValue:
        start = self._start()
        empty_is_nothing = question.answer_type in {AnswerType.TEXT, AnswerType.MULTI_SELECT}
        return (start or None) if empty_is_nothing else start

    def _start(self) -> JsonValue:
        """Return the value of the offered answer without the text of "Something else…"; None if none is offered."""
        again = self._seen["again"] or {"value": None}
        value: JsonValue = again.get("beside", again["value"])
        return value

    # --- acting ---

    async def answer(self, question: Question, value: JsonValue) -> None:
        await self._act("answer", value)

    async def begin_note(self, question: Question, value: JsonValue) -> None:
        self._chosen = value

    async def read_note_form(self) -> str:
        return await self.read_all_text()

    async def finish_note(self, note: str) -> None:
        await self._act("answer", self._chosen, note=note)

    async def answer_as_prefilled(self, question: Question) -> None:
        await self._act(**self._seen["again"])

    async def answer_other(self, text: str) -> None:
        start = self._start()
        await self._act("other", text, beside=start if isinstance(start, list) else None)

    async def go_back(self) -> None:
        await self._act("back")

    async def edit(self, ask: Ask, question: Question) -> None:
        await self._act("edit", question.id)

    async def submit(self) -> None:
        await self._act("submit")

    async def confirm(self) -> None:
        await self._act("confirm")

    async def object_to(self, text: str | None) -> None:
        await self._act("object", text)

    async def reply(self, text: str | None) -> None:
        await self._act("reply", text)

    async def ask_back(self, text: str) -> None:
        await self._act("ask_back", text)

    async def hand_over(self, to: SimulatedPerson) -> str:
        before = len(self.received)
        await self._act("hand_over", to.user_id)
        return "\n".join(str(each["note"]) for each in self.received[before:] if "note" in each)

    async def end_turn(self) -> None:
        await self._act("end_turn")

    async def try_again(self, text: str | None = None) -> None:
        await self._act("try_again", text)

    async def _act(self, do: str, value: JsonValue = None, **more: JsonValue) -> None:
        await self._rejoin_after_restart()
        before, ask = len(self.received), self._seen["ask"]
        revision = self._seen["revision"]
        await self._send({"ask": ask, "revision": revision, "do": do, "value": value} | more)
        await self.wait_until(
            lambda: any(each.get("done") == ask for each in self.received[before:])
        )


def _shows(obj: dict[str, Any], ask_id: str) -> bool:
    """Return True if a line shows an ask: notes and reminders do not."""
    return obj.get("ask") == ask_id and "revision" in obj


class NotifiedLinePerson(SimulatedLinePerson):
    """A person in a chat that has private notes and reminders."""

    async def private_notes(self, count: int) -> list[str]:
        def notes() -> list[str]:
            return [str(each["note"]) for each in self.received if "note" in each]

        await self.wait_until(lambda: len(notes()) >= count)
        return notes()

    async def count_reminders(self, count: int) -> int:
        await self.wait_until(lambda: len(self._reminders()) >= count)
        return len(self._reminders())

    def read_reminders(self) -> str:
        return "\n".join(self._reminders().values())

    def _reminders(self) -> dict[int, str]:
        about_ask = [each for each in self.received if each.get("ask") == self._seen["ask"]]
        return {each["reminder"]: each["text"] for each in about_ask if "reminder" in each}
