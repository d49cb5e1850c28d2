"""Contract tests for files of agents and people: uploaded in chunks, claimed by one ask, deleted with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.files import AttachedFile
from answerback.core.sent_files import FileChanges
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import Created, Existing, FilesGone, Idempotency
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision, end_decision

_CHUNKS = (b"\x89PNG\0\xff", b"rest")


def _file(name: str) -> AttachedFile:
    size = sum(map(len, _CHUNKS))
    return AttachedFile(
        id=f"file_{name}", name=name, media_type="image/png", bytes=size, sha256="0" * 64
    )


async def _upload(
    store: Store, name: str, *, agent: str = "coder", at: float = 900.0
) -> AttachedFile:
    file = _file(name)
    assert await store.files.begin(file.id, agent, at, 0)
    for number, chunk in enumerate(_CHUNKS):
        await store.files.add_chunk(file.id, number, chunk)
    await store.files.finish(file)
    return file


async def _bytes(store: Store, file_id: str) -> bytes:
    return b"".join([await store.files.read_chunk(file_id, number) for number in range(3)])


async def _check_is_deleted(store: Store, file_id: str) -> None:
    """Check that no bytes of a file are left: those of an upload with the same id would be readable."""
    assert await store.files.begin(file_id, "coder", 900.0, 0)
    assert await _bytes(store, file_id) == b""


def _changes(
    *claimed: AttachedFile, dropped: tuple[AttachedFile, ...] = ()
) -> Callable[[Ask | None], Decision[Ask]]:
    """Return a decision that answers an ask with files, or takes files from it."""
    ids = [tuple(each.id for each in files) for files in (claimed, dropped)]

    def decide(ask: Ask | None) -> Decision[Ask]:
        decided = answer_decision()(ask)
        assert decided.write is not None
        return decided._replace(write=decided.write._replace(files=FileChanges(*ids)))

    return decide


def _ask(number: int, *files: AttachedFile, agent: str | None = "coder") -> Ask:
    return new_ask(number, request={"agent": agent, "files": files})


@pytest.mark.rule("FILE-1")
class FilesContract:
    """Files of agents."""

    async def test_a_file_is_readable_once_it_is_complete(self, store: Store) -> None:
        assert await store.files.begin("file_a", "coder", 900.0, 0)
        await store.files.add_chunk("file_a", 0, _CHUNKS[0])
        assert await store.files.get("file_a") is None
        assert await store.files.find_unclaimed(["file_a"], "coder", 0.0) == []
        await store.files.add_chunk("file_a", 1, _CHUNKS[1])
        await store.files.finish(_file("a"))
        stored = await store.files.get("file_a")
        assert stored is not None
        assert (stored.file, stored.agent, stored.ask_id, stored.at) == (
            _file("a"), "coder", None, 900.0,
        )  # fmt: skip
        assert await _bytes(store, "file_a") == b"".join(_CHUNKS)

    async def test_only_the_uploader_finds_a_file_and_only_for_a_while(self, store: Store) -> None:
        file = await _upload(store, "a", at=900.0)
        assert await store.files.find_unclaimed([file.id, "file_x"], "coder", 900.0) == [file]
        assert await store.files.find_unclaimed([file.id], "other", 0.0) == []
        assert await store.files.find_unclaimed([file.id], "coder", 900.5) == []

    async def test_a_new_ask_claims_all_of_its_files_or_is_not_stored(self, store: Store) -> None:
        first, second = await _upload(store, "a"), await _upload(store, "b")
        assert isinstance(await store.asks.create(Write(_ask(1, first)), None), Created)
        stored = await store.files.get(first.id)
        assert stored is not None
        assert stored.ask_id == "ask_1"
        assert isinstance(await store.asks.create(Write(_ask(2, second, first)), None), FilesGone)
        assert await store.asks.get("ask_2") is None
        assert await store.files.find_unclaimed([second.id], "coder", 0.0) == [second]
        assert isinstance(
            await store.asks.create(Write(_ask(3, second, agent="x")), None), FilesGone
        )
        assert isinstance(await store.asks.create(Write(_ask(4, second)), None), Created)
        read = await store.asks.get("ask_4")
        assert read is not None
        assert read.request.files == (second,)

    async def test_of_two_asks_at_once_one_claims_a_file(self, store: Store) -> None:
        shared, own = await _upload(store, "a"), await _upload(store, "b")
        found = await asyncio.gather(
            store.asks.create(Write(_ask(1, shared, own)), None),
            store.asks.create(Write(_ask(2, shared)), None),
        )
        assert sorted(type(each).__name__ for each in found) == ["Created", "FilesGone"]

    async def test_a_repeated_submission_finds_the_ask_that_has_claimed_the_files(
        self, store: Store
    ) -> None:
        key, file = Idempotency("coder", "k", "d"), await _upload(store, "a")
        assert isinstance(await store.asks.create(Write(_ask(1, file)), key), Created)
        again = await store.asks.create(Write(_ask(2, file)), key)
        assert isinstance(again, Existing)
        assert again.ask.id == "ask_1"

    async def test_no_more_uploads_begin_than_may_be_unclaimed(self, store: Store) -> None:
        file = await _upload(store, "a")
        assert await store.files.begin("file_b", "coder", 900.0, 2)
        assert not await store.files.begin("file_c", "coder", 900.0, 2)
        assert await store.files.begin("file_d", "other", 900.0, 2)
        await store.asks.create(Write(_ask(1, file)), None)
        assert await store.files.begin("file_c", "coder", 900.0, 2)

    async def test_an_upload_begins_again_for_its_uploader_until_it_is_complete(
        self, store: Store
    ) -> None:
        for _ in range(2):
            assert await store.files.begin("file_a", "coder", 900.0, 0)
        assert not await store.files.begin("file_a", "other", 900.0, 0)
        await store.files.add_chunk("file_a", 0, _CHUNKS[0])
        await store.files.finish(_file("a"))
        assert not await store.files.begin("file_a", "coder", 900.0, 0)

    async def test_what_no_ask_claims_is_deleted_after_a_while(self, store: Store) -> None:
        old, kept = await _upload(store, "a", at=100.0), await _upload(store, "b", at=100.0)
        new = await _upload(store, "c", at=200.0)
        await store.asks.create(Write(_ask(1, kept)), None)
        assert await store.files.prune(150.0) == 1
        assert await store.files.get(old.id) is None
        await _check_is_deleted(store, old.id)
        for file in kept, new:
            assert await _bytes(store, file.id) == b"".join(_CHUNKS)
        await store.files.drop(kept.id)  # an ask has it
        await store.files.drop(new.id)
        assert await store.files.get(new.id) is None
        assert await _bytes(store, kept.id) == b"".join(_CHUNKS)

    @pytest.mark.rule("API-18")
    async def test_an_erasure_deletes_the_files(self, store: Store) -> None:
        file, other = await _upload(store, "a"), await _upload(store, "b")
        await store.asks.create(Write(_ask(1, file)), None)
        await store.asks.create(Write(_ask(2, other)), None)
        assert (await store.erasure.erase("ask_1", 2_000.0, ())) is not None  # it is open
        assert await _bytes(store, file.id) == b"".join(_CHUNKS)
        await store.asks.change("ask_1", end_decision())
        erased = await store.erasure.erase("ask_1", 2_000.0, ())
        assert erased is not None
        assert erased.request.files == ()
        assert await store.files.get(file.id) is None
        assert await _bytes(store, file.id) == b""
        assert await _bytes(store, other.id) == b"".join(_CHUNKS)
        await _check_is_deleted(store, file.id)

    @pytest.mark.rule("FILE-1")
    async def test_a_chunk_that_is_sent_again_changes_nothing(self, store: Store) -> None:
        assert await store.files.begin("file_a", "coder", 900.0, 0)
        for data in _CHUNKS:
            await store.files.add_chunk("file_a", 0, data)
        assert await store.files.read_chunk("file_a", 0) == _CHUNKS[0]


@pytest.mark.rule("FILE-13")
class AnswerFilesContract:
    """Files that people send with their answers."""

    async def test_an_answer_claims_all_of_its_files_or_is_not_stored(self, store: Store) -> None:
        first, second = [await _upload(store, name, agent="person web:U1") for name in "ab"]
        for number in (1, 2):
            await store.asks.create(Write(_ask(number)), None)
        await store.asks.change("ask_1", _changes(first))
        stored = await store.files.get(first.id)
        assert stored is not None
        assert stored.ask_id == "ask_1"
        with pytest.raises(StoreError, match="is not there any more"):
            await store.asks.change("ask_2", _changes(second, first))
        left = await store.asks.get("ask_2")
        assert left is not None
        assert left.open
        stored = await store.files.get(second.id)
        assert stored is not None
        assert stored.ask_id is None

    async def test_of_two_answers_at_once_one_claims_a_file(self, store: Store) -> None:
        file = await _upload(store, "a", agent="person web:U1")
        for number in (1, 2):
            await store.asks.create(Write(_ask(number)), None)
        done = await asyncio.gather(
            *(store.asks.change(f"ask_{number}", _changes(file)) for number in (1, 2)),
            return_exceptions=True,
        )
        [lost] = [each for each in done if isinstance(each, StoreError)]
        assert "is not there any more" in str(lost)
        stored = await store.files.get(file.id)
        assert stored is not None
        for number, each in enumerate(done, 1):
            now = await store.asks.get(f"ask_{number}")
            assert now is not None
            is_claimed = stored.ask_id == now.id
            assert (now.revision > 1) == is_claimed == (not isinstance(each, StoreError))

    async def test_an_answer_without_its_file_stops_no_other_change(self, store: Store) -> None:
        file = await _upload(store, "a", agent="person web:U1")
        gone = file.model_copy(update={"id": "file_gone"})
        for number in (1, 2, 3):
            await store.asks.create(Write(_ask(number)), None)
        done = await asyncio.gather(
            store.asks.change("ask_1", _changes(file)),
            store.asks.change("ask_2", _changes(gone)),
            store.asks.change("ask_3", answer_decision()),
            return_exceptions=True,
        )
        assert [isinstance(each, StoreError) for each in done] == [False, True, False]
        assert "is not there any more" in str(done[1])

    async def test_what_an_answer_names_no_more_is_deleted(self, store: Store) -> None:
        file, kept = [await _upload(store, name, agent="person web:U1") for name in "ab"]
        await store.asks.create(Write(_ask(1)), None)
        claims = FileChanges((file.id, kept.id), ())

        def claim(ask: Ask | None) -> Decision[None]:
            assert ask is not None
            return Decision(Write(replace(ask, revision=ask.revision + 1), files=claims), None)

        await store.asks.change("ask_1", claim)
        await store.asks.change("ask_1", _changes(dropped=(file,)))
        assert await store.files.get(file.id) is None
        await store.files.sweep([file.id])
        await _check_is_deleted(store, file.id)
        assert await _bytes(store, kept.id) == b"".join(_CHUNKS)
        await store.asks.change("ask_1", end_decision())
        assert (await store.erasure.erase("ask_1", 2_000.0, ())) is not None
        assert await store.files.get(kept.id) is None
