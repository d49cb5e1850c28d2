"""Pictures and files on the page of an ask."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.ports.person_key import operator_holder
from answerback.ports.store import Decision, Write
from answerback_web.page_access import FILE_SECONDS, PageLinks
from tests.browser.site import KEY, OPERATOR, SECRET, Site, site
from tests.unit.adapters.web.examples import path
from tests.unit.adapters.web.reader import Reader, reader
from tests.unit.picture_samples import PNG, SVG, png

_IMAGE = re.compile(r'<img src="([^"]+)" alt="([^"]*)" width="(\d+)" height="(\d+)">')
_LINK = re.compile(r'<a href="\.\./(a/-/file/[^"]+)" download="([^"]+)">')


def file(name: str, data: bytes = PNG, **more: str) -> dict[str, str]:
    return {"name": name, "data": base64.b64encode(data).decode(), **more}


def question(context: str | None, **more: Any) -> dict[str, Any]:
    return {"id": "q", "text": "Ship it?", "answer_type": "boolean", "context": context, **more}


async def page_of(visitor: Reader, ask: Ask) -> str:
    page = await visitor.open(path(ask))
    return page.markup.partition("<main")[2]


async def get(site: Site, visitor: Reader, address: str) -> tuple[int, bytes, Any]:
    async with visitor.http.get(f"{site.url}/{address.removeprefix('../')}") as response:
        return response.status, await response.read(), response.headers


@pytest.mark.rule("FILE-7")
async def test_a_picture_stands_where_its_context_places_it(
    web_site: Site, visitor: Reader
) -> None:
    context = "Look at this:\n\n![Before](file:before.png) ![After](file:after%20all.png)\n\nGood?"
    pictures = file("before.png", png(20, 10)), file("after all.png", png(30, 10), alt="All done")
    ask = await web_site.ask(question(context), files=pictures)
    html = await page_of(visitor, ask)
    found = _IMAGE.findall(html)
    assert [each[1:] for each in found] == [("Before", "20", "10"), ("After", "30", "10")]
    group = html.partition('<div class="pictures">')[2].partition("</div>")[0]
    assert len(_IMAGE.findall(group)) == 2, "they stand side by side"
    order = [html.index(each) for each in ("Look at this:", found[0][0], found[1][0], "Good?")]
    assert order == sorted(order)
    assert order[-1] < html.index('value="yes"'), "they stand before the buttons"
    status, data, headers = await get(web_site, visitor, found[0][0])
    assert (status, data, headers["Content-Type"]) == (200, png(20, 10), "image/png")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in headers["Content-Security-Policy"]


@pytest.mark.rule("FILE-7")
async def test_what_no_text_places_follows_the_context(web_site: Site, visitor: Reader) -> None:
    context = "![Missing](file:missing.png) and `![x](file:plot.png)` and ![s](file:evil.svg)"
    sent = (
        file("plot.png", alt="A \u202eplot"),
        file("evil.svg", SVG),
        file("notes.txt", b"n" * 2_000),
    )
    ask = await web_site.ask(question(context), files=sent)
    html = await page_of(visitor, ask)
    assert "![Missing](file:missing.png)" in html
    assert "![s](file:evil.svg)" in html
    [(source, alt, *_)] = _IMAGE.findall(html)
    assert alt == "A ⟨U+202E⟩plot"
    assert html.index("![Missing]") < html.index(source) < html.index('value="yes"')
    assert [name for _, name in _LINK.findall(html)] == ["evil.svg", "notes.txt"]
    assert "2.0 kB" in html
    status, data, headers = await get(web_site, visitor, _LINK.findall(html)[0][0])
    assert (status, data) == (200, SVG)
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == "attachment; filename*=UTF-8''evil.svg"


@pytest.mark.rule("FILE-7")
@pytest.mark.parametrize("where", ["text", "quote", "list", "plain"])
async def test_pictures_stand_in_quotes_lists_and_between_words_but_not_in_plain_text(
    web_site: Site, visitor: Reader, where: str
) -> None:
    reference = "![P](file:p.png)"
    texts = {"quote": f"> {reference}", "list": f"- {reference}", "plain": f"a {reference} b"}
    more = {"context_format": "text"} if where == "plain" else {}
    context = texts.get(where, f"a {reference} b")
    ask = await web_site.ask(question(context), files=[file("p.png")], **more)
    html = await page_of(visitor, ask)
    assert len(_IMAGE.findall(html)) == 1
    drawn = html.partition('class="original"')[0]
    assert (reference in drawn) == (where == "plain")


@pytest.mark.rule("FILE-7")
async def test_options_whose_previews_are_pictures_are_chosen_at_a_glance(
    web_site: Site, visitor: Reader
) -> None:
    options = [
        {"value": name, "label": name, "preview": f"![{name}](file:{name}.png)"} for name in "ab"
    ]
    arguments = {
        "questions": [
            {"question": "Which layout?", "header": "Layout", "multiSelect": False, "options": [
                {"label": each["label"], "description": "d", "preview": each["preview"]} for each in options
            ]}
        ]
    }  # fmt: skip
    ask = await web_site.ask(
        name="AskUserQuestion", arguments=arguments, files=[file("a.png"), file("b.png")]
    )
    html = await page_of(visitor, ask)
    assert [each[1] for each in _IMAGE.findall(html)] == ["a", "b"]
    assert html.count('<details class="preview" open>') == 2


@pytest.mark.rule("FILE-7")
async def test_an_ended_ask_keeps_its_pictures_until_it_is_erased(
    web_site: Site, visitor: Reader
) -> None:
    context = "![Before](file:before.png)"
    ask = await web_site.ask(question(context), files=[file("before.png"), file("b.txt", b"x")])
    await web_site.act(ask, Answer(value=True))
    html = await page_of(visitor, ask)
    [(source, *_)], [(saved, _)] = _IMAGE.findall(html), _LINK.findall(html)
    assert [(await get(web_site, visitor, each))[0] for each in (source, saved)] == [200, 200]
    await web_site.service.erase(ask.id)
    assert [(await get(web_site, visitor, each))[0] for each in (source, saved)] == [404, 404]
    assert "file/" not in await page_of(visitor, ask)


@pytest.mark.rule("FILE-8")
async def test_an_address_of_a_file_opens_one_file_for_some_minutes(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(question("![Before](file:before.png)"), files=[file("before.png")])
    [(source, *_)] = _IMAGE.findall(await page_of(visitor, ask))
    token = source.rpartition("/")[2]
    file_id, until, digest = token.split(".")
    for wrong in (
        f"{file_id}.{int(until) + 300}.{digest}", f"file_{'0' * 32}.{until}.{digest}", f"{file_id}.{until}.{'0' * 32}",
        f"{file_id}.{until}", file_id, f"{token}.x", f"-{token}",
    ):  # fmt: skip
        assert (await get(web_site, visitor, f"a/-/file/{wrong}"))[0] == 404, wrong
    links, now, holder = (
        PageLinks(SECRET),
        int(until) - FILE_SECONDS,
        operator_holder(KEY, OPERATOR),
    )
    for at in (now - 1, now - 299):
        assert links.file_token(file_id, at, holder) == token
    assert links.resolve_file(token, int(until) - 1, [holder]) == (file_id, False)
    assert links.resolve_file(token, int(until), [holder]) is None
    assert links.resolve_file(token, int(until) - 1, []) is None


@pytest.mark.rule("FILE-8")
async def test_a_file_and_its_page_are_closed_once_the_key_is_revoked(tmp_path: Path) -> None:
    keys = {KEY: OPERATOR}
    async with site(tmp_path, keys=keys) as changing, reader(changing.url) as visitor:
        ask = await changing.ask(question("![P](file:p.png) secret"), files=[file("p.png")])
        [(source, *_)] = _IMAGE.findall(await page_of(visitor, ask))
        assert (await get(changing, visitor, source))[0] == 200
        keys.clear()
        keys["new"] = OPERATOR
        assert (await get(changing, visitor, source))[0] == 404
        await changing.act(ask, Answer(value=True))
        for _ in ("open", "ended"):
            closed = await visitor.open(path(ask))
            assert closed.status == 403
            assert Labels().link_invalid in closed.text
            assert not {"secret", "Ship it?", "file/", "p.png"} & {
                *re.split(r"[\s<>]", closed.markup)
            }
            assert "file/" not in closed.markup


@pytest.mark.rule("FILE-8")
async def test_a_file_of_a_link_that_only_shows_an_ask_ends_with_the_link(tmp_path: Path) -> None:
    async with site(tmp_path, link_days=30) as ending, reader(ending.url) as visitor:
        ask = await ending.ask(question("![P](file:p.png)"), files=[file("p.png")])
        link = ending.surface.url(ask.id).removeprefix(ending.public_url)
        [(source, *_)] = _IMAGE.findall((await visitor.open(link)).markup)
        await ending.act(ask, Answer(value=True))
        for days, status in ((29.9, 200), (30.1, 404)):
            at = ending.service.clock.now() - days * 86_400

            def end_earlier(ended: Ask | None, at: float = at) -> Decision[None]:
                assert ended is not None
                assert ended.outcome is not None
                return Decision(Write(replace(ended, outcome=replace(ended.outcome, at=at))), None)

            await ending.service.store.asks.change(ask.id, end_earlier)
            assert (await get(ending, visitor, source))[0] == status


@pytest.mark.rule("FILE-8")
async def test_an_upload_that_no_ask_has_claimed_is_on_no_page(
    web_site: Site, visitor: Reader
) -> None:
    store = web_site.service.store
    ask = await web_site.ask(question(None), files=[file("a.png")])
    stored = ask.request.files[0].model_copy(update={"id": "file_" + "1" * 32})
    await store.files.begin(stored.id, "", 0.0, 0)
    await store.files.add_chunk(stored.id, 0, PNG)
    await store.files.finish(stored)
    token = PageLinks(SECRET).file_token(stored.id, web_site.service.clock.now())
    assert (await get(web_site, visitor, f"a/-/file/{token}"))[0] == 404
