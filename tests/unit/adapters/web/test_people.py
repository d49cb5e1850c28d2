"""People on the page: personal links, whose inbox is whose, and who may answer what."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Destination
from answerback.core.errors import PlatformUnavailableError
from answerback.core.intents import Intent
from answerback.core.labels import Labels
from answerback.core.people import People
from answerback.core.person import AuthMethod
from answerback.core.walker import Person
from answerback.ports.person_key import operator_holder
from answerback.ports.surface import Acted, Actor
from answerback_web.page_access import PageLinks
from tests.browser.site import INBOX, KEY, OPERATOR, SECRET, Site, site
from tests.service_support import WAIT, FakeSurface, escalate_to
from tests.unit.adapters.web.examples import TEXT, path
from tests.unit.adapters.web.reader import Document, Reader, reader

ALICE = Person(surface="web", user_id="alice", name="Alice Adams", known=AuthMethod.LINK)
BOB = Person(surface="web", user_id="bob", name="bob", known=AuthMethod.LINK)
ALICES = f"/inbox/{PageLinks(SECRET).inbox_name(operator_holder('abp_alice', ALICE))}"
KEYS = {KEY: OPERATOR, "abp_alice": ALICE, "abp_bob": BOB}


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Site]:
    """A site where three people have keys."""
    async with site(tmp_path, keys=KEYS) as running:
        yield running


@pytest.fixture
async def far(shared: Site) -> AsyncIterator[Reader]:
    """A visitor to its public listener."""
    async with reader(shared.public_url) as visiting:
        yield visiting


def asks_in(page: Document) -> list[str]:
    """Return the addresses of the asks in a list."""
    found = (link for link in page.links if "/a/ask_" in link or "open=ask_" in link)
    return ["/" + link.replace("../", "") for link in found]


async def page_of_only_ask(far: Reader, inbox: Document) -> str:
    """Return the address of the page of the only ask in an inbox."""
    (opened,) = asks_in(inbox)
    action = (await far.open(opened)).action
    assert action is not None
    return "/" + action.replace("../", "")


@pytest.mark.rule("AUTH-14", "WHO-4")
async def test_a_personal_link_opens_a_persons_inbox_and_answers_in_their_name(
    shared: Site, far: Reader
) -> None:
    hers = await shared.ask(TEXT, responders=["web:alice"])
    await shared.ask({**TEXT, "text": "Bob's own"}, responders=["bob"])
    inbox = await far.open("/?key=abp_alice")
    assert "Signed in as Alice Adams (personal link)" in inbox.text
    assert "Bob's own" not in inbox.text
    own = await page_of_only_ask(far, inbox)
    assert own != path(hers)
    page = await far.open(own)
    assert "Signed in as Alice Adams (personal link)" in page.text
    ended = await far.press(page, own, "answer", {"text": "x"})
    assert "by Alice Adams (personal link)" in ended.text
    assert (await shared.stored(hers)).last_actor == ALICE
    assert asks_in(await far.open("/?key=abp_alice")) == []


@pytest.mark.rule("WHO-4")
@pytest.mark.parametrize(("user_id", "name"), [("eve", "the operator"), ("the operator", None)])
async def test_somebody_whose_name_is_the_operators_is_told_from_the_operator(
    tmp_path: Path, user_id: str, name: str | None
) -> None:
    eve = Person(surface="web", user_id=user_id, name=name, known=AuthMethod.LINK)
    async with (
        site(tmp_path, keys={KEY: OPERATOR, "abp_eve": eve}) as there,
        reader(there.public_url) as visiting,
    ):
        inbox = await visiting.open("/?key=abp_eve")
        assert "Signed in as the operator (personal link)" in inbox.text


@pytest.mark.rule("AUTH-14", "WEB-20")
async def test_an_inbox_opens_nothing_that_is_not_its_persons_by_its_id(
    shared: Site, far: Reader
) -> None:
    bobs = await shared.ask({**TEXT, "text": "Bob's own"}, responders=["bob"])
    hers = await shared.ask({**TEXT, "text": "For Alice"}, responders=["web:alice"])
    page = await far.open(f"{ALICES}?open={bobs.id}")
    assert page.status == 200
    assert "Bob's own" not in page.text
    assert 'class="detail"' not in page.markup
    assert 'class="detail"' in (await far.open(f"{ALICES}?open={hers.id}")).markup
    assert 'class="detail"' not in (await far.open(f"{ALICES}?open=ask_x")).markup


@pytest.mark.rule("WHO-4", "SURFACE-9")
async def test_a_person_who_was_not_asked_sees_so_and_is_rejected_privately(
    shared: Site, far: Reader
) -> None:
    ask = await shared.ask(TEXT, responders=["web:alice"])
    bobs = f"/a/{PageLinks(SECRET).answering_link(ask.id, operator_holder('abp_bob', BOB))}"
    page = await far.open(bobs)
    assert "Only the people who were asked may answer this" in page.text
    assert "Your key" not in page.text
    assert next(a for t, a in page.tags if t == "fieldset").keys() == {"disabled"}
    refused = await far.press(page, bobs, "answer", {"text": "mine"})
    assert refused.status == 403
    assert "Only the people who were asked may answer here" in refused.text
    assert "mine" in refused.text
    assert (await shared.stored(ask)).open
    assert (await shared.stored(ask)).revision == 1


@pytest.mark.rule("AUTH-16")
async def test_the_public_listener_does_not_open_the_operators_inbox(
    shared: Site, far: Reader
) -> None:
    await shared.ask(TEXT)
    door = await far.open("/")
    assert door.status == 200
    assert "Say something" not in door.text
    refused = await far.press(door, "/", "", {"key": KEY})
    assert refused.status == 403
    assert "only on the machine where Answerback runs" in refused.text
    for address in (INBOX, f"{INBOX}/events"):
        assert (await far.open(address)).status == 403
    assert (await far.press(door, "/", "", {"key": "wrong"})).status == 403
    for name in ("me", "0"):
        closed = await far.open(f"/inbox/{name}")
        assert closed.status == 403
        assert (Labels().link_invalid in closed.text) is (name != "me")


@pytest.mark.rule("AUTH-14")
async def test_a_revoked_link_closes_its_pages_at_once(tmp_path: Path) -> None:
    keys = dict(KEYS)
    async with site(tmp_path, keys=keys) as shared, reader(shared.public_url) as far:
        ask = await shared.ask(TEXT)
        inbox = await far.open("/?key=abp_alice")
        own = await page_of_only_ask(far, inbox)
        page = await far.open(own)
        del keys["abp_alice"]
        refused = await far.press(page, own, "answer", {"text": "x"})
        assert refused.status == 403
        assert (await far.open("/?key=abp_alice")).status == 403
        for address in (ALICES, f"{ALICES}/history"):
            closed = await far.open(address)
            assert closed.status == 403
            assert Labels().link_invalid in closed.text
        assert (await shared.stored(ask)).open
        assert asks_in(await far.open("/?key=abp_bob")) != []


@pytest.mark.rule("AUTH-16")
async def test_without_people_the_public_listener_has_no_sign_in_page(tmp_path: Path) -> None:
    async with site(tmp_path) as alone, reader(alone.public_url) as far:
        for address in ("/", f"/?key={KEY}", INBOX, f"{INBOX}/events"):
            assert (await far.open(address)).status == 404
        async with far.http.post("/", data={"key": KEY}) as response:
            assert response.status == 404


@pytest.mark.rule("WEB-9")
async def test_the_history_names_only_the_agents_of_what_a_person_may_see(tmp_path: Path) -> None:
    agents = {"ci": "Deployer", "hr": "Secret hiring", "old": "Answered before", "idle": "Idle"}
    async with site(tmp_path, keys=KEYS, agents=agents) as shared, reader(shared.url) as visiting:
        await shared.ask(TEXT, responders=["web:alice"], agent="ci")
        answered = await shared.ask(TEXT, responders=["web:alice"], agent="old")
        await shared.ask(TEXT, responders=["web:bob"], agent="hr")
        intent = Intent(answered.id, Answer(value="done"))
        assert isinstance(await shared.service.apply(intent, Actor(ALICE)), Acted)
        hers = await visiting.open(f"{ALICES}/history")
        assert [name in hers.markup for name in agents.values()] == [True, False, True, False]
        everything = await visiting.open(f"{INBOX}/history")
        assert all(name in everything.markup for name in agents.values())


@pytest.mark.rule("WHO-1")
async def test_somebody_from_a_chat_without_a_name_is_not_shown_as_an_id(tmp_path: Path) -> None:
    people = People({"someone": ("web:someone", "slack:U0SECRET")})
    async with site(tmp_path, keys=KEYS, people=people) as shared, reader(shared.public_url) as far:
        ask = await shared.ask(TEXT, {**TEXT, "id": "u"}, responders="anyone")
        nameless = Actor(Person(surface="slack", user_id="U0SECRET", via="console"))
        for expected in ("x", "y"):
            result = await shared.service.apply(Intent(ask.id, Answer(value=expected)), nameless)
            assert isinstance(result, Acted)
        page = await far.open(path(ask))
    assert "Answered by someone" in page.text
    assert "U0SECRET" not in page.text


@pytest.mark.rule("PEOPLE-4")
async def test_the_page_answers_what_names_the_person_on_another_surface(tmp_path: Path) -> None:
    people = People({"alice": ("web:alice", "chat:U1")})
    async with site(tmp_path, keys=KEYS, people=people) as shared, reader(shared.public_url) as far:
        hers = await shared.ask(TEXT, to="chat:C1", responders=["U1"])
        await shared.ask({**TEXT, "text": "Bob's own"}, to="chat:C1", responders=["U2"])
        group = await shared.ask(
            {**TEXT, "text": "Anyone there"}, to="chat:C1", responders="anyone"
        )
        inbox = await far.open("/?key=abp_alice")
        assert "Bob's own" not in inbox.text
        own = await page_of_only_ask(far, inbox)
        page = await far.open(own)
        ended = await far.press(page, own, "answer", {"text": "x"})
        assert "by Alice Adams (personal link)" in ended.text
        assert (await shared.stored(hers)).last_actor == ALICE
        for who, key in ((BOB, "abp_bob"), (ALICE, "abp_alice")):
            link = PageLinks(SECRET).answering_link(group.id, operator_holder(key, who))
            assert (await far.open(f"/a/{link}")).status == 404
        assert len(asks_in(await far.open(f"{ALICES}/history"))) == 1


def link_of(ask: Ask, person: Person) -> str:
    """Return the path where the holder of a personal link answers an ask."""
    holder = operator_holder(f"abp_{person.user_id}", person)
    return f"/a/{PageLinks(SECRET).answering_link(ask.id, holder)}"


@pytest.fixture
async def board(tmp_path: Path) -> AsyncIterator[Site]:
    """A site where Bob is on the board in the chat, and Alice is not."""
    people = People({"alice": ("web:alice", "chat:U1"), "bob": ("web:bob", "chat:U2")})
    async with site(tmp_path, keys=KEYS, people=people) as running:
        chat_of(running).groups["U2"] = frozenset({"board"})
        yield running


def chat_of(running: Site) -> FakeSurface:
    chat = running.service.surfaces["chat"]
    assert isinstance(chat, FakeSurface)
    return chat


async def pages_of(visiting: Reader, ask: Ask, person: Person) -> list[Document]:
    """Return an ask's own page, it in the person's inbox, and the answer to what they send."""
    holder = operator_holder(f"abp_{person.user_id}", person)
    inbox = f"/inbox/{PageLinks(SECRET).inbox_name(holder)}?open={ask.id}"
    pages = [await visiting.open(each) for each in (link_of(ask, person), inbox)]
    for do, entered in (("answer", {"text": "I agree"}), ("submit", {"reply": "I agree"})):
        pages.append(await visiting.press(Document("", 200), link_of(ask, person), do, entered))
    return pages


@pytest.mark.rule("PEOPLE-4", "AUTH-14")
async def test_only_members_of_a_group_elsewhere_read_what_it_is_asked(board: Site) -> None:
    ask = await board.ask({**TEXT, "text": "Board only"}, to="chat:C1", responders=["@board"])
    async with reader(board.public_url) as visiting:
        hers = await pages_of(visiting, ask, ALICE)
        assert [page.status for page in hers] == [404, 200, 404, 404]
        assert not any("Board only" in page.text for page in hers)
        his = await visiting.open(link_of(ask, BOB))
        assert "Board only" in his.text
        await visiting.press(his, link_of(ask, BOB), "answer", {"text": "agreed"})
        assert (await board.stored(ask)).last_actor == BOB
        hers = await pages_of(visiting, ask, ALICE)
        assert not any("Board only" in page.text for page in hers)
        assert "Board only" in (await visiting.open(link_of(ask, BOB))).text


@pytest.mark.rule("PEOPLE-4", "AUTH-14")
async def test_what_a_group_is_asked_is_not_shown_while_its_members_cannot_be_looked_up(
    board: Site,
) -> None:
    ask = await board.ask({**TEXT, "text": "Board only"}, to="chat:C1", responders=["@board"])
    chat_of(board).failures = [PlatformUnavailableError("it is down") for _ in range(9)]
    async with reader(board.public_url) as visiting:
        shown = await pages_of(visiting, ask, BOB)
        assert [page.status for page in shown] == [503, 200, 503, 503]
        for each in shown:
            assert Labels().unchecked in each.text
            assert "Board only" not in each.text
        assert ["I agree" in page.text for page in shown] == [False, False, True, True]
        chat_of(board).failures.clear()
        page, inbox, *_ = await pages_of(visiting, ask, BOB)
        assert "Board only" in page.text
        assert 'class="detail"' in inbox.markup


@pytest.mark.rule("PEOPLE-4")
async def test_no_group_is_looked_up_for_who_is_named_beside_it(board: Site) -> None:
    ask = await board.ask(TEXT, to="chat:C1", responders=["U1", "@board"])
    chat_of(board).failures = [PlatformUnavailableError("it is down")]
    async with reader(board.public_url) as visiting:
        page = await visiting.open(link_of(ask, ALICE))
        assert page.status == 200
        await visiting.press(page, link_of(ask, ALICE), "answer", {"text": "x"})
    assert (await board.stored(ask)).last_actor == ALICE
    assert len(chat_of(board).failures) == 1


@pytest.mark.rule("PEOPLE-4")
async def test_the_inbox_moves_with_what_happens_on_the_persons_other_surfaces(
    tmp_path: Path,
) -> None:
    people = People({"alice": ("web:alice", "chat:U1")})
    async with site(tmp_path, keys=KEYS, people=people) as shared, reader(shared.public_url) as far:
        inbox = await far.open("/?key=abp_alice")
        events = re.search(r'data-events="([^"]+)"', inbox.markup)
        assert events is not None
        waits = asyncio.create_task(far.open(html.unescape(events[1])))
        await shared.ask(TEXT, to="chat:C1", responders=["U1"])
        assert "moved" in (await waits).text


@pytest.mark.rule("WEB-3")
async def test_the_inbox_moves_when_an_ask_is_escalated_to_another_surface(
    shared: Site, far: Reader
) -> None:
    ask = await shared.ask(TEXT, responders=["alice"])
    inbox = await far.open("/?key=abp_alice")
    events = re.search(r'data-events="([^"]+)"', inbox.markup)
    assert events is not None
    waits = asyncio.create_task(far.open(html.unescape(events[1])))
    async with asyncio.timeout(WAIT):
        while not shared.service.signals.count:  # noqa: ASYNC110 - counted, not signalled
            await asyncio.sleep(0.005)
        await escalate_to(shared.service, ask, Destination(surface="chat", channel="C1"))
        assert "moved" in (await waits).text
