"""Files over the API: uploaded, named by an ask, and readable by nobody else."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
from collections.abc import AsyncIterator
from contextlib import suppress

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from answerback.core import files
from answerback.core.errors import ProblemError
from answerback.http.arriving_body import arriving
from answerback.ports.settings_tables import LimitSettings
from tests.unit.bot.api.conftest import Json, Serve, Served, until
from tests.unit.picture_samples import GIF, HUGE, JPEG, PNG, PNG_SIZE, SVG, WEBP

ROLES = {"bot": "agent", "other": "agent", "front": "surface"}


async def upload(
    api: Served,
    data: bytes | AsyncIterator[bytes] = PNG,
    name: str = "before.png",
    headers: dict[str, str] | None = None,
) -> tuple[int, Json]:
    body = io.BytesIO(data) if isinstance(data, bytes) else data
    async with api.http.post(
        "/v1/files", params={"name": name}, data=body, headers=headers
    ) as response:
        return response.status, await response.json(content_type=None)


async def submit(api: Served, *sent: Json, **headers: str) -> tuple[int, Json]:
    body = {
        "name": "ask_user",
        "arguments": {"question": "Which?", "answer_type": "boolean", "context": "Look:"},
        "to": "web",
        "files": sent,
    }
    async with api.http.post("/v1/asks", json=body, headers=headers) as response:
        return response.status, await response.json()


async def download(api: Served, file_id: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    async with api.http.get(f"/v1/files/{file_id}", headers=headers) as response:
        return response.status, await response.read(), dict(response.headers)


@pytest.mark.rule("FILE-1", "FILE-2")
async def test_an_uploaded_file_is_named_by_an_ask_and_read_again(api: Served) -> None:
    status, file = await upload(api)
    assert status == 201
    digest = hashlib.sha256(PNG).hexdigest()
    assert file == {
        "id": file["id"], "name": "before.png", "media_type": "image/png", "bytes": len(PNG), "sha256": digest,
    }  # fmt: skip
    status, ask = await submit(api, {"id": file["id"], "alt": "The page before"})
    assert status == 201
    assert ask["files"] == [{**file, "alt": "The page before"}]
    status, data, headers = await download(api, file["id"])
    assert (status, data, headers["Content-Type"]) == (200, PNG, "image/png")
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.rule("FILE-2")
@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (GIF, "image/gif"),
        (WEBP, "image/webp"),
        (SVG, files.DOWNLOAD),
        (b"<!doctype html><script>alert(1)</script>", files.DOWNLOAD),
        (b"\xff\xd8\xff\xd9", files.DOWNLOAD),
        (PNG[:20], files.DOWNLOAD),
        (b"GIF89a", files.DOWNLOAD),
        (b"RIFF\x10\0\0\0WEBPVP8 ", files.DOWNLOAD),
    ],
)
async def test_the_bytes_decide_what_a_file_is_whatever_it_is_called(
    api: Served, data: bytes, media_type: str
) -> None:
    _, file = await upload(api, data, "picture.png", {"Content-Type": "image/png"})
    assert file["media_type"] == media_type
    _, body, headers = await download(api, file["id"])
    assert body == data
    assert headers["Content-Type"] == media_type
    assert headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    kind = "attachment" if media_type == files.DOWNLOAD else "inline"
    assert headers["Content-Disposition"] == f"{kind}; filename*=UTF-8''picture.png"


@pytest.mark.rule("FILE-3")
@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\dir\\plot.png", "plot.png"),
        ("a\u202egnp.exe", "a⟨U+202E⟩gnp.exe"),
        ("a\r\nX-Evil: 1.png", "a X-Evil: 1.png"),
        ('q"; filename=x.png', 'q"; filename=x.png'),
        ("n" * 200 + ".png", "n" * 95 + "….png"),
    ],
)
async def test_names_lose_their_folders_and_hide_nothing(
    api: Served, sent: str, stored: str
) -> None:
    status, file = await upload(api, name=sent)
    assert (status, file["name"]) == (201, stored)
    status, _, headers = await download(api, file["id"])
    assert status == 200
    assert "\n" not in headers["Content-Disposition"]


@pytest.mark.rule("FILE-3")
@pytest.mark.parametrize("name", ["..", "a/", " ", "\\"])
async def test_a_file_needs_a_name(api: Served, name: str) -> None:
    status, problem = await upload(api, name=name)
    assert (status, problem["errors"][0]["code"]) == (422, "empty")


@pytest.mark.rule("FILE-3")
async def test_a_file_over_the_limit_is_refused_with_the_number(api: Served) -> None:
    async def streamed(size: int) -> AsyncIterator[bytes]:
        for _ in range(size // 65_536):
            yield b"x" * 65_536
        yield b"y" * (size % 65_536)

    assert (await upload(api, b"x" * files.MAX_FILE))[0] == 201
    for data in b"x" * (files.MAX_FILE + 1), streamed(files.MAX_FILE + 1):
        status, problem = await upload(api, data)
        assert status == 413
        assert "10,485,760" in problem["detail"]


@pytest.mark.rule("FILE-3")
async def test_a_picture_with_too_many_pixels_by_its_header_is_refused(api: Served) -> None:
    assert (await upload(api, PNG_SIZE(10_000, 5_000)))[0] == 201
    status, problem = await upload(api, PNG_SIZE(10_000, 5_001))
    assert status == 422
    assert "50,000,000" in problem["detail"]
    for bomb in HUGE:
        assert (await upload(api, bomb))[0] == 422
    assert (await upload(api, b""))[0] == 422


@pytest.mark.rule("FILE-4")
async def test_a_file_is_claimed_once_and_only_by_its_uploader(serve: Serve) -> None:
    async with serve(ROLES) as api:
        _, file = await upload(api, headers=api.bearer("bot"))
        for caller in api.bearer("other"), api.bearer("front"), api.person:
            assert (await download(api, file["id"], **caller))[0] in {403, 404}
        status, problem = await submit(api, {"id": file["id"]}, **api.bearer("other"))
        assert (status, problem["errors"][0]["code"]) == (422, "no_such_file")
        assert problem["errors"][0]["pointer"] == "/files/0/id"
        assert "no_such_file" not in problem["tool_result"]["content"]
        twice = await submit(api, {"id": file["id"]}, {"id": file["id"]}, **api.bearer("bot"))
        assert twice[0] == 422
        assert (await submit(api, {"id": file["id"]}, **api.bearer("bot")))[0] == 201
        assert (await submit(api, {"id": file["id"]}, **api.bearer("bot")))[0] == 422
        assert (await submit(api, {"id": "file_none"}, **api.bearer("bot")))[0] == 422
        for caller in api.bearer("bot"), api.bearer("front"):
            assert (await download(api, file["id"], **caller))[:2] == (200, PNG)
        assert (await download(api, file["id"], **api.bearer("other")))[0] == 404
        status, problem = await upload(api, headers=api.bearer("front"))
        assert (status, problem["title"]) == (422, "No sender")


@pytest.mark.rule("FILE-4")
async def test_a_repeated_submission_with_the_file_uploaded_again_returns_the_first_ask(
    api: Served,
) -> None:
    _, first = await upload(api)
    _, again = await upload(api)
    _, other = await upload(api, GIF)
    key = {"Idempotency-Key": "k"}
    status, ask = await submit(api, {"id": first["id"]}, **key)
    assert status == 201
    for same in first, again:
        status, found = await submit(api, {"id": same["id"]}, **key)
        assert (status, found["id"]) == (200, ask["id"])
    assert (await submit(api, {"id": other["id"]}, **key))[0] == 422
    assert (await submit(api, {"id": again["id"], "alt": "x"}, **key))[0] == 422


@pytest.mark.rule("FILE-5")
async def test_small_files_stand_in_the_submission(api: Served) -> None:
    def inline(data: bytes, name: str = "plot.png") -> Json:
        return {"name": name, "media_type": "text/html", "data": base64.b64encode(data).decode()}

    status, ask = await submit(api, inline(PNG), inline(b"x" * (files.MAX_INLINE - len(PNG)), "x"))
    assert status == 201
    assert [each["media_type"] for each in ask["files"]] == ["image/png", files.DOWNLOAD]
    assert (await download(api, ask["files"][0]["id"]))[1] == PNG
    status, problem = await submit(api, inline(PNG), inline(b"x" * files.MAX_INLINE, "x"))
    assert status == 422
    assert "128 KiB" in problem["errors"][0]["message"]
    for wrong in (
        {"name": "a", "data": "%%%"}, {"name": "a", "data": ""}, {"name": "/", "data": "YQ=="}, {"name": "a"}, {},
        {"id": "file_a", "name": "a", "data": "YQ=="}, {"id": "file_a", "alt": "x" * 1_001},
    ):  # fmt: skip
        status, problem = await submit(api, wrong)
        assert (status, problem["errors"][0]["pointer"][:8]) == (422, "/files/0"), wrong


@pytest.mark.rule("FILE-3")
async def test_an_ask_has_a_limited_number_of_files_and_bytes(api: Served) -> None:
    small = {"name": "a.txt", "data": "YQ=="}
    assert (await submit(api, *[small] * files.MAX_FILES))[0] == 201
    status, problem = await submit(api, *[small] * (files.MAX_FILES + 1))
    assert (status, problem["errors"][0]["code"]) == (422, "too_many")
    half = files.MAX_BYTES // 2
    large = [(await upload(api, b"x" * half))[1] for _ in range(3)]
    one = (await upload(api, b"x"))[1]
    status, problem = await submit(api, *({"id": each["id"]} for each in (*large[:2], one)))
    assert (status, problem["errors"][0]["code"]) == (422, "too_long")
    assert (await submit(api, *({"id": each["id"]} for each in large[:2])))[0] == 201


@pytest.mark.rule("FILE-6")
async def test_unclaimed_uploads_are_limited(serve: Serve) -> None:
    async with serve(ROLES, limits=LimitSettings(unclaimed_files=2)) as api:
        bot = api.bearer("bot")
        kept = [(await upload(api, headers=bot))[1] for _ in range(2)]
        async with api.http.post("/v1/files?name=a", data=b"x", headers=bot) as response:
            assert response.status == 429
            assert response.headers["Retry-After"] == "60"
            assert "unclaimed_files" in (await response.json())["detail"]
        assert (await upload(api, headers=api.bearer("other")))[0] == 201
        await submit(api, {"id": kept[0]["id"]}, **bot)
        assert (await upload(api, headers=bot))[0] == 201


@pytest.mark.rule("FILE-3")
async def test_an_upload_that_ends_early_leaves_nothing_behind(serve: Serve) -> None:
    async with serve(ROLES, limits=LimitSettings(unclaimed_files=1)) as api:
        bot, arrived = api.bearer("bot"), asyncio.Event()

        async def breaks_off() -> AsyncIterator[bytes]:
            yield b"x" * 300_000
            arrived.set()
            await asyncio.Event().wait()

        uploading = asyncio.create_task(upload(api, breaks_off(), headers=bot))
        await arrived.wait()
        uploading.cancel()

        async def is_free() -> bool:
            return (await upload(api, headers=bot))[0] == 201

        await until(is_free)


@pytest.mark.rule("FILE-3")
async def test_an_upload_that_stalls_is_refused() -> None:
    refused = asyncio.get_running_loop().create_future()

    async def handle(request: web.Request) -> web.Response:
        try:
            async for _ in arriving(request, stall=0.05):
                pass
        except ProblemError as error:
            refused.set_result(error.status)
        return web.Response()

    async def stalls() -> AsyncIterator[bytes]:
        yield b"x"
        await refused

    app = web.Application()
    app.router.add_post("/", handle)
    async with TestServer(app) as server, aiohttp.ClientSession() as http:
        with suppress(aiohttp.ClientError):
            await http.post(server.make_url("/"), data=stalls())
    assert await refused == 408


@pytest.mark.rule("FILE-4", "API-18")
async def test_an_erased_ask_has_no_files(api: Served) -> None:
    _, file = await upload(api)
    _, ask = await submit(api, {"id": file["id"]})
    assert (await api.act(ask, action="answer", value=True))[0] == 200
    async with api.http.post(f"/v1/asks/{ask['id']}/erase", headers=api.person) as response:
        assert (await response.json())["files"] == []
    assert (await download(api, file["id"]))[0] == 404


@pytest.mark.rule("FILE-4")
async def test_a_file_that_is_erased_while_it_is_read_ends_early_and_is_no_fault_of_the_service(
    api: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _, file = await upload(api, PNG + bytes(2**20))
    _, ask = await submit(api, {"id": file["id"]})
    assert (await api.act(ask, action="answer", value=True))[0] == 200
    stored = api.running.service.store.files
    read = stored.read_chunk

    async def read_as_it_is_erased(file_id: str, number: int) -> bytes:
        if number == 1:
            path = f"/v1/asks/{ask['id']}/erase"
            async with api.http.post(path, headers=api.person) as response:
                assert response.status == 200
        return await read(file_id, number)

    monkeypatch.setattr(stored, "read_chunk", read_as_it_is_erased)
    with pytest.raises(aiohttp.ClientPayloadError):
        await download(api, file["id"])
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []
