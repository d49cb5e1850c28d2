"""Answers that other people have to confirm: what ends at once, what expires, who is told, what the terminal shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core.actions import Action, Answer, Back, Confirm
from answerback.core.ask import Ask, Change, Destination, Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.errors import InvalidCallError
from answerback.core.escalation import escalate
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.core.handing_over import reminder_recipients
from answerback.core.people import People
from answerback.core.person import AuthMethod, Person
from answerback.core.view import view_of
from answerback.core.walker import Phase
from answerback.ports.surface import Acted, Actor, Rejected, RejectReason
from answerback.service.question_routing import Rules
from answerback.service.repeated_calls import join_key
from answerback.service.service import Service
from answerback.service.submission_confirmers import find_confirmation_problem, plan_confirmation
from answerback.service.submission_request import Agent, Route, Routes, Submission
from answerback.workers.message_sync import MessageSync
from answerback.workers.scheduler import Scheduler
from answerback_testing.example_asks import new_ask
from tests.service_support import FakeSurface, ask_user
from tests.unit.bot.conftest import Parts
from tests.unit.bot.terminal_support import open_terminal, question

ANN, BOB, CY = (Person(surface="chat", user_id=name) for name in ("ann", "bob", "cy"))
PEOPLE = People({"ann": ("chat:ann", "web:ann@example.com"), "bob": ("chat:bob",)})


def routes(people: People = PEOPLE, **table: object) -> Routes:
    """A default route with one confirmation."""
    prod = {"to": "chat:C1", "responders": ["ann", "bob"], "confirmations": 1, **table}
    return Routes("prod", {"prod": Route.model_validate(prod)}, people)


async def submitted(service: Service, agent: Agent | None = None, **envelope: object) -> Ask:
    """A new ask of one question on the default route."""
    body = ask_user(**{"to": "prod", "responders": None, **envelope})  # type: ignore[arg-type]
    return (await service.submit(body, agent=agent)).ask


async def acted(service: Service, ask: Ask, who: Person, action: Action) -> Ask:
    """The ask after an action that counted."""
    done = await service.act(ask.id, action, Actor(who))
    assert isinstance(done, Acted), done
    return done.ask


@pytest.mark.rule("CONFIRM-7")
async def test_those_who_may_confirm_are_told_at_once_and_the_reminders_begin_anew(
    parts: Parts,
) -> None:
    service = parts.service(routes=routes(remind_after=[100, 200]))
    ask = await submitted(service)
    await parts.store.asks.save_shown(ask.id, await parts.chat.shown(ask))
    scheduler = Scheduler(service, MessageSync(service))

    async def numbers(seconds: float = 0) -> list[int]:
        await parts.clock.advance(seconds)
        while await scheduler.run_once():
            await scheduler.wait_until_idle()
        return [number for _, number in parts.chat.reminders]

    assert await numbers(101) == [0]
    await acted(service, ask, ANN, Answer(value=True))
    assert await numbers() == [0, 2]
    assert await numbers(101) == [0, 2, 3]
    await acted(service, ask, ANN, Back())
    assert await numbers(99) == [0, 2, 3]
    assert await numbers(2) == [0, 2, 3, 5]
    await acted(service, ask, BOB, Answer(value=False))
    assert await numbers() == [0, 2, 3, 5, 7]
    await acted(service, ask, ANN, Confirm())
    assert await numbers(1_000) == [0, 2, 3, 5, 7]


@pytest.mark.rule("CONFIRM-7")
async def test_who_has_answered_or_confirmed_is_not_reminded_to_confirm(parts: Parts) -> None:
    table: Any = {"responders": ["ann", "bob", "cy", "@leads"], "confirmations": 2}
    service = parts.service(routes=routes(**table))
    ask = await submitted(service)
    assert reminder_recipients(ask, 0) == ("ann", "bob", "cy", "@leads")
    ask = await acted(service, ask, ANN, Answer(value=True))
    assert reminder_recipients(ask, 0) == ("bob", "cy", "@leads")
    ask = await acted(service, ask, BOB, Confirm())
    assert reminder_recipients(ask, 1) == ("cy", "@leads")
    ask = await acted(service, ask, ANN, Back())
    assert reminder_recipients(ask, 2) == ("ann", "bob", "cy", "@leads")


@pytest.mark.rule("CONFIRM-10")
@pytest.mark.parametrize("answered", [True, False])
async def test_what_nobody_confirmed_in_time_has_expired_whatever_its_defaults(
    parts: Parts, answered: bool
) -> None:
    service = parts.service(routes=routes(on_expiry="defaults", expires_in=60))
    asked: dict[str, JsonValue] = {
        "id": "q",
        "text": "Go?",
        "answer_type": "boolean",
        "default": True,
    }
    ask = (await service.submit(ask_user(asked, to="prod", responders=None))).ask
    if answered:
        ask = await acted(service, ask, ANN, Answer(value=True))
        assert ask.walk.phase is Phase.CONFIRMATION
    await parts.clock.advance(61)
    done = await service.expire(ask.id)
    assert isinstance(done, Acted)
    assert (done.ask.status, done.ask.outcome and done.ask.outcome.source) == (Status.EXPIRED, None)


@pytest.mark.rule("CONFIRM-4")
@pytest.mark.parametrize(
    ("chosen", "status"),
    [
        (("deny", "deny"), Status.ANSWERED),
        (("allow", "deny"), Status.OPEN),
        (("allow", "allow"), Status.OPEN),
    ],
)
def test_a_no_needs_no_second_person(chosen: tuple[str, str], status: Status) -> None:
    options = (
        Option(value="allow", label="Allow", kind=OptionKind.ALLOW_ONCE),
        Option(value="deny", label="Deny", kind=OptionKind.DENY),
    )
    one, two = (
        Question(id=name, text="Run it", answer_type=AnswerType.SELECT, options=options)
        for name in ("one", "two")
    )
    text = Question(id="why", text="Why?", answer_type=AnswerType.TEXT)
    rule = ConfirmationRule(due=1)
    ask = new_ask(form=Form(questions=(one, two, text), confirmation=rule))
    for value in (*chosen, "because"):
        done = asks.apply_action(ask, Answer(value=value), at=2_000.0, by=ANN)
        assert isinstance(done, Change)
        ask = done.ask
    assert ask.status is status


@pytest.mark.rule("CONFIRM-1")
async def test_what_the_configuration_answers_is_confirmed_too(parts: Parts) -> None:
    rules = Rules.model_validate({"tools": {"ask_user": {"questions": {"go": {"answer": True}}}}})
    service = parts.service(rules, routes=routes())
    ask = await submitted(service)
    assert (ask.walk.phase, ask.walk.answerers) == (Phase.CONFIRMATION, ())
    refused = await service.act(ask.id, Back(), Actor(ANN))
    assert isinstance(refused, Rejected)
    assert refused.problems[0].code == "not_an_answerer"
    ask = await acted(service, ask, ANN, Confirm())
    assert ask.status is Status.ANSWERED
    away = parts.service(rules, routes=routes(to="pager:1"))
    with pytest.raises(InvalidCallError) as error:
        await submitted(away)
    assert [problem.code for problem in error.value.problems] == ["unknown_surface"]


@pytest.mark.rule("CONFIRM-3")
@pytest.mark.parametrize(("requester", "counts"), [(None, False), ("may_confirm", True)])
async def test_the_person_on_whose_behalf_the_agent_asks_confirms_only_if_the_route_says_so(
    parts: Parts, requester: str | None, counts: bool
) -> None:
    everyone = ["ann", "bob", "cy"]
    service = parts.service(routes=routes(requester=requester, responders=everyone))
    ask = await submitted(service, Agent("ci", owner="ann"))
    ask = await acted(service, ask, BOB, Answer(value=True))
    done = await service.act(ask.id, Confirm(), Actor(ANN))
    assert isinstance(done, Acted) is counts
    if isinstance(done, Rejected):
        assert (done.why, done.problems[0].code) == (RejectReason.NOT_ALLOWED, "requester")
        assert (await acted(service, ask, CY, Confirm())).status is Status.ANSWERED


@pytest.mark.rule("CONFIRM-3")
@pytest.mark.parametrize("known", [{}, {"ann": ("web:ann@example.com",)}])
async def test_who_may_be_the_person_behind_the_agent_does_not_confirm(
    parts: Parts, known: dict[str, tuple[str, ...]]
) -> None:
    people = People(PEOPLE.accounts)
    service = parts.service(routes=routes(people, responders=["ann", "bob", "cy"]))
    ask = await submitted(service, Agent("ci", owner="ann"))
    ask = await acted(service, ask, CY, Answer(value=True))
    # The configuration is read again, and does not list her account here any more.
    people.update_from(People({**known, "bob": ("chat:bob",)}))
    done = await service.act(ask.id, Confirm(), Actor(ANN))
    assert isinstance(done, Rejected)
    assert (done.why, done.problems[0].code) == (RejectReason.NOT_ALLOWED, "not_told_apart")
    assert (await acted(service, ask, BOB, Confirm())).status is Status.ANSWERED


@pytest.mark.rule("CONFIRM-3")
async def test_who_cannot_be_told_apart_from_an_answerer_confirms_nothing(parts: Parts) -> None:
    service = parts.service(routes=routes(responders="anyone"))
    ask = await submitted(service)
    ask = await acted(service, ask, CY, Answer(value=True))
    for who, code in (
        (Person(surface="web", user_id="stranger", via="console"), "not_in_directory"),
        (Person(surface="web", user_id="ann@example.com", via="console"), "not_told_apart"),
        (Person(surface="chat", user_id="x", known=AuthMethod.KEY), "nobody_in_particular"),
    ):
        done = await service.act(ask.id, Confirm(), Actor(who))
        assert isinstance(done, Rejected)
        assert (done.why, done.problems[0].code) == (RejectReason.NOT_ALLOWED, code)
    assert (await acted(service, ask, BOB, Confirm())).status is Status.ANSWERED


@pytest.mark.rule("CONFIRM-6")
async def test_groups_may_confirm(parts: Parts) -> None:
    service = parts.service(routes=routes(confirmations={"from": ["@leads"]}))
    ask = await acted(service, await submitted(service), ANN, Answer(value=True))
    parts.chat.groups = {"bob": frozenset({"leads"})}
    done = await service.act(ask.id, Confirm(), Actor(BOB))
    assert isinstance(done, Acted)
    assert done.ask.status is Status.ANSWERED


@pytest.mark.rule("CONFIRM-9")
@pytest.mark.parametrize(
    ("due", "confirmers", "responders", "owner", "fits"),
    [
        (1, [], ["ann", "bob"], None, True),
        (2, [], ["ann", "bob"], None, False),
        (1, [], ["ann", "bob"], "bob", True),
        (1, ["bob"], ["bob"], None, False),
        (1, ["bob"], ["ann", "bob"], None, True),
        (2, ["bob", "cy"], ["ann"], "bob", False),
        (2, ["bob", "cy"], ["@ops"], None, True),
        (10, ["@leads"], ["ann"], None, True),
        (10, [], ["anyone"], None, True),
        (11, [], ["anyone"], None, False),
        (1, [], ["ann", "ann2"], None, False),
        (2, ["ann", "ann2"], ["bob"], None, False),
        (2, ["ann", "ann2", "cy"], ["bob"], None, True),
        (1, ["ann", "ann2"], ["bob"], "ann", False),
        (1, [], ["cy", "dee"], "eve", False),
        (1, ["bob"], ["cy"], "eve", True),
        (1, [], ["Cy", "cy"], None, False),
        (1, ["CY"], ["cy"], None, False),
        (1, [], ["Ann", "ann2"], None, False),
        (1, ["Cy", "cy"], ["cy", "dee"], None, True),
    ],
)
def test_more_confirmations_than_people_are_refused(
    due: int, confirmers: list[str], responders: list[str], owner: str | None, fits: bool
) -> None:
    people = People({"ann": ("chat:ann", "chat:ann2"), "bob": ("chat:bob",), "eve": ("web:eve",)})
    rule = plan_confirmation(due, None, owner)
    assert rule is not None
    problem = find_confirmation_problem(
        rule, confirmers, responders, Destination(surface="chat", channel="C1"), people
    )
    assert (problem is None) is fits
    assert problem is None or problem.code == "too_many_confirmations"


@pytest.mark.rule("CONFIRM-9")
async def test_a_direct_message_needs_somebody_else_to_confirm(parts: Parts) -> None:
    service = parts.service(routes=routes(to="chat:@ann", responders=None))
    with pytest.raises(InvalidCallError) as error:
        await submitted(service)
    assert [problem.code for problem in error.value.problems] == ["too_many_confirmations"]


@pytest.mark.rule("PEOPLE-1")
async def test_people_stand_for_their_accounts(parts: Parts) -> None:
    people = People({"ann": ("chat:ann", "chat:ann2"), "eve": ("web:eve",)})
    service = parts.service(routes=routes(people, responders=["person:ann", "bob"]))
    assert (await submitted(service)).placement.responders == ("ann", "ann2", "bob")
    parts.chat = FakeSurface(responders=("person:ann", "chat:bob", "chat:@ops"))
    for unrouted in (Routes("chat:C1", {}, people), routes(people, responders=None)):
        service = parts.service(routes=unrouted)
        assert (await submitted(service, to="chat:C1")).placement.responders == (
            "ann",
            "ann2",
            "bob",
            "@ops",
        )
    service = parts.service(routes=routes(people, responders=["person:ann", "chat:bob"]))
    assert (await submitted(service)).placement.responders == ("ann", "ann2", "bob")
    routed = routes(people, responders=["person:ann", "bob"], confirmations=None)
    service = parts.service(routes=routed)
    ask = await submitted(service, responders=["person:ann"])
    assert ask.placement.responders == ("ann", "ann2")
    nobody = parts.service(routes=routes(people, responders=["person:eve"]))
    with pytest.raises(InvalidCallError) as error:
        await submitted(nobody)
    assert [problem.code for problem in error.value.problems] == ["unknown_value"]
    nobody = parts.service(routes=routes(people, confirmations={"from": ["person:nobody"]}))
    with pytest.raises(InvalidCallError) as error:
        await submitted(nobody)
    assert [problem.code for problem in error.value.problems] == ["too_many_confirmations"]
    for named, code in ((["person:eve"], "unknown_value"), (["cy"], "responders_forbidden")):
        with pytest.raises(InvalidCallError) as error:
            await submitted(service, responders=named)
        assert [problem.code for problem in error.value.problems] == [code]


@pytest.mark.rule("CONFIRM-1", "TERMINAL-1")
async def test_the_terminal_shows_what_is_to_be_confirmed(tmp_path: Path) -> None:
    async with open_terminal(tmp_path) as terminal:
        ask = await terminal.asked(question("text", context="It is *late*."), confirmations=2)
        # The operator's key answers, but confirms nothing; then somebody with the key objects.
        done = await terminal.walked(ask, "a\rNow\ry\rr\rToo late\r")
        shown = terminal.screen.text
        assert (done.status, done.json["reply"]) == ("cancelled", "Too late")
        for text in ("Confirm this?", "2 more people have to confirm", "Now", "late", "Reject"):
            assert text in shown
        assert "another person must" in shown


@pytest.mark.rule("CONFIRM-1")
async def test_the_terminal_names_who_has_confirmed(tmp_path: Path) -> None:
    async with open_terminal(tmp_path) as terminal:
        ask = await terminal.asked(question("text"), confirmations=2)
        service = terminal.service.running.service
        for name, action in (("ann", Answer(value="x")), ("bob", Confirm())):
            person = Person(surface="web", user_id=name, name=name.title())
            assert isinstance(await service.act(ask.id, action, Actor(person)), Acted)
        done = await terminal.walked(await terminal.client.get(ask.id), "y\rq\r")
        assert done.open
        assert "Confirmed by Bob" in terminal.screen.text
        assert "Another person has to confirm" in terminal.screen.text
        assert "belongs to no particular person" in terminal.screen.text


@pytest.mark.rule("CONFIRM-3")
async def test_those_who_confirm_are_others_where_the_ask_is_escalated_to(parts: Parts) -> None:
    table: Any = {
        "confirmations": {"count": 1, "from": ["person:ann"]},
        "responders": ["bob"],
        "escalate": {"after": 60, "to": "web", "responders": ["anyone"]},
    }
    ask = await submitted(parts.service(routes=routes(**table)))
    assert ask.placement.confirmers == ("ann",)
    moved = escalate(ask, ask.created_at + 60)
    assert moved is not None
    assert moved.ask.placement.confirmers == ("ann@example.com",)


@pytest.mark.rule("CONFIRM-4")
async def test_an_answer_that_others_confirm_is_not_remembered(parts: Parts) -> None:
    asked = {"id": "force", "text": "Force?", "answer_type": "boolean"}
    call: Any = {"tool": "git", "question": {**asked, "exclusive": False, "persistence": "turn"}}
    service = parts.service(routes=routes())
    submission = Submission(name="tool_question", arguments=call, conversation="c", turn="t")
    ask = (await service.submit(submission)).ask
    prompt = view_of(ask).prompt
    assert prompt is not None
    assert not prompt.remember
    refused = await service.act(ask.id, Answer(value=True, remember=True), Actor(ANN))
    assert isinstance(refused, Rejected)
    assert refused.problems[0].code == "cannot_be_remembered"


@pytest.mark.rule("CONFIRM-2")
def test_a_call_that_asks_for_more_confirmations_is_another_call() -> None:
    one = ask_user(join="x")
    assert join_key(one, None) == join_key(ask_user(join="x"), None)
    assert join_key(one, None) != join_key(ask_user(join="x", confirmations=2), None)
    assert join_key(one, None) != join_key(ask_user(join="x", responders=["bob"]), None)
