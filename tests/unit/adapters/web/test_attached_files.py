"""Files that people attach on the page: sent in parts before, named by the form, shown with the answer."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.files import CLAIM_SECONDS
from answerback.ports.files import CHUNK
from tests.browser.site import Site
from tests.unit.adapters.web.examples import TEXT, path
from tests.unit.adapters.web.reader import Document, Reader
from tests.unit.picture_samples import JPEG, PNG, SVG, jpeg

pytestmark = pytest.mark.rule("FILE-16")
BOOLEAN = {"id": "b", "text": "Ship it?", "answer_type": "boolean"}


async def post(visitor: Reader, where: str, **fields: str) -> Any:
    """Send a part of an upload; return the service's answer."""
    sent = {"do": "attach", **fields}
    async with visitor.http.post(where, data=sent, allow_redirects=False) as response:
        assert response.status == 200, response.status
        return await response.json()


async def attach(visitor: Reader, where: str, data: bytes, name: str) -> Any:
    """Upload a file as the page's script does; return the answer to its last part."""
    upload, answer = "", {}
    parts = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
    for n, part in enumerate(parts):
        last = {"name": name} if n == len(parts) - 1 else {}
        encoded = base64.urlsafe_b64encode(part).decode()
        answer = await post(visitor, where, upload=upload, n=str(n), data=encoded, **last)
        upload = answer.get("upload", "")
    return answer


