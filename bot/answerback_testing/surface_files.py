"""Contract tests for files that an agent sends: whoever decides sees them, or reads that they are there."""

from __future__ import annotations

import struct
import zlib

import pytest

from answerback.core.files import AttachedFile
from answerback.core.form import AnswerType, Option, Question
from answerback_testing.simulated_people import SimulatedPerson, Stage
from answerback_testing.surface_clicks import create_viewed_ask, wait_for_steps
from answerback_testing.surface_questions import AGAIN
from answerback_testing.surface_walks import strip_whitespace


def _picture(width: int = 40, height: int = 30) -> bytes:
    """Return a red PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    rows = zlib.compress((b"\0" + b"\xff\0\0" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


PICTURE = _picture()


async def store_file(stage: Stage, name: str, *, alt: str | None = None) -> AttachedFile:
    """Store an upload: a picture, or something else by the ending of its name."""
    files, clock = stage.harness.service.store.files, stage.harness.service.clock
    is_picture = name.endswith(".png")
    data = PICTURE if is_picture else b"id,seconds\n1,0.8\n"
    stored = AttachedFile(
        id=f"file_{zlib.crc32(f'{name} {clock.now()}'.encode()):032x}",
        name=name,
        media_type="image/png" if is_picture else "application/octet-stream",
        bytes=len(data),
        sha256="0" * 64,
        width=40 if is_picture else None,
        height=30 if is_picture else None,
        alt=alt,
    )
    await files.begin(stored.id, "", clock.now(), 0)
    await files.add_chunk(stored.id, 0, data)
    await files.finish(stored)
    return stored


class FilesContract:
    """Files belong to what people decide on."""

    @pytest.mark.rule("FILE-7")
    async def test_who_decides_reads_what_was_sent_before_and_after(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        sent = [
            await store_file(stage, "before.png"),
            await store_file(stage, "after.png", alt="The new *page*"),
            await store_file(stage, "times.csv"),
        ]
        context = "It changes:\n\n![Old page](file:before.png)"
        question = Question(
            id="q", text="Ship it?", context=context, answer_type=AnswerType.BOOLEAN
        )
        ask = await create_viewed_ask(stage, [question], ada, request={"files": sent})
        shown = strip_whitespace(await ada.read_all_text())
        for expected in "Thenew*page*", "times.csv":
            assert expected in shown
        assert "Oldpage" in shown
        assert "](file:" not in shown
        await ada.answer(question, True)
        await wait_for_steps(stage, ask, ada, after=1)
        shown = strip_whitespace(await ada.read_all_text())
        for expected in "Thenew*page*", "times.csv":
            assert expected in shown

    @pytest.mark.rule("FILE-7")
    async def test_files_stay_from_question_to_question(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        sent = [await store_file(stage, "plot.png", alt="A plot")]
        question = Question(id="q", text="Ship it?", answer_type=AnswerType.BOOLEAN)
        ask = await create_viewed_ask(stage, [question, AGAIN], ada, request={"files": sent})
        await ada.answer(question, True)
        await wait_for_steps(stage, ask, ada, after=1)
        assert "Aplot" in strip_whitespace(await ada.read_all_text())

    @pytest.mark.rule("FILE-7", "FILE-20")
    async def test_options_that_are_pictures_are_told_apart_without_opening_anything(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        sent = [
            await store_file(stage, "side.png", alt="Menu at the side"),
            await store_file(stage, "top.png", alt="Menu on top"),
        ]
        options = (
            Option(value="side", label="Side", preview="![Side menu](file:side.png)"),
            Option(value="top", label="Top", preview="![Top menu](file:top.png)"),
        )
        question = Question(
            id="q", text="Which layout?", options=options, answer_type=AnswerType.SELECT
        )
        await create_viewed_ask(stage, [question], ada, request={"files": sent})
        shown = strip_whitespace(await ada.read_all_text())
        assert "](file:" not in shown
        assert shown.index("Sidemenu") < shown.index("Topmenu")
        await ada.answer(question, "top")
