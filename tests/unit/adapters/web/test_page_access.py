"""Access to pages, the inbox and the event streams, and what every page shows and hides."""

from __future__ import annotations

import asyncio
import io
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import hdrs

from answerback.core.actions import Answer, EndTurn
from answerback.core.ask import Ask, Destination
from answerback.core.labels import Labels
from answerback.core.walker import Person
from answerback.ports.person_key import operator_holder
from answerback.ports.store import Decision, Write
from answerback.ports.surface import SupportsGroups, SupportsMoves, SupportsReminders
from answerback_web.page_access import is_own_page
from tests.browser.site import INBOX, KEY, OPERATOR, Site, site
from tests.service_support import WAIT
from tests.unit.adapters.web.examples import (
    MANY,
    TEXT,
    path,
    value,
)
from tests.unit.adapters.web.reader import Document, Reader, reader


async def test_an_unknown_page_is_a_404_with_a_message(web_site: Site, visitor: Reader) -> None:
    for address in ("/asks/ask_0", "/a/%00", "/a/nothing", "/a/-/nothing.css", f"{INBOX}?after=x"):
        assert (await visitor.open(address)).status == 404


@pytest.mark.rule("WEB-4")
async def test_every_page_has_strict_security_headers(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT)
    link = web_site.surface.url(ask.id).removeprefix(web_site.public_url)
    for address in ("/", INBOX, path(ask), link, "/a/nothing", "/a/-/page.js"):
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
    assert (await visitor.open(path(ask))).headers["Cache-Control"] == "no-store, no-transform"


async def test_a_static_file_is_sent_once(web_site: Site, visitor: Reader) -> None:
    first = await visitor.open("/a/-/page.css")
    tagged = {hdrs.IF_NONE_MATCH: first.headers[hdrs.ETAG]}
    async with visitor.http.get("/a/-/page.css", headers=tagged) as again:
        assert again.status == 304


@pytest.mark.rule("WEB-4")
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
    link = path(ask)
    async with reader(web_site.public_url) as person:
        page = await person.open(link)
        refused = await person.press(page, link, "yes", headers=headers)
        assert refused.status == 403
        assert "own page" in refused.text
        assert (await web_site.stored(ask)).revision == 1
        own = {"Origin": web_site.public_url, "Sec-Fetch-Site": "same-origin"}
        assert (await person.press(page, link, "yes", headers=own)).status == 200


@pytest.mark.rule("AUTH-10")
async def test_a_page_whose_key_was_replaced_cannot_answer_and_keeps_what_was_typed(
    tmp_path: Path,
) -> None:
    keys = {KEY: OPERATOR}
    async with site(tmp_path, keys=keys) as changing, reader(changing.url) as person:
        ask = await changing.ask(TEXT)
        page = await person.open(path(ask))
        keys.clear()
        keys["new"] = OPERATOR
        refused = await person.press(page, path(ask), "answer", {"text": "mine"})
        assert refused.status == 403
        assert "no longer valid" in refused.text
        assert "mine" in refused.text
        assert (
            await person.press(refused, f"/a/{refused.action}", "", {"key": "wrong"})
        ).status == 403
        assert (await person.press(page, path(ask), "yes")).status == 403
        assert (await changing.stored(ask)).open
        assert (await person.open(INBOX)).status == 403
        at = f"/a/{refused.action}"
        again = await person.press(refused, at, "", {"key": " new "}, follow=False)
        assert again.status == 303
        own = f"/a/{again.headers['Location']}"
        answered = await person.press(await person.open(own), own, "answer", {"text": "mine"})
        assert answered.status == 200
        assert value(await changing.stored(ask), "t") == "mine"


@pytest.mark.rule("WEB-18")
async def test_a_link_that_only_shows_an_ask_ends_some_days_after_it(tmp_path: Path) -> None:
    async with site(tmp_path, link_days=30) as web_site, reader(web_site.url) as visitor:
        ask = await web_site.ask(TEXT)
        link = web_site.surface.url(ask.id).removeprefix(web_site.public_url)
        assert (await visitor.open(link)).status == 200
        await web_site.act(ask, EndTurn())
        for days, status in ((29.9, 200), (30.1, 404)):
            at = web_site.service.clock.now() - days * 86_400

            def end_earlier(ended: Ask | None, at: float = at) -> Decision[None]:
                assert ended is not None
                assert ended.outcome is not None
                return Decision(Write(replace(ended, outcome=replace(ended.outcome, at=at))), None)

            await web_site.service.store.asks.change(ask.id, end_earlier)
            assert (await visitor.open(link)).status == status
            assert (await visitor.open(path(ask))).status == 200, "who is identified still reads it"


@pytest.mark.rule("AUTH-12")
async def test_no_page_sets_a_cookie_or_reads_one(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT)
    for address in ("/", f"/?key={KEY}", INBOX, path(ask)):
        assert hdrs.SET_COOKIE not in (await visitor.open(address)).headers
    page = await visitor.open(path(ask))
    assert hdrs.SET_COOKIE not in (await visitor.press(page, path(ask), "answer")).headers
    assert not visitor.http.cookie_jar