async def send(visitor: Reader, page: Document, where: str, **fields: Any) -> Document:
    """Post the form of a page, with some fields changed."""
    kept = [(name, value) for name, value in page.fields if name not in fields]
    more = [
        (name, each)
        for name, value in fields.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    async with visitor.http.post(where, data=[*kept, *more]) as response:
        return Document(await response.text(), response.status)


def answer_files(ask: Ask) -> list[tuple[str, str]]:
    return [(file.name, file.media_type) for given in ask.walk.answers for file in given.files]


async def test_a_file_that_is_attached_is_sent_and_shown_with_the_answer(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT, BOOLEAN)
    where = path(ask)
    page = await visitor.open(where)
    assert 'id="files"' in page.markup
    photo = await attach(visitor, where, PNG, "../at home.png")
    large = await attach(visitor, where, SVG + b" " * CHUNK, "x.svg")
    assert photo["name"] == "at home.png"
    assert large["size"] == "262.2 kB"
    done = await send(
        visitor, page, where, do="answer", text="See", file=[photo["value"], large["value"]]
    )
    assert done.status == 200
    stored = await web_site.stored(ask)
    assert answer_files(stored) == [
        ("at home.png", "image/png"), ("x.svg", "application/octet-stream"),
    ]  # fmt: skip
    await web_site.act(ask, Answer(value=True))
    html = (await visitor.open(where)).markup.partition("<main")[2]
    [source] = re.findall(r'<img src="\.\./([^"]+)" alt="at home.png" width="1" height="1">', html)
    async with visitor.http.get(f"/{source}") as response:
        assert (response.status, await response.read()) == (200, PNG)
    [saved] = re.findall(r'<a href="\.\./([^"]+)" download="x.svg">', html)
    async with visitor.http.get(f"/{saved}") as response:
        assert response.headers["Content-Type"] == "application/octet-stream"
        assert response.headers["Content-Disposition"].startswith("attachment")


async def test_a_photo_is_stored_without_what_its_device_wrote(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT)
    sent = await attach(visitor, path(ask), jpeg(before=b"\xff\xfe\0\x07at ho"), "IMG.jpg")
    file_id = sent["value"].partition(" ")[0]
    assert await web_site.service.files.read_chunk(file_id, 0) == JPEG


async def test_what_is_wrong_with_files_is_said_and_nothing_typed_is_lost(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(BOOLEAN)
    where = path(ask)
    page = await visitor.open(where)
    photo = await attach(visitor, where, PNG, "photo.png")
    refused = await send(visitor, page, where, do="yes", reply="Later", file=photo["value"])
    assert refused.status == 422
    assert "Files cannot go with this answer" in refused.text
    assert refused.value("reply") == "Later"
    assert refused.value("file") == photo["value"]
    assert "photo.png" in refused.text
    gone = "file_" + "0" * 32 + " 5 old.png"
    refused = await send(visitor, page, where, do="reply", reply="Later", file=gone)
    assert refused.status == 422
    assert "Attach it again" in refused.text
    assert (await web_site.stored(ask)).open
    done = await send(visitor, page, where, do="reply", reply="Later", file=photo["value"])
    assert done.status == 200
    stored = await web_site.stored(ask)
    assert (stored.walk.reply, [each.name for each in stored.walk.reply_files]) == (
        "Later", ["photo.png"],
    )  # fmt: skip
    assert 'alt="photo.png"' in done.markup


async def test_the_same_answer_sent_twice_counts_once(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT)
    where = path(ask)
    page, photo = await visitor.open(where), await attach(visitor, where, PNG, "photo.png")
    for _ in range(2):
        done = await send(visitor, page, where, do="answer", text="x", file=photo["value"])
        assert done.status == 200
    assert answer_files(await web_site.stored(ask)) == [("photo.png", "image/png")]


async def test_after_back_the_files_are_offered_again(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT, BOOLEAN)
    where = path(ask)
    page, photo = await visitor.open(where), await attach(visitor, where, PNG, "photo.png")
    page = await send(visitor, page, where, do="answer", text="x", file=photo["value"])
    page = await send(visitor, page, where, do="back")
    assert page.value("file") == photo["value"]
    await send(visitor, page, where, do="answer", text="y")
    assert answer_files(await web_site.stored(ask)) == [("photo.png", "image/png")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": "x", "data": "AAAA"},
        {"n": "0", "data": "!!"},
        {"n": "0", "data": "AAAA", "upload": "file_" + "0" * 32},
        {"n": "40", "data": "AAAA"},
        {"n": "1", "data": "AAAA", "name": "a.png"},
        {"n": "0", "data": "", "name": "empty.txt"},
    ],
)
async def test_a_part_that_is_none_is_refused_in_words(
    web_site: Site, visitor: Reader, wrong: dict[str, str]
) -> None:
    ask = await web_site.ask(TEXT)
    answer = await post(visitor, path(ask), **wrong)
    assert answer["refused"].endswith(("upload.", "again.", "empty."))


@pytest.mark.rule("FILE-14")
async def test_who_may_not_answer_uploads_nothing(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT)
    fields = {"do": "attach", "n": "0", "data": "AAAA", "name": "a"}
    link = web_site.surface.url(ask.id).removeprefix(web_site.public_url)
    async with visitor.http.post(link, data=fields) as response:
        assert response.status == 403
    other = {**fields, "Origin": "https://evil.example"}
    async with visitor.http.post(
        path(ask), data=fields, headers={"Origin": other["Origin"]}
    ) as response:
        assert response.status == 403
    await web_site.act(ask, Answer(value="x"))
    async with visitor.http.post(path(ask), data=fields) as response:
        assert response.status == 410
    assert 'id="files"' not in (await visitor.open(path(ask))).markup


@pytest.mark.rule("FILE-3")
async def test_a_part_of_an_upload_that_stalls_leaves_nothing_behind(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT)
    page = await visitor.open(path(ask))
    uploaded = asyncio.Event()

    async def stalls() -> AsyncIterator[bytes]:
        yield b"do=attach&n=0&name=a.png&data=" + base64.urlsafe_b64encode(PNG)
        uploaded.set()
        await asyncio.Event().wait()

    form = {"Content-Type": "application/x-www-form-urlencoded"}
    sending = asyncio.create_task(visitor.http.post(path(ask), data=stalls(), headers=form))
    await uploaded.wait()
    # What comes meanwhile on other connections is neither held up nor mixed with it.
    sent = await attach(visitor, path(ask), JPEG, "b.jpg")
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    done = await send(visitor, page, path(ask), do="answer", text="See", file=sent["value"])
    assert done.status == 200
    assert answer_files(await web_site.stored(ask)) == [("b.jpg", "image/jpeg")]
    later = web_site.service.clock.now() + CLAIM_SECONDS + 1
    assert await web_site.service.store.files.prune(later) == 0, "no upload had begun"
