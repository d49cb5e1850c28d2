"""Permissions ticked in the inbox and decided together, without JavaScript."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from tests.browser.site import INBOX, Site, site
from tests.unit.adapters.web.examples import TEXT
from tests.unit.adapters.web.reader import Document, Reader, reader
from tests.unit.adapters.web.test_people import ALICES, KEYS

LABELS = Labels()
LONG = "true; " * 200 + "rm -rf /srv"
pytestmark = pytest.mark.rule("BATCH-4")


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path, keys=KEYS) as running:
        yield running


@pytest.fixture
async def visitor(shared: Site) -> AsyncIterator[Reader]:
    async with reader(shared.url) as visiting:
        yield visiting


async def approval(shared: Site, command: str, **more: Any) -> Ask:
    arguments = {"tool_name": "Bash", "tool_input": {"command": command}}
    return await shared.ask(name="PermissionRequest", arguments=arguments, **more)


def ticks(page: Document) -> list[str]:
    """Return the values of the tick boxes."""
    boxes = [attrs for tag, attrs in page.tags if tag == "input" and attrs.get("name") == "ask"]
    assert all(each["form"] == "batch" for each in boxes)
    return [str(each["value"]) for each in boxes]


async def press(
    visitor: Reader, page: Document, do: str, *asks: Ask, path: str = INBOX
) -> Document:
    chosen = [("ask", f"{ask.id}:{ask.revision}") for ask in asks]
    return await visitor.press(page, path, do, chosen)


async def decisions(shared: Site, *asks: Ask) -> list[object]:
    stored = [await shared.stored(ask) for ask in asks]
    return [[given.value for given in ask.walk.answers] for ask in stored]


@pytest.mark.parametrize(("do", "value"), [("allow_once", "allow"), ("deny", "deny")])
async def test_what_is_ticked_is_decided_and_nothing_else(
    shared: Site, visitor: Reader, do: str, value: str
) -> None:
    asks = [await approval(shared, f"make t{n}\nmake u{n}") for n in range(3)]
    page = await visitor.open(INBOX)
    assert ticks(page) == [f"{ask.id}:1" for ask in asks]
    assert all(f"make u{n}" in page.text for n in range(3)), "the whole context is in each row"
    assert {"allow_once", "deny"} <= page.buttons.keys()
    page = await press(visitor, page, do, *asks[:2])
    assert await decisions(shared, *asks) == [[value], [value], []]
    assert ticks(page) == [f"{asks[2].id}:1"]
    assert LABELS.batch_left_named.format(count=1) not in page.text


async def test_what_a_row_does_not_show_whole_is_denied_but_never_allowed(
    shared: Site, visitor: Reader
) -> None:
    long, short = await approval(shared, LONG), await approval(shared, "ls")
    page = await visitor.open(INBOX)
    assert ticks(page) == [f"{long.id}:1", f"{short.id}:1"]
    assert page.text.count(LABELS.batch_open) == 1
    page = await press(visitor, page, "allow_once", long, short)
    assert await decisions(shared, long, short) == [[], ["allow"]]
    assert LABELS.batch_left_named.format(count=1) in page.text
    headline = long.form.questions[0].text
    assert LABELS.batch_left_cut.format(what=headline) in page.text
    await press(visitor, page, "deny", long)
    assert await decisions(shared, long) == [["deny"]]


@pytest.mark.rule("TEXT-6")
async def test_a_row_whose_text_is_not_shown_as_written_is_never_allowed(
    shared: Site, visitor: Reader
) -> None:
    plan = {
        "tool_name": "ExitPlanMode",
        "tool_input": {"plan": r"Delete C:\new\*.* and **no** more"},
    }
    ask = await shared.ask(name="PermissionRequest", arguments=plan)
    page = await visitor.open(INBOX)
    assert ticks(page) == [f"{ask.id}:1"]
    assert LABELS.batch_open in page.text
    await press(visitor, page, "allow_once", ask)
    assert await decisions(shared, ask) == [[]]


async def test_questions_and_what_others_confirm_have_no_tick_box(
    shared: Site, visitor: Reader
) -> None:
    await shared.ask(TEXT)
    page = await visitor.open(INBOX)
    assert ticks(page) == []
    assert not {"allow_once", "deny"} & page.buttons.keys()
    confirmed = await approval(shared, "ls", responders="anyone", confirmations=1)
    page = await visitor.open(INBOX)
    assert ticks(page) == []
    await press(visitor, page, "allow_once", confirmed)
    assert await decisions(shared, confirmed) == [[]]
    opened = await visitor.open(f"{INBOX}?open={confirmed.id}")
    assert LABELS.confirm_first in opened.text, "said before the first person decides"


async def test_stale_foreign_and_made_up_ticks_are_left_and_stop_no_other(
    shared: Site, visitor: Reader
) -> None:
    mine = await approval(shared, "ls", responders=["web:alice"])
    his = await approval(shared, "pwd", responders=["web:bob"])
    page = await visitor.open(ALICES)
    assert ticks(page) == [f"{mine.id}:1"]
    made_up = [f"{mine.id}:2", f"{his.id}:1", "ask_x:1", "x", f"{mine.id}:{'9' * 12}"]
    chosen = [("ask", each) for each in made_up]
    page = await visitor.press(page, ALICES, "allow_once", chosen)
    assert await decisions(shared, mine, his) == [[], []]
    assert LABELS.batch_left.format(count=len(made_up)) in page.text
    assert LABELS.batch_left_changed.format(what="Run ls") in page.text
    assert "Run pwd" not in page.text, "nobody reads what is not theirs by its id"
    page = await press(visitor, page, "deny", mine, path=ALICES)
    assert await decisions(shared, mine) == [["deny"]]
    assert ticks(page) == []
    page = await press(visitor, page, "allow_once", mine, path=ALICES)
    assert LABELS.batch_left.format(count=1) in page.text, "it has ended"


async def test_an_unknown_button_and_another_sites_post_decide_nothing(
    shared: Site, visitor: Reader
) -> None:
    ask = await approval(shared, "ls")
    page = await visitor.open(INBOX)
    page = await press(visitor, page, "allow_always", ask)
    assert LABELS.batch_left_named.format(count=1) in page.text
    chosen = [("ask", f"{ask.id}:1")]
    foreign = {"Origin": "https://evil.example"}
    page = await visitor.press(page, INBOX, "allow_once", chosen, headers=foreign)
    assert page.status == 403
    async with reader(shared.public_url) as far:
        page = await far.press(page, ALICES, "allow_once", chosen, headers=foreign)
        assert page.status == 403
    many = [("ask", f"ask_{n}:1") for n in range(101)]
    await visitor.press(page, INBOX, "deny", [*chosen, *many])
    assert await decisions(shared, ask) == [[]]


async def test_a_double_click_counts_once(shared: Site, visitor: Reader) -> None:
    ask = await approval(shared, "ls")
    page = await visitor.open(INBOX)
    for _ in range(2):
        page = await press(visitor, page, "allow_once", ask)
        assert LABELS.batch_left.format(count=1) not in page.text
    assert await decisions(shared, ask) == [["allow"]]


async def test_a_database_that_fails_at_one_ask_stops_no_other(
    shared: Site, visitor: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = [await approval(shared, f"make {n}") for n in range(2)]
    page = await visitor.open(INBOX)
    apply = type(shared.service).apply

    async def failing(self: Any, intent: Any, *more: Any, **named: Any) -> Any:
        if intent.ask_id == asks[0].id:
            raise StoreError("the disk")
        return await apply(self, intent, *more, **named)

    monkeypatch.setattr(type(shared.service), "apply", failing)
    page = await press(visitor, page, "allow_once", *asks)
    assert LABELS.batch_left_named.format(count=1) in page.text
    assert await decisions(shared, *asks) == [[], ["allow"]]
