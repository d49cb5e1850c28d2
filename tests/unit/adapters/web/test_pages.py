"""The pages over HTTP, as a browser without JavaScript walks them."""

from __future__ import annotations

import asyncio
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import hdrs

from adapters.web.asking import VISITOR
from bot.ask import Ask, Destination, Status
from bot.labels import Labels
from bot.walker import Answer, EndTurn
from tests.browser.site import Site, site
from tests.unit.adapters.web.reader import Document, Reader, reader

TEXT = {"id": "t", "text": "Say something", "answer_type": "text"}
MANY = {"id": "m", "text": "Which?", "answer_type": "multi_select", "options": ["a", "b", "c"]}
FLAT: dict[str, Any] = {
    "id": "s",
    "text": "Fill this in",
    "answer_type": "schema",
    "schema": {
        "type": "object",
        "required": ["name", "n"],
        "properties": {
            "name": {"type": "string", "title": "Your name"},
            "n": {"type": "integer", "minimum": 1, "default": 2},
            "on": {"type": "boolean"},
            "kind": {"enum": ["x", "y"], "default": "y"},
            "tags": {"type": "array", "items": {"enum": [1, "1"]}, "maxItems": 2},
        },
    },
}
JSON_ONLY = {
    "id": "j",
    "text": "A list",
    "answer_type": "schema",
    "schema": {"type": "array", "items": {"type": "string"}},
}
CLAUDE: dict[str, Any] = {
    "questions": [
        {
            "question": "Which store?",
            "header": "Storage",
            "options": [
                {"label": "Redis", "description": "fast", "preview": "**bold** redis"},
                {"label": "PostgreSQL", "description": "there already"},
            ],
        }
    ]
}
ALPHA_BETA = [{"value": "a", "label": "Alpha"}, {"value": "b", "label": "Beta"}]
REVIEWED = {
    "questions": [{"id": str(i), "prompt": f"Question {i}?", "options": ALPHA_BETA} for i in (1, 2)]
}


def path(ask: Ask) -> str:
    """Where the inbox has an ask."""
    return f"/asks/{ask.id}"


def value(ask: Ask, question_id: str) -> object:
    """The collected answer to a question."""
    given = ask.walk.answer(question_id)
    return given.value if given else None


