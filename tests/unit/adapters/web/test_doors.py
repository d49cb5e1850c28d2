"""Who gets to which page, the inbox, the streams, and what every page says and hides."""

from __future__ import annotations

import asyncio
import io
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from aiohttp import hdrs

from adapters.web.asking import VISITOR
from bot.ask import Destination
from bot.labels import Labels
from bot.walker import Answer, EndTurn
from tests.browser.site import Site, site
from tests.unit.adapters.web.examples import (
    MANY,
    TEXT,
    path,
    value,
)
from tests.unit.adapters.web.reader import Document, Reader, reader


async def test_an_unknown_page_is_404_in_words(web_site: Site, visitor: Reader) -> None:
    for address in ("/asks/ask_0", "/asks/%00", "/a/nothing", "/a/-/nothing.css", "/?after=x"):
        assert (await visitor.open(address)).status == 404


async def test_every_page_shuts_everything_else_out(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT)
    for address in ("/", path(ask), "/asks/ask_0", "/a/-/page.js"):
        page = await visitor.open(address)
        policy = page.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        inline = [a for _, a in page.tags if "style" in a or any(k.startswith("on") for k in a)]
        assert inline == []
        loaded = [
            a.get("src") or a.get("href") or ""
            for t, a in page.tags
            if t in {"script", "link", "img"}
        ]
        assert not [url for url in loaded if "//" in url or not url]
    assert (await visitor.open(path(ask))).headers["Cache-Control"] == "no-store"


async def test_a_static_file_is_sent_once(web_site: Site, visitor: Reader) -> None:
    first = await visitor.open("/a/-/page.css")
    tagged = {hdrs.IF_NONE_MATCH: first.headers[hdrs.ETAG]}
    async with visitor.http.get("/a/-/page.css", headers=tagged) as again:
        assert again.status == 304


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://[bad"},
    ],
)
async def test_a_post_from_another_page_changes_nothing(
    web_site: Site, headers: dict[str, str]
) -> None:
    ask = await web_site.migration()
    link = f"/a/{web_site.surface.url(ask.id).rpartition('/')[2]}"
    async with reader(web_site.public_url) as person:
        page = await person.open(link)
        refused = await person.press(page, link, "yes", headers=headers)
        assert refused.status == 403
        assert "own page" in refused.text
        assert (await web_site.stored(ask)).revision == 1
        own = {"Origin": web_site.public_url, "Sec-Fetch-Site": "same-origin"}
        assert (await person.press(page, link, "yes", headers=own)).status == 200


async def test_a_post_without_this_browsers_token_is_shown_again_with_what_was_typed(
    web_site: Site, visitor: Reader
) -> None:
    ask, other = await web_site.ask(TEXT), await web_site.ask(TEXT)
    page = await visitor.open(path(ask))
    foreign = (await visitor.open(path(other))).value("token") or ""
    for token in ("", "x", "é", foreign):
        refused = await visitor.press(page, path(ask), "answer", {"token": token, "text": "mine"})
        assert refused.status == 403
        assert refused.value("text") == "mine"
    assert (await web_site.stored(ask)).open
    async with reader(web_site.url) as stranger:
        refused = await stranger.press(page, path(ask), "answer", {"text": "mine"})
        assert refused.status == 403
        again = await stranger.press(refused, path(ask), "answer")
        assert again.status == 200
    assert value(await web_site.stored(ask), "t") == "mine"


async def test_the_visitors_cookie_is_for_this_site_and_no_script(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT)
    cookie = (await visitor.open(path(ask))).headers[hdrs.SET_COOKIE]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert hdrs.SET_COOKIE not in (await visitor.open(path(ask))).headers


async def test_a_post_that_is_no_form_or_too_large_is_refused(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT)
    await visitor.open(path(ask))
    form = {hdrs.CONTENT_TYPE: "application/x-www-form-urlencoded"}
    as_json = {hdrs.CONTENT_TYPE: "application/json"}
    for body, headers, status in (
        (b"{}", as_json, 415),
        (b"text=" + b"x" * 2**21, form, 413),
        (b"&".join(b"a=1" for _ in range(6000)), form, 413),
    ):
        sent = io.BytesIO(body)
        async with visitor.http.post(path(ask), data=sent, headers=headers) as response:
            assert response.status == status
    async with visitor.http.post(path(ask), data=b"\xff%ff%00=%80&do", headers=form) as response:
        assert response.status == 403


async def test_a_link_opens_one_ask_and_nothing_else(web_site: Site) -> None:
    ask, other = await web_site.ask(TEXT), await web_site.ask(TEXT)
    link = web_site.surface.url(ask.id).rpartition("/")[2]
    async with reader(web_site.public_url) as stranger:
        assert (await stranger.open(f"/a/{link}")).status == 200
        assert "/" not in (await stranger.open(f"/a/{link}")).links
        forged = link.replace(ask.id, other.id)
        for address in (f"/a/{forged}", f"/a/{ask.id}", f"/a/{link}0", "/", path(ask), "/events"):
            assert (await stranger.open(address)).status == 404


