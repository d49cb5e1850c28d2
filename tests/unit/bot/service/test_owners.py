"""Asks to an agent's owner: sent to the first of their accounts that can be reached, and said in the origin."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Destination, Status
from answerback.core.errors import ConfigError, DestinationGoneError, InvalidCallError
from answerback.core.people import People
from answerback.core.person import Person
from answerback.ports.surface import Acted, Actor
from answerback.runtime.config import Settings
from answerback.runtime.from_settings import build_routes
from answerback.service.ask_wire import ask_json
from answerback.service.service import Service
from answerback.service.submission_request import Agent, Route, Routes
from tests.service_support import actor, ask_user, boolean
from tests.unit.bot.background_support import ended, running
from tests.unit.bot.conftest import Parts

PEOPLE = People({"ann": ("mail:ann", "chat:U1", "web:ann@example.com"), "bob": ("mail:bob",)})
ANNS = Agent("laptop", owner="ann")


async def _where(service: Service, agent: Agent | None, to: str = "owner") -> Destination:
    return (await service.submit(ask_user(boolean(), to=to), agent=agent)).ask.placement.destination


@pytest.mark.rule("PEOPLE-2")
async def test_an_ask_to_the_owner_goes_to_their_first_account_whose_surface_is_up(
    parts: Parts,
) -> None:
    routes = Routes(by_name={"mine": Route(to="owner")}, people=PEOPLE)
    service = parts.service(routes=routes)
    for to in ("owner", "mine"):
        assert await _where(service, ANNS, to) == Destination(surface="chat", user="U1")
    body = ask_user(boolean(), to="owner", responders=None)
    ask = (await service.submit(body, agent=ANNS)).ask
    assert ask.placement.responders == ("U1",)
    origin = ask_json(ask)["origin"]
    assert isinstance(origin, dict)
    assert origin["owner"] == "ann"
    parts.chat.not_ready = "It is away."
    assert (await _where(service, ANNS)).surface == "web"


@pytest.mark.rule("PEOPLE-2")
@pytest.mark.parametrize("agent", [None, Agent("ci"), Agent("bobs", owner="bob")])
async def test_without_an_owner_who_can_be_reached_the_call_is_refused(
    parts: Parts, agent: Agent | None
) -> None:
    service = parts.service(routes=Routes(people=PEOPLE))
    with pytest.raises(InvalidCallError) as error:
        await _where(service, agent)
    assert [(each.pointer, each.code) for each in error.value.problems] == [("/to", "no_owner")]


@pytest.mark.rule("PEOPLE-2")
async def test_an_owner_whose_first_account_is_refused_is_asked_at_the_next_one(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    route = {
        "to": "owner",
        "responders": ["person:ann", "person:bob"],
        "confirmations": {"count": 1, "from": ["person:bob"]},
        "escalate": {"after": 60, "responders": ["person:boss"]},
    }
    people = People(
        {
            "ann": ("chat:U1", "mail:ann", "chat:U2", "web:ann"),
            "bob": ("chat:B", "web:bob"),
            "boss": ("chat:BOSS", "web:boss"),
        }
    )
    routes = Routes("mine", {"mine": Route.model_validate(route)}, people=people)
    parts.chat.failures += [DestinationGoneError("not started"), DestinationGoneError("closed")]
    async with running(parts, routes=routes) as (service, sync):
        ask = (await service.submit(ask_user(to=None, responders=None), agent=ANNS)).ask
        assert (ask.placement.destination, ask.allowed_recipients) == (
            Destination(surface="chat", user="U1"),
            ("U1", "U2", "B"),
        )
        with service.follow(ask.id) as follower:
            while ask.unreachable_accounts < 2:
                latest = await asyncio.wait_for(follower.next_commit(), 10)
                assert latest is not None
                ask = latest
        await sync.wait_until_idle()
        assert (
            ask.open,
            ask.placement.destination,
            ask.placement.responders,
            ask.placement.confirmers,
        ) == (
            True,
            Destination(surface="web"),
            ("ann",),
            ("bob",),
        )
        assert ask.allowed_recipients == ("ann", "bob")
        assert ask.escalation is not None
        assert ask.escalation.responders == ("boss",)
        bodies = [line.entry.body for line in await service.record(ask.id)]
        assert [body for body in bodies if "not_reached" in body] == [
            {
                "not_reached": {"surface": "chat", "user": "U1"},
                "reason": "not started",
                "sent_to": {"surface": "chat", "user": "U2"},
            },
            {
                "not_reached": {"surface": "chat", "user": "U2"},
                "reason": "closed",
                "sent_to": {"surface": "web"},
            },
        ]
        logged = [getattr(each, "action", "") for each in caplog.records]
        assert (logged.count("account_refused"), logged.count("show_given_up")) == (2, 0)
        done = await service.act(ask.id, Answer(value=True), actor("ann", surface="web"))
        assert isinstance(done, Acted)


@pytest.mark.rule("PEOPLE-2")
async def test_an_owner_who_can_be_reached_nowhere_fails_the_ask(parts: Parts) -> None:
    routes = Routes(people=People({"ann": ("chat:U1", "chat:U2")}))
    parts.chat.failures += [DestinationGoneError("not started"), DestinationGoneError("closed")]
    async with running(parts, routes=routes, surfaces=("chat",)) as (service, _):
        ask = (await service.submit(ask_user(to="owner", responders=None), agent=ANNS)).ask
        assert (await ended(service, ask)).status is Status.FAILED


@pytest.mark.rule("PEOPLE-3")
async def test_people_are_named_as_the_directory_names_them(parts: Parts) -> None:
    people = People({"ann": ("chat:U1",), "bob": ("chat:U2",)}, {"ann": "Ann Lee"})
    service = parts.service(routes=Routes(people=people))
    for user_id, name in (("U1", "Ann Lee"), ("U2", "Bob there"), ("U3", "Cy there")):
        ask = (await service.submit(ask_user(boolean(), to="chat:C1"))).ask
        there = {"U2": "Bob there", "U3": "Cy there"}.get(user_id, "ann")
        who = Person(surface="chat", user_id=user_id, name=there)
        done = await service.act(ask.id, Answer(value=True), Actor(who))
        assert isinstance(done, Acted)
        assert done.ask.outcome is not None
        assert done.ask.outcome.ended_by == replace(who, name=name)


@pytest.mark.rule("PEOPLE-2")
def test_a_route_and_the_default_may_go_to_the_owner() -> None:
    routes = {"mine": {"to": "owner"}}
    built = build_routes(Settings.model_validate({"routes": routes, "default_route": "owner"}))
    assert (built.default, built.by_name["mine"].to) == ("owner", "owner")
    escalated = {"mine": {"to": "web", "escalate": {"after": 1, "to": "owner"}}}
    with pytest.raises(ConfigError, match="neither a route"):
        build_routes(Settings.model_validate({"routes": escalated}))
