"""Files that people send on a chat: all of a message's are taken or none, within limits, from the platform alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web

from answerback.core.errors import (
    PlatformError,
    PlatformUnavailableError,
    ProblemError,
    StoreError,
)
from answerback.core.files import MAX_FILE, MAX_FILES, AttachedFile
from answerback.core.labels import Labels
from answerback.core.person import Person
from answerback_chat.file_download import download
from answerback_chat.sent_files import FileTaker, SentFile

ADA = Person(surface="chat", user_id="U1")
_CHUNK = bytes(64 * 1024)


@dataclass
class Stored:
    """The part of the service that takes in files; it refuses those with the name of `refused`."""

    names: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    fails: bool = False

    async def take(self, name: str, data: bytes, person: Person) -> AttachedFile:
        assert person == ADA
        if self.fails:
            raise StoreError("the disk is full")
        if name == self.refused:
            raise ProblemError(422, "Invalid file", f"{name} is odd.")
        file_id = f"file_{len(self.names)}"
        self.names[file_id] = name
        return AttachedFile(
            id=file_id, name=name, media_type="image/png", bytes=len(data), sha256=""
        )

    async def drop(self, file_id: str) -> None:
        del self.names[file_id]


def sent(name: str, data: bytes = b"x", size: int | None = None) -> SentFile:
    async def read() -> AsyncGenerator[bytes, None]:
        for first in range(0, len(data), len(_CHUNK)):
            yield data[first : first + len(_CHUNK)]

    return SentFile(name, size, read)


def failing(error: Exception, then: bytes | None = None) -> tuple[SentFile, list[int]]:
    """Return a file that cannot be read, or only at the second try, and where its tries are counted."""
    tries: list[int] = []

    async def read() -> AsyncGenerator[bytes, None]:
        tries.append(1)
        if then is None or len(tries) == 1:
            raise error
        yield then

    return SentFile("a.png", None, read), tries


def taker(stored: Stored, within: float = 60.0) -> FileTaker:
    return FileTaker(stored, Labels(), "Chat", within)  # type: ignore[arg-type] # only these two


@pytest.mark.rule("FILE-21")
@pytest.mark.parametrize(
    ("files", "why"),
    [
        ([sent("a.png"), sent("big.png", size=MAX_FILE + 1)], "big.png is too large"),
        ([sent(f"{n}.png") for n in range(MAX_FILES + 1)], "At most 10 files"),
        ([sent(f"{n}.png", size=MAX_FILE) for n in range(3)], "at most 20 MB together"),
        ([sent("a.png"), sent("big.png", bytes(MAX_FILE + 1))], "big.png is too large"),
        ([sent(f"{n}.png", bytes(MAX_FILE)) for n in range(3)], "at most 20 MB together"),
        ([sent("a.png"), sent("odd.png")], "odd.png is odd."),
        ([sent("a.png"), failing(PlatformError("it is gone"))[0]], "read from Chat: it is gone."),
    ],
    ids=["announced", "number", "announced sum", "read", "read sum", "refused", "unreadable"],
)
async def test_one_file_that_is_refused_leaves_none(files: list[SentFile], why: str) -> None:
    stored = Stored(refused="odd.png")
    with pytest.raises(ProblemError) as error:
        await taker(stored).take(files, ADA)
    assert why in str(error.value.detail)
    assert stored.names == {}


@pytest.mark.rule("FILE-21")
async def test_files_of_the_largest_size_and_number_are_taken() -> None:
    stored = Stored()
    files = [sent("0.png", bytes(MAX_FILE), MAX_FILE), *(sent(f"{n}.png") for n in range(1, 10))]
    taken = await taker(stored).take(files, ADA)
    assert [each.name for each in taken] == [f"{n}.png" for n in range(10)]


async def test_what_no_answer_claims_is_dropped_and_a_failure_of_the_store_leaves_nothing() -> None:
    stored = Stored()
    await taker(stored).drop(await taker(stored).take([sent("a.png"), sent("b.png")], ADA))
    assert stored.names == {}
    stored.fails = True
    with pytest.raises(StoreError):
        await taker(stored).take([sent("a.png")], ADA)


@pytest.mark.rule("FILE-21")
async def test_a_download_that_stalls_is_given_up_in_words() -> None:
    async def stalls() -> AsyncGenerator[bytes, None]:
        yield b"x"
        await asyncio.Event().wait()

    with pytest.raises(
        ProblemError, match=r"slow\.png could not be read from Chat: it took too long"
    ):
        await taker(Stored(), within=0.01).take([SentFile("slow.png", None, stalls)], ADA)


async def test_a_platform_that_is_down_for_a_moment_is_asked_again() -> None:
    file, tries = failing(PlatformUnavailableError("the answer was HTTP 503"), b"x")
    stored = Stored()
    await taker(stored).take([file], ADA)
    assert (len(tries), stored.names) == (2, {"file_0": "a.png"})
    file, tries = failing(PlatformError("the answer was HTTP 404"))
    with pytest.raises(ProblemError):
        await taker(stored).take([file], ADA)
    assert len(tries) == 1


# --- downloads ------------------------------------------------------------------------------------


@pytest.fixture
async def address() -> AsyncIterator[str]:
    """A site that sends a file, an error, or elsewhere, by the path."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        match request.path:
            case "/file":
                return web.Response(body=request.headers.get("X-Token", "").encode())
            case "/moved":
                return web.Response(status=302, headers={"Location": "/file"})
            case "/cut":
                response = web.StreamResponse(headers={"Content-Length": "10"})
                await response.prepare(request)
                await response.write(b"x")
                assert request.transport is not None
                request.transport.abort()
                return response
            case _:
                pass
        return web.Response(status=int(request.path[1:]), headers={"Retry-After": "7"})

    app = web.Application()
    app.router.add_get("/{any}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    assert "/file" not in asked[1:]  # nothing follows a redirect
    await runner.cleanup()


async def read(url: str, is_own: Callable[[str], bool]) -> bytes:
    async with aiohttp.ClientSession() as http:
        parts = download(http, url, is_own=is_own, headers={"X-Token": "t"})
        return b"".join([part async for part in parts])


@pytest.mark.rule("FILE-21")
async def test_a_file_is_read_from_the_platform_alone(address: str) -> None:
    def is_own(url: str) -> bool:
        return url.startswith(address)

    assert await read(f"{address}/file", is_own) == b"t"
    errors: dict[str, PlatformError] = {}
    foreign = "http://127.0.0.1:9/secret"
    paths = ("moved", "cut", "404", "429", "503")
    for name, url in {"foreign": foreign, **{each: f"{address}/{each}" for each in paths}}.items():
        with pytest.raises(PlatformError) as error:
            await read(url, is_own)
        errors[name] = error.value
        assert url not in str(error.value)
    assert {name: error.code for name, error in errors.items()} == {
        "foreign": "file_address", "moved": "302", "cut": "file_connection", "404": "404", "429": "429", "503": "503",
    }  # fmt: skip
    again = {name for name, each in errors.items() if isinstance(each, PlatformUnavailableError)}
    assert again == {"cut", "503"}


async def test_an_address_that_is_none_is_said_and_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    for url in ("https://[::1", "ftp://x/secret", ""):
        with pytest.raises(PlatformError):
            await read(url, lambda _: True)
    assert "secret" not in caplog.text
