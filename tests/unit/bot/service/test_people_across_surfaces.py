"""One person with accounts on several surfaces: what waits for them, what they answered, and what they may answer."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Status
from answerback.core.errors import PlatformUnavailableError
from answerback.core.people import People
from answerback.core.walker import Person
from answerback.ports.search import Search
from answerback.ports.surface import Acted, Actor, Rejected, RejectReason
from answerback.service.may_see import Viewer, may_see
from answerback.service.service import Service
from answerback.service.submission_request import Routes
from tests.service_support import ask_user, boolean
from tests.unit.bot.conftest import Parts

PEOPLE = People({"ann": ("web:ann", "chat:U1", "chat:U7"), "bob": ("chat:U2",)})
ANN, ANN_IN_CHAT = Person(surface="web", user_id="ann"), Person(surface="chat", user_id="U1")
STRANGER = Person(surface="web", user_id="U1")
"""Has the id on the page that Ann has in the chat."""

pytestmark = pytest.mark.rule("PEOPLE-4")


@pytest.fixture
def service(parts: Parts) -> Service:
    return parts.service(routes=Routes(people=PEOPLE))


async def submit(service: Service, *responders: str, to: str = "chat:C1") -> Ask:
    named: JsonValue = "anyone" if responders == ("anyone",) else [*responders]
    return (await service.submit(ask_user(boolean(), to=to, responders=named))).ask


async def waiting(service: Service, person: Person) -> list[str]:
    return [ask.id for ask in (await service.list_waiting_for(Actor(person), None, 50)).rows]


async def answer(service: Service, ask: Ask, person: Person) -> Acted | Rejected:
    return await service.act(ask.id, Answer(value=True), Actor(person))


async def test_an_inbox_has_what_waits_for_any_account(parts: Parts, service: Service) -> None:
    parts.chat.groups["U7"] = frozenset({"leads"})
    named, grouped = await submit(service, "U1"), await submit(service, "@leads")
    own = await submit(service, "ann", to="web")
    await submit(service, "U2")
    await submit(service, "anyone")
    for person in (ANN, ANN_IN_CHAT):
        assert await waiting(service, person) == [named.id, grouped.id, own.id]
    assert await waiting(service, STRANGER) == []
    assert [may_see(ask, Viewer(person=ANN), PEOPLE) for ask in (named, grouped, own)] == [
        True,
        False,
        True,
    ]
    assert not may_see(named, Viewer(person=STRANGER), PEOPLE)


async def test_people_answer_from_another_surface_what_names_them_there(
    parts: Parts, service: Service
) -> None:
    parts.chat.groups["U7"] = frozenset({"leads"})
    for responders in (("U1",), ("U7", "U2"), ("@leads",)):
        done = await answer(service, await submit(service, *responders), ANN)
        assert isinstance(done, Acted)
        assert done.ask.outcome is not None
        assert (done.ask.status, done.ask.outcome.ended_by) == (Status.ANSWERED, ANN)


async def test_nobody_answers_from_another_surface_what_does_not_name_them_there(
    service: Service,
) -> None:
    for responders in (("U2",), ("@leads",), ("anyone",)):
        done = await answer(service, await submit(service, *responders), ANN)
        assert isinstance(done, Rejected)
        assert done.why is RejectReason.NOT_ALLOWED
    done = await answer(service, await submit(service, "U1"), STRANGER)
    assert isinstance(done, Rejected)
    assert done.why is RejectReason.NOT_ALLOWED


async def test_groups_that_cannot_be_looked_up_elsewhere_leave_it_unchecked(
    parts: Parts, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> frozenset[str]:
        raise PlatformUnavailableError("away")

    monkeypatch.setattr(parts.chat, "groups_of", away)
    done = await answer(service, await submit(service, "@leads"), ANN)
    assert isinstance(done, Rejected)
    assert done.why is RejectReason.UNCHECKED


async def test_the_history_has_what_any_account_answered(service: Service) -> None:
    asked = await submit(service, "U1", "U2")
    assert isinstance(await answer(service, asked, ANN_IN_CHAT), Acted)
    other = await submit(service, "U2")
    bob = Person(surface="chat", user_id="U2")
    assert isinstance(await answer(service, other, bob), Acted)
    by_ann = Search(by=((ANN,),))
    for person, wanted, found in (
        (ANN, Search(), [asked.id]),
        (ANN, Search(by=((bob,),)), []),
        (None, by_ann, [asked.id]),
        (STRANGER, Search(), []),
        (None, Search(), [other.id, asked.id]),
    ):
        page = await service.search_for(person, wanted, None, 50)
        assert [ask.id for ask in page.rows] == found
    assert [ask.id for ask in await service.list_answered_by(ANN, 50)] == [asked.id]
    assert may_see(asked, Viewer(person=ANN), PEOPLE)
    open_one = await submit(service, "U1")
    page = await service.search_for(ANN, Search(status=Status.OPEN), None, 50)
    assert [ask.id for ask in page.rows] == [open_one.id]
    assert (await service.search_for(ANN, by_ann._replace(status=Status.OPEN), None, 50)).rows == ()


async def test_groups_that_one_surface_knows_of_somebody_are_none_of_another(
    parts: Parts, service: Service
) -> None:
    ask = await submit(service, "@leads")
    namesake = Actor(ANN, frozenset({"leads"}), frozenset({"leads"}), all_groups=True)
    done = await service.act(ask.id, Answer(value=True), namesake)
    assert isinstance(done, Rejected)
    assert done.why is RejectReason.NOT_ALLOWED
    parts.chat.groups["U7"] = frozenset({"leads"})
    stranger_there = Actor(ANN, all_groups=True)
    assert isinstance(await service.act(ask.id, Answer(value=True), stranger_there), Acted)
