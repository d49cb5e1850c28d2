"""The envelope of a call: its destination, and every error in it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from answerback.core.ask import Destination
from answerback.core.errors import ConfigError, InvalidCallError, Problem
from answerback.service.submission_plan import Plan, parse_destination, plan
from answerback.service.submission_request import Agent, Route, Routes, To, read_submission
from tests.timing import BLOCKED, seconds

SURFACES = frozenset({"chat", "web"})
CALL: dict[str, Any] = {"name": "ask_user", "arguments": {}}


@pytest.mark.rule("SUBMIT-4")
@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("web", Destination(surface="web")),
        ("chat:C1", Destination(surface="chat", channel="C1")),
        ("chat:C1/17.1", Destination(surface="chat", channel="C1", thread="17.1")),
        ("chat:@U1", Destination(surface="chat", user="U1")),
        (
            To(surface="chat", channel="C1", thread="1"),
            Destination(surface="chat", channel="C1", thread="1"),
        ),
        (To(surface="mail"), None),
        ("mail:a", None),
        ("chat:", None),
        ("chat:@", None),
        ("chat:/1", None),
        ("chat:C1/", None),
    ],
)
def test_a_destination_is_parsed_or_refused_with_an_explanation(
    to: str | To, expected: Destination | None
) -> None:
    found = parse_destination(to, SURFACES)
    assert found == expected or (
        expected is None and isinstance(found, str) and found.endswith(".")
    )


@pytest.mark.rule("SUBMIT-2")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([], [("", "wrong_type")]),
        ({}, [("/name", "required"), ("/arguments", "required")]),
        ({**CALL, "nmae": 1}, [("/nmae", "unknown_value")]),
        ({**CALL, "name": ""}, [("/name", "empty")]),
        ({**CALL, "name": "\ud800"}, [("/name", "wrong_type")]),
        ({**CALL, "name": "x" * 1_001}, [("/name", "too_long")]),
        ({**CALL, "expires_in": 0}, [("/expires_in", "wrong_type")]),
        (
            {**CALL, "expires_in": True, "on_expiry": "later"},
            [("/expires_in", "wrong_type"), ("/on_expiry", "unknown_value")],
        ),
        ({**CALL, "responders": "somebody"}, [("/responders", "wrong_type")]),
        ({**CALL, "responders": [1]}, [("/responders/0", "wrong_type")]),
        ({**CALL, "remind_after": [1] * 21}, [("/remind_after", "too_many")]),
        ({**CALL, "callback": {}}, [("/callback/url", "required")]),
        ({**CALL, "to": {"surface": "web", "room": "x"}}, [("/to/room", "unknown_value")]),
        ({**CALL, "to": {"surface": "web", "channel": 5}}, [("/to/channel", "wrong_type")]),
        ({**CALL, "to": 5}, [("/to", "wrong_type")]),
    ],
)
def test_every_error_in_the_envelope_has_a_pointer(
    body: Any, expected: list[tuple[str, str]]
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        read_submission(body)
    assert [(p.pointer, p.code) for p in refused.value.problems] == expected
    assert all(problem.message.endswith(".") for problem in refused.value.problems)


@pytest.mark.rule("SUBMIT-2")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            {"questions": []},
            'is not a known field; the arguments of the tool call belong in "arguments".',
        ),
        ({**CALL, "respondents": ["U1"]}, 'is not a known field (did you mean "responders"?).'),
        ({**CALL, "expiresIn": 60}, 'is not a known field (did you mean "expires_in"?).'),
        ({**CALL, "callback": {"url": "https://a.test", "method": "PUT"}}, "is not a known field."),
    ],
)
def test_an_unknown_field_is_reported_with_a_suggestion(body: Any, text: str) -> None:
    with pytest.raises(InvalidCallError) as refused:
        read_submission(body)
    [unknown] = [p for p in refused.value.problems if p.code == "unknown_value"]
    assert unknown.message.endswith(text), unknown.message


def test_reporting_many_unknown_fields_is_quick() -> None:
    body: Any = {**CALL, **{f"expires_in{n}": n for n in range(1_900)}}

    def read() -> tuple[Problem, ...]:
        with pytest.raises(InvalidCallError) as refused:
            read_submission(body)
        return refused.value.problems

    assert len(read()) == 1_900
    assert seconds(read, BLOCKED / 2) < BLOCKED / 2


def planned(routes: Routes | None = None, agent: Agent | None = None, **envelope: Any) -> Plan:
    found = plan(read_submission({**CALL, **envelope}), routes or Routes(), SURFACES, agent)
    assert isinstance(found, Plan), found
    return found


@pytest.mark.rule("SUBMIT-15")
def test_the_call_overrides_its_route_and_the_route_the_defaults() -> None:
    route = Route(
        to="chat:C1", responders=("U1",), remind_after=(60, 30), expires_in=10, on_expiry="defaults"
    )
    routes = Routes("ops", {"ops": route})
    by_route = planned(routes)
    assert (by_route.destination.channel, by_route.responders) == ("C1", ("U1",))
    assert (by_route.remind_after, by_route.expires_in, by_route.on_expiry) == (
        (30.0, 60.0),
        10,
        "defaults",
    )
    by_call = planned(
        routes, to="ops", responders=["U1"], remind_after=[], expires_in=5, on_expiry="cancel"
    )
    assert (by_call.responders, by_call.remind_after, by_call.expires_in) == (("U1",), (), 5)
    assert by_call.on_expiry == "cancel"


LISTED = Route(to="chat:C1", responders=("U1", "U2", "@G1"))
OPEN = Route(to="chat:C1", responders="anyone")
UNLISTED = Route(to="chat:C1")
FIXED = Route(to="chat:C1", responders=("U1", "U2"), responders_from_call=False)
SURFACES_OWN = Route(to="chat:C1", responders_from_call=False)


@pytest.mark.rule("SUBMIT-7", "SUBMIT-8")
@pytest.mark.parametrize(
    ("route", "named", "expected"),
    [
        (LISTED, None, ("U1", "U2", "@G1")),
        (LISTED, ["U2"], ("U2",)),
        (LISTED, ["@G1", "U1"], ("@G1", "U1")),
        (LISTED, "anyone", "responders_forbidden"),
        (LISTED, ["anyone"], "responders_forbidden"),
        (LISTED, [], "responders_forbidden"),
        (LISTED, ["U1", "U3"], "responders_forbidden"),
        (LISTED, ["@U1"], "responders_forbidden"),
        (LISTED, ["G1"], "responders_forbidden"),
        (LISTED, ["u1"], "responders_forbidden"),
        (LISTED, ["U1 "], "responders_forbidden"),
        (LISTED, ["chat:U1"], ("U1",)),
        (LISTED, ["chat:U3"], "responders_forbidden"),
        (LISTED, ["web:U1"], "responders_forbidden"),
        (LISTED, ["<@U1>"], "responders_forbidden"),
        (OPEN, None, ("anyone",)),
        (OPEN, "anyone", ("anyone",)),
        (OPEN, ["U9"], ("U9",)),
        (OPEN, [], "responders_forbidden"),
        (UNLISTED, None, None),
        (UNLISTED, ["U9"], ("U9",)),
        (UNLISTED, "anyone", ("anyone",)),
        (UNLISTED, [], "empty"),
        (FIXED, None, ("U1", "U2")),
        (FIXED, ["U1"], "responders_forbidden"),
        (SURFACES_OWN, None, None),
        (SURFACES_OWN, ["U9"], "responders_forbidden"),
        (SURFACES_OWN, [], "responders_forbidden"),
    ],
)
@pytest.mark.parametrize("by_default", [True, False])
def test_a_call_may_narrow_its_routes_responders_but_never_widen_them(
    route: Route, named: Any, expected: Any, by_default: bool
) -> None:
    routes = Routes("ops" if by_default else "web", {"ops": route})
    body = {**CALL, "responders": named} | ({} if by_default else {"to": "ops"})
    found = plan(read_submission(body), routes, SURFACES, None)
    if isinstance(expected, str):
        assert isinstance(found, tuple)
        (problem,) = found
        assert (problem.pointer, problem.code) == ("/responders", expected)
        assert problem.message.endswith(".")
    else:
        assert isinstance(found, Plan)
        assert found.responders == expected


@pytest.mark.rule("SUBMIT-9")
def test_an_agent_with_routes_cannot_bypass_a_routes_list_by_naming_the_place() -> None:
    routes = Routes("ops", {"ops": LISTED})
    places: list[Any] = ["chat:C1", "chat:C1/1.1", "chat:@U9", {"surface": "chat", "channel": "C1"}]
    for to in places:
        body = read_submission({**CALL, "to": to, "responders": ["U9"]})
        found = plan(body, routes, SURFACES, Agent("a", routes=("ops",)))
        assert isinstance(found, tuple)
        assert [problem.code for problem in found] == ["unknown_route"]


def test_a_routes_list_of_responders_must_not_be_empty() -> None:
    with pytest.raises(ValidationError):
        Route.model_validate({"to": "web", "responders": []})


@pytest.mark.rule("SUBMIT-4")
def test_the_default_destination_is_the_web_page() -> None:
    assert planned().destination == Destination(surface="web")


@pytest.mark.rule("SUBMIT-9")
def test_an_agents_default_is_the_first_of_its_own_routes() -> None:
    routes = Routes("web", {"ops": Route(to="chat:C1"), "dev": Route(to="chat:C2")})
    assert planned(routes, Agent("a", routes=("dev", "ops"))).destination.channel == "C2"
    refused = plan(
        read_submission({**CALL, "to": "chat:C1"}), routes, SURFACES, Agent("a", routes=("dev",))
    )
    assert isinstance(refused, tuple)
    assert '"dev"' in refused[0].message


def test_a_route_that_escalates_to_nowhere_is_a_configuration_error() -> None:
    route = Route.model_validate({"to": "web", "escalate": {"after": 5, "to": "mail:x"}})
    with pytest.raises(ConfigError):
        planned(Routes("r", {"r": route}))


@pytest.mark.rule("SUBMIT-2")
@pytest.mark.parametrize(
    "body",
    [
        {**CALL, "conversation": "\ud800"},
        {**CALL, "callback": {"url": "http://a/\udfff"}},
        {**CALL, "metadata": {"a": ["\ud800"]}},
    ],
)
def test_half_a_surrogate_pair_is_reported_wherever_it_occurs(body: Any) -> None:
    with pytest.raises(InvalidCallError) as refused:
        read_submission(body)
    (problem,) = refused.value.problems
    assert "half a surrogate pair" in problem.message


@pytest.mark.rule("SURFACE-18")
@pytest.mark.parametrize("mention", [True, False])
def test_a_route_determines_whether_the_responders_are_mentioned(mention: bool) -> None:
    routes = Routes(by_name={"ops": Route(to="chat:C1", mention=mention)})
    for to, expected in (("ops", mention), ("chat:C1", False)):
        planned = plan(read_submission(CALL | {"to": to}), routes, SURFACES, None)
        assert isinstance(planned, Plan)
        assert planned.mention is expected


@pytest.mark.rule("SUBMIT-18")
@pytest.mark.parametrize(
    "call",
    [
        {"arguments": '{"question": "Go?", "answer_type": "boolean"}'},
        {"input": {"question": "Go?", "answer_type": "boolean"}},
    ],
)
def test_a_call_is_read_as_openai_and_as_anthropic_write_it(call: dict[str, Any]) -> None:
    expected = {"question": "Go?", "answer_type": "boolean"}
    assert read_submission({"name": "ask_user", **call}).arguments == expected


@pytest.mark.rule("SUBMIT-18")
@pytest.mark.parametrize(
    ("call", "pointer"),
    [
        ({"arguments": "not JSON"}, "/arguments"),
        ({"arguments": "[1]"}, "/arguments"),
        ({"arguments": '{"a": 1, "a": 2}'}, "/arguments"),
        ({"arguments": {}, "input": {}}, "/input"),
        ({"input": "{}"}, "/arguments"),
    ],
)
def test_a_call_with_two_readings_or_none_is_refused(call: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidCallError) as refused:
        read_submission({"name": "ask_user", **call})
    assert pointer in [problem.pointer for problem in refused.value.problems]