async def test_the_migration_form_is_walked_with_back_and_its_prefill(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.migration()
    page = await visitor.open(path(ask))
    assert "[1/3]" in page.text
    assert "back" not in page.buttons
    page = await visitor.press(page, path(ask), "yes")
    page = await visitor.press(page, path(ask), "answer", {"choice": "1"})
    page = await visitor.press(page, path(ask), "back")
    assert page.values("choice") == ["1"]
    assert "[2/3]" in page.text
    page = await visitor.press(page, path(ask), "answer")
    page = await visitor.press(page, path(ask), "answer", {"text": "go\r\nnow"})
    ended = await web_site.stored(ask)
    assert ended.status is Status.ANSWERED
    assert [g.value for g in ended.walk.answers] == [True, "production", "go\nnow"]
    assert page.status == 200
    assert "Answered" in page.text
    assert "production" in page.text
    assert page.buttons == {}
    assert page.fields == []


async def test_a_post_sends_the_browser_back_to_the_page_by_a_get(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.migration()
    page = await visitor.open(path(ask))
    answer = await visitor.press(page, path(ask), "yes", follow=False)
    assert (answer.status, answer.headers[hdrs.LOCATION]) == (303, ask.id)


async def test_a_double_click_is_one_step_and_looks_like_one(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.migration()
    page = await visitor.open(path(ask))
    both = await asyncio.gather(
        visitor.press(page, path(ask), "yes", follow=False),
        visitor.press(page, path(ask), "yes", follow=False),
    )
    assert [answer.status for answer in both] == [303, 303]
    assert (await web_site.stored(ask)).revision == 2


async def test_two_people_at_the_same_moment_make_one_step_and_the_slower_is_told(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.migration()
    async with reader(web_site.public_url) as colleague:
        link = f"/a/{web_site.surface.url(ask.id).rpartition('/')[2]}"
        mine, theirs = await visitor.open(path(ask)), await colleague.open(link)
        answers = await asyncio.gather(
            visitor.press(mine, path(ask), "yes", follow=False),
            colleague.press(theirs, link, "no", follow=False),
        )
    late = next(answer for answer in answers if answer.status != 303)
    assert sorted(answer.status for answer in answers) in ([303, 409], [303, 410])
    assert "Nothing was changed" in late.text
    assert (await web_site.stored(ask)).revision == 2


async def test_a_late_post_shows_the_page_as_it_stands_and_what_was_typed(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT, MANY)
    page = await visitor.open(path(ask))
    await web_site.act(ask, Answer(value="first"))
    late = await visitor.press(page, path(ask), "answer", {"text": "my long words"})
    assert late.status == 409
    assert "Kim was faster" in late.text
    assert "my long words" in late.text
    assert "Which?" in late.text
    assert value(await web_site.stored(ask), "t") == "first"


@pytest.mark.parametrize("do", ["end_turn", "stay"])
async def test_a_late_confirmation_is_told_too(web_site: Site, visitor: Reader, do: str) -> None:
    ask = await web_site.ask(TEXT, MANY)
    page = await visitor.open(path(ask))
    await web_site.act(ask, Answer(value="first"))
    assert (await visitor.press(page, path(ask), do)).status == 409


async def test_a_post_after_the_end_shows_the_record_and_says_so(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT)
    page = await visitor.open(path(ask))
    await web_site.act(ask, EndTurn())
    late = await visitor.press(page, path(ask), "answer", {"text": "too late"})
    assert late.status == 410
    assert "These questions have ended (Turn ended by Kim)" in late.text
    assert "not answered" in late.text
    assert late.buttons == {}


@pytest.mark.parametrize(
    ("chosen", "stored"), [([], []), (["2", "0"], ["a", "c"]), (["0", "0"], ["a"])]
)
async def test_a_multi_select_takes_any_boxes_in_the_order_of_the_options(
    web_site: Site, visitor: Reader, chosen: list[str], stored: list[str]
) -> None:
    ask = await web_site.ask(MANY, TEXT)
    page = await visitor.open(path(ask))
    await visitor.press(page, path(ask), "answer", [("choice", i) for i in chosen])
    assert value(await web_site.stored(ask), "m") == stored


async def test_a_select_without_a_choice_is_refused_in_words(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask({"id": "q", "text": "?", "answer_type": "select", "options": ["a"]})
    page = await visitor.open(path(ask))
    refused = await visitor.press(page, path(ask), "answer")
    assert refused.status == 422
    assert "Nothing is chosen yet" in refused.text
    assert (await web_site.stored(ask)).revision == 1


@pytest.mark.parametrize("choice", ["9", "-1", "x", "٣", "99999999999"])
async def test_a_choice_that_was_never_offered_is_refused(
    web_site: Site, visitor: Reader, choice: str
) -> None:
    ask = await web_site.ask(MANY)
    page = await visitor.open(path(ask))
    assert (await visitor.press(page, path(ask), "answer", {"choice": choice})).status == 422
    assert (await web_site.stored(ask)).open


async def test_something_else_takes_words_and_refuses_blanks(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(name="AskUserQuestion", arguments=CLAUDE)
    page = await visitor.open(path(ask))
    assert "**bold** redis" in page.text
    assert "there already" in page.text
    blank = await visitor.press(page, path(ask), "answer", {"choice": "other", "other": "  "})
    assert blank.status == 422
    assert blank.values("choice") == ["other"]
    assert "needs words" in blank.text
    await visitor.press(blank, path(ask), "answer", {"other": "memcached"})
    given = (await web_site.stored(ask)).walk.answers[0]
    assert (given.value, given.other) == ("memcached", True)


async def test_words_without_a_tick_are_something_else(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(name="AskUserQuestion", arguments=CLAUDE)
    page = await visitor.open(path(ask))
    await visitor.press(page, path(ask), "answer", {"other": "memcached"})
    assert (await web_site.stored(ask)).walk.answers[0].other


async def test_something_else_is_prefilled_after_back(web_site: Site, visitor: Reader) -> None:
    arguments = {"questions": CLAUDE["questions"] + [{**CLAUDE["questions"][0], "question": "2?"}]}
    ask = await web_site.ask(name="AskUserQuestion", arguments=arguments)
    page = await visitor.open(path(ask))
    page = await visitor.press(page, path(ask), "answer", {"other": "memcached"})
    page = await visitor.press(page, path(ask), "back")
    assert (page.values("choice"), page.value("other")) == (["other"], "memcached")


async def test_review_offers_edit_per_answer_and_submit(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(name="question", arguments=REVIEWED)
    page = await visitor.open(path(ask))
    for choice in ("0", "1"):
        page = await visitor.press(page, path(ask), "answer", {"choice": choice})
    assert "Check your answers" in page.text
    assert {"edit:0", "edit:1", "submit", "back"} <= page.buttons.keys()
    page = await visitor.press(page, path(ask), "edit:0")
    assert page.values("choice") == ["0"]
    page = await visitor.press(page, path(ask), "answer", {"choice": "1"})
    page = await visitor.press(page, path(ask), "submit")
    ended = await web_site.stored(ask)
    assert [given.value for given in ended.walk.answers] == ["b", "b"]
    assert ended.status is Status.ANSWERED


@pytest.mark.parametrize("do", ["edit:7", "edit:x", "edit", "nonsense", ""])
async def test_a_button_that_is_not_ours_changes_nothing(
    web_site: Site, visitor: Reader, do: str
) -> None:
    ask = await web_site.ask(name="question", arguments=REVIEWED)
    page = await visitor.open(path(ask))
    assert (await visitor.press(page, path(ask), do)).status == 422
    assert (await web_site.stored(ask)).revision == 1


async def test_reply_ends_the_questions_with_words(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT)
    page = await visitor.open(path(ask))
    page = await visitor.press(page, path(ask), "reply", {"reply": "ask Kim"})
    assert (await web_site.stored(ask)).walk.reply == "ask Kim"
    assert "Ended with a reply" in page.text
    assert "ask Kim" in page.text


async def test_reply_without_words_is_refused_where_the_dialect_needs_them(
    web_site: Site, visitor: Reader
) -> None:
    question = {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}
    ask = await web_site.ask(arguments={"questions": [question]})
    page = await visitor.open(path(ask))
    refused = await visitor.press(page, path(ask), "reply", {"choice": "1"})
    assert refused.status == 422
    assert "needs words" in refused.text
    assert refused.values("choice") == ["1"]
    details = [attrs for tag, attrs in refused.tags if tag == "details"]
    assert "open" in details[-1]


async def test_end_turn_is_confirmed_on_a_page_of_its_own_and_may_be_called_off(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT)
    page = await visitor.open(path(ask))
    confirm = await visitor.press(page, path(ask), "end_turn", {"text": "\nkept\n words"})
    assert "End the turn?" in confirm.text
    assert (await web_site.stored(ask)).open
    again = await visitor.press(confirm, path(ask), "stay")
    assert again.value("text") == "\nkept\n words"
    confirm = await visitor.press(again, path(ask), "end_turn")
    ended = await visitor.press(confirm, path(ask), "end_turn_now")
    assert "Turn ended" in ended.text
    assert (await web_site.stored(ask)).status is Status.TURN_ENDED


async def test_a_flat_schema_is_a_form_whose_mistakes_stand_by_their_fields(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(FLAT)
    page = await visitor.open(path(ask))
    assert "Your name" in page.text
    assert (page.value("f1"), page.value("f3")) == ("2", "1")
    refused = await visitor.press(
        page, path(ask), "answer", [("f1", "0"), ("f2", "false"), ("f4", "1"), ("f4", "0")]
    )
    assert refused.status == 422
    assert "Your name is required." in refused.text
    assert "n must be a whole number, at least 1." in refused.text
    assert {"#f0", "#f1"} <= set(refused.links)
    invalid = {a["id"] for _, a in refused.tags if a.get("aria-invalid") == "true"}
    assert invalid == {"f0", "f1"}
    assert (refused.value("f1"), refused.value("f2"), refused.values("f4")) == (
        "0",
        "false",
        ["0", "1"],
    )
    await visitor.press(refused, path(ask), "answer", {"f0": "Kim", "f1": "3"})
    given = value(await web_site.stored(ask), "s")
    assert given == {"name": "Kim", "n": 3, "on": False, "kind": "y", "tags": [1, "1"]}


async def test_what_only_the_whole_schema_refuses_leads_to_the_field_too(
    web_site: Site, visitor: Reader
) -> None:
    schema = {"properties": {"value": {"type": "number", "multipleOf": 5}}}
    ask = await web_site.ask({"id": "s", "text": "?", "answer_type": "schema", "schema": schema})
    page = await visitor.open(path(ask))
    refused = await visitor.press(page, path(ask), "answer", {"f0": "7"})
    assert refused.status == 422
    assert "#f0" in refused.links
    assert refused.value("f0") == "7"


async def test_any_other_schema_is_a_json_editor(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(JSON_ONLY)
    page = await visitor.open(path(ask))
    broken = await visitor.press(page, path(ask), "answer", {"json": '["a",\n]'})
    assert broken.status == 422
    assert "line 2, column 1" in broken.text
    assert broken.value("json") == '["a",\n]'
    wrong = await visitor.press(broken, path(ask), "answer", {"json": "[1]"})
    assert wrong.status == 422
    assert "string" in wrong.text
    await visitor.press(wrong, path(ask), "answer", {"json": '["a", "b"]'})
    assert value(await web_site.stored(ask), "j") == ["a", "b"]


async def test_for_this_turn_is_offered_where_an_answer_may_be_remembered(
    web_site: Site, visitor: Reader
) -> None:
    arguments = {
        "tool": "deploy",
        "question": {"id": "ok", "text": "Deploy?", "answer_type": "boolean"},
    }
    more: dict[str, Any] = {"conversation": "c", "turn": "1"}
    ask = await web_site.ask(name="tool_question", arguments=arguments, **more)
    page = await visitor.open(path(ask))
    assert page.buttons["yes_for_turn"] == "Yes, for this turn"
    await visitor.press(page, path(ask), "yes_for_turn")
    again = await web_site.ask(name="tool_question", arguments=arguments, **more)
    record = await visitor.open(path(again))
    assert "remembered from this turn" in record.text
    assert again.status is Status.ANSWERED


async def test_the_default_is_marked_and_nothing_is_without_one(
    web_site: Site, visitor: Reader
) -> None:
    for default, primary in (({"default": False}, ["no"]), ({}, [])):
        ask = await web_site.ask({"id": "b", "text": "?", "answer_type": "boolean", **default})
        page = await visitor.open(path(ask))
        marked = [a["value"] for t, a in page.tags if t == "button" and a.get("class") == "primary"]
        assert marked == primary


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


async def test_a_hostile_text_is_text(web_site: Site, visitor: Reader) -> None:
    hostile = "</textarea></bdi><script>alert(1)</script>\u202eevil\x00\x1b[31m & \"'"
    question = {
        "id": hostile,
        "text": hostile,
        "context": hostile,
        "answer_type": "select",
        "options": [hostile, "ok"],
        "default": hostile,
    }
    ask = await web_site.ask(question, {**TEXT, "default": hostile.replace("\x00", "")})
    page = await visitor.open(path(ask))
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert "\u202e" not in page.markup
    assert "\x00" not in page.markup
    assert page.text.count("</textarea></bdi><script>alert(1)</script>") >= 3
    page = await visitor.press(page, path(ask), "answer", {"choice": "0"})
    assert page.value("text") == hostile.replace("\x00", "")
    assert value(await web_site.stored(ask), hostile) == hostile
    assert json.dumps(hostile) not in page.markup
