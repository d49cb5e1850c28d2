"""Files that people send with their answers: what is taken in, whose they are, and what becomes of them."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest

from answerback.core.actions import Answer, Back, Confirm, Object, Other, Reply
from answerback.core.ask import Ask, RecordEntry
from answerback.core.errors import ProblemError, StoreError, TooManyFilesError
from answerback.core.files import CLAIM_SECONDS, MAX_FILE, AttachedFile
from answerback.core.intents import ResolvedAction
from answerback.core.person import Person
from answerback.core.secrecy import readable_files
from answerback.ports.files import CHUNK, uploader_name
from answerback.ports.surface import Acted, Rejected
from answerback.service.ask_wire import ask_json
from answerback.service.people_files import MAX_UNCLAIMED
from answerback.service.record_wire import entries_for_agent
from answerback.service.service import Service
from answerback.service.submission_request import read_submission
from tests.service_support import actor
from tests.unit.bot.conftest import Parts
from tests.unit.picture_samples import HUGE, JPEG, PNG, SVG, jpeg

ADA = Person(surface="chat", user_id="U1", name="U1")
BEN = Person(surface="chat", user_id="U2", name="U2")
"""The people of the surface of these tests."""
TEXT: Any = {"id": "why", "text": "Why?", "answer_type": "text"}


async def submit(service: Service, *questions: Any, **more: Any) -> Ask:
    body = {
        "name": "ask_user",
        "arguments": {"questions": [*(questions or (TEXT,))]},
        "to": "chat:C1",
        "responders": "anyone",
        **more,
    }
    return (await service.submit(read_submission(body))).ask


async def sent(
    service: Service, name: str = "photo.png", data: bytes = PNG, by: Person = ADA
) -> AttachedFile:
    return await service.people_files.take(name, data, by)


def body_of(ask: Ask, **more: bool) -> Any:
    return ask_json(ask, **more)


def named(entry: RecordEntry) -> list[str]:
    """Return the names of the files in a line of the record."""
    files: Any = entry.body["files"]
    return [each["name"] for each in files]


async def act(service: Service, ask: Ask, action: ResolvedAction, by: str = "U1") -> Ask:
    done = await service.act(ask.id, action, actor(by))
    assert isinstance(done, Acted), done
    return done.ask


@pytest.mark.rule("FILE-13")
async def test_an_answer_comes_with_its_files_beside_what_is_typed(service: Service) -> None:
    ask, file = await submit(service), await sent(service)
    done = await act(service, ask, Answer(value="See the photo", files=(file,)))
    body = body_of(done)
    assert body["answers"] == {"why": "See the photo"}
    assert body["answer_files"] == [
        {
            "question_id": "why", "id": file.id, "name": "photo.png", "media_type": "image/png",
            "bytes": len(PNG), "sha256": hashlib.sha256(PNG).hexdigest(),
            "by": {"surface": "chat", "user_id": "U1", "name": "u1"},
        }
    ]  # fmt: skip
    stored = await service.store.files.get(file.id)
    assert stored is not None
    assert stored.ask_id == ask.id
    [answered] = [
        each.entry for each in await service.record(ask.id) if each.entry.kind == "answered"
    ]
    assert named(answered) == ["photo.png"]


@pytest.mark.rule("FILE-13")
async def test_a_reply_comes_with_files_even_without_a_word(service: Service) -> None:
    ask, file = await submit(service), await sent(service)
    done = await act(service, ask, Reply(files=(file,)))
    body = body_of(done)
    assert body["reply"] is None
    assert [(each["question_id"], each["id"]) for each in body["answer_files"]] == [(None, file.id)]
    [ended] = [each.entry for each in await service.record(ask.id) if each.entry.kind == "ended"]
    assert named(ended) == ["photo.png"]


@pytest.mark.rule("FILE-13")
@pytest.mark.parametrize(
    "question",
    [
        {"id": "q", "text": "Ship?", "answer_type": "boolean"},
        {"id": "q", "text": "Which?", "answer_type": "select", "options": ["a", "b"]},
    ],
)
async def test_a_choice_alone_takes_no_files(service: Service, question: Any) -> None:
    ask, file = await submit(service, question), await sent(service)
    value = True if question["answer_type"] == "boolean" else "a"
    done = await service.act(ask.id, Answer(value=value, files=(file,)), actor())
    assert isinstance(done, Rejected)
    assert [each.code for each in done.problems] == ["takes_no_files"]
    stored = await service.store.files.get(file.id)
    assert stored is not None
    assert stored.ask_id is None


@pytest.mark.rule("FILE-13")
@pytest.mark.parametrize("action", ["other", "note"])
async def test_own_words_and_notes_come_with_files(service: Service, action: str) -> None:
    options = [{"label": each, "description": each} for each in "ab"]
    question = {"question": "Which?", "header": "H", "multiSelect": False, "options": options}
    ask = await submit(service, name="AskUserQuestion", arguments={"questions": [question]})
    file = await sent(service)
    own: ResolvedAction = Other(text="mine", files=(file,))
    done = await act(service, ask, own if action == "other" else Answer(value="a", files=(file,)))
    assert [each["id"] for each in body_of(done)["answer_files"]] == [file.id]


@pytest.mark.rule("FILE-13")
async def test_an_ask_takes_ten_files_each_once_and_no_more_bytes_than_agents_may_send(
    service: Service,
) -> None:
    second = {**TEXT, "id": "more"}
    ask = await submit(service, TEXT, second)
    files = tuple([await sent(service, f"{n}.png") for n in range(10)])
    for wrong, code in (
        ((*files, await sent(service)), "too_many_files"),
        ((files[0], files[0]), "file_sent_twice"),
        (
            tuple(each.model_copy(update={"bytes": MAX_FILE}) for each in files[:3]),
            "files_too_large",
        ),
    ):
        done = await service.act(ask.id, Answer(value="", files=wrong), actor())
        assert isinstance(done, Rejected)
        assert [each.code for each in done.problems] == [code]
    await act(service, ask, Answer(value="", files=files[:9]))
    done = await service.act(ask.id, Reply(files=files[8:]), actor())
    assert isinstance(done, Rejected)
    assert [each.code for each in done.problems] == ["file_sent_twice"]
    await act(service, ask, Answer(value="", files=files[9:]))


@pytest.mark.rule("FILE-14")
async def test_an_answer_taken_back_takes_its_files_with_it(service: Service) -> None:
    ask, file = await submit(service, TEXT, {**TEXT, "id": "more"}), await sent(service)
    await act(service, ask, Answer(value="1", files=(file,)))
    back = await act(service, ask, Back())
    assert body_of(back)["answer_files"] == []
    assert back.walk.again is not None
    assert back.walk.again.files == (file,), "it is offered again"
    again = await act(service, ask, Answer(value="2"))
    assert again.walk.answers[0].files == ()
    assert await service.store.files.get(file.id) is None
    assert await service.store.files.read_chunk(file.id, 0) == b""


@pytest.mark.rule("FILE-14")
async def test_an_answer_that_is_changed_keeps_only_the_files_that_are_sent_again(
    service: Service,
) -> None:
    kept, dropped, added = [await sent(service, f"{name}.png") for name in "abc"]
    ask = await submit(service, TEXT, {**TEXT, "id": "more"})
    await act(service, ask, Answer(value="1", files=(kept, dropped)))
    await act(service, ask, Back())
    found = await service.people_files.find([kept.id, added.id], ADA, ask.id)
    done = await act(service, ask, Answer(value="1", files=found))
    assert [each.file.id for each in readable_files(done)] == [kept.id, added.id]
    assert await service.store.files.get(dropped.id) is None


@pytest.mark.rule("FILE-14")
async def test_nobody_sends_a_file_of_somebody_else_or_of_another_ask(parts: Parts) -> None:
    service = parts.service()
    ask, other = await submit(service), await submit(service)
    file, foreign = await sent(service), await sent(service, by=BEN)
    await act(service, other, Answer(value="", files=(file,)))
    await parts.store.files.begin("file_agent", "coder", parts.clock.now(), 0)
    await parts.store.files.finish(file.model_copy(update={"id": "file_agent"}))
    unfinished = await service.people_files.begin(ADA)
    for wrong in (file.id, foreign.id, "file_agent", "file_none", unfinished):
        with pytest.raises(ProblemError, match="not there any more"):
            await service.people_files.find([wrong], ADA, ask.id)
    with pytest.raises(StoreError):  # as if it had been claimed after it was looked up
        await service.act(ask.id, Answer(value="", files=(file,)), actor())
    still = await service.get(ask.id)
    assert still is not None
    assert still.open
    late = await sent(service)
    await parts.clock.advance(CLAIM_SECONDS + 1)
    with pytest.raises(ProblemError, match="not there any more"):
        await service.people_files.find([late.id], ADA, ask.id)


@pytest.mark.rule("FILE-14", "CONFIRM-9")
async def test_an_agent_learns_of_no_file_before_the_answers_are_confirmed(
    service: Service,
) -> None:
    ask = await submit(service, confirmations=1)
    file, with_objection = await sent(service), await sent(service, by=BEN)
    waiting = await act(service, ask, Answer(value="x", files=(file,)))
    assert waiting.confirming
    assert body_of(waiting)["answer_files"] == []
    assert [each["id"] for each in body_of(waiting, to_people=True)["answer_files"]] == [file.id]
    record = entries_for_agent(waiting, await service.record(ask.id))
    assert file.id not in str(record)
    objected = await act(service, ask, Object(text="No", files=(with_objection,)), "U2")
    assert [each["id"] for each in body_of(objected)["answer_files"]] == [with_objection.id]


@pytest.mark.rule("FILE-14")
async def test_a_confirmed_answer_is_read_with_its_files(service: Service) -> None:
    ask, file = await submit(service, confirmations=1), await sent(service)
    await act(service, ask, Answer(value="x", files=(file,)))
    done = await act(service, ask, Confirm(), "U2")
    assert [each["id"] for each in body_of(done)["answer_files"]] == [file.id]


@pytest.mark.rule("FILE-17")
async def test_an_erasure_leaves_neither_bytes_nor_names(service: Service) -> None:
    ask, file = await submit(service), await sent(service, "ada-at-home.png")
    await act(service, ask, Answer(value="x", files=(file,)))
    erased = await service.erase(ask.id)
    assert erased is not None
    assert body_of(erased)["answer_files"] == []
    assert await service.store.files.get(file.id) is None
    assert await service.store.files.read_chunk(file.id, 0) == b""
    assert "ada-at-home" not in str(await service.record(ask.id))


@pytest.mark.rule("FILE-15")
async def test_what_a_phone_writes_into_a_photo_is_stored_nowhere(service: Service) -> None:
    place = b"N 52.52 E 13.40"
    photo = jpeg(before=b"\xff\xe1" + (len(place) + 2).to_bytes(2, "big") + place)
    file = await sent(service, "IMG_1.jpg", photo)
    assert await service.store.files.read_chunk(file.id, 0) == JPEG
    assert (file.bytes, file.sha256) == (len(JPEG), hashlib.sha256(JPEG).hexdigest())
    upload = await service.people_files.begin(ADA)
    await service.people_files.add_chunk(upload, 0, photo)
    same = await service.people_files.finish(upload, ADA, "IMG_1.jpg", 1)
    assert same.sha256 == file.sha256
    assert await service.store.files.read_chunk(upload, 0) == b""


@pytest.mark.rule("FILE-15", "FILE-13")
@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.heic", b"\0\0\0\x18ftypheic\0\0\0\0", "cannot be removed"),
        ("a.avif", b"\0\0\0\x18ftypavif\0\0\0\0", "cannot be removed"),
        ("a.tif", b"II*\0\x08\0\0\0", "cannot be removed"),
        ("a.heif", b"\0\0\0\x18ftypheif\0\0\0\0", "cannot be removed"),
        ("a.cr3", b"\0\0\0\x18ftypcrx \0\0\0\0", "cannot be removed"),
        ("a.jxl", b"\0\0\0\x0cJXL \r\n\x87\n", "cannot be removed"),
        ("a.jp2", b"\0\0\0\x0cjP  \r\n\x87\n", "cannot be removed"),
        ("a.rw2", b"IIU\0\x08\0\0\0", "cannot be removed"),
        ("a.raf", b"FUJIFILMCCD-RAW 0201", "cannot be removed"),
        ("no-size.jpg", b"\xff\xd8\xff\xe1\0\x08N 52.5\xff\xd9", "is damaged"),
        ("no-size.png", b"\x89PNG\r\n\x1a\n\0\0\0\x06eXIfN 52.5", "is damaged"),
        ("a.jpg", JPEG[:-2] + b"xxxx", "is damaged"),
        ("a.txt", b"", "is empty"),
        ("a.gif", HUGE[1], "pixels"),
        ("big.bin", bytes(MAX_FILE + 1), "too large"),
    ],
)
async def test_what_is_refused_is_said_in_words(
    service: Service, name: str, data: bytes, said: str
) -> None:
    with pytest.raises(ProblemError) as refused:
        await sent(service, name, data)
    assert said in (refused.value.detail or "")
    assert name in (refused.value.detail or "")


@pytest.mark.rule("FILE-2", "FILE-13")
@pytest.mark.parametrize(
    ("name", "data", "stored", "media_type"),
    [
        ("../../x\u202egnp.svg", SVG, "x⟨U+202E⟩gnp.svg", "application/octet-stream"),
        ("page.png", b"<!doctype html><script>", "page.png", "application/octet-stream"),
        ("notes.html", PNG, "notes.html", "image/png"),
        ("..", b"x", "file", "application/octet-stream"),
    ],
)
async def test_what_people_send_is_what_its_bytes_say(
    service: Service, name: str, data: bytes, stored: str, media_type: str
) -> None:
    file = await sent(service, name, data)
    assert (file.name, file.media_type) == (stored, media_type)


@pytest.mark.rule("FILE-16")
async def test_an_upload_in_parts_whose_answers_get_lost_is_stored_once(parts: Parts) -> None:
    service = parts.service()
    files, data = service.people_files, bytes(range(256)) * (CHUNK // 256) + b"end"
    upload = await files.begin(ADA)
    for number in (0, 0, 1, 1):
        await files.add_chunk(upload, number, data[number * CHUNK : (number + 1) * CHUNK])
    first = await files.finish(upload, ADA, "a.bin", 2)
    assert await files.finish(upload, ADA, "a.bin", 2) == first
    assert first.sha256 == hashlib.sha256(data).hexdigest()
    with pytest.raises(ProblemError, match=r"Not all of a\.bin"):
        await files.finish(upload, BEN, "a.bin", 2)


@pytest.mark.rule("FILE-16")
async def test_parts_come_whole_and_reach_no_file_that_is_there(service: Service) -> None:
    files, file = service.people_files, await sent(service)
    upload = await files.begin(ADA)
    for upload_id, number, size in (
        (file.id, 1, 1), (upload, 40, 1), (upload, -1, 1), (upload, 0, CHUNK + 1), ("upload_x", 0, 1),
    ):  # fmt: skip
        with pytest.raises(ProblemError):
            await files.add_chunk(upload_id, number, bytes(size))
    await files.add_chunk(upload, 1, b"x")
    for chunks in (0, 1, 2, 41):
        with pytest.raises(ProblemError):
            await files.finish(upload, ADA, "a", chunks)
    with pytest.raises(ProblemError):
        await files.finish(file.id, ADA, "a", 1)
    assert await service.store.files.read_chunk(file.id, 0) == PNG


@pytest.mark.rule("FILE-16")
async def test_a_person_keeps_no_more_than_some_files_unsent(service: Service) -> None:
    for n in range(MAX_UNCLAIMED):
        await service.store.files.begin(f"file_{n}", uploader_name(ADA), service.clock.now(), 0)
    with pytest.raises(TooManyFilesError, match="not sent yet"):
        await service.people_files.begin(ADA)
    with pytest.raises(TooManyFilesError):
        await sent(service)
    await sent(service, by=BEN)


@pytest.mark.rule("FILE-16")
async def test_an_upload_whose_end_is_sent_again_while_it_is_stored_is_one_file(
    parts: Parts,
) -> None:
    files = parts.service().people_files
    upload = await files.begin(ADA)
    await files.add_chunk(upload, 0, JPEG)
    first, second = await asyncio.gather(*(files.finish(upload, ADA, "a.jpg", 1) for _ in range(2)))
    assert first == second
    assert await parts.store.files.read_chunk(first.id, 0) == JPEG


@pytest.mark.rule("FILE-16")
async def test_an_upload_that_a_killed_process_had_begun_to_store_is_stored(parts: Parts) -> None:
    files = parts.service().people_files
    upload = await files.begin(ADA)
    await files.add_chunk(upload, 0, JPEG)
    file_id = upload.replace("upload_", "file_")
    assert await parts.store.files.begin(file_id, uploader_name(ADA), parts.clock.now(), 0)
    file = await files.finish(upload, ADA, "a.jpg", 1)
    assert file.id == file_id
    assert await parts.store.files.read_chunk(file.id, 0) == JPEG
