"""Extras of Claude's questions: previews of options as Markdown, and a note with the choice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.dialects import registry
from tests import matrix
from tests.fakes.discord.rules import CHECKBOXES, RADIO
from tests.unit.adapters.discord.rig import MODES, Mode, Rig, rig
from tests.unit.adapters.discord.sight import remove_escapes

LABELS = Labels()
CARDS = "**Cards** in a grid\n\n```html\n<article>*</article>\n```\n\n- wide\n- [docs](https://example.com/a)"


pytest_generate_tests = matrix.in_one_of(MODES, "up")


@pytest.fixture
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    mode: Mode = request.param
    async with rig(tmp_path, mode) as made:
        yield made


async def submit_ask(up: Rig, *, several: bool = False) -> Ask:
    options: list[dict[str, Any]] = [
        {"label": "Cards", "description": "A grid"},
        {"label": "List", "description": "One below the other"},
    ]
    if not several:
        options[0]["preview"] = CARDS
        options[1]["preview"] = "x" * 9_000 + " end"
    question = {"question": "Which layout?", "header": "Layout", "options": options}
    arguments = {"questions": [question | {"multiSelect": several}]}
    return await up.shown(await up.submit([], name="AskUserQuestion", arguments=arguments))


def annotation(ask: Ask) -> Any:
    result = registry.render_result(ask)
    assert result is not None
    structured = result.structured
    assert isinstance(structured, dict)
    annotations = structured["annotations"]
    assert isinstance(annotations, dict)
    return annotations["Which layout?"]


@pytest.mark.rule("DISCORD-16")
async def test_a_preview_is_shown_privately_as_markdown_with_the_button_that_chooses_it(
    up: Rig,
) -> None:
    ask = await submit_ask(up)
    await up.ann.click(LABELS.preview)
    card = up.ann.notes()[0]
    assert card.message.only_for == up.ann.id
    assert "**1\\. Cards**" in card.text
    assert "```html\n<article>*</article>\n```" in card.text
    assert "**Cards** in a grid" in card.text
    assert "docs (<https://example.com/a>)" in card.text
    assert (await up.ann.click("Cards", on=card.message)).answered
    stored = await up.shown(ask)
    assert stored.status == "answered"
    assert annotation(stored) == {"preview": CARDS}
    assert up.ann.sees(card.message).controls == []


@pytest.mark.rule("DISCORD-16")
async def test_previews_are_offered_beside_the_options_they_show(up: Rig) -> None:
    await submit_ask(up)
    labels = up.ann.latest(up.channel).labels
    assert labels.index(LABELS.preview) < labels.index(LABELS.reply) < labels.index(LABELS.end_turn)


@pytest.mark.rule("DISCORD-16", "TEXT-2")
async def test_a_preview_longer_than_a_page_is_shown_as_written_on_several_pages(up: Rig) -> None:
    await submit_ask(up)
    await up.ann.click(LABELS.preview)
    card = up.ann.notes()[0].message
    read = ""
    while LABELS.next in up.ann.sees(card).labels:
        assert (await up.ann.click(LABELS.next, on=card)).answered
        read += remove_escapes(up.ann.sees(card).texts[0])
    assert read.count("x") == 9_000
    assert read.endswith("end")
    assert (await up.ann.click(LABELS.details, on=card)).answered
    everything = remove_escapes(up.ann.sees(card).text)
    assert "**Cards** in a grid" in everything
    assert "[docs](https://example.com/a)" in everything


@pytest.mark.rule("DISCORD-16")
async def test_a_note_is_saved_with_the_choice_and_shown_in_the_record(up: Rig) -> None:
    ask = await submit_ask(up)
    await up.ann.click(LABELS.answer_with_note)
    modal = up.ann.modal
    assert modal is not None
    assert modal.field(LABELS.choose).component["type"] == RADIO
    up.ann.fill(LABELS.choose, "List")
    up.ann.fill(LABELS.note_label, "On phones *too*")
    assert (await up.ann.submit()).answered
    stored = await up.shown(ask)
    assert annotation(stored)["notes"] == "On phones *too*"
    assert LABELS.noted.format(text="On phones *too*") in remove_escapes(
        up.ann.latest(up.channel).text
    )


@pytest.mark.rule("DISCORD-16")
async def test_a_note_with_several_choices_starts_from_the_current_selection(up: Rig) -> None:
    ask = await submit_ask(up, several=True)
    await up.ann.choose(None, ["List"])
    await up.ann.click(LABELS.answer_with_note)
    modal = up.ann.modal
    assert modal is not None
    boxes = modal.field(LABELS.choose)
    assert boxes.component["type"] == CHECKBOXES
    assert boxes.value == ["1"]
    up.ann.fill(LABELS.choose, ["Cards", "List"])
    assert (await up.ann.submit()).answered
    stored = await up.shown(ask)
    assert stored.walk.answers[0].value == ["Cards", "List"]
    assert stored.walk.answers[0].note is None


@pytest.mark.rule("DISCORD-16")
async def test_a_note_is_prefilled_after_back(up: Rig) -> None:
    option = {"label": "Cards", "description": "A grid"}
    other = {"label": "List", "description": "Rows"}
    first = {"question": "Which layout?", "header": "Layout", "options": [option, other]}
    arguments = {"questions": [first | {"multiSelect": False},
                               {**first, "question": "And then?", "multiSelect": False}]}  # fmt: skip
    await up.shown(await up.submit([], name="AskUserQuestion", arguments=arguments))
    await up.ann.click(LABELS.answer_with_note)
    up.ann.fill(LABELS.choose, "List")
    up.ann.fill(LABELS.note_label, "On phones")
    assert (await up.ann.submit()).answered
    assert "On phones" in up.ann.latest(up.channel).text
    await up.ann.click(LABELS.back)
    assert "On phones" in up.ann.latest(up.channel).text
    await up.ann.click(LABELS.answer_with_note)
    assert up.ann.modal is not None
    assert up.ann.modal.field(LABELS.choose).value == "1"
    assert up.ann.modal.field(LABELS.note_label).value == "On phones"


async def test_a_note_is_offered_only_if_the_dialect_accepts_notes(up: Rig) -> None:
    plain = [{"id": "q", "text": "Which?", "answer_type": "select", "options": ["A", "B"]}]
    await up.shown(await up.submit(plain))
    assert LABELS.answer_with_note not in up.ann.latest(up.channel).labels


@pytest.mark.rule("DISCORD-16")
@pytest.mark.parametrize("typed", ["City 27", " city 27 ", "28", "28. City 27"])
async def test_with_more_options_than_a_menu_holds_the_choice_is_typed_with_the_note(
    up: Rig, typed: str
) -> None:
    options = [{"label": f"City {n}", "description": "A city"} for n in range(30)]
    question = {"id": "where", "header": "Where", "question": "Where to?", "options": options}
    arguments = {"questions": [question, {**question, "id": "then", "question": "And then?"}]}
    ask = await up.shown(await up.submit([], name="request_user_input", arguments=arguments))
    await up.ann.click(LABELS.answer_with_note)
    up.ann.fill(LABELS.choose, "Atlantis")
    up.ann.fill(LABELS.note_label, "By train")
    assert (await up.ann.submit()).answered
    assert any("Atlantis" in note.text for note in up.ann.notes())
    assert (await up.shown(ask)).walk.answers == ()
    await up.ann.click(LABELS.answer_with_note, on=up.ann.latest(up.channel).message)
    up.ann.fill(LABELS.choose, typed)
    up.ann.fill(LABELS.note_label, "By train")
    assert (await up.ann.submit()).answered
    [given] = (await up.shown(ask)).walk.answers
    assert (given.value, given.note) == ("City 27", "By train")
    await up.ann.click(LABELS.back)
    await up.ann.click(LABELS.answer_with_note, on=up.ann.latest(up.channel).message)
    assert up.ann.modal is not None
    assert up.ann.modal.field(LABELS.choose).value == "28. City 27"