@pytest.mark.rule("WHO-2")
async def test_answers_given_with_the_key_are_the_operators(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT)
    ended = await visitor.press(await visitor.open(path(ask)), path(ask), "answer", {"text": "x"})
    assert "by the operator" in ended.text
    assert (await web_site.stored(ask)).last_actor == OPERATOR


async def test_the_same_post_from_two_people_is_not_a_double_click(tmp_path: Path) -> None:
    alice = Person(surface="web", user_id="alice", name="Alice")
    async with site(tmp_path, keys={KEY: OPERATOR, "hers": alice}) as shared:
        ask = await shared.ask(TEXT)
        hers = shared.surface._site.access.answering_link(ask.id, operator_holder("hers", alice))
        async with reader(shared.url) as first, reader(shared.url) as second:
            one, other = await first.open(path(ask)), await second.open(f"/a/{hers}")
            done = await first.press(one, path(ask), "answer", {"text": "x"})
            late = await second.press(other, f"/a/{hers}", "answer", {"text": "x"})
        assert (done.status, late.status) == (200, 410)


async def test_a_post_that_is_not_a_form_or_too_large_is_rejected(
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
        assert response.status == 409


@pytest.mark.rule("AUTH-11")
async def test_a_link_opens_one_ask_and_nothing_else(web_site: Site) -> None:
    ask, other = await web_site.ask(TEXT), await web_site.ask(TEXT)
    link = web_site.surface.url(ask.id).rpartition("/")[2]
    async with reader(web_site.public_url) as stranger:
        assert (await stranger.open(f"/a/{link}")).status == 200
        assert "/" not in (await stranger.open(f"/a/{link}")).links
        forged = link.replace(ask.id, other.id)
        for address in (
            f"/a/{forged}",
            f"/a/{ask.id}",
            f"/a/{link}0",
            "/",
            INBOX,
            f"{INBOX}/events",
        ):
            assert (await stranger.open(address)).status == 404
        page = await stranger.open(path(ask))
        assert not [href for href in page.links if "inbox" in href]
        assert (await stranger.press(page, path(ask), "answer", {"text": "x"})).status == 200


@pytest.mark.rule("AUTH-11")
async def test_the_inbox_needs_the_key_and_rejects_wrong_ones(
    web_site: Site, visitor: Reader
) -> None:
    await web_site.ask(TEXT)
    for address in ("/inbox/0", f"{INBOX}0", "/inbox/%ff", "/?key=wrong", "/?key="):
        closed = await visitor.open(address)
        assert closed.status == 403
        assert "You need your key to answer" in closed.text
        assert "Say something" not in closed.text
    async with visitor.http.get("/inbox/0/events") as response:
        assert response.status == 403
    door = await visitor.open("/")
    assert door.status == 200
    for key, status in (("wrong", 403), (KEY, 200)):
        inbox = await visitor.press(door, "/", "", {"key": key})
        assert (inbox.status, "Say something" in inbox.text) == (status, status == 200)
    by_link = await visitor.open((await web_site.surface.inbox_url()).removeprefix(web_site.url))
    assert "Say something" in by_link.text
    as_json = {hdrs.CONTENT_TYPE: "application/json"}
    async with visitor.http.post("/", data=b"{}", headers=as_json) as response:
        assert response.status == 415
    elsewhere = {"Sec-Fetch-Site": "same-site"}
    async with visitor.http.post("/", data={"key": KEY}, headers=elsewhere) as response:
        assert response.status == 403


@pytest.mark.rule("AUTH-11")
async def test_a_read_only_page_lets_a_person_enter_their_key_to_answer(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT)
    link = web_site.surface.url(ask.id).removeprefix(web_site.public_url)
    shown = await visitor.open(link)
    assert "Say something" in shown.text
    assert set(shown.buttons.values()) == {"Answer", "Sign in"}
    disabled = [a for t, a in shown.tags if t == "fieldset"]
    assert "disabled" in disabled[0]
    wrong = await visitor.press(shown, link, "", {"key": "wrong"})
    assert wrong.status == 403
    assert "This key is not valid" in wrong.text
    page = await visitor.press(shown, link, "", {"key": KEY})
    assert page.action == path(ask).removeprefix("/a/")
    assert (await visitor.press(page, path(ask), "answer", {"text": "x"})).status == 200
    ended = await visitor.open(link)
    assert "Answered" in ended.text
    assert ended.action is None


async def test_an_agent_receives_an_address_that_a_person_can_open(web_site: Site) -> None:
    ask = await web_site.ask(TEXT)
    assert ask.placement.thread is not None
    assert (ask.placement.thread.url or "").startswith(f"{web_site.public_url}/a/{ask.id}.")


@pytest.mark.rule("WEB-3")
async def test_the_inbox_pages_through_all_open_asks_oldest_first(
    web_site: Site, visitor: Reader
) -> None:
    empty = await visitor.open(INBOX)
    assert "Nothing is waiting" in empty.text
    assert "curl -s" in empty.text
    asks = [await web_site.ask({**TEXT, "text": f"Number {i}"}) for i in range(33)]
    await web_site.act(asks[5], EndTurn())
    first = await visitor.open(INBOX)
    newer = next(link for link in first.links if "after" in link and "open=" not in link)
    second = await visitor.open(f"/{newer.removeprefix('../')}")
    seen = [link for page in (first, second) for link in page.links if "open=" in link]
    assert [link.rpartition("open=")[2] for link in seen] == [
        a.id for a in asks if a is not asks[5]
    ]


@pytest.mark.rule("SURFACE-12")
async def test_the_page_uses_the_configured_labels(tmp_path: Path) -> None:
    labels = Labels(answer="Antworten", back="Zurück", reply="Antwort", end_turn="Schluss")
    async with site(tmp_path, labels=labels) as german, reader(german.url) as person:
        page = await person.open(path(await german.ask(TEXT)))
    assert {"Antworten", "Schluss"} <= set(page.buttons.values())
    assert "Antwort" in page.text


@pytest.mark.rule("SURFACE-9")
async def test_who_may_not_answer_is_told(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT, responders=["U012"])
    page = await visitor.open(path(ask))
    refused = await visitor.press(page, path(ask), "answer", {"text": "x"})
    assert refused.status == 403
    assert "Only the people who were asked may answer here" in refused.text
    assert "U012" not in refused.text
    assert (await web_site.stored(ask)).open


async def followed(web_site: Site) -> None:
    """Wait until a page follows something."""
    async with asyncio.timeout(WAIT):
        while not web_site.service.signals.count:  # noqa: ASYNC110 - counted, not signalled
            await asyncio.sleep(0.005)


@pytest.mark.rule("SURFACE-16")
async def test_a_store_that_cannot_write_loses_nothing_that_was_typed(
    tmp_path: Path, web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT, expires_in=3600)
    page = await visitor.open(path(ask))
    assert "closes 20" in page.text
    with closing(sqlite3.connect(tmp_path / "answerback.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        refused = await visitor.press(page, path(ask), "answer", {"text": "mine"})
    assert refused.status == 503
    assert "nothing was changed. Please try again" in refused.text
    assert refused.value("text") == "mine"
    assert (await visitor.press(refused, path(ask), "answer")).status == 200
    assert value(await web_site.stored(ask), "t") == "mine"


async def test_an_unavailable_store_is_reported_in_words(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT)
    events = events_of(await visitor.open(path(ask)), path(ask))
    await web_site.service.store.close()
    assert await read_event(visitor, events) == "", "the page connects again"
    for address in (INBOX, path(ask)):
        page = await visitor.open(address)
        assert page.status == 503
        assert "cannot read its database just now" in page.text


async def test_the_page_is_a_surface_without_a_live_message(web_site: Site) -> None:
    surface, ask = web_site.surface, await web_site.ask(TEXT)
    assert not surface.live
    assert surface.unready_reason() is None
    assert surface.destination_problem(ask.placement.destination) is None
    wrong = surface.destination_problem(Destination(surface="web", channel="C1"))
    assert wrong is not None
    assert 'write "web"' in wrong
    assert not isinstance(surface, SupportsReminders | SupportsMoves | SupportsGroups)
    await surface.stop()


async def read_event(visitor: Reader, address: str) -> str:
    """Return the first event of a stream."""
    async with asyncio.timeout(WAIT), visitor.http.get(address) as stream:
        assert stream.status == 200
        async for line in stream.content:
            if line.startswith(b"event:"):
                return line.decode().partition(":")[2].strip()
    return ""


def events_of(page: Document, address: str) -> str:
    """Return the address of a page's event stream."""
    events = next(a["data-events"] for t, a in page.tags if t == "body") or ""
    return f"{address.rpartition('/')[0]}/{events}"


async def test_a_page_is_notified_that_its_ask_changed_also_between_connections(
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


@pytest.mark.rule("WEB-3")
async def test_the_inbox_is_notified_of_new_and_ended_asks(web_site: Site, visitor: Reader) -> None:
    events = events_of(await visitor.open(INBOX), INBOX)
    waiting = asyncio.create_task(read_event(visitor, events))
    await followed(web_site)
    ask = await web_site.ask(TEXT)
    assert await waiting == "moved"
    events = events_of(await visitor.open(INBOX), INBOX)
    waiting = asyncio.create_task(read_event(visitor, events))
    await followed(web_site)
    await web_site.act(ask, EndTurn())
    assert await waiting == "moved"
    assert await read_event(visitor, f"{INBOX}/events?after=nonsense") == "gone"


@pytest.mark.rule("WEB-4")
@pytest.mark.parametrize("origin", ["null", "", "file://"])
def test_an_origin_without_a_host_is_never_ours_if_there_is_no_public_address(origin: str) -> None:
    assert not is_own_page(origin, None, "")
