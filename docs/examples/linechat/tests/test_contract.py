"""Line chat keeps the contract of every surface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from linechat.surface import MOST, LineChat
from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.testing.bench import Bench, bench
from answerback.testing.surface_contract import SurfaceContract


class LineDesk:
    """A person with one connection; see `answerback.testing.surface_contract.Desk`."""

    live = True

    def __init__(
        self, up: Bench, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._up = up
        self._reader = reader
        self._writer = writer
        self._seen: dict[str, JsonValue] = {}

    async def opens(self, form: Form) -> str:
        ask = await self._up.opens(form, Destination(surface="linechat", channel="ops"))
        await self._read(ask)
        return ask.id

    async def stored(self, ask_id: str) -> Ask:
        return await self._up.shown(ask_id)

    async def reads(self, ask_id: str) -> str:
        return str(self._seen["text"])

    def offers(self, ask_id: str) -> set[str]:
        return set(self._seen["offers"])

    async def starts_from(self, question: Question) -> JsonValue:
        start = self._seen["start"]
        empty_is_nothing = question.answer_type in {AnswerType.TEXT, AnswerType.MULTI_SELECT}
        return (start or None) if empty_is_nothing else start

    async def answers(self, question: Question, value: JsonValue) -> None:
        await self._does("answer", value)

    async def writes_other(self, text: str) -> None:
        await self._does("other", text)

    async def goes_back(self) -> None:
        await self._does("back")

    async def edits(self, ask: Ask, question: Question) -> None:
        await self._does("edit", question.id)

    async def submits(self) -> None:
        await self._does("submit")

    async def replies(self, text: str | None) -> None:
        await self._does("reply", text)

    async def ends_turn(self) -> None:
        await self._does("end_turn")

    async def _does(self, do: str, value: JsonValue = None) -> None:
        ask_id, revision = self._seen["ask"], self._seen["revision"]
        await self.says({"ask": ask_id, "revision": revision, "do": do, "value": value})
        told = json.loads(await self._reader.readline())
        assert "note" not in told, told
        self._seen = told

    async def says(self, said: JsonValue) -> None:
        """Sends an object."""
        self._writer.write(json.dumps(said).encode() + b"\n")
        await self._writer.drain()

    async def _read(self, ask: Ask) -> None:
        while self._seen.get("ask") != ask.id:
            self._seen = json.loads(await self._reader.readline())

    async def told(self) -> dict[str, JsonValue]:
        """The next object."""
        return json.loads(await self._reader.readline())


async def desk_at(up: Bench, chat: LineChat, name: str) -> LineDesk:
    reader, writer = await asyncio.open_connection(*chat.address, limit=MOST)
    desk = LineDesk(up, reader, writer)
    await desk.says({"join": "ops", "as": name})
    await desk.says("ready?")  # answered with a note, when the channel is joined
    assert "note" in await desk.told()
    return desk


@pytest.fixture
async def chat() -> AsyncIterator[tuple[Bench, LineChat]]:
    surface = LineChat("127.0.0.1", 0, Labels())
    async with bench(surface) as up:
        yield up, surface


class TestLineChat(SurfaceContract):
    @pytest.fixture
    async def desk(self, chat: tuple[Bench, LineChat]) -> LineDesk:
        return await desk_at(*chat, "ada")


async def test_the_slower_of_two_is_told_and_shown_how_it_stands(
    chat: tuple[Bench, LineChat],
) -> None:
    ada, bob = await desk_at(*chat, "ada"), await desk_at(*chat, "bob")
    questions = [Question(id=n, text="Go on?", answer_type=AnswerType.BOOLEAN) for n in "ab"]
    ask_id = await ada.opens(Form(questions=tuple(questions)))
    shown = await bob.told()
    await ada.answers(questions[0], True)
    assert (await bob.told())["revision"] == shown["revision"] + 1
    await bob.says({"ask": ask_id, "revision": shown["revision"], "do": "answer", "value": False})
    assert (await bob.told())["note"] == "stale"
    assert (await bob.told())["ask"] == ask_id
