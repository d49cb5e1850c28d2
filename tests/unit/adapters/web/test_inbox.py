"""The inbox, the history, its search and the records, all without JavaScript."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Destination
from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.core.walker import Person
from answerback.ports.store import Write
from answerback_testing.example_asks import new_ask, with_values
from tests.browser.site import INBOX, KEY, Site, site
from tests.unit.adapters.web.examples import CLAUDE, FLAT, TEXT, path
from tests.unit.adapters.web.reader import Document, Reader, reader
from tests.unit.adapters.web.test_people import ALICE, ALICES, BOB, KEYS, asks_in

HISTORY = f"{INBOX}/history"
LABELS = Labels()
CHANGE = ("/app/a.py", "diff-x", "+y")
"""The whole context of an edit, as text."""


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Site]:
    """A site where three people have keys."""
    async with site(tmp_path, keys=KEYS) as running:
        yield running


@pytest.fixture
async def visitor(shared: Site) -> AsyncIterator[Reader]:
    """A visitor to its local listener."""
    async with reader(shared.url) as visiting:
        yield visiting


def listed(page: Document) -> list[str]:
    """Return the questions in a list."""
    return [line.strip() for line in page.text.splitlines() if line.strip().startswith("Q: ")]


async def asked(shared: Site, text: str, **more: Any) -> str:
    ask = await shared.ask({**TEXT, "text": f"Q: {text}"}, **more)
    return ask.id


async def answered(shared: Site, ask_id: str, text: str, by: Person) -> None:
    from answerback.ports.surface import Acted, Actor

    result = await shared.service.act(ask_id, Answer(value=text), Actor(by))
    assert isinstance(result, Acted)


async def search(visitor: Reader, base: str, **fields: str) -> Document:
    """Fill in and submit the search form as a browser does, and return the results."""
    page = await visitor.open(f"{base}/history")
    form = next(attrs for tag, attrs in page.tags if tag == "form")
    assert (form["method"], form["role"]) == ("get", "search")
    names = {a.get("name") for t, a in page.tags if t in {"input", "select"}}
    assert fields.keys() <= names
    query = "&".join(f"{name}={text}" for name, text in fields.items())
    return await visitor.open(f"{base}/history?{query}")


@pytest.mark.rule("INBOX-1", "WEB-3")
async def test_the_inbox_lists_asks_oldest_first_with_who_asks_and_since_when(
    shared: Site, visitor: Reader
) -> None:
    for name in ("first", "second", "third"):
        await asked(shared, name)
    page = await visitor.open(INBOX)
    assert listed(page) == ["Q: first", "Q: second", "Q: third"]
    assert page.text.count("just now") == 3
    titles = [a.get("title") or "" for t, a in page.tags if t == "time"]
    assert all(title.endswith("UTC") for title in titles)


@pytest.mark.rule("WEB-3", "ASK-7")
async def test_the_inbox_says_who_would_do_what_in_which_project(
    shared: Site, visitor: Reader
) -> None:
    plan = {
        "tool_name": "ExitPlanMode",
        "tool_input": {"plan": "# Move to cents\n\n1. Add a column"},
    }
    edit = {
        "tool_name": "Edit",
        "tool_input": {"file_path": "/app/a.py", "old_string": "x", "new_string": "y"},
    }
    for agent, project, arguments in (
        ("ann", "app", plan),
        ("ben", "site", edit),
        ("ann", "app", edit),
    ):
        await shared.ask(
            name="PermissionRequest", arguments=arguments, agent=agent, origin={"project": project}
        )
    asked_too = {"id": "q", "text": "Which?", "answer_type": "select", "options": ["red", "blue"]}
    await shared.ask(asked_too, FLAT, agent="ben", origin={"project": "site"})
    await shared.ask(FLAT, agent="ann", origin={"project": "shop"})
    page = await visitor.open(INBOX)
    lines = [line.strip() for line in page.text.splitlines() if line.strip()]
    assert lines[lines.index("ann in app 2") :] == [
        "ann in app 2",
        f"{LABELS.select_all} (ann in app)",
        "Approve this plan?",
        "just now",
        f"{LABELS.batch_open} Move to cents · 1. Add a column",
        "Edit a.py (+1 −1)",
        "just now",
        *CHANGE,
        "ben in site 2",
        "Edit a.py (+1 −1)",
        "just now",
        *CHANGE,
        "Which? [1/2]",
        "just now",
        "red · blue",
        "ann in shop 1",
        "Fill this in",
        "just now",
        "Your name · n · on · kind · tags",
        LABELS.batch_only_deny,  # which the style sheet hides where nothing such is ticked
        LABELS.allow_once,
        LABELS.deny,
    ]


@pytest.mark.rule("WEB-9")
async def test_each_person_sees_what_waits_for_them_and_what_they_answered(
    shared: Site, visitor: Reader
) -> None:
    await asked(shared, "everybody's")
    await asked(shared, "hers", responders=["web:alice"])
    await asked(shared, "his", responders=["bob"])
    done = await asked(shared, "done by her", responders=["alice"])
    other = await asked(shared, "done by him", responders=["alice", "bob"])
    await answered(shared, done, "fine", ALICE)
    await answered(shared, other, "fine", BOB)
    assert listed(await visitor.open(ALICES)) == ["Q: everybody's", "Q: hers"]
    assert listed(await visitor.open(f"{ALICES}/history")) == ["Q: done by her"]
    assert listed(await search(visitor, ALICES, status="open")) == ["Q: everybody's", "Q: hers"]
    assert listed(await search(visitor, ALICES, q="hers", status="open")) == ["Q: hers"]
    assert listed(await search(visitor, ALICES, q="him")) == []
    names = {
        a.get("name") for t, a in (await visitor.open(f"{ALICES}/history")).tags if t == "input"
    }
    assert "by" not in names
    assert listed(await visitor.open(f"{ALICES}/history?by=bob")) == []
    assert listed(await visitor.open(INBOX)) == ["Q: everybody's"]
    assert len(listed(await visitor.open(HISTORY))) == 2, "nothing that is open"
    assert len(listed(await visitor.open(f"{HISTORY}?status=open"))) == 3


@pytest.mark.rule("WEB-9")
async def test_the_operator_finds_by_words_status_person_and_date(
    shared: Site, visitor: Reader
) -> None:
    port = await asked(shared, "Which port?")
    gate = await asked(shared, "Which gate?")
    await asked(shared, "Which door?")
    await answered(shared, port, "the ninth", ALICE)
    await answered(shared, gate, "the tenth", BOB)
    for fields, found in (
        ({"q": "ninth"}, ["Q: Which port?"]),
        ({"q": "which", "status": "open"}, ["Q: Which door?"]),
        ({"status": "answered"}, ["Q: Which gate?", "Q: Which port?"]),
        ({"by": "alice"}, ["Q: Which port?"]),
        ({"by": "web:bob"}, ["Q: Which gate?"]),
        ({"by": "slack:U1"}, []),
        ({"q": "alice"}, ["Q: Which port?"]),
        ({"status": "made-up", "q": "gate"}, ["Q: Which gate?"]),
    ):
        assert listed(await search(visitor, INBOX, **fields)) == found, fields
    today = datetime.now(UTC).date()
    tomorrow = today + timedelta(days=1)
    before = today - timedelta(days=2)  # it may be just past midnight
    assert len(listed(await search(visitor, INBOX, since=str(before), until=str(tomorrow)))) == 2
    assert listed(await search(visitor, INBOX, since=str(tomorrow))) == []
    assert listed(await search(visitor, INBOX, until=str(before))) == []
    wrong = await search(visitor, INBOX, q="port", since="yesterday")
    assert "Enter dates like 2026-11-22." in wrong.text
    assert wrong.value("q") == "port"
    assert wrong.value("since") == "yesterday"
    assert "Alice Adams (personal link)" in (await search(visitor, INBOX, by="alice")).text


@pytest.mark.rule("WEB-9")
async def test_the_pages_of_a_list_keep_the_search(shared: Site, visitor: Reader) -> None:
    names = [f"Q: number {i}" for i in range(35)]
    for name in names:
        await asked(shared, name.removeprefix("Q: "))
    first = await visitor.open(INBOX)
    following = next(link for link in first.links if "after=" in link)
    second = await visitor.open(f"/inbox/{following.removeprefix('../inbox/')}")
    assert listed(first) + listed(second) == names
    found = await search(visitor, INBOX, q="number", status="open")
    following = next(link for link in found.links if "after=" in link)
    assert "q=number" in following
    rest = await visitor.open(f"/{following.removeprefix('../../')}")
    assert listed(found) + listed(rest) == names[::-1]
    newest = next(link for link in rest.links if link.endswith("history?q=number&status=open"))
    assert listed(await visitor.open(f"/{newest.removeprefix('../../')}")) == listed(found)
    for address in (f"{INBOX}?after=x", f"{HISTORY}?after=x"):
        assert (await visitor.open(address)).status == 404


@pytest.mark.rule("WEB-9", "WHO-3")
async def test_the_record_of_an_ended_ask_is_shown_to_people_but_not_to_anyone_with_its_link(
    shared: Site, visitor: Reader
) -> None:
    ask_id = await asked(shared, "Which port?", responders=["alice"])
    await answered(shared, ask_id, "the ninth", ALICE)
    (link,) = asks_in(await visitor.open(f"{ALICES}/history"))
    page = await visitor.open(link)
    assert [t for t, _ in page.tags].count("li") == 3
    assert "after 0 s" in page.text
    for expected in (
        "Record",
        "Asked",
        "Q: Which port?",
        "the ninth",
        "by Alice Adams (personal link)",
    ):
        assert expected in page.text
    ask = await shared.service.get(ask_id)
    assert ask is not None
    shown = await visitor.open(shared.surface.url(ask_id).removeprefix(shared.public_url))
    assert "the ninth" in shown.text
    assert "Record" not in shown.text


@pytest.mark.rule("WEB-9")
async def test_the_operator_reads_what_was_asked_elsewhere_and_answers_it_there(
    shared: Site, visitor: Reader
) -> None:
    to = Destination(surface="slack", channel="C1")
    await shared.service.store.asks.create(Write(new_ask(7, to=to)), None)
    page = await visitor.open(f"{HISTORY}?status=open")
    (link,) = asks_in(page)
    there = await visitor.open(link)
    assert there.status == 200
    assert "This question was asked elsewhere" in there.text
    assert there.action is None
    refused = await visitor.press(there, link, "yes")
    assert refused.status in {403, 404, 409}
    shown = shared.surface.url("ask_7").removeprefix(shared.public_url)
    assert (await visitor.open(shown)).status == 404


@pytest.mark.rule("WEB-9")
async def test_the_history_needs_the_key_like_the_inbox(shared: Site, visitor: Reader) -> None:
    await asked(shared, "secret")
    for address in ("/inbox/0/history", f"{INBOX}0/history", "/inbox/me/history"):
        closed = await visitor.open(address)
        assert closed.status == 403
        assert "secret" not in closed.text
    async with reader(shared.public_url) as far:
        assert (await far.open(HISTORY)).status == 403
        assert (await far.open(f"{ALICES}/history")).status == 200


@pytest.mark.rule("WEB-8")
async def test_an_options_preview_is_rendered_as_markdown_on_demand(
    shared: Site, visitor: Reader
) -> None:
    ask = await shared.ask(name="AskUserQuestion", arguments=CLAUDE)
    page = await visitor.open(path(ask))
    assert "<strong>bold</strong> redis" in page.markup
    assert page.text.count("**bold**") == 1, "only in the original text"
    assert ("details", {"class": "preview"}) in page.tags


@pytest.mark.rule("WEB-8", "ACT-8")
async def test_a_note_is_sent_with_the_choice(shared: Site, visitor: Reader) -> None:
    ask = await shared.ask(name="AskUserQuestion", arguments=CLAUDE)
    page = await visitor.open(path(ask))
    assert page.value("note") == ""
    unchosen = await visitor.press(page, path(ask), "answer", {"note": "it is cheaper"})
    assert unchosen.status == 422
    assert unchosen.value("note") == "it is cheaper"
    ended = await visitor.press(
        unchosen, path(ask), "answer", {"choice": "1", "note": "it is cheaper"}
    )
    assert "Note: it is cheaper" in ended.text
    stored = await shared.stored(ask)
    assert stored.walk.answers[0].note == "it is cheaper"
    text = await shared.ask(TEXT)
    assert (await visitor.open(path(text))).value("note") is None


@pytest.mark.rule("WEB-9")
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", LABELS.history_unused),
        ("?q=nothing", LABELS.history_empty),
        ("?status=open", LABELS.history_empty),
        ("?since=2026-13-40", LABELS.filter_wrong_date),
        ("?until=9999-12-31", LABELS.history_empty),
        ("?since=0001-01-01", LABELS.history_empty),
    ],
)
async def test_an_empty_history_says_why(
    shared: Site, visitor: Reader, query: str, said: str
) -> None:
    page = await visitor.open(f"{ALICES}/history{query}")
    assert page.status == 200
    reasons = (LABELS.history_unused, LABELS.history_empty, LABELS.filter_wrong_date)
    assert [reason for reason in reasons if reason in page.text] == [said]


async def test_a_list_says_briefly_that_an_agent_has_moved_on(
    shared: Site, visitor: Reader
) -> None:
    ask = with_values(new_ask(8, to=Destination(surface="web")), agent_left=True)
    await shared.service.store.asks.create(Write(ask), None)
    page = await visitor.open(f"{HISTORY}?status=open")
    assert "Assistant asked" in page.text
    assert "has gone on" not in page.text


async def test_keys_that_cannot_be_read_let_nobody_in_and_are_said_to_be_unreadable(
    tmp_path: Path,
) -> None:
    class Unreadable(dict[str, Person]):
        def items(self) -> NoReturn:
            raise StoreError("the key file cannot be read")

    async with site(tmp_path, keys=Unreadable()) as broken, reader(broken.url) as person:
        door = await person.open("/")
        for page in (
            await person.open(f"/?key={KEY}"),
            await person.press(door, "/", "", {"key": KEY}),
        ):
            assert page.status == 503
            assert "cannot read its database just now" in page.text
