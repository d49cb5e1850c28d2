"""Contract tests for files that people send with what they type: with their words in the answer, or not at all."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from answerback.core.ask import Ask
from answerback.core.files import MAX_FILE, AttachedFile
from answerback.core.form import AnswerType, Question
from answerback.ports.files import read_whole
from answerback_testing.simulated_people import (
    Capability,
    HasFileForms,
    HasKills,
    HasSentFiles,
    SampleFile,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_clicks import answered_values, create_viewed_ask, wait_for_steps
from answerback_testing.surface_files import PICTURE
from answerback_testing.surface_questions import AGAIN, GO, WHY

_PHOTO: Final = SampleFile("photo.png", PICTURE)
_TABLE: Final = SampleFile("times.csv", b"id,seconds\n1,0.8\n")
_HEIC: Final = SampleFile("photo.HEIC", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic")
_LARGE: Final = SampleFile("video.mp4", bytes(MAX_FILE + 1))


def _files(ask: Ask) -> list[AttachedFile]:
    return [file for given in ask.walk.answers for file in given.files]


@requires_capability(Capability.SENT_FILES)
class SentFilesContract:
    """Files count with the words that they come with: both, or neither."""

    @pytest.mark.rule("FILE-19")
    async def test_a_message_answers_with_its_files(self, stage: Stage, ada: HasSentFiles) -> None:
        ask = await create_viewed_ask(stage, [WHY, AGAIN], ada)
        assert await ada.send_files("See both", [_PHOTO, _TABLE])
        answered = await wait_for_steps(stage, ask, ada, after=1)
        assert answered_values(answered) == ["See both"]
        files = _files(answered)
        assert [each.name for each in files] == ["photo.png", "times.csv"]
        stored = stage.harness.service.store.files
        assert [await read_whole(stored, each.id) for each in files] == [PICTURE, _TABLE.data]
        [given] = answered.walk.answers
        assert given.by is not None
        assert given.by.user_id == ada.user_id
        await ada.go_back()
        assert _files(await wait_for_steps(stage, ask, ada, after=2)) == []
        assert [await stored.get(each.id) for each in files] != [None, None]

    @pytest.mark.rule("FILE-19")
    async def test_a_photo_answers_a_text_question_without_a_word(
        self, stage: Stage, ada: HasSentFiles
    ) -> None:
        ask = await create_viewed_ask(stage, [WHY, AGAIN], ada)
        assert await ada.send_files("", [_PHOTO])
        answered = await wait_for_steps(stage, ask, ada, after=1)
        assert [each.name for each in _files(answered)] == ["photo.png"]

    @pytest.mark.rule("FILE-21")
    @pytest.mark.parametrize(
        ("question", "text", "files", "why"),
        [
            (WHY, "See it", [_PHOTO, _HEIC], "photo.HEIC is a picture in a format"),
            (WHY, "See it", [_LARGE], "video.mp4 is too large"),
            (WHY, "See it", [_TABLE._replace(data=b"")], "times.csv is empty"),
            (GO, "yes", [_PHOTO], "Files cannot go with this answer"),
            (GO, "", [_PHOTO], "Your message has no text"),
        ],
        ids=["format", "size", "empty", "no place", "no words"],
    )
    async def test_a_message_with_a_file_that_is_refused_changes_nothing(
        self,
        stage: Stage,
        ada: HasSentFiles,
        question: Question,
        text: str,
        files: list[SampleFile],
        why: str,
    ) -> None:
        ask = await create_viewed_ask(stage, [question, AGAIN], ada)
        assert not await ada.send_files(text, files)
        assert why in (await ada.refusals(1))[-1]
        await wait_for_steps(stage, ask, ada, after=0)
        value = "yes" if question.answer_type is AnswerType.BOOLEAN else "In words"
        assert await ada.type_message(value)
        await wait_for_steps(stage, ask, ada, after=1)

    @pytest.mark.rule("FILE-21")
    async def test_nothing_is_read_that_a_person_sends_who_may_not_answer(
        self, stage: Stage, ada: SimulatedPerson, bob: HasSentFiles
    ) -> None:
        ask = await create_viewed_ask(stage, [WHY], ada)
        await bob.look_at(ask)
        before = bob.count_read()
        assert not await bob.send_files("Mine", [_PHOTO])
        await wait_for_steps(stage, ask, ada, after=0)
        assert bob.count_read() == before


@requires_capability(Capability.FILE_FORMS)
class FileFormsContract:
    """Files that are attached where people write in a form."""

    @pytest.mark.rule("FILE-23")
    async def test_a_reply_takes_the_files_of_its_form(
        self, stage: Stage, ada: HasFileForms
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, AGAIN], ada)
        assert await ada.reply_with_files("As drawn", [_PHOTO, _TABLE]) == ""
        ended = await stage.harness.wait_until_shown(ask.id)
        assert (ended.open, ended.walk.reply) == (False, "As drawn")
        assert [each.name for each in ended.walk.reply_files] == ["photo.png", "times.csv"]
        stored = stage.harness.service.store.files
        assert await read_whole(stored, ended.walk.reply_files[0].id) == PICTURE

    @pytest.mark.rule("FILE-23")
    async def test_a_form_whose_file_is_refused_gives_back_what_was_written(
        self, stage: Stage, ada: HasFileForms
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, AGAIN], ada)
        response = await ada.reply_with_files("As drawn here", [_PHOTO, _HEIC])
        assert "photo.HEIC is a picture in a format" in response
        assert "As drawn here" in response
        await wait_for_steps(stage, ask, ada, after=0)

    @pytest.mark.rule("FILE-23", "FILE-24")
    @requires_capability(Capability.KILLS)
    async def test_a_form_that_was_acknowledged_is_decided_although_its_process_is_killed(
        self, stage: HasKills, ada: HasFileForms
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, AGAIN], ada)
        await ada.reply_with_stalled_files("As drawn", [_PHOTO, _TABLE])
        await stage.kill()
        ada.hand_out_files()
        async with asyncio.timeout(stage.harness.patience):
            while (ended := await stage.harness.wait_until_shown(ask.id)).open:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert ended.walk.reply == "As drawn"
        assert [each.name for each in ended.walk.reply_files] == ["photo.png", "times.csv"]
        await ada.look_at(ended)
