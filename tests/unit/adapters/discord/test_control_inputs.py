"""Forms of several modals: problems are reported, and nothing that was typed is lost, even across a restart."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.labels import Labels
from tests import matrix
from tests.fakes.discord.rules import CHECKBOXES, RADIO, STRING_SELECT
from tests.fakes.discord.visible_message import NotPossibleError
from tests.unit.adapters.discord.rig import MODES, Mode, Rig, rig, run_surface

LABELS = Labels()
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "age": {"type": "integer", "minimum": 0},
        "color": {"enum": ["red", "green"]},
        "sizes": {"type": "array", "items": {"enum": ["S", "M", "L"]}},
        "news": {"type": "boolean"},
        "born": {"type": "string", "format": "date"},
        "city": {"enum": [f"city {n}" for n in range(40)]},
    },
    "required": ["name", "age"],
}
QUESTIONS: list[dict[str, Any]] = [
    {"id": "who", "text": "Who are you?", "answer_type": "schema", "schema": PERSON}
]


pytest_generate_tests = matrix.in_one_of(MODES, "up")


@pytest.fixture
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    mode: Mode = request.param
    async with rig(tmp_path, mode) as made:
        yield made


async def first_page(up: Rig, age: str = "36") -> None:
    await up.ann.click("Fill in")
    up.ann.fill("name", "Ada")
    up.ann.fill("age", age)
    up.ann.fill("color", "green")
    up.ann.fill("sizes", ["S", "L"])
    up.ann.fill("news", "No")
    assert (await up.ann.submit()).answered


async def second_page(up: Rig) -> None:
    assert (await up.ann.click("Continue")).answered
    up.ann.fill("born", "1815-12-10")
    up.ann.fill("city", "7")
    assert (await up.ann.submit()).answered


@pytest.mark.rule("SURFACE-7", "DISCORD-4")
async def test_a_form_of_seven_fields_has_two_pages(up: Rig) -> None:
    ask = await up.shown(await up.submit(QUESTIONS))
    await first_page(up)
    await second_page(up)
    stored = await up.shown(ask)
    assert stored.walk.answers[0].value == {
        "name": "Ada",
        "age": 36,
        "color": "green",
        "sizes": ["S", "L"],
        "news": False,
        "born": "1815-12-10",
        "city": "city 6",
    }
    assert "Answered" in up.ann.notes()[0].text
    assert up.ann.notes()[0].controls == []


@pytest.mark.rule("CLARIFY-3")
async def test_a_half_filled_form_is_kept_when_somebody_asks_back(up: Rig) -> None:
    ask = await up.shown(await up.submit(QUESTIONS, accepts=["clarify"]))
    await first_page(up)
    await up.ann.click("Ask for details", on=up.ann.latest(up.channel).message)
    up.ann.fill("What should the assistant explain?", "Whose name?")
    assert (await up.ann.submit()).answered
    await up.service.explain(ask.id, "Yours.")
    await up.shown(ask)
    await up.ann.click("Fill in", on=up.ann.latest(up.channel).message)
    assert up.ann.modal is not None
    assert up.ann.modal.field("name").value == "Ada"
    assert (await up.ann.submit()).answered
    await second_page(up)
    value = (await up.shown(ask)).walk.answers[0].value
    assert isinstance(value, dict)
    assert (value["age"], value["sizes"], value["city"]) == (36, ["S", "L"], "city 6")


async def test_a_problem_is_reported_and_the_page_reopens_as_it_was_filled_in(up: Rig) -> None:
    ask = await up.shown(await up.submit(QUESTIONS))
    await first_page(up, age="old")
    note = up.ann.notes()[0]
    assert "age must be a whole number" in note.text
    assert note.button("Continue") is None, "told before the next page, not after the last"
    first = up.ann.modal
    assert (await up.ann.click("Fill in", on=note.message)).answered
    assert up.ann.modal is not None
    assert up.ann.modal.field("name").value == "Ada"
    assert up.ann.modal.field("age").value == "old"
    assert up.ann.modal is not first
    up.ann.fill("age", "36")
    assert (await up.ann.submit()).answered
    await second_page(up)
    assert (await up.shown(ask)).status == "answered"


@pytest.mark.rule("DISCORD-13")
async def test_inputs_have_the_lengths_and_examples_of_the_schema(up: Rig) -> None:
    properties = {
        "tag": {"type": "string", "minLength": 2, "maxLength": 8},
        "born": {"type": "string", "format": "date"},
        "age": {"type": "integer", "minimum": 1},
        "team": {"type": "string", "examples": ["platform"]},
    }
    schema = {"type": "object", "properties": properties, "required": ["tag"]}
    await up.shown(
        await up.submit([{"id": "s", "text": "Who?", "answer_type": "schema", "schema": schema}])
    )
    await up.ann.click("Fill in")
    modal = up.ann.modal
    assert modal is not None
    tag, born, age, team = (modal.field(name).component for name in properties)
    assert (tag["min_length"], tag["max_length"]) == (2, 8)
    assert "placeholder" not in tag
    assert born["placeholder"] == "2026-05-31"
    assert age["placeholder"] == "a whole number, at least 1"
    assert team["placeholder"] == "platform"


@pytest.mark.rule("DISCORD-13")
async def test_groups_and_menus_allow_as_many_choices_as_the_schema(up: Rig) -> None:
    teams = {"type": "array", "items": {"enum": ["api", "web", "data"]}, "minItems": 1}
    cities = {"type": "array", "items": {"enum": [f"city {n}" for n in range(20)]}}
    properties = {
        "teams": {**teams, "maxItems": 2},
        "cities": {**cities, "maxItems": 3, "default": ["city 1", "city 2", "city 3", "city 4"]},
        "size": {"enum": ["S", "M"]},
    }
    schema = {"type": "object", "properties": properties, "required": ["teams"]}
    asked = {"id": "s", "text": "Who?", "answer_type": "schema", "schema": schema}
    ask = await up.shown(await up.submit([asked]))
    await up.ann.click("Fill in")
    modal = up.ann.modal
    assert modal is not None
    boxes, menu, radio = (modal.field(name).component for name in properties)
    assert (boxes["type"], boxes["min_values"], boxes["max_values"]) == (CHECKBOXES, 1, 2)
    assert (menu["type"], menu["min_values"], menu["max_values"]) == (STRING_SELECT, 0, 4)
    assert menu["placeholder"] == "Choose…"
    assert radio["type"] == RADIO
    up.ann.fill("teams", ["api", "web", "data"])
    with pytest.raises(NotPossibleError, match="takes 1 to 2 choices"):
        await up.ann.submit()
    up.ann.fill("teams", ["api", "data"])
    up.ann.fill("cities", ["city 7"])
    assert (await up.ann.submit()).answered
    assert (await up.shown(ask)).walk.answers[0].value == {
        "teams": ["api", "data"],
        "cities": ["city 7"],
    }


async def test_a_modal_does_not_repeat_a_question_that_its_title_shows(up: Rig) -> None:
    long = "Why should this be done today, and not on Monday?"
    for text, shown in (("Why?", 0), (long, 1)):
        ask = await up.submit([{"id": "t", "text": text, "answer_type": "text"}])
        await up.shown(ask)
        await up.ann.click("Answer", channel=up.channel)
        assert up.ann.modal is not None
        body = json.dumps(up.ann.modal.data["components"])
        assert body.count(text) == shown
        up.ann.dismiss()


async def test_each_opened_modal_has_a_unique_id(up: Rig) -> None:
    await up.shown(await up.submit(QUESTIONS))
    ids = set()
    for _ in range(3):
        await up.ann.click("Fill in")
        assert up.ann.modal is not None
        ids.add(up.ann.modal.data["custom_id"])
        up.ann.dismiss()
    assert len(ids) == 3


@pytest.mark.rule("DISCORD-11")
async def test_a_text_longer_than_one_input_is_edited_in_parts(up: Rig) -> None:
    text = " ".join(f"word{n}" for n in range(1_400))
    ask = await up.submit(
        [{"id": "t", "text": "Edit this", "answer_type": "text", "default": text}]
    )
    await up.shown(ask)
    await up.ann.click("Answer")
    assert up.ann.modal is not None
    *_, last, files = up.ann.modal.fields
    assert (len(up.ann.modal.fields), files.label) == (4, LABELS.attach)
    up.ann.fill(last.label, str(last.value) + " end")
    assert (await up.ann.submit()).answered
    stored = await up.shown(ask)
    assert stored.walk.answers[0].value == text + " end"


@pytest.mark.rule("SURFACE-7")
async def test_invalid_json_is_reported_and_kept(up: Rig) -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    ask = await up.submit([{"id": "s", "text": "List", "answer_type": "schema", "schema": schema}])
    await up.shown(ask)
    for typed, expected in (("[1, 2", "not JSON"), ('[1, "two"]', "must be a whole number")):
        await up.ann.click("Fill in", channel=up.channel)
        assert up.ann.modal is not None
        up.ann.fill("Your answer, as JSON", typed)
        assert (await up.ann.submit()).answered
        note = up.ann.notes()[0]
        assert expected in note.text
        await up.ann.click("Fill in", on=note.message)
        assert up.ann.modal.field("Your answer, as JSON").value == typed
    up.ann.fill("Your answer, as JSON", "[1, 2]")
    assert (await up.ann.submit()).answered
    assert (await up.shown(ask)).walk.answers[0].value == [1, 2]


@pytest.mark.rule("DISCORD-4")
async def test_the_first_page_of_a_form_survives_a_restart(tmp_path: Path) -> None:
    async with rig(tmp_path, "http") as up:
        ask = await up.shown(await up.submit(QUESTIONS))
        await first_page(up)
        other = tmp_path / "answerback.db"
        await up.surface.stop()
        await up.store.close()
        async with run_surface(up.discord, other, "http") as (_, _, store, _):
            await second_page(up)
            stored = await store.asks.get(ask.id)
            assert stored is not None
            assert stored.status == "answered"


async def test_fields_and_choices_without_text_can_be_filled_in(up: Rig) -> None:
    properties = {" ": {"type": "string", "minLength": 2}, "b": {"enum": ["", "x"], "title": " "}}
    schema = {"type": "object", "properties": properties}
    ask = await up.submit([{"id": "s", "text": "Odd", "answer_type": "schema", "schema": schema}])
    await up.shown(ask)
    for typed, expected in (("a", "#1 needs"), ("ab", "Answered")):
        assert (await up.ann.click("Fill in", channel=up.channel)).answered
        up.ann.fill("#1", typed)
        up.ann.fill("b", '""')
        assert (await up.ann.submit()).answered
        assert expected in up.ann.notes()[0].text
    assert (await up.shown(ask)).walk.answers[0].value == {" ": "ab", "b": ""}


async def test_a_long_text_that_arrives_too_late_is_given_back_in_full(up: Rig) -> None:
    text = [{"id": "why", "text": "Why so?", "answer_type": "text"}]
    ask = await up.shown(await up.submit(text))
    await up.ann.click("Answer")
    up.ann.fill("Your answer", " ".join(f"*{n}*" for n in range(650)))
    await up.service.withdraw(ask.id)
    await up.shown(ask)
    assert (await up.ann.submit()).answered
    note = up.ann.notes()[0]
    assert "have ended" in note.text
    assert numbers(note.text) == [f"*{n}*" for n in range(len(numbers(note.text)))]
    pages = [numbers(note.text)]
    while note.button("Next"):
        assert (await up.ann.click("Next", on=note.message)).answered
        note = up.ann.sees(note.message)
        pages.append(numbers(note.text))
    assert [each for page in pages for each in page] == [f"*{n}*" for n in range(650)]
    assert (await up.ann.click("Previous", on=note.message)).answered
    assert numbers(up.ann.sees(note.message).text) == pages[-2]


async def test_all_pages_of_a_form_that_arrives_too_late_are_given_back(up: Rig) -> None:
    ask = await up.shown(await up.submit(QUESTIONS))
    await first_page(up)
    copy = up.ann.copy(up.ann.notes()[0].message)
    assert (await up.ann.click("Continue")).answered
    up.ann.fill("born", "1815-12-10")
    await up.service.withdraw(ask.id)
    await up.shown(ask)
    assert (await up.ann.submit()).answered
    for typed in ("Ada", "36", "1815"):
        assert typed in up.ann.notes()[0].text
    assert (await up.ann.click_on(copy, "Continue")).answered
    assert "have ended" in up.ann.notes()[0].text
    assert "Ada" in up.ann.notes()[0].text


def numbers(text: str) -> list[str]:
    """The typed words in a note, without the escapes of their marks."""
    return [each for each in text.replace("\\", "").split() if each.startswith("*")]
