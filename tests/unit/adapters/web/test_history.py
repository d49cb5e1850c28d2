"""Ended asks: their rows in the history, their pages, and their records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from pydantic import JsonValue

from answerback.core.ask import Ask, Outcome, RecordEntry, Status
from answerback.core.form import Form
from answerback.core.labels import Labels
from answerback.ports.late_answers import SeenState
from answerback.ports.store import Decision, Write
from answerback.ports.store_values import StoredEntry
from answerback_testing.example_asks import new_ask
from answerback_web.record import record_lines
from answerback_web.render import ask_page
from tests.browser.site import INBOX, Site, site
from tests.unit.adapters.web.reader import Document, Reader, reader
from tests.unit.adapters.web.test_page_access import followed, read_event
from tests.unit.adapters.web.test_people import ALICE, KEYS, asks_in

HISTORY = f"{INBOX}/history"
PERMISSION = {"tool_name": "Bash", "tool_input": {"command": "git push --force origin main"}}
STORES = {
    "id": "store",
    "text": "Which store?",
    "answer_type": "select",
    "options": ["PostgreSQL", "SQLite"],
}


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path, keys=KEYS) as running:
        yield running


@pytest.fixture
async def visitor(shared: Site) -> AsyncIterator[Reader]:
    async with reader(shared.url) as visiting:
        yield visiting


def lines_of(page: Document) -> list[str]:
    return [line.strip() for line in page.text.splitlines() if line.strip()]


@pytest.mark.rule("WEB-9")
async def test_a_row_says_what_was_answered_by_whom_and_after_how_long(
    shared: Site, visitor: Reader
) -> None:
    first = await shared.ask(name="PermissionRequest", arguments=PERMISSION)
    assert first.question is not None
    allow = first.question.options[0].value
    both = await shared.ask(STORES, STORES | {"id": "other"})
    for ask_id, *values in ((first.id, allow), (both.id, "PostgreSQL", "SQLite")):
        for value in values:
            await answer(shared, ask_id, value)
    lines = lines_of(await visitor.open(HISTORY))
    newest, oldest = lines.index("Which store?"), lines.index("Run git push --force origin main")
    assert newest < oldest
    ended = "Answered by Alice Adams (personal link) · after 0 s · the agent has not read this yet"
    assert lines[newest + 1] == f"2 answers{ended}"
    assert lines[oldest + 1] == f"Allow once{ended}"


@pytest.mark.rule("LATE-11")
async def test_a_row_and_the_page_say_whether_the_agent_has_the_answer(
    shared: Site, visitor: Reader
) -> None:
    ask = await shared.ask(STORES)
    await answer(shared, ask.id, "PostgreSQL")
    listed = await visitor.open(HISTORY)
    (link,) = asks_in(listed)
    shown = await visitor.open(link)
    for page in (listed, shown):
        assert "after 0 s · the agent has not read this yet" in page.text
    events = next(a["data-events"] for t, a in shown.tags if t == "body") or ""
    waiting = asyncio.create_task(read_event(visitor, f"{link.rpartition('/')[0]}/{events}"))
    await followed(shared)
    await shared.service.late_answer_tracker.save_seen([ask.id], SeenState.SEEN)
    assert await waiting == "moved", "the page is shown again"
    shown = await visitor.open(link)
    for page in (await visitor.open(HISTORY), shown):
        assert "the agent has not read this yet" not in page.text
        assert "after 0 s · The assistant got this answer at" in page.text
    assert "data-events" not in next(a for t, a in shown.tags if t == "body")


@pytest.mark.rule("WEB-9")
async def test_a_row_shows_the_time_by_which_rows_are_sorted(shared: Site, visitor: Reader) -> None:
    """An old ask that was answered just now stays where it is, and says when it was asked."""
    now = shared.service.clock.now()
    to = (await shared.ask(STORES)).placement.destination
    old = new_ask(7, to=to, at=now - 7_200)
    await shared.service.store.asks.create(Write(old), None)
    assert "2 h ago" in (await visitor.open(f"{HISTORY}?status=open")).text


@pytest.mark.rule("WEB-9")
async def test_the_history_finds_the_asks_of_a_project(shared: Site, visitor: Reader) -> None:
    for project in ("app", "site"):
        await shared.ask({**STORES, "text": f"For {project}?"}, origin={"project": project})
    page = await visitor.open(f"{HISTORY}?project=app&status=open")
    assert "For app?" in page.text
    assert "For site?" not in page.text
    assert page.value("project") == "app"


@pytest.mark.rule("SURFACE-30")
async def test_the_page_of_an_ended_ask_keeps_its_context_and_says_the_labels(
    shared: Site, visitor: Reader
) -> None:
    ask = await shared.ask(name="PermissionRequest", arguments=PERMISSION)
    assert ask.question is not None
    option = ask.question.options[0]
    await answer(shared, ask.id, option.value)
    (link,) = asks_in(await visitor.open(HISTORY))
    page = await visitor.open(link)
    assert page.text.count("git push --force origin main") == 4, (
        "headline, context, sent call, record"
    )
    assert page.text.count(option.label) == 3, "as headline, in the message and in the record"
    assert option.value in page.text.partition("Record")[2], "as it is stored"


@pytest.mark.rule("SURFACE-30")
def test_a_long_context_is_folded() -> None:
    question = new_ask().form.questions[0]
    for context, folded in (("Short.", False), ("A long story. " * 300, True)):
        form = Form(questions=(question.model_copy(update={"context": context}),))
        ask = replace(new_ask(form=form), outcome=Outcome(status=Status.WITHDRAWN, at=1_180.0))
        page = ask_page(ask, Labels())
        assert page.waited == "after 3 min"
        assert [row.folded for row in page.rows] == [folded]


def test_a_line_about_a_question_that_is_gone_keeps_its_value() -> None:
    ask = new_ask()
    entry = RecordEntry(
        at=1.0, kind="answered", question_id="gone", body={"value": {"a": 1}, "source": "human"}
    )
    [line] = record_lines([StoredEntry(1, entry)], ask, Labels())
    assert (line.said, line.raw) == (None, '{\n  "a": 1\n}')


@pytest.mark.parametrize(
    ("kind", "body", "what"),
    [
        ("note", {"submitted": True}, "Submit"),
        ("backed", {}, "Back"),
        ("confirmed", {}, "Confirmed"),
    ],
)
def test_a_line_of_the_record_without_a_text_says_only_who_did_it(
    kind: Literal["note", "backed", "confirmed"], body: dict[str, JsonValue], what: str
) -> None:
    entry = RecordEntry(at=1.0, kind=kind, by=ALICE, body=body)
    [line] = record_lines([StoredEntry(1, entry)], new_ask(), Labels())
    assert (line.what, line.said, line.raw) == (what, None, None)
    assert line.by is not None


def test_the_record_says_whether_a_webhook_was_delivered() -> None:
    entry = RecordEntry(at=1.0, kind="delivery", body={"state": "delivered", "status": 204})
    [line] = record_lines([StoredEntry(1, entry)], new_ask(), Labels())
    assert (line.what, line.said, line.by) == ("Webhook", None, None)
    assert line.raw == '{\n  "state": "delivered",\n  "status": 204\n}'


async def answer(shared: Site, ask_id: str, value: str) -> None:
    from answerback.core.actions import Answer
    from answerback.ports.surface import Acted, Actor

    result = await shared.service.act(ask_id, Answer(value=value), Actor(ALICE))
    assert isinstance(result, Acted)


@pytest.mark.rule("LATE-9")
async def test_after_a_day_nobody_is_offered_to_tell_the_agent_to_try_again(
    shared: Site, visitor: Reader
) -> None:
    ask = await shared.ask(name="PermissionRequest", arguments=PERMISSION)
    await shared.service.approval_leases.report_no_answer(ask.id)
    (link,) = asks_in(await visitor.open(HISTORY))
    page = await visitor.open(link)
    assert "try_again" in page.buttons
    assert 'Denied at <time class="local clock"' in page.markup, "in the reader's time zone"

    def end_earlier(stored: Ask | None) -> Decision[None]:
        assert stored is not None
        assert stored.outcome is not None
        outcome = replace(stored.outcome, at=stored.outcome.at - 86_401.0)
        return Decision(Write(replace(stored, outcome=outcome)), None)

    await shared.service.store.asks.change(ask.id, end_earlier)
    assert "try_again" not in (await visitor.open(link)).buttons