async def test_with_a_key_the_inbox_and_its_pages_are_closed_but_links_open(
    tmp_path: Path,
) -> None:
    async with site(tmp_path, key="s3cret&key") as closed, reader(closed.url) as person:
        ask = await closed.ask(TEXT)
        for address in ("/", "/events", path(ask), f"{path(ask)}/events", "/?key=wrong"):
            assert (await person.open(address)).status == 403
        link = (closed.surface.public_link(ask.id) or "").removeprefix(closed.public_url)
        assert (await person.open(link)).status == 200
        assert ask.id in closed.surface.url(ask.id)
        assert link not in closed.surface.url(ask.id)
        inbox = await person.open(closed.surface.inbox_url().removeprefix(closed.url))
        assert inbox.status == 200
        assert "Say something" in inbox.text
        page = await person.open(path(ask))
        assert (await person.press(page, path(ask), "answer", {"text": "x"})).status == 200


async def test_an_agent_is_told_an_address_that_a_person_can_open(web_site: Site) -> None:
    ask = await web_site.ask(TEXT)
    assert ask.thread is not None
    assert ask.thread.url == web_site.surface.public_link(ask.id)


async def test_the_inbox_pages_through_all_open_asks_newest_first(
    web_site: Site, visitor: Reader
) -> None:
    empty = await visitor.open("/")
    assert "Nothing is waiting" in empty.text
    assert "curl -s" in empty.text
    asks = [await web_site.ask({**TEXT, "text": f"Number {i}"}) for i in range(33)]
    await web_site.act(asks[5], EndTurn())
    first = await visitor.open("/")
    older = next(link for link in first.links if "after" in link)
    second = await visitor.open(older.removeprefix("."))
    seen = [link for page in (first, second) for link in page.links if link.startswith("asks/")]
    assert seen == [f"asks/{a.id}" for a in reversed(asks) if a is not asks[5]]


async def test_the_words_of_the_page_are_the_configured_ones(tmp_path: Path) -> None:
    labels = Labels(answer="Antworten", back="Zurück", reply="Antwort", end_turn="Schluss")
    async with site(tmp_path, labels=labels) as german, reader(german.url) as person:
        page = await person.open(path(await german.ask(TEXT)))
    assert {"Antworten", "Antwort", "Schluss"} <= set(page.buttons.values())


async def test_who_may_not_answer_is_told(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT, responders=["U012"])
    page = await visitor.open(path(ask))
    refused = await visitor.press(page, path(ask), "answer", {"text": "x"})
    assert refused.status == 403
    assert "Only U012 may answer here" in refused.text
    assert (await web_site.stored(ask)).open


async def followed(web_site: Site) -> None:
    """Returns once a page follows something."""
    async with asyncio.timeout(5):
        while not web_site.service.signals.count:  # noqa: ASYNC110 - counted, not signalled
            await asyncio.sleep(0.005)


async def test_a_store_that_cannot_write_loses_nothing_that_was_typed(
    tmp_path: Path, web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT, expires_in=3600)
    page = await visitor.open(path(ask))
    assert "Open until 20" in page.text
    with closing(sqlite3.connect(tmp_path / "answerback.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        refused = await visitor.press(page, path(ask), "answer", {"text": "mine"})
    assert refused.status == 503
    assert "please try again" in refused.text
    assert refused.value("text") == "mine"
    assert (await visitor.press(refused, path(ask), "answer")).status == 200
    assert value(await web_site.stored(ask), "t") == "mine"


async def test_a_store_that_is_gone_is_said_in_words(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT)
    await web_site.service.store.close()
    for address in ("/", path(ask)):
        page = await visitor.open(address)
        assert page.status == 503
        assert "please try again" in page.text


async def test_the_page_is_a_surface_without_a_live_message(web_site: Site) -> None:
    surface, ask = web_site.surface, await web_site.ask(TEXT)
    assert not surface.live
    assert surface.ready() is None
    assert surface.check(ask.destination) is None
    wrong = surface.check(Destination(surface="web", channel="C1"))
    assert wrong is not None
    assert 'write "web"' in wrong
    assert await surface.groups_of(VISITOR, frozenset({"G"})) == frozenset()
    await surface.remind(ask, 0)
    await surface.moved(ask, {}, ask.destination)
    await surface.stop()


async def read_event(visitor: Reader, address: str) -> str:
    """The first event of a stream."""
    async with asyncio.timeout(5), visitor.http.get(address) as stream:
        assert stream.status == 200
        async for line in stream.content:
            if line.startswith(b"event:"):
                return line.decode().partition(":")[2].strip()
    return ""


def events_of(page: Document, address: str) -> str:
    """Where a page follows what it shows."""
    events = next(a["data-events"] for t, a in page.tags if t == "body") or ""
    return f"{address.rpartition('/')[0]}/{events}"


async def test_a_page_is_told_that_its_ask_moved_also_in_between(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT, MANY)
    events = events_of(await visitor.open(path(ask)), path(ask))
    waiting = asyncio.create_task(read_event(visitor, events))
    await followed(web_site)
    await web_site.act(ask, Answer(value="x"))
    assert await waiting == "moved"
    assert await read_event(visitor, events) == "moved"
    assert web_site.service.signals.count == 0


async def test_the_inbox_is_told_of_new_and_ended_asks(web_site: Site, visitor: Reader) -> None:
    events = events_of(await visitor.open("/"), "/")
    waiting = asyncio.create_task(read_event(visitor, events))
    await followed(web_site)
    ask = await web_site.ask(TEXT)
    assert await waiting == "moved"
    events = events_of(await visitor.open("/"), "/")
    waiting = asyncio.create_task(read_event(visitor, events))
    await followed(web_site)
    await web_site.act(ask, EndTurn())
    assert await waiting == "moved"
    assert await read_event(visitor, "/events?after=nonsense") == "gone"
