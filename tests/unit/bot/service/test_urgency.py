"""The urgency of an ask, as its call and its route say. It decides nothing but the order in lists."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from answerback.core.errors import InvalidCallError
from answerback.core.urgency import PLACES, RouteMark, Urgency
from answerback.service.submission_plan import Plan, limit_urgency, plan
from answerback.service.submission_request import Route, Routes, read_submission

SURFACES = frozenset({"chat", "web"})
CALL: dict[str, Any] = {"name": "ask_user", "arguments": {}}


def planned(route: dict[str, Any] | None = None, **call: Any) -> Plan:
    """Plan a call that takes a route, or none."""
    routes = Routes(by_name={} if route is None else {"r": Route(to="chat:C1", **route)})
    to = "chat:C1" if route is None else "r"
    done = plan(read_submission({**CALL, "to": to, **call}), routes, SURFACES, None)
    assert isinstance(done, Plan)
    return done


@pytest.mark.rule("URGENCY-1")
@pytest.mark.parametrize(
    ("route", "call", "expected"),
    [
        (None, {}, "normal"),
        (None, {"urgency": "high"}, "high"),
        ({}, {"urgency": "low"}, "low"),
        ({"urgency": "high"}, {}, "high"),
        ({"urgency": "high"}, {"urgency": "low"}, "low"),
        ({"max_urgency": "normal"}, {"urgency": "high"}, "normal"),
        ({"max_urgency": "normal"}, {"urgency": "low"}, "low"),
        ({"urgency": "low", "max_urgency": "low"}, {"urgency": "high"}, "low"),
    ],
)
def test_a_call_says_how_urgent_it_is_and_its_route_has_a_default_and_a_limit(
    route: dict[str, Any] | None, call: dict[str, Any], expected: str
) -> None:
    assert planned(route, **call).urgency == expected


@pytest.mark.rule("URGENCY-1")
def test_another_urgency_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidCallError) as refused:
        read_submission({**CALL, "urgency": "urgent"})
    [problem] = refused.value.problems
    assert (problem.pointer, problem.code) == ("/urgency", "unknown_value")


@pytest.mark.rule("URGENCY-2")
def test_urgency_changes_nothing_else_of_a_plan() -> None:
    rules = {"responders": ("U1",), "remind_after": (60.0,), "push_after": 30.0, "expires_in": 90.0}
    plans = [planned(rules, urgency=each.value) for each in Urgency]
    alike = {repr({**_fields(each), "urgency": None}) for each in plans}
    assert len(alike) == 1
    assert [each.urgency for each in plans] == [*Urgency]


def _fields(each: Plan) -> dict[str, Any]:
    return {name: getattr(each, name) for name in Plan.__dataclass_fields__}


@pytest.mark.rule("URGENCY-1")
def test_a_route_whose_default_is_beyond_its_limit_is_refused() -> None:
    with pytest.raises(
        ValidationError, match="urgency high is more than max_urgency normal allows"
    ):
        Route(to="web", urgency=Urgency.HIGH, max_urgency=Urgency.NORMAL)


@pytest.mark.rule("URGENCY-4")
@pytest.mark.parametrize("word", ["", "   ", "two\nlines", "a\u202eb", "w" * 25])
def test_a_routes_word_is_one_short_visible_line(word: str) -> None:
    with pytest.raises(ValidationError):
        RouteMark(word=word)


@pytest.mark.rule("URGENCY-4")
def test_a_color_needs_a_word() -> None:
    with pytest.raises(ValidationError, match="word"):
        Route.model_validate({"to": "web", "mark": {"color": "red"}})


def test_what_is_most_urgent_comes_first() -> None:
    assert sorted(["low", "high", "normal"], key=lambda name: PLACES[Urgency(name)]) == [
        "high",
        "normal",
        "low",
    ]
    calm, open_to_all = (
        Route(to="web", urgency=Urgency.LOW, max_urgency=most)
        for most in (Urgency.LOW, Urgency.HIGH)
    )
    assert limit_urgency(Urgency.HIGH, calm) is Urgency.LOW
    assert limit_urgency(None, open_to_all) is Urgency.LOW
    assert limit_urgency(Urgency.HIGH, open_to_all) is Urgency.HIGH
