"""Handing over on the page keeps what is already entered, even without JavaScript."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.core.ask import Ask
from answerback.service.submission_request import Route
from tests.browser.site import Site, site
from tests.unit.adapters.web.examples import MANY, TEXT, path
from tests.unit.adapters.web.reader import Reader, reader

OPS = Route.model_validate(
    {"to": "web", "responders": ["operator", "bob"], "edit": True, "grants": {}}
)


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Site]:
    """A site with the route `ops`, where a permission has all ways."""
    async with site(tmp_path, routes={"ops": OPS}) as running:
        yield running


@pytest.fixture
async def visitor(shared: Site) -> AsyncIterator[Reader]:
    async with reader(shared.url) as visiting:
        yield visiting


async def permission(shared: Site) -> Ask:
    """Ask for the permission to run a command that can be changed, or allowed for longer."""
    return await shared.ask(
        name="PermissionRequest",
        arguments={"tool_name": "Bash", "tool_input": {"command": "make a"}},
        to="ops",
        agent="coder",
        origin={"folder": "/src/app"},
        takes_edited=True,
    )


@pytest.mark.rule("WEB-24")
@pytest.mark.parametrize(
    "entered",
    [[("note", "Not before Monday.")], [("f1", "7")], [("e0", "make b")]],
    ids=["note", "uses", "change"],
)
async def test_what_is_entered_in_a_permission_stays_when_it_is_handed_over(
    shared: Site, visitor: Reader, entered: list[tuple[str, str]]
) -> None:
    ask = await permission(shared)
    page = await visitor.open(path(ask))
    sent = [*entered, ("hand_over", "bob")]
    page = await visitor.press(page, path(ask), "hand_over", sent)
    assert page.status == 200
    assert [(name, value) for name, _ in entered for value in page.values(name)] == entered
    assert page.values("hand_over") == [""]


@pytest.mark.rule("WEB-24")
@pytest.mark.parametrize(
    ("question", "entered"),
    [(TEXT, [("text", "half a sent")]), (MANY, [("choice", "0"), ("choice", "2")])],
    ids=["text", "choices"],
)
async def test_half_an_answer_stays_when_its_question_is_handed_over(
    shared: Site, visitor: Reader, question: dict[str, object], entered: list[tuple[str, str]]
) -> None:
    ask = await shared.ask(question, to="ops")
    page = await visitor.open(path(ask))
    page = await visitor.press(page, path(ask), "hand_over", [*entered, ("hand_over", "bob")])
    assert page.status == 200
    assert page.values(entered[0][0]) == [value for _, value in entered]


async def test_without_other_input_the_browser_is_redirected_to_the_page(
    shared: Site, visitor: Reader
) -> None:
    ask = await permission(shared)
    page = await visitor.open(path(ask))
    sent = {"hand_over": "bob"}
    answer = await visitor.press(page, path(ask), "hand_over", sent, follow=False)
    assert answer.status == 303
