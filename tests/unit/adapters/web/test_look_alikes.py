"""Look-alikes on a page, which are told apart; and texts that a page must not leave out or say twice."""

from __future__ import annotations

import re
from typing import Any

import pytest

from answerback.core.errors import InvalidCallError
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.labels import Labels
from tests.browser.site import Site
from tests.unit.adapters.web.examples import CLAUDE, REVIEWED, TEXT, path, value
from tests.unit.adapters.web.reader import Document, Reader
from tests.unit.adapters.web.test_render_and_parse import ask_of, shown

LABELS = Labels()


def schema(of: Any, **more: Any) -> dict[str, Any]:
    return {"id": "s", "text": "Which?", "answer_type": "schema", "schema": of, **more}


def checked(page: Document) -> list[str | None]:
    """Return the values of the choices that are ticked."""
    return [a.get("value") for tag, a in page.tags if tag == "input" and "checked" in a]


@pytest.mark.rule("SURFACE-7", "WEB-12")
async def test_a_number_and_its_digits_are_told_apart(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(schema({"enum": [1, "1", True, "true", "other"]}))
    page = await visitor.open(path(ask))
    labels = [line.strip() for line in page.text.splitlines() if line.strip()]
    for label in ("1", '"1"', "true", '"true"', "other"):
        assert labels.count(label) == 1, label
    ended = await visitor.press(page, path(ask), "answer", {"f0": "1"})
    assert value(await web_site.stored(ask), "s") == "1"
    assert '"1"' in ended.text


@pytest.mark.rule("WALK-3", "SURFACE-8")
@pytest.mark.parametrize(
    "of",
    [{}, {"enum": [None, "a"], "default": "a"}, {"type": ["string", "null"], "default": "a"}],
    ids=["json", "choices", "text"],
)
async def test_an_answered_null_is_prefilled_after_back(
    web_site: Site, visitor: Reader, of: Any
) -> None:
    ask = await web_site.ask(schema(of), TEXT)
    page = await visitor.open(path(ask))
    entered = {"json": "null"} if not of else {"f0": ""}
    page = await visitor.press(page, path(ask), "answer", entered)
    assert (await web_site.stored(ask)).walk.answers[0].value is None
    page = await visitor.press(page, path(ask), "back")
    if not of:
        assert page.value("json") == "null"
    elif "enum" in of:
        assert checked(page) == [""]
    else:
        assert page.value("f0") == ""


async def test_a_default_of_null_is_prefilled(web_site: Site, visitor: Reader) -> None:
    page = await visitor.open(path(await web_site.ask(schema({}, default=None))))
    assert page.value("json") == "null"
    page = await visitor.open(path(await web_site.ask(schema({}))))
    assert page.value("json") == ""


async def test_a_recommendation_is_said_once(web_site: Site, visitor: Reader) -> None:
    for first in ("Redis (Recommended)", "Redis"):
        select = {"id": "q", "text": "Which?", "answer_type": "select", "options": [first, "p"]}
        page = await visitor.open(path(await web_site.ask({**select, "default": first})))
        assert page.text.casefold().count("recommended") == 1


@pytest.mark.rule("WALK-11")
async def test_a_review_shows_each_questions_label(web_site: Site, visitor: Reader) -> None:
    questions = [
        {**question, "label": f"Store {i}"} for i, question in enumerate(REVIEWED["questions"])
    ]
    ask = await web_site.ask(name="question", arguments={"questions": questions})
    page = await visitor.open(path(ask))
    for _ in questions:
        page = await visitor.press(page, path(ask), "answer", {"choice": "0"})
    assert LABELS.review_title in page.text
    assert "Store 0: Question 1?" in page.text
    assert "Store 1: Question 2?" in page.text


@pytest.mark.rule("WEB-12")
@pytest.mark.parametrize(
    ("question", "hints"),
    [
        (TEXT, LABELS.keys_answer),
        ({**TEXT, "answer_type": "boolean"}, LABELS.keys_press),
        (schema({}), LABELS.keys_answer),
    ],
)
async def test_the_keys_that_a_page_names_do_something_on_it(
    web_site: Site, visitor: Reader, question: dict[str, Any], hints: str
) -> None:
    page = await visitor.open(path(await web_site.ask(question)))
    assert f'class="aside keys" hidden>{hints}</p>' in page.markup


@pytest.mark.rule("WEB-6", "WEB-12")
async def test_arrow_keys_are_named_where_there_is_a_question_to_move_to(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(name="question", arguments=REVIEWED)
    page = await visitor.open(path(ask))
    assert LABELS.keys_move in page.text
    page = await visitor.press(page, path(ask), "answer", {"choice": "0"})
    assert LABELS.keys_move in page.text
    page = await visitor.press(page, path(ask), "answer", {"choice": "0"})
    assert LABELS.keys_move in page.text
    assert LABELS.keys_choose not in page.text
    other = await web_site.ask(name="AskUserQuestion", arguments=CLAUDE)
    assert LABELS.keys_move not in (await visitor.open(path(other))).text


@pytest.mark.rule("FORM-4")
async def test_a_schema_that_nothing_fits_is_refused(web_site: Site) -> None:
    with pytest.raises(InvalidCallError) as refused:
        await web_site.ask(schema(False))
    (problem,) = refused.value.problems
    assert (problem.pointer, problem.code) == ("/questions/0/schema", "invalid_schema")
    assert "no answer fits" in problem.message
    assert (await web_site.ask(schema({"const": False}))).open


@pytest.mark.rule("WEB-13")
async def test_every_absolute_time_of_a_page_is_local_to_its_reader(
    web_site: Site, visitor: Reader
) -> None:
    ask = await web_site.ask(TEXT)
    page = await visitor.open(path(ask))
    page = await visitor.press(page, path(ask), "answer", {"text": "x"})
    times = [attrs for tag, attrs in page.tags if tag == "time"]
    assert len(times) >= 4
    assert {attrs.get("class") for attrs in times} == {"local"}
    assert page.text.count(" UTC") == len(times)


@pytest.mark.rule("TYPED-11")
@pytest.mark.parametrize(
    ("labels", "keys"),
    [(["2", "4", "8"], ["1", "3"]), (["1", "2", "3"], ["1", "2", "3"]), (["b", "a"], ["1", "2"])],
)
def test_a_number_that_is_another_options_name_is_no_key(
    labels: list[str], keys: list[str]
) -> None:
    options = tuple(Option(value=each, label=each) for each in labels)
    question = Question(id="q", text="Which?", answer_type=AnswerType.SELECT, options=options)
    markup = shown(ask_of(Form(questions=(question,)))).markup
    assert re.findall(r"<kbd[^>]*>(\d)</kbd>", markup) == keys
