"""Enter in an input without JavaScript: nothing is decided, what was entered stays, and the page says what to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.labels import Labels
from answerback.service.submission_request import Route
from tests.browser.site import INBOX, Site, site
from tests.unit.adapters.web.examples import FLAT, JSON_ONLY, MANY, REVIEWED, TEXT, path
from tests.unit.adapters.web.reader import NO_BUTTON, Document, Reader, reader

LABELS = Labels()
YES_NO = {"id": "y", "text": "Drop it?", "answer_type": "boolean"}
PLACES = {
    "question": "Where?",
    "header": "h",
    "options": [{"label": f"Region {n}"} for n in range(8)],
}
OPS = Route.model_validate(
    {"to": "web", "responders": ["operator", "bob"], "edit": True, "grants": {}}
)
pytestmark = pytest.mark.rule("CARE-6")


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Site]:
    """A site with the route `ops`, where a permission has all ways."""
    async with site(tmp_path, routes={"ops": OPS}) as running:
        yield running


@pytest.fixture
async def visitor(shared: Site) -> AsyncIterator[Reader]:
    async with reader(shared.url) as visiting:
        yield visiting


async def press_enter(
    visitor: Reader, page: Document, at: str, entered: list[tuple[str, str]]
) -> Document:
    """Press Enter in an input of a page, and return the page that says so and has what was entered."""
    again = await visitor.press(page, at, NO_BUTTON, entered)
    assert LABELS.no_button in again.text
    for name in {name for name, _ in entered}:
        assert again.values(name) == [value for field, value in entered if field == name]
    return again


@pytest.mark.parametrize(
    ("question", "entered"),
    [
        (YES_NO, [("reply", "Ask the owner"), ("ask_back", "Which table?")]),
        (MANY, [("choice", "0"), ("choice", "2")]),
        (TEXT, [("text", "half a sent")]),
        (FLAT, [("f0", "Kim"), ("f1", "many"), ("f2", "false"), ("f4", "1")]),
        (JSON_ONLY, [("json", '["a"')]),
    ],
    ids=["yes or no", "several", "text", "form", "json"],
)
async def test_enter_answers_no_question(
    shared: Site, visitor: Reader, question: dict[str, Any], entered: list[tuple[str, str]]
) -> None:
    ask = await shared.ask({**question}, accepts=["clarify"])
    page = await visitor.open(path(ask))
    await press_enter(visitor, page, path(ask), entered)
    stored = await shared.stored(ask)
    assert (stored.revision, stored.walk.answers) == (ask.revision, ())


async def test_enter_keeps_an_abandoned_text_and_the_option_in_its_place(
    shared: Site, visitor: Reader
) -> None:
    ask = await shared.ask(name="ask_user", arguments={"questions": [PLACES]})
    page = await visitor.open(path(ask))
    entered = [("choice", "2"), ("other", "at home")]
    page = await press_enter(visitor, page, path(ask), entered)
    await visitor.press(page, path(ask), "answer")
    assert [each.value for each in (await shared.stored(ask)).walk.answers] == ["Region 2"]


@pytest.mark.parametrize(
    "entered",
    [[], [("f1", "7")], [("hand_over", "bob")], [("e0", "make b")], [("note", "Once")]],
    ids=["nothing", "uses", "colleague", "change", "note"],
)
async def test_enter_allows_nothing_and_what_was_being_filled_in_is_open(
    shared: Site, visitor: Reader, entered: list[tuple[str, str]]
) -> None:
    arguments = {"tool_name": "Bash", "tool_input": {"command": "make a"}}
    ask = await shared.ask(
        name="PermissionRequest",
        arguments=arguments,
        to="ops",
        agent="coder",
        origin={"folder": "/src/app"},
        takes_edited=True,
    )
    page = await visitor.open(path(ask))
    assert {"f1", "hand_over", "e0", "note"} <= {name for name, _ in page.fields}
    page = await press_enter(visitor, page, path(ask), entered)
    opened = [each["id"] for tag, each in page.tags if tag == "details" and "open" in each]
    ways = {"f1": "granting", "hand_over": "giving", "e0": "editing", "note": "noting"}
    assert opened == (["more", *(ways[name] for name, _ in entered)] if entered else [])
    stored = await shared.stored(ask)
    assert (stored.revision, stored.walk.answers) == (ask.revision, ())


async def test_enter_submits_no_review(shared: Site, visitor: Reader) -> None:
    ask = await shared.ask(name="question", arguments=REVIEWED)
    for _ in range(2):
        ask = await shared.act(ask, Answer(value="a"))
    page = await visitor.open(path(ask))
    assert "submit" in page.buttons
    await press_enter(visitor, page, path(ask), [])
    stored = await shared.stored(ask)
    assert (stored.revision, stored.open) == (ask.revision, True)


async def test_enter_on_an_outdated_page_shows_what_was_typed(
    shared: Site, visitor: Reader
) -> None:
    ask = await shared.ask(TEXT, MANY)
    page = await visitor.open(path(ask))
    await shared.act(ask, Answer(value="first"))
    late = await visitor.press(page, path(ask), NO_BUTTON, {"text": "my long answer"})
    assert late.status == 409
    assert "my long answer" in late.text


async def test_enter_in_a_tick_box_decides_nothing_and_unticks_none(
    shared: Site, visitor: Reader
) -> None:
    asks = [
        await shared.ask(
            name="PermissionRequest",
            arguments={"tool_name": "Bash", "tool_input": {"command": f"make t{n}"}},
        )
        for n in range(3)
    ]
    page = await visitor.open(INBOX)
    entered = [("ask", f"{ask.id}:{ask.revision}") for ask in asks[:2]]
    page = await press_enter(visitor, page, INBOX, entered)
    assert [(await shared.stored(ask)).walk.answers for ask in asks] == [(), (), ()]
    await visitor.press(page, INBOX, "deny")
    assert [(await shared.stored(ask)).open for ask in asks] == [False, False, True]


async def test_nobody_sees_the_button_that_enter_presses_or_reaches_it(
    shared: Site, visitor: Reader
) -> None:
    await shared.ask(
        name="PermissionRequest", arguments={"tool_name": "Bash", "tool_input": {"command": "make"}}
    )
    ask = await shared.ask(FLAT)
    for at in (path(ask), INBOX):
        page = await visitor.open(at)
        [button] = [each for _, each in page.tags if each.get("value") == NO_BUTTON]
        assert (button["class"], button["tabindex"], button["aria-hidden"]) == (
            "hidden",
            "-1",
            "true",
        )
        assert "disabled" not in button, "Chromium would press the next one"
