"""The page of an ask over HTTP, used by a browser without JavaScript."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import hdrs

from answerback.core.actions import Answer
from answerback.core.ask import Status
from answerback.core.labels import Labels
from answerback_testing.example_asks import new_ask
from tests.browser.site import Site
from tests.unit.adapters.web.examples import (
    CLAUDE,
    FLAT,
    JSON_ONLY,
    MANY,
    REVIEWED,
    TEXT,
    path,
    value,
)
from tests.unit.adapters.web.reader import NO_BUTTON, Reader


@pytest.mark.rule("WEB-1")
async def test_the_migration_form_is_walked_with_back_and_its_prefill(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.migration()
    page = await visitor.open(path(ask))
    assert "[1/3]" in page.text
    assert "back" not in page.buttons
    page = await visitor.press(page, path(ask), "yes")
    page = await visitor.press(page, path(ask), "answer:1")
    page = await visitor.press(page, path(ask), "back")
    assert page.primary_choices() == ["1"]
    assert "[2/3]" in page.text
    page = await visitor.press(page, path(ask), "answer:1")
    page = await visitor.press(page, path(ask), "answer", {"text": "go\r\nnow"})
    ended = await web_site.stored(ask)
    assert ended.status is Status.ANSWERED
    assert [g.value for g in ended.walk.answers] == [True, "production", "go\nnow"]
    assert page.status == 200
    assert "Answered" in page.text
    assert "production" in page.text
    assert page.buttons == {}
    assert page.fields == []


async def test_a_post_redirects_the_browser_to_the_page(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.migration()
    page = await visitor.open(path(ask))
    answer = await visitor.press(page, path(ask), "yes", follow=False)
    assert (answer.status, answer.headers[hdrs.LOCATION]) == (303, path(ask).removeprefix("/a/"))


@pytest.mark.rule("SURFACE-11")
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


@pytest.mark.rule("SURFACE-10")
async def test_a_late_post_shows_the_current_page_and_what_was_typed(
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


@pytest.mark.parametrize(
    "question", [{"answer_type": "select", "options": ["a"]}, {"answer_type": "boolean"}]
)
async def test_a_question_without_a_choice_is_rejected_with_a_message(
    web_site: Site, visitor: Reader, question: dict[str, Any]
) -> None:
    ask = await web_site.ask({"id": "q", "text": "?", **question})
    page = await visitor.open(path(ask))
    refused = await visitor.press(page, path(ask), "answer")
    assert refused.status == 422
    assert "Nothing is chosen yet" in refused.text
    assert (await web_site.stored(ask)).revision == 1


@pytest.mark.parametrize("choice", ["9", "-1", "x", "٣", "99999999999"])
async def test_a_choice_that_was_never_offered_is_rejected(
    web_site: Site, visitor: Reader, choice: str
) -> None:
    ask = await web_site.ask(MANY)
    page = await visitor.open(path(ask))
    assert (await visitor.press(page, path(ask), "answer", {"choice": choice})).status == 422
    assert (await web_site.stored(ask)).open


async def test_something_else_accepts_text_but_not_blanks(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(name="AskUserQuestion", arguments=CLAUDE)
    page = await visitor.open(path(ask))
    assert "bold redis" in page.text
    assert "there already" in page.text
    blank = await visitor.press(page, path(ask), "answer:other", {"other": "  "})
    assert blank.status == 422
    assert blank.primary_choices() == ["other"]
    assert "The text is blank" in blank.text
    await visitor.press(blank, path(ask), "answer:other", {"other": "memcached"})
    given = (await web_site.stored(ask)).walk.answers[0]
    assert (given.value, given.other) == ("memcached", True)


async def test_text_without_a_tick_counts_as_something_else(
    web_site: Site, visitor: Reader
) -> None:
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
    assert (page.primary_choices(), page.value("other")) == (["other"], "memcached")


@pytest.mark.rule("WALK-18", "WEB-1")
async def test_a_question_is_left_for_later_without_a_script(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(name="question", arguments=REVIEWED)
    page = await visitor.open(path(ask))
    first = (await web_site.stored(ask)).question
    page = await visitor.press(page, path(ask), "next")
    stored = await web_site.stored(ask)
    assert (stored.question, stored.walk.answers) != (first, ())
    page = await visitor.press(page, path(ask), "answer:1")
    assert (await web_site.stored(ask)).question == first
    assert "next" not in page.buttons, "no other question is left"
    page = await visitor.press(page, path(ask), "answer:0")
    assert "Check your answers" in page.text


@pytest.mark.rule("WALK-18")
@pytest.mark.parametrize("entered", [{"choice": "1"}, {"other": "my own"}])
async def test_an_answer_that_was_entered_and_not_sent_is_not_lost_by_leaving_it_for_later(
    web_site: Site, visitor: Reader, entered: dict[str, str]
) -> None:
    ask = await web_site.ask(name="question", arguments=REVIEWED)
    page = await visitor.open(path(ask))
    kept = await visitor.press(page, path(ask), "next", entered)
    assert kept.status == 422
    assert "You have not sent your answer yet" in kept.text
    assert kept.value("other") == entered.get("other", "")
    stored = await web_site.stored(ask)
    assert (stored.revision, stored.walk.at) == (1, 0)


@pytest.mark.rule("WALK-18")
async def test_what_an_earlier_answer_fills_in_need_not_be_sent_again_to_move_on(
    web_site: Site, visitor: Reader
) -> None:
    questions = [{**REVIEWED["questions"][0], "id": name} for name in "abc"]
    ask = await web_site.ask(name="question", arguments={"questions": questions})
    page = await visitor.open(path(ask))
    page = await visitor.press(page, path(ask), "answer", {"other": "my own"})
    page = await visitor.press(page, path(ask), "back")
    refused = await visitor.press(page, path(ask), "next", {"other": "another"})
    assert refused.status == 422
    filled = [("choice", "other"), ("other", page.value("other") or "")]
    await visitor.press(page, path(ask), "next", filled)
    stored = await web_site.stored(ask)
    assert stored.walk.at == 1
    assert value(stored, "a") == "my own"


async def test_review_offers_edit_per_answer_and_submit(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(name="question", arguments=REVIEWED)
    page = await visitor.open(path(ask))
    for choice in ("0", "1"):
        page = await visitor.press(page, path(ask), f"answer:{choice}")
    assert "Check your answers" in page.text
    assert {"edit:0", "edit:1", "submit", "back"} <= page.buttons.keys()
    page = await visitor.press(page, path(ask), "edit:0")
    assert page.primary_choices() == ["0"]
    page = await visitor.press(page, path(ask), "answer:1")
    page = await visitor.press(page, path(ask), "submit")
    ended = await web_site.stored(ask)
    assert [given.value for given in ended.walk.answers] == ["b", "b"]
    assert ended.status is Status.ANSWERED


@pytest.mark.rule("SURFACE-15")
@pytest.mark.parametrize("do", ["edit:7", "edit:x", "edit", "nonsense", ""])
async def test_a_button_that_is_not_ours_changes_nothing(
    web_site: Site, visitor: Reader, do: str
) -> None:
    ask = await web_site.ask(name="question", arguments=REVIEWED)
    page = await visitor.open(path(ask))
    assert (await visitor.press(page, path(ask), do)).status == 422
    assert (await web_site.stored(ask)).revision == 1


async def test_reply_ends_the_questions_with_a_message(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT)
    page = await visitor.open(path(ask))
    page = await visitor.press(page, path(ask), "reply", {"reply": "ask Kim"})
    assert (await web_site.stored(ask)).walk.reply == "ask Kim"
    assert "Ended with a reply" in page.text
    assert "ask Kim" in page.text


async def test_an_empty_reply_is_rejected_if_the_dialect_needs_text(
    web_site: Site, visitor: Reader
) -> None:
    question = {"question": "Which?", "options": [{"label": label} for label in "ABCDEF"]}
    ask = await web_site.ask(arguments={"questions": [question]})
    page = await visitor.open(path(ask))
    refused = await visitor.press(page, path(ask), "reply", {"choice": "1"})
    assert refused.status == 422
    assert "A reply needs text" in refused.text
    assert refused.values("choice") == ["1"]
    details = [attrs for tag, attrs in refused.tags if tag == "details"]
    assert "open" in details[-1]


@pytest.mark.rule("CARE-4")
async def test_end_turn_is_confirmed_on_a_separate_page_and_can_be_cancelled(
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


@pytest.mark.rule("SURFACE-7")
async def test_a_flat_schema_is_a_form_with_errors_next_to_their_fields(
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


async def test_an_error_from_the_whole_schema_also_leads_to_its_field(
    web_site: Site, visitor: Reader
) -> None:
    schema = {"properties": {"value": {"type": "number", "multipleOf": 5}}}
    ask = await web_site.ask({"id": "s", "text": "?", "answer_type": "schema", "schema": schema})
    page = await visitor.open(path(ask))
    refused = await visitor.press(page, path(ask), "answer", {"f0": "7"})
    assert refused.status == 422
    assert "#f0" in refused.links
    assert refused.value("f0") == "7"


@pytest.mark.rule("SURFACE-7")
async def test_any_other_schema_is_a_json_editor(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(JSON_ONLY)
    page = await visitor.open(path(ask))
    broken = await visitor.press(page, path(ask), "answer", {"json": '["a",\n]'})
    assert broken.status == 422
    assert "nothing follows a comma, at line 1, column 5" in broken.text
    assert broken.value("json") == '["a",\n]'
    wrong = await visitor.press(broken, path(ask), "answer", {"json": "[1]"})
    assert wrong.status == 422
    assert "string" in wrong.text
    await visitor.press(wrong, path(ask), "answer", {"json": '["a", "b"]'})
    assert value(await web_site.stored(ask), "j") == ["a", "b"]


async def test_for_this_turn_is_offered_if_an_answer_may_be_remembered(
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


async def test_only_a_default_makes_a_button_primary(web_site: Site, visitor: Reader) -> None:
    for default, primary in (({"default": False}, ["no"]), ({}, [])):
        ask = await web_site.ask({"id": "b", "text": "?", "answer_type": "boolean", **default})
        page = await visitor.open(path(ask))
        marked = [a["value"] for t, a in page.tags if t == "button" and a.get("class") == "primary"]
        assert marked == primary


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
    assert sum(tag == "script" for tag, _ in page.tags) == 8
    assert "\u202e" not in page.markup
    assert "\x00" not in page.markup
    assert page.text.count("</textarea></bdi><script>alert(1)</script>") >= 3
    page = await visitor.press(page, path(ask), "answer", {"choice": "0"})
    assert page.value("text") == hostile.replace("\x00", "")
    assert value(await web_site.stored(ask), hostile) == hostile
    assert json.dumps(hostile) not in page.markup


@pytest.mark.rule("WEB-7")
@pytest.mark.parametrize(
    ("kind", "control"),
    [
        ("boolean", {("button", "yes"), ("button", "no")}),
        ("select", {("button", "answer:0"), ("button", "answer:1")}),
        ("multi_select", {("input", "checkbox")}),
        ("text", {("textarea", "")}),
    ],
)
async def test_each_answer_type_has_its_controls(
    web_site: Site, visitor: Reader, kind: str, control: set[tuple[str, str]]
) -> None:
    options = {"options": ["a", "b"]} if "select" in kind else {}
    ask = await web_site.ask({"id": "q", "text": "?", "answer_type": kind, **options})
    page = await visitor.open(path(ask))
    named = [(tag, a) for tag, a in page.tags if a.get("name") in {"do", "choice", "text"}]
    found = {
        (tag, (a.get("value") if tag == "button" else a.get("type")) or "") for tag, a in named
    }
    others = {("button", do) for do in ("answer", "reply", "end_turn", "end_turn_now", NO_BUTTON)}
    assert found - others == control


@pytest.mark.rule("WEB-9", "ASK-6")
async def test_the_record_says_which_answers_are_defaults(web_site: Site, visitor: Reader) -> None:
    go = {"id": "go", "text": "Go?", "answer_type": "boolean", "default": False}
    ask = await web_site.ask(go, {**TEXT, "default": "fine"}, on_expiry="defaults")
    await visitor.press(await visitor.open(path(ask)), path(ask), "yes")
    await web_site.service.expire(ask.id)
    page = await visitor.open(path(ask))
    assert "Defaults used for the rest: nobody answered in time" in page.text
    record = page.text[page.text.index("Record") :]
    assert record.count("Answered") == record.count("Default used") == 1
    assert record.index("Answered") < record.index("Default used")


@pytest.mark.parametrize("do", ["answer", "end_turn_now"])
async def test_a_post_to_a_page_without_an_ask_is_answered_as_the_page_is(
    tmp_path: Path, web_site: Site, visitor: Reader, do: str
) -> None:
    page = await visitor.open(path(await web_site.ask(TEXT)))
    gone = path(new_ask(404))
    missing = await visitor.open(gone)
    assert (missing.status, Labels().page_missing in missing.text) == (404, True)
    with closing(sqlite3.connect(tmp_path / "answerback.db", isolation_level=None)) as other:
        for statement in ("BEGIN IMMEDIATE", "ROLLBACK"):
            other.execute(statement)
            answer = await visitor.press(page, gone, do, {"text": "mine"})
            assert (answer.status, answer.text) == (404, missing.text)
